#include "families/oblique/pass.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "base/dot.hpp"
#include "base/index.hpp"
#include "criteria/number_criteria.hpp"
#include "numeric/expit.hpp"

namespace boscage {

namespace {

// Copies of rows that tasks need.
constexpr uint8_t kPlain = 1, kScaled = 2;

// One class of a leaf's rows: soft weights and moments, rows in order.
struct ClassRows {
  const double* x;  // scaled, row by row
  const double* weight;
  int64_t begin, end;
};

// The formula of Scaling::scaled; a missing value stands at the mean.
template <class T>
BOSCAGE_INLINE void scale_body(const T* x, int64_t stride, const HalfScaling& scaling, int64_t columns, double* out) {
  const double *centre = scaling.centre.data(), *factor = scaling.factor.data(), *missing = scaling.missing.data();
  for (int64_t j = 0; j < columns; ++j) {
    const double value = (0.5 * static_cast<double>(x[j * stride]) - centre[j]) * factor[j];
    out[j] = value == value ? value : missing[j];
  }
}

BOSCAGE_CLONES void scale_row(const float* x, const HalfScaling& scaling, int64_t columns, double* out) {
  scale_body(x, 1, scaling, columns, out);
}
BOSCAGE_CLONES void scale_row(const double* x, const HalfScaling& scaling, int64_t columns, double* out) {
  scale_body(x, 1, scaling, columns, out);
}

BOSCAGE_CLONES void score_rows(const double* x, int64_t rows, int64_t columns, const double* theta, double* z) {
  for (int64_t i = 0; i < rows; ++i) {
    const double* row = x + i * columns;
    Lanes sums{};
    int64_t j = 0;
    for (; j + kLanes <= columns; j += kLanes) sums += load(theta + j) * load(row + j);
    double rest = theta[columns];
    for (; j < columns; ++j) rest += theta[j] * row[j];
    z[i] = sum(sums) + rest;
  }
}

// z becomes s(z), `left` gets s(-z); both have room for whole groups of eight.
BOSCAGE_CLONES void divide_rows(double* z, double* left, int64_t rows) {
  for (int64_t i = 0; i < rows; i += kLanes) {
    const Sides sides = expit(load(z + i));
    store(z + i, sides.right);
    store(left + i, sides.left);
  }
}

BOSCAGE_CLONES void add_class(const ClassRows& rows, int64_t columns, const double* right, const double* left,
                              double* out) {
  double* moments = out + 2;
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    const double* x = rows.x + i * columns;
    const double r = rows.weight[i] * right[i], slope = r * left[i];
    out[0] += r;
    out[1] += rows.weight[i] * left[i];
    int64_t j = 0;
    for (; j + kLanes <= columns; j += kLanes) store(moments + j, load(moments + j) + slope * load(x + j));
    for (; j < columns; ++j) moments[j] += slope * x[j];
    moments[columns] += slope;
  }
}

// What a row of numbers adds to exact sums: its weight, weight times value of each output, and its report.
// `value` gets the values, from -1 to 1.
void number_terms(const NumberFacts& facts, const double* y, double weight, double* value, double* terms) {
  const NumberGrid& grid = *facts.grid;
  const size_t outputs = grid.outputs.size();
  terms[0] = weight;
  for (size_t j = 0; j < outputs; ++j) {
    value[j] = std::clamp(grid.scaled(y[j] - grid.outputs[j].centre), -1.0, 1.0);
    terms[j + 1] = grid.value(y[j], j, weight);
  }
  terms[outputs + 1] = grid.report(SquaredError{}.report(value, static_cast<int>(outputs)), weight);
}

// NaN is above no edge, as in a tree.
size_t bin_of(const ObliqueTask& task, double score) {
  return to_size(std::lower_bound(task.edges.begin(), task.edges.end(), score) - task.edges.begin());
}

}  // namespace

size_t ObliquePass::size(const ObliqueTask& task) const {
  const auto d = to_size(columns());
  const auto classes = to_size(leaves[to_size(task.leaf)].classes), m = outputs();
  switch (task.wanted) {
    case Wanted::spread:
      return 2 * d;
    case Wanted::sides:
      return (m > 0 ? 2 * m : classes) * (d + 3);
    case Wanted::mass:
      return task.bins();
    case Wanted::cut:
      return task.bins() * (m > 0 ? m + 3 : classes + 1);
  }
  return 0;
}

size_t ObliquePass::size() const {
  return std::accumulate(tasks.begin(), tasks.end(), size_t{0},
                         [&](size_t so_far, const ObliqueTask& task) { return so_far + size(task); });
}

template <class T>
ObliqueBlocks<T>::ObliqueBlocks(const ObliquePass& pass)
    : pass_(pass), half_(pass.scaling), row_(to_size(pass.columns())) {
  for (size_t i = 0; i < pass.steps.size(); ++i) link_of_place_[pass.steps[i].place] = static_cast<int32_t>(i);
  for (size_t i = 0; i < pass.leaves.size(); ++i)
    link_of_place_[pass.leaves[i].place] = link_to_leaf(static_cast<int32_t>(i));
  first_task_.assign(pass.leaves.size() + 1, 0);
  needs_.assign(pass.leaves.size(), 0);
  size_t offset = 0;
  for (const ObliqueTask& task : pass.tasks) {
    ++first_task_[to_size(task.leaf) + 1];
    const bool is_counted = task.wanted == Wanted::mass || task.wanted == Wanted::cut;
    needs_[to_size(task.leaf)] |= is_counted ? kPlain : kScaled;
    offset_.push_back(offset);
    offset += pass.size(task);
  }
  std::partial_sum(first_task_.begin(), first_task_.end(), first_task_.begin());
}

template <class T>
void ObliqueBlocks<T>::fill(const Matrix<T>& X, int64_t row, double* out) const {
  for (int64_t j = 0; j < X.columns; ++j) out[j] = pass_.scaling.plain(static_cast<double>(X(row, j)), to_size(j));
}

// The leaf that a row comes to, or -1.
template <class T>
int32_t ObliqueBlocks<T>::find_leaf(const Matrix<T>& X, int64_t row, int32_t* place) {
  const auto known = link_of_place_.find(place == nullptr ? 0 : *place);
  int32_t link = known == link_of_place_.end() ? kNowhere : known->second;
  if (link >= 0) fill(X, row, row_.data());
  while (link >= 0) {
    const ObliqueStep& step = pass_.steps[to_size(link)];
    if (place != nullptr) *place = step.place;
    link = step.next[dot(step.weights.data(), row_.data(), X.columns) > step.threshold];
  }
  if (link == kNowhere) return -1;
  const int32_t leaf = leaf_of_link(link);
  if (place != nullptr) *place = pass_.leaves[to_size(leaf)].place;
  return leaf;
}

template <class T>
void ObliqueBlocks<T>::order_by_leaf(const LabelledRows<T>& rows, int64_t begin, int64_t end, int32_t* places) {
  std::vector<int32_t> leaf(to_size(end - begin));
  first_row_.assign(pass_.leaves.size() + 1, 0);
  for (int64_t i = begin; i < end; ++i) {
    const int32_t found = find_leaf(rows.X, i, places == nullptr ? nullptr : places + i);
    leaf[to_size(i - begin)] = found;
    if (found < 0) continue;
    if (pass_.numbers == nullptr && pass_.leaves[to_size(found)].number[to_size(rows.y[to_size(i)])] < 0)
      throw std::invalid_argument("a row came to a leaf that had none of its class before: the rows have changed.");
    ++first_row_[to_size(found) + 1];
  }
  std::partial_sum(first_row_.begin(), first_row_.end(), first_row_.begin());
  found_.resize(to_size(first_row_.back()));
  std::vector<int64_t> next(first_row_.begin(), first_row_.end() - 1);
  for (int64_t i = begin; i < end; ++i) {
    const int32_t at = leaf[to_size(i - begin)];
    if (at >= 0) found_[to_size(next[to_size(at)]++)] = i;
  }
}

template <class T>
void ObliqueBlocks<T>::order_by_class(const LabelledRows<T>& rows, size_t leaf) {
  const ObliqueLeaf& here = pass_.leaves[leaf];
  const auto mine =
      std::span(found_).subspan(to_size(first_row_[leaf]), to_size(first_row_[leaf + 1] - first_row_[leaf]));
  if (pass_.numbers != nullptr) {
    here_.assign(mine.begin(), mine.end());
    return;
  }
  const auto number = [&](int64_t row) { return to_size(here.number[to_size(rows.y[to_size(row)])]); };
  class_start_.assign(to_size(here.classes) + 1, 0);
  for (const int64_t row : mine) ++class_start_[number(row) + 1];
  std::partial_sum(class_start_.begin(), class_start_.end(), class_start_.begin());
  std::vector<int64_t> next(class_start_.begin(), class_start_.end() - 1);
  here_.resize(mine.size());
  class_.resize(mine.size());
  for (const int64_t row : mine) {
    const size_t c = number(row);
    const auto at = to_size(next[c]++);
    here_[at] = row;
    class_[at] = c;
  }
}

// Copies the leaf's rows: in the user's units, or scaled, as its tasks need them.
template <class T>
void ObliqueBlocks<T>::load(const LabelledRows<T>& rows, size_t leaf) {
  const auto d = to_size(pass_.columns());
  const size_t n = here_.size(), filled = (n + kLanes - 1) / kLanes * kLanes;
  const bool is_counted = needs_[leaf] & kPlain, is_summed = needs_[leaf] & kScaled;
  plain_.resize(is_counted ? n * d : 0);
  scaled_.resize(is_summed ? n * d : 0);
  weight_.resize(n);
  z_.assign(2 * filled, 0.0);
  for (size_t i = 0; i < n; ++i) {
    weight_[i] = rows.weight_of(here_[i]);
    if (is_counted) fill(rows.X, here_[i], plain_.data() + i * d);
    if (!is_summed) continue;
    const T* row = rows.X.data + here_[i] * rows.X.row_stride;
    double* scaled = scaled_.data() + i * d;
    if (rows.X.column_stride == 1) {
      scale_row(row, half_, rows.X.columns, scaled);
    } else {
      scale_body(row, rows.X.column_stride, half_, rows.X.columns, scaled);
    }
  }
}

template <class T>
void ObliqueBlocks<T>::load_numbers(const LabelledRows<T>& rows) {
  const size_t n = here_.size(), m = pass_.outputs();
  value_.resize(n * m);
  exact_.resize(n * (m + 2));
  channel_.resize(n);
  for (size_t i = 0; i < n; ++i)
    number_terms(*pass_.numbers, rows.number.data() + to_size(here_[i]) * m, weight_[i], value_.data() + i * m,
                 exact_.data() + i * (m + 2));
}

template <class T>
void ObliqueBlocks<T>::count(const ObliqueTask& task, double* out) const {
  const auto d = to_size(pass_.columns());
  const size_t m = pass_.outputs();
  const size_t classes = m > 0 ? m + 1 : to_size(pass_.leaves[to_size(task.leaf)].classes);
  double *counts = out + task.bins() * classes, *reports = counts + task.bins();
  for (size_t i = 0; i < here_.size(); ++i) {
    const size_t bin = bin_of(task, dot(task.vector.data(), plain_.data() + i * d, static_cast<int64_t>(d)));
    if (task.wanted == Wanted::mass) {
      out[bin] += weight_[i];
    } else if (m > 0) {
      const double* terms = exact_.data() + i * (m + 2);
      for (size_t k = 0; k <= m; ++k) out[bin * classes + k] += terms[k];
      counts[bin] += 1.0;
      reports[bin] += terms[m + 1];
    } else {
      out[bin * classes + class_[i]] += weight_[i];
      counts[bin] += 1.0;
    }
  }
}

template <class T>
void ObliqueBlocks<T>::answer(const ObliqueTask& task, double* out) {
  const int64_t d = pass_.columns(), n = signed_size(here_);
  if (task.wanted == Wanted::mass || task.wanted == Wanted::cut) return count(task, out);
  if (task.wanted == Wanted::spread) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < d; ++j) {
        const double x = scaled_[to_size(i * d + j)], wx = weight_[to_size(i)] * x;
        out[j] += wx;
        out[d + j] += wx * x;
      }
    }
    return;
  }
  answer_sides(task, out);
}

template <class T>
void ObliqueBlocks<T>::answer_sides(const ObliqueTask& task, double* out) {
  const int64_t d = pass_.columns(), n = signed_size(here_);
  double *right = z_.data(), *left = right + z_.size() / 2;
  std::fill(right + n, left, 0.0);
  score_rows(scaled_.data(), n, d, task.vector.data(), right);
  divide_rows(right, left, n);
  const size_t m = pass_.outputs();
  for (size_t c = 0; c < 2 * m; ++c) {
    for (size_t i = 0; i < here_.size(); ++i) {
      const double v = value_[i * m + c / 2];
      channel_[i] = weight_[i] * (c % 2 == 0 ? 1 - v : 1 + v) / 2;
    }
    add_class({scaled_.data(), channel_.data(), 0, n}, d, right, left, out + static_cast<int64_t>(c) * (d + 3));
  }
  for (size_t c = 0; m == 0 && c + 1 < class_start_.size(); ++c) {
    const ClassRows rows{scaled_.data(), weight_.data(), class_start_[c], class_start_[c + 1]};
    add_class(rows, d, right, left, out + static_cast<int64_t>(c) * (d + 3));
  }
}

template <class T>
void ObliqueBlocks<T>::add(const LabelledRows<T>& rows, int64_t begin, int64_t end, int32_t* places, double* out) {
  order_by_leaf(rows, begin, end, places);
  for (size_t leaf = 0; leaf < pass_.leaves.size(); ++leaf) {
    if (first_row_[leaf] == first_row_[leaf + 1]) continue;
    order_by_class(rows, leaf);
    load(rows, leaf);
    if (pass_.numbers != nullptr) load_numbers(rows);
    for (size_t task = first_task_[leaf]; task < first_task_[leaf + 1]; ++task)
      answer(pass_.tasks[task], out + offset_[task]);
  }
}

template <class T>
void add_columns(const LabelledRows<T>& rows, int64_t begin, int64_t end, const ColumnUnits& units, double* out) {
  const int64_t d = rows.X.columns;
  const auto& [shift, per_unit, numbers] = units;
  const size_t m = numbers == nullptr ? 0 : numbers->outputs.size();
  std::vector<double> value(m), terms(m + 2);
  for (int64_t i = begin; i < end; ++i) {
    const double weight = rows.weight_of(i);
    for (int64_t j = 0; j < d; ++j) {
      const auto x = static_cast<double>(rows.X(i, j));
      if (std::isnan(x)) continue;
      // Halves cannot overflow where x - shift could.
      const double off = (0.5 * x - 0.5 * shift[to_size(j)]) * (2.0 * per_unit[to_size(j)]);
      out[j] += weight;
      out[d + j] += weight * off;
      out[2 * d + j] += weight * off * off;
    }
    if (numbers == nullptr) {
      out[3 * d + rows.y[to_size(i)]] += weight;
      continue;
    }
    number_terms(*numbers, rows.number.data() + to_size(i) * m, weight, value.data(), terms.data());
    for (size_t k = 0; k < terms.size(); ++k) out[3 * to_size(d) + k] += terms[k];
  }
}

template class ObliqueBlocks<float>;
template class ObliqueBlocks<double>;
template void add_columns<float>(const LabelledRows<float>&, int64_t, int64_t, const ColumnUnits&, double*);
template void add_columns<double>(const LabelledRows<double>&, int64_t, int64_t, const ColumnUnits&, double*);

}  // namespace boscage
