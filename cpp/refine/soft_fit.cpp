#include "refine/soft_fit.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "base/array.hpp"
#include "base/lanes.hpp"
#include "numeric/expit.hpp"
#include "numeric/lbfgs.hpp"

namespace boscage::refine {

namespace {

constexpr int64_t kBlock = 512;
constexpr double kLeastReach = 1e-6;  // what none of eight rows reaches more is left out
constexpr int64_t kWatched = 10;      // so many steps must lower the loss by this share, or they are the last
constexpr double kEnough = 1e-3;

// A child is an inner node, or ~leaf.
struct Shape {
  Array<int32_t> left, right;
  int64_t inner = 0, leaves = 0;

  Shape(Span<const int32_t> children_left, Span<const int32_t> children_right) {
    const int64_t count = children_left.size();
    if (children_right.size() != count || count == 0) throw std::invalid_argument("children do not fit together.");
    Array<int32_t> place(count);
    for (int64_t node = 0; node < count; ++node) {
      const bool is_leaf = children_left[node] < 0;
      if (!is_leaf)
        for (const int32_t child : {children_left[node], children_right[node]})
          if (child <= static_cast<int64_t>(node) || child >= static_cast<int64_t>(count))
            throw std::invalid_argument("children must come after their parent.");
      place[node] = static_cast<int32_t>(is_leaf ? ~leaves++ : inner++);
    }
    for (int64_t node = 0; node < count; ++node) {
      if (children_left[node] < 0) continue;
      left.push_back(place[children_left[node]]);
      right.push_back(place[children_right[node]]);
    }
  }
};

// Where eight rows at a time go: parameters have `padded` places in each line, a multiple of eight; the first stands
// for the constant, those behind the columns are 0.
struct RowPass {
  const NumberRows& rows;
  const Shape& shape;
  const double *tests, *models;
  int64_t padded, terms;                 // terms: of a leaf's model, the constant included
  double *reach, *right, *left, *value;  // places × 8, inner nodes × 8 twice, places × outputs × 8
  double *off, *by_column, *by_row;      // outputs × 8, columns + 1 × 8, 8 × padded
};

// Eight rows from `row` on, as many as there are; behind the last of them rows of weight 0. Returns their weights.
BOSCAGE_INLINE Lanes load_rows(const RowPass& pass, int64_t row, int64_t count) {
  const int64_t d = pass.rows.columns;
  Lanes weight{};
  for (int64_t i = 0; i < kLanes; ++i) {
    double* out = pass.by_row + i * pass.padded;
    out[0] = 1;
    pass.by_column[i] = 1;
    for (int64_t j = 0; j < d; ++j) {
      const double z = i < count ? pass.rows.z[(row + i) * d + j] : 0.0;
      out[j + 1] = z;
      pass.by_column[(j + 1) * kLanes + i] = z;
    }
    if (i < count) weight[i] = pass.rows.weight[row + i];
  }
  return weight;
}

BOSCAGE_INLINE Lanes score(const double* line, const double* by_column, int64_t terms) {
  Lanes even{}, odd{};
  int64_t j = 0;
  for (; j + 2 <= terms; j += 2) {
    even += line[j] * load(by_column + j * kLanes);
    odd += line[j + 1] * load(by_column + (j + 1) * kLanes);
  }
  return j < terms ? even + odd + line[j] * load(by_column + j * kLanes) : even + odd;
}

// sums += Σ slope · row
BOSCAGE_INLINE void add_rows(Lanes slope, const RowPass& pass, int64_t terms, double* sums) {
  for (int64_t j = 0; j < terms; j += kLanes) {
    Lanes sum = load(sums + j);
    for (int64_t i = 0; i < kLanes; ++i) sum += slope[i] * load(pass.by_row + i * pass.padded + j);
    store(sums + j, sum);
  }
}

BOSCAGE_INLINE bool is_reached(const double* reach) {
  double most = 0;
  for (int64_t i = 0; i < kLanes; ++i) most = reach[i] > most ? reach[i] : most;
  return most >= kLeastReach;
}

// The loss of the rows of a block and its slopes, added to sums.
BOSCAGE_CLONES void pass_rows(const RowPass& pass, int64_t begin, int64_t end, SoftSlopes& sums) {
  const int64_t m = pass.rows.outputs, inner = pass.shape.inner, leaves = pass.shape.leaves, padded = pass.padded;
  const int32_t *go_left = pass.shape.left.data(), *go_right = pass.shape.right.data();
  const auto place = [inner](int32_t child) { return (child >= 0 ? child : inner + ~child) * kLanes; };
  double *reach = pass.reach, *value = pass.value, *off = pass.off;
  for (int64_t row = begin; row < end; row += kLanes) {
    const int64_t count = std::min(kLanes, end - row);
    const Lanes weight = load_rows(pass, row, count);
    std::fill(reach, reach + (inner + leaves) * kLanes, 0.0);
    std::fill(value, value + (inner + leaves) * m * kLanes, 0.0);
    std::fill(off, off + m * kLanes, 0.0);
    store(reach + (inner > 0 ? 0 : inner) * kLanes, all(1));
    for (int64_t k = 0; k < inner; ++k) {
      if (!is_reached(reach + k * kLanes)) continue;
      const Sides sides = expit(score(pass.tests + k * padded, pass.by_column, pass.rows.columns + 1));
      const Lanes here = load(reach + k * kLanes);
      store(pass.right + k * kLanes, sides.right);
      store(pass.left + k * kLanes, sides.left);
      store(reach + place(go_right[k]), here * sides.right);
      store(reach + place(go_left[k]), here * sides.left);
    }
    for (int64_t leaf = 0; leaf < leaves; ++leaf) {
      const double* here = reach + (inner + leaf) * kLanes;
      if (!is_reached(here)) continue;
      for (int64_t o = 0; o < m; ++o) {
        const Lanes answer = score(pass.models + (leaf * m + o) * padded, pass.by_column, pass.terms);
        store(value + ((inner + leaf) * m + o) * kLanes, answer);
        store(off + o * kLanes, load(off + o * kLanes) + load(here) * answer);
      }
    }
    for (int64_t o = 0; o < m; ++o) {
      Lanes away = load(off + o * kLanes);
      for (int64_t i = 0; i < count; ++i) away[i] -= pass.rows.y[(row + i) * m + o];
      sums.loss += sum(weight * away * away) / 2;
      store(off + o * kLanes, weight * away);
    }
    for (int64_t leaf = 0; leaf < leaves; ++leaf) {
      const double* here = reach + (inner + leaf) * kLanes;
      if (!is_reached(here)) continue;
      for (int64_t o = 0; o < m; ++o)
        add_rows(load(off + o * kLanes) * load(here), pass, pass.terms, sums.models.data() + (leaf * m + o) * padded);
    }
    for (int64_t k = inner - 1; k >= 0; --k) {
      if (!is_reached(reach + k * kLanes)) continue;
      const Lanes right = load(pass.right + k * kLanes), left = load(pass.left + k * kLanes);
      Lanes worth{};
      for (int64_t o = 0; o < m; ++o) {
        const Lanes low = load(value + place(go_left[k]) * m + o * kLanes);
        const Lanes apart = load(value + place(go_right[k]) * m + o * kLanes) - low;
        store(value + (k * m + o) * kLanes, low + right * apart);
        worth += load(off + o * kLanes) * apart;
      }
      add_rows(worth * load(reach + k * kLanes) * right * left, pass, pass.rows.columns + 1,
               sums.tests.data() + k * padded);
    }
  }
}

class Problem {
 public:
  Problem(const NumberRows& rows, const SoftStart& start, const SoftSettings& settings, Pool& pool, Control& control)
      : rows_(rows),
        start_(start),
        settings_(settings),
        pool_(pool),
        control_(control),
        shape_(start.children_left, start.children_right),
        width_(rows.columns + 1),
        padded_((width_ + kLanes - 1) / kLanes * kLanes),
        tests_(shape_.inner * width_),
        models_(shape_.leaves * rows.outputs * width_) {
    const auto fits = [](Span<const double> have, int64_t wanted) { return have.size() == wanted; };
    if (!fits(start.tests, tests_) || !fits(start.unit, shape_.inner) || !fits(start.models, models_) ||
        !fits(start.centre, shape_.leaves * rows.columns) || !fits(start.spread, shape_.leaves * rows.columns))
      throw std::invalid_argument("tests, models and units do not fit the tree.");
  }

  int64_t size() const { return tests_ + models_; }

  Array<double> tests_at(const Array<double>& x) const {
    Array<double> out(start_.tests.begin(), start_.tests.end());
    for (int64_t i = 0; i < tests_; ++i) out[i] += start_.unit[i / width_] * x[i];
    return out;
  }

  Array<double> models_at(const Array<double>& x) const {
    Array<double> out(start_.models.begin(), start_.models.end());
    for (int64_t i = 0; i < models_; ++i) out[i] += x[tests_ + i];
    return out;
  }

  // Loss and slopes by the steps x from the start.
  double operator()(const Array<double>& x, Array<double>& slopes) {
    const SoftSlopes found = by_parts(tests_at(x), models_at(x));
    slopes.resize(x.size());
    double loss = found.loss;
    for (int64_t i = 0; i < size(); ++i) {
      const bool is_test = i < tests_;
      const bool is_free = is_test || settings_.slopes || (i - tests_) % width_ == 0;
      const double l2 = is_test ? settings_.test_l2 : settings_.model_l2;
      const double plain = is_test ? found.tests[i] * start_.unit[i / width_] : found.models[i - tests_];
      slopes[i] = is_free ? plain + l2 * x[i] : 0;
      loss += l2 * x[i] * x[i] / 2;
    }
    return loss;
  }

  // Loss without penalties, and its slopes by tests and models.
  SoftSlopes by_parts(const Array<double>& tests, const Array<double>& models) {
    const int64_t blocks = (rows_.rows + kBlock - 1) / kBlock, together = std::max<int64_t>(1, pool_.threads());
    const Array<double> plain = with_room(without_units(models)), wide = with_room(tests);
    SoftSlopes total{0, Array<double>(wide.size(), 0.0), Array<double>(plain.size(), 0.0)};
    Array<SoftSlopes> parts(std::min(together, blocks));
    for (int64_t first = 0; first < blocks; first += together) {
      const int64_t here = std::min(together, blocks - first);
      pool_.parallel_for(here, [&](int64_t part, int) {
        control_.check();
        SoftSlopes& sums = parts[part];
        sums.loss = 0;
        sums.tests.assign(wide.size(), 0.0);
        sums.models.assign(plain.size(), 0.0);
        const int64_t begin = (first + part) * kBlock;
        pass(wide, plain, begin, std::min(rows_.rows, begin + kBlock), sums);
      });
      for (int64_t part = 0; part < here; ++part) {
        const SoftSlopes& sums = parts[part];
        total.loss += sums.loss;
        for (int64_t i = 0; i < sums.tests.size(); ++i) total.tests[i] += sums.tests[i];
        for (int64_t i = 0; i < sums.models.size(); ++i) total.models[i] += sums.models[i];
      }
    }
    total.tests = without_room(total.tests);
    total.models = without_room(total.models);
    // Slopes by models of z become slopes by models in units of the leaves.
    for_models([&](int64_t leaf, int64_t begin) {
      const double* centre = start_.centre.data() + leaf * rows_.columns;
      const double* spread = start_.spread.data() + leaf * rows_.columns;
      double* line = total.models.data() + begin;
      for (int64_t j = 0; j < rows_.columns; ++j) line[1 + j] = (line[1 + j] - line[0] * centre[j]) / spread[j];
    });
    return total;
  }

 private:
  template <class Task>
  void for_models(const Task& task) const {
    for (int64_t leaf = 0; leaf < shape_.leaves; ++leaf)
      for (int64_t o = 0; o < rows_.outputs; ++o) task(leaf, (leaf * rows_.outputs + o) * width_);
  }

  Array<double> without_units(const Array<double>& models) const {
    Array<double> plain = models;
    for_models([&](int64_t leaf, int64_t begin) {
      for (int64_t j = 0; j < rows_.columns; ++j) {
        double& slope = plain[begin + 1 + j];
        slope /= start_.spread[leaf * rows_.columns + j];
        plain[begin] -= slope * start_.centre[leaf * rows_.columns + j];
      }
    });
    return plain;
  }

  // Lines of `width_` numbers with room for whole groups of eight, and back.
  Array<double> with_room(const Array<double>& lines) const { return in_lines(lines, width_, padded_); }
  Array<double> without_room(const Array<double>& lines) const { return in_lines(lines, padded_, width_); }

  Array<double> in_lines(const Array<double>& lines, int64_t from, int64_t to) const {
    const int64_t count = lines.size() / from;
    Array<double> out(count * to, 0.0);
    for (int64_t line = 0; line < count; ++line)
      std::copy_n(lines.data() + line * from, width_, out.data() + line * to);
    return out;
  }

  void pass(const Array<double>& tests, const Array<double>& models, int64_t begin, int64_t end,
            SoftSlopes& sums) const {
    const int64_t places = shape_.inner + shape_.leaves, m = rows_.outputs;
    const int64_t sizes[] = {places, shape_.inner, shape_.inner, places * m, m, width_, padded_};
    LineVector<double> room;
    room.resize(static_cast<size_t>(std::accumulate(std::begin(sizes), std::end(sizes), int64_t{0}) * kLanes));
    std::fill(room.begin(), room.end(), 0.0);
    double *part[std::size(sizes)], *next = room.data();
    for (const int64_t& size : sizes) {
      part[&size - sizes] = next;
      next += size * kLanes;
    }
    pass_rows({rows_, shape_, tests.data(), models.data(), padded_, settings_.slopes ? width_ : 1, part[0], part[1],
               part[2], part[3], part[4], part[5], part[6]},
              begin, end, sums);
  }

  const NumberRows& rows_;
  const SoftStart& start_;
  const SoftSettings& settings_;
  Pool& pool_;
  Control& control_;
  Shape shape_;
  int64_t width_, padded_, tests_, models_;
};

}  // namespace

SoftFit fit_soft_tree(const NumberRows& rows, const SoftStart& start, const SoftSettings& settings, Pool& pool,
                      Control& control) {
  Problem problem(rows, start, settings, pool, control);
  LbfgsOptions options;
  options.max_iter = static_cast<int>(std::min<int64_t>(settings.steps, std::numeric_limits<int>::max()));
  options.tolerance = options.gradient_limit = options.value_limit = 0;
  options.norm_limit = std::numeric_limits<double>::infinity();
  const Array<double> nothing(problem.size(), 0.0);
  Lbfgs optimiser(nothing, options);
  SoftFit out;
  Array<double> slopes;
  while (optimiser.need() != Lbfgs::Need::done) {
    if (optimiser.need() == Lbfgs::Need::value) {
      const auto point = optimiser.point();
      optimiser.tell_value(problem({point.begin(), point.end()}, slopes));
      continue;
    }
    optimiser.tell_gradient(slopes);
    const int64_t done = optimiser.iterations();
    if (out.losses.size() > done) continue;
    out.losses.push_back(optimiser.best_value());
    control.advance(1);
    if (done >= kWatched && out.losses[done - kWatched] - out.losses[done] <= kEnough * out.losses[done]) break;
  }
  const Array<double> best(optimiser.best().begin(), optimiser.best().end());
  out.tests = problem.tests_at(best);
  out.models = problem.models_at(best);
  return out;
}

SoftSlopes soft_slopes(const NumberRows& rows, const SoftStart& start, const SoftSettings& settings,
                       Span<const double> tests, Span<const double> models, Pool& pool, Control& control) {
  Problem problem(rows, start, settings, pool, control);
  if (tests.size() != start.tests.size() || models.size() != start.models.size())
    throw std::invalid_argument("tests and models do not fit the tree.");
  return problem.by_parts({tests.begin(), tests.end()}, {models.begin(), models.end()});
}

}  // namespace boscage::refine
