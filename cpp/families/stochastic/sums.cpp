#include "families/stochastic/sums.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/dot.hpp"
#include "base/index.hpp"
#include "families/stochastic/tile.hpp"

namespace boscage::stochastic {

namespace {

const double* or_null(const std::vector<double>& values) { return values.empty() ? nullptr : values.data(); }

// Divides nodes that have the same rows.
template <class T>
void divide_together(const TrainingRows<Matrix<T>>& rows, const Frame& frame,
                     std::span<const Division* const> divisions, std::span<NodeBlock* const> nodes) {
  TileSums<T> sums(frame, rows.classes, rows.is_numbers() ? rows.outputs : 0, divisions);
  const auto for_sides = [&](const auto& visit) {
    for (size_t i = 0, side = 0; i < nodes.size(); ++i) {
      if (divisions[i]->sum_left) visit(static_cast<int64_t>(side++), nodes[i]->left_sums);
      if (divisions[i]->sum_right) visit(static_cast<int64_t>(side++), nodes[i]->right_sums);
    }
  };
  for_sides([&](int64_t side, const double* from) { sums.start(side, from); });
  const NodeBlock& first = *nodes[0];
  const auto part = [](auto* values, int64_t at) { return values != nullptr ? values + at : nullptr; };
  for (int64_t at = 0; at < first.count; at += sums.most_rows()) {
    sums.load(rows, or_null(frame.norm), part(first.rows, at), first.begin + at,
              std::min(sums.most_rows(), first.count - at));
    for (size_t i = 0; i < nodes.size(); ++i) {
      NodeBlock& node = *nodes[i];
      sums.divide(static_cast<int64_t>(i), part(node.reach, at), part(node.left, at), part(node.right, at),
                  node.counts);
    }
    sums.add();
  }
  for_sides([&](int64_t side, double* to) { sums.finish(side, to); });
}

// One row of a sparse matrix: the same steps as the dense loop, centring left to finish().
template <class Rows>
struct SparseStep {
  const TrainingRows<Rows>& rows;
  const Frame& frame;
  int64_t stride;

  double score(int64_t row, const FoldedTest& test) const {
    const auto [begin, end] = rows.X.range(row);
    LaneSum sum;
    for (int64_t k = begin; k < end; ++k) {
      const int64_t j = rows.X.column(k);
      sum.add(j, static_cast<double>(rows.X.data[k]) * test.theta[to_size(j)]);
    }
    return norm(row) * (sum.total() + test.offset);
  }

  double norm(int64_t row) const { return frame.norm.empty() ? 1.0 : frame.norm[to_size(row)]; }

  void add(int64_t row, double reach, double* sums) const {
    const double all = rows.weight_of(row) * reach, all_multiplier = all * norm(row);
    rows.for_channels(row, rows.channels(), [&](int32_t channel, double share) {
      const double weight = all * share, multiplier = all_multiplier * share;
      double* mine = sums + channel * stride;
      mine[0] += weight;
      mine[1] += multiplier;
      const auto [begin, end] = rows.X.range(row);
      for (int64_t k = begin; k < end; ++k)
        mine[rows.X.column(k) + 2] += multiplier * static_cast<double>(rows.X.data[k]);
    });
  }

  void divide(const Division& division, NodeBlock& node) const {
    for (int64_t i = 0; i < node.count; ++i) {
      const int64_t row = node.rows != nullptr ? static_cast<int64_t>(node.rows[i]) : node.begin + i;
      const double reach = node.reach != nullptr ? node.reach[i] : 1.0;
      double left = 0, right = 0;
      if (reach != 0) {
        const double tilt = std::clamp(score(row, division.test), -1.0, 1.0);
        left = reach * ((1 - tilt) / 2);
        right = reach * ((1 + tilt) / 2);
        left = left < division.cut_left ? 0 : left;
        right = right < division.cut_right ? 0 : right;
        if (division.sum_left) add(row, left, node.left_sums);
        if (division.sum_right) add(row, right, node.right_sums);
      }
      if (node.left != nullptr) node.left[i] = left;
      if (node.right != nullptr) node.right[i] = right;
      node.counts[0] += left != 0;
      node.counts[1] += right != 0;
    }
  }
};

}  // namespace

FoldedTest::FoldedTest(const Frame& frame, std::span<const double> w) : theta(w.begin(), w.end()) {
  theta.resize(to_size(frame.columns));
  if (frame.has_constant) offset = w.back() * frame.constant;
  if (!frame.factor.empty())
    for (size_t j = 0; j < theta.size(); ++j) theta[j] *= frame.factor[j];
  if (frame.centre_late && !frame.shift.empty()) offset -= dot(theta.data(), frame.shift.data(), frame.columns);
}

template <class Rows>
void add_block(const TrainingRows<Rows>& rows, const Frame& frame, const NodeBlock& block, double* sums) {
  NodeBlock node = block;
  node.right_sums = sums;
  if constexpr (rows_are_sparse<Rows>) {
    const SparseStep<Rows> step{rows, frame, rows.X.columns + 2};
    for (int64_t i = 0; i < node.count; ++i) {
      const int64_t row = node.rows != nullptr ? static_cast<int64_t>(node.rows[i]) : node.begin + i;
      const double reach = node.reach != nullptr ? node.reach[i] : 1.0;
      if (reach != 0) step.add(row, reach, sums);
    }
  } else {
    TileSums<std::remove_cvref_t<decltype(rows.X(0, 0))>> all(frame, rows.classes, rows.is_numbers() ? rows.outputs : 0,
                                                              {});
    all.start(0, sums);
    for (int64_t at = 0; at < block.count; at += all.most_rows()) {
      all.load(rows, or_null(frame.norm), block.rows != nullptr ? block.rows + at : nullptr, block.begin + at,
               std::min(all.most_rows(), block.count - at));
      all.take_all(block.reach != nullptr ? block.reach + at : nullptr);
      all.add();
    }
    all.finish(0, sums);
  }
}

template <class Rows>
void divide_block(const TrainingRows<Rows>& rows, const Frame& frame, std::span<const Division> divisions,
                  std::span<NodeBlock> nodes) {
  if constexpr (rows_are_sparse<Rows>) {
    const SparseStep<Rows> step{rows, frame, rows.X.columns + 2};
    for (size_t i = 0; i < nodes.size(); ++i) step.divide(divisions[i], nodes[i]);
  } else {
    std::vector<const Division*> mine;
    std::vector<NodeBlock*> together;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].count == 0) continue;
      mine.push_back(&divisions[i]);
      together.push_back(&nodes[i]);
      if (nodes[i].rows == nullptr) continue;  // all rows of the block, as the others
      divide_together(rows, frame, std::span(mine).last(1), std::span(together).last(1));
      mine.pop_back();
      together.pop_back();
    }
    if (!mine.empty()) divide_together<std::remove_cvref_t<decltype(rows.X(0, 0))>>(rows, frame, mine, together);
  }
}

template <class Rows>
void see_row(const TrainingRows<Rows>& rows, const Frame& frame, int64_t row, double* z) {
  const double norm = frame.norm.empty() ? 1.0 : frame.norm[to_size(row)];
  const auto seen = [&](int64_t j, double x) {
    const auto column = to_size(j);
    if (!frame.shift.empty()) x -= frame.shift[column];
    return norm * (frame.factor.empty() ? x : x * frame.factor[column]);
  };
  if constexpr (rows_are_sparse<Rows>) {
    for (int64_t j = 0; j < frame.columns; ++j) z[j] = seen(j, 0.0);
    const auto [begin, end] = rows.X.range(row);
    for (int64_t k = begin; k < end; ++k)
      z[rows.X.column(k)] = seen(rows.X.column(k), static_cast<double>(rows.X.data[k]));
  } else {
    for (int64_t j = 0; j < frame.columns; ++j) z[j] = seen(j, static_cast<double>(rows.X(row, j)));
  }
  if (frame.has_constant) z[frame.columns] = norm * frame.constant;
}

template <class Rows>
void add_moments(const TrainingRows<Rows>& rows, const Frame& frame, const NodeBlock& block, double* moments) {
  const int64_t width = frame.width();
  std::vector<double> z(to_size(width));
  for (int64_t i = 0; i < block.count; ++i) {
    const int64_t row = block.rows != nullptr ? static_cast<int64_t>(block.rows[i]) : block.begin + i;
    const double weight = rows.weight_of(row) * (block.reach != nullptr ? block.reach[i] : 1.0);
    if (weight == 0) continue;
    see_row(rows, frame, row, z.data());
    rows.for_channels(row, rows.channels(), [&](int32_t channel, double share) {
      double* mine = moments + channel * width * width;
      for (int64_t p = 0; p < width; ++p) {
        const double factor = weight * share * z[to_size(p)];
        double* line = mine + p * width;
        for (int64_t q = 0; q <= p; ++q) line[q] += factor * z[to_size(q)];
      }
    });
  }
}

template <class Rows>
void add_centred(const TrainingRows<Rows>& rows, const Frame& frame, const NodeBlock& block, const double* mean,
                 double* sums) {
  const int64_t width = frame.width(), last = rows.decided() * width;
  std::vector<double> z(to_size(width)), lost(to_size(last) + 1, 0.0);
  const auto add = [&](int64_t place, double term) {  // what rounding takes is kept
    const double before = sums[place], after = before + term;
    lost[to_size(place)] += std::abs(before) >= std::abs(term) ? (before - after) + term : (term - after) + before;
    sums[place] = after;
  };
  for (int64_t i = 0; i < block.count; ++i) {
    const int64_t row = block.rows != nullptr ? static_cast<int64_t>(block.rows[i]) : block.begin + i;
    const double weight = rows.weight_of(row) * (block.reach != nullptr ? block.reach[i] : 1.0);
    if (weight == 0) continue;
    see_row(rows, frame, row, z.data());
    const double short_of_1 = 1 - dot(z.data(), z.data(), width);
    for (int64_t j = 0; j < width; ++j) z[to_size(j)] -= mean[j];
    add(last, weight * (short_of_1 + dot(z.data(), z.data(), width)));
    rows.for_channels(row, rows.decided(), [&](int32_t channel, double share) {
      for (int64_t j = 0; j < width; ++j) add(channel * width + j, weight * share * z[to_size(j)]);
    });
  }
  for (int64_t place = 0; place <= last; ++place) sums[place] += lost[to_size(place)];
}

std::vector<double> mean_row(const NodeSums& sums) { return detail::Shares(sums).a; }

NodeSums with_centred(NodeSums sums, std::vector<double> centred) {
  double total = 0;
  for (const double weight : sums.weight) total += weight;
  sums.spread = centred.back() / total;
  centred.pop_back();
  sums.centred = std::move(centred);
  return sums;
}

NodeSums finish(const std::vector<double>& sums, const SumShape& shape, const Frame& frame) {
  NodeSums out;
  out.classes = shape.decided();
  out.width = frame.width();
  out.numbers = shape.numbers;
  out.sum.reserve(to_size(out.classes * out.width));
  for (int32_t k = 0; k < shape.channels(); ++k) {
    const double* mine = sums.data() + k * shape.stride();
    Vector& to = k < out.classes ? out.sum : out.squares;
    if (k < out.classes)
      out.weight.push_back(mine[0]);
    else
      out.square_weight = mine[0];
    for (int64_t j = 0; j < shape.columns; ++j) {
      double value = mine[j + 2];
      if (frame.centre_late && !frame.shift.empty()) value -= mine[1] * frame.shift[to_size(j)];
      to.push_back(frame.factor.empty() ? value : value * frame.factor[to_size(j)]);
    }
    if (frame.has_constant) to.push_back(mine[1] * frame.constant);
  }
  return out;
}

Side whole_side(std::span<const double> sums, const SumShape& shape, int64_t rows) {
  Vector weight;
  for (int32_t k = 0; k < shape.channels(); ++k) weight.push_back(sums[to_size(k * shape.stride())]);
  return side_of_channels(std::move(weight), rows, shape.numbers.get());
}

std::vector<double> other_child(const std::vector<double>& parent, const std::vector<double>& child,
                                const SumShape& shape) {
  std::vector<double> other(parent.size());
  for (size_t i = 0; i < parent.size(); ++i) other[i] = parent[i] - child[i];
  for (int32_t k = 0; k < shape.channels(); ++k) {
    const auto start = to_size(k * shape.stride());
    if (other[start] <= 1e-12 * parent[start])
      std::fill_n(other.begin() + static_cast<std::ptrdiff_t>(start), shape.stride(), 0.0);
  }
  return other;
}

#define BOSCAGE_COMMA ,
#define BOSCAGE_SUMS(Rows)                                                                                      \
  template void add_block(const TrainingRows<Rows>&, const Frame&, const NodeBlock&, double*);                  \
  template void divide_block(const TrainingRows<Rows>&, const Frame&, std::span<const Division>,                \
                             std::span<NodeBlock>);                                                             \
  template void add_moments(const TrainingRows<Rows>&, const Frame&, const NodeBlock&, double*);                \
  template void add_centred(const TrainingRows<Rows>&, const Frame&, const NodeBlock&, const double*, double*); \
  template void see_row(const TrainingRows<Rows>&, const Frame&, int64_t, double*);
BOSCAGE_SUMS(Matrix<float>)
BOSCAGE_SUMS(Matrix<double>)
BOSCAGE_SUMS(SparseRows<float BOSCAGE_COMMA int32_t>)
BOSCAGE_SUMS(SparseRows<float BOSCAGE_COMMA int64_t>)
BOSCAGE_SUMS(SparseRows<double BOSCAGE_COMMA int32_t>)
BOSCAGE_SUMS(SparseRows<double BOSCAGE_COMMA int64_t>)

}  // namespace boscage::stochastic
