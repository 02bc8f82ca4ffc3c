#include "refine/soft_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/dot.hpp"
#include "numeric/lbfgs.hpp"

namespace boscage::refine {

namespace {

constexpr int64_t kBlock = 512;
constexpr double kLeastReach = 1e-6;  // what is reached less is left out
constexpr size_t kWatched = 10;       // so many steps must lower the loss by this share, or they are the last
constexpr double kEnough = 1e-3;

size_t at(int64_t i) { return static_cast<size_t>(i); }

// A child is an inner node, or ~leaf.
struct Shape {
  std::vector<int32_t> left, right;
  int64_t inner = 0, leaves = 0;

  Shape(std::span<const int32_t> children_left, std::span<const int32_t> children_right) {
    const size_t count = children_left.size();
    if (children_right.size() != count || count == 0) throw std::invalid_argument("children do not fit together.");
    std::vector<int32_t> place(count);
    for (size_t node = 0; node < count; ++node) {
      const bool is_leaf = children_left[node] < 0;
      if (!is_leaf)
        for (const int32_t child : {children_left[node], children_right[node]})
          if (child <= static_cast<int64_t>(node) || child >= static_cast<int64_t>(count))
            throw std::invalid_argument("children must come after their parent.");
      place[node] = static_cast<int32_t>(is_leaf ? ~leaves++ : inner++);
    }
    for (size_t node = 0; node < count; ++node) {
      if (children_left[node] < 0) continue;
      left.push_back(place[at(children_left[node])]);
      right.push_back(place[at(children_right[node])]);
    }
  }
};

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
        tests_(shape_.inner * width_),
        models_(shape_.leaves * rows.outputs * width_) {
    const auto fits = [](std::span<const double> have, int64_t wanted) {
      return static_cast<int64_t>(have.size()) == wanted;
    };
    if (!fits(start.tests, tests_) || !fits(start.unit, shape_.inner) || !fits(start.models, models_) ||
        !fits(start.centre, shape_.leaves * rows.columns) || !fits(start.spread, shape_.leaves * rows.columns))
      throw std::invalid_argument("tests, models and units do not fit the tree.");
  }

  int64_t size() const { return tests_ + models_; }

  std::vector<double> tests_at(const std::vector<double>& x) const {
    std::vector<double> out(start_.tests.begin(), start_.tests.end());
    for (int64_t i = 0; i < tests_; ++i) out[at(i)] += start_.unit[at(i / width_)] * x[at(i)];
    return out;
  }

  std::vector<double> models_at(const std::vector<double>& x) const {
    std::vector<double> out(start_.models.begin(), start_.models.end());
    for (int64_t i = 0; i < models_; ++i) out[at(i)] += x[at(tests_ + i)];
    return out;
  }

  // Loss and slopes by the steps x from the start.
  double operator()(const std::vector<double>& x, std::vector<double>& slopes) {
    const SoftSlopes found = by_parts(tests_at(x), models_at(x));
    slopes.resize(x.size());
    double loss = found.loss;
    for (int64_t i = 0; i < size(); ++i) {
      const bool is_test = i < tests_;
      const bool is_free = is_test || settings_.slopes || (i - tests_) % width_ == 0;
      const double l2 = is_test ? settings_.test_l2 : settings_.model_l2;
      const double plain = is_test ? found.tests[at(i)] * start_.unit[at(i / width_)] : found.models[at(i - tests_)];
      slopes[at(i)] = is_free ? plain + l2 * x[at(i)] : 0;
      loss += l2 * x[at(i)] * x[at(i)] / 2;
    }
    return loss;
  }

  // Loss without penalties, and its slopes by tests and models.
  SoftSlopes by_parts(const std::vector<double>& tests, const std::vector<double>& models) {
    const int64_t blocks = (rows_.rows + kBlock - 1) / kBlock, together = std::max<int64_t>(1, pool_.threads());
    const std::vector<double> plain = without_units(models);
    SoftSlopes total{0, std::vector<double>(at(tests_), 0.0), std::vector<double>(at(models_), 0.0)};
    std::vector<SoftSlopes> parts(at(std::min(together, blocks)));
    for (int64_t first = 0; first < blocks; first += together) {
      const int64_t here = std::min(together, blocks - first);
      pool_.parallel_for(here, [&](int64_t part, int) {
        control_.check();
        SoftSlopes& sums = parts[at(part)];
        sums.loss = 0;
        sums.tests.assign(at(tests_), 0.0);
        sums.models.assign(at(models_), 0.0);
        const int64_t begin = (first + part) * kBlock;
        pass(tests, plain, begin, std::min(rows_.rows, begin + kBlock), sums);
      });
      for (int64_t part = 0; part < here; ++part) {
        const SoftSlopes& sums = parts[at(part)];
        total.loss += sums.loss;
        for (size_t i = 0; i < sums.tests.size(); ++i) total.tests[i] += sums.tests[i];
        for (size_t i = 0; i < sums.models.size(); ++i) total.models[i] += sums.models[i];
      }
    }
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

  std::vector<double> without_units(const std::vector<double>& models) const {
    std::vector<double> plain = models;
    for_models([&](int64_t leaf, int64_t begin) {
      for (int64_t j = 0; j < rows_.columns; ++j) {
        double& slope = plain[at(begin + 1 + j)];
        slope /= start_.spread[at(leaf * rows_.columns + j)];
        plain[at(begin)] -= slope * start_.centre[at(leaf * rows_.columns + j)];
      }
    });
    return plain;
  }

  void pass(const std::vector<double>& tests, const std::vector<double>& models, int64_t begin, int64_t end,
            SoftSlopes& sums) const {
    const int64_t d = rows_.columns, m = rows_.outputs, inner = shape_.inner, places = inner + shape_.leaves;
    const auto place = [&](int32_t child) { return child >= 0 ? child : inner + ~child; };
    std::vector<double> reach(at(places)), share(at(inner)), value(at(places * m)), off(at(m));
    for (int64_t row = begin; row < end; ++row) {
      const double* z = rows_.z + row * d;
      std::fill(reach.begin(), reach.end(), 0.0);
      std::fill(value.begin(), value.end(), 0.0);
      (inner > 0 ? reach[0] : reach[at(inner)]) = 1;
      for (int64_t k = 0; k < inner; ++k) {
        if (reach[at(k)] < kLeastReach) continue;
        const double* test = tests.data() + k * width_;
        share[at(k)] = 1 / (1 + std::exp(-(test[0] + dot(test + 1, z, d))));
        reach[at(place(shape_.right[at(k)]))] = reach[at(k)] * share[at(k)];
        reach[at(place(shape_.left[at(k)]))] = reach[at(k)] * (1 - share[at(k)]);
      }
      std::fill(off.begin(), off.end(), 0.0);
      for (int64_t leaf = 0; leaf < shape_.leaves; ++leaf) {
        const double here = reach[at(inner + leaf)];
        if (here < kLeastReach) continue;
        for (int64_t o = 0; o < m; ++o) {
          const double* model = models.data() + (leaf * m + o) * width_;
          const double answer = model[0] + (settings_.slopes ? dot(model + 1, z, d) : 0.0);
          value[at((inner + leaf) * m + o)] = answer;
          off[at(o)] += here * answer;
        }
      }
      const double weight = rows_.weight[row];
      for (int64_t o = 0; o < m; ++o) {
        const double away = off[at(o)] - rows_.y[row * m + o];
        sums.loss += weight * away * away / 2;
        off[at(o)] = weight * away;
      }
      for (int64_t leaf = 0; leaf < shape_.leaves; ++leaf) {
        const double here = reach[at(inner + leaf)];
        if (here < kLeastReach) continue;
        for (int64_t o = 0; o < m; ++o) {
          double* line = sums.models.data() + (leaf * m + o) * width_;
          const double slope = off[at(o)] * here;
          line[0] += slope;
          if (settings_.slopes)
            for (int64_t j = 0; j < d; ++j) line[1 + j] += slope * z[j];
        }
      }
      for (int64_t k = inner - 1; k >= 0; --k) {
        if (reach[at(k)] < kLeastReach) continue;
        const double* low = value.data() + place(shape_.left[at(k)]) * m;
        const double* high = value.data() + place(shape_.right[at(k)]) * m;
        double worth = 0;
        for (int64_t o = 0; o < m; ++o) {
          const double apart = high[o] - low[o];
          value[at(k * m + o)] = low[o] + share[at(k)] * apart;
          worth += off[at(o)] * apart;
        }
        const double slope = worth * reach[at(k)] * share[at(k)] * (1 - share[at(k)]);
        if (slope == 0) continue;
        double* line = sums.tests.data() + k * width_;
        line[0] += slope;
        for (int64_t j = 0; j < d; ++j) line[1 + j] += slope * z[j];
      }
    }
  }

  const NumberRows& rows_;
  const SoftStart& start_;
  const SoftSettings& settings_;
  Pool& pool_;
  Control& control_;
  Shape shape_;
  int64_t width_, tests_, models_;
};

}  // namespace

SoftFit fit_soft_tree(const NumberRows& rows, const SoftStart& start, const SoftSettings& settings, Pool& pool,
                      Control& control) {
  Problem problem(rows, start, settings, pool, control);
  LbfgsOptions options;
  options.max_iter = static_cast<int>(std::min<int64_t>(settings.steps, std::numeric_limits<int>::max()));
  options.tolerance = options.gradient_limit = options.value_limit = 0;
  options.norm_limit = std::numeric_limits<double>::infinity();
  const std::vector<double> nothing(at(problem.size()), 0.0);
  Lbfgs optimiser(nothing, options);
  SoftFit out;
  std::vector<double> slopes;
  while (optimiser.need() != Lbfgs::Need::done) {
    if (optimiser.need() == Lbfgs::Need::value) {
      const auto point = optimiser.point();
      optimiser.tell_value(problem({point.begin(), point.end()}, slopes));
      continue;
    }
    optimiser.tell_gradient(slopes);
    const size_t done = static_cast<size_t>(optimiser.iterations());
    if (out.losses.size() > done) continue;
    out.losses.push_back(optimiser.best_value());
    control.advance(1);
    if (done >= kWatched && out.losses[done - kWatched] - out.losses[done] <= kEnough * out.losses[done]) break;
  }
  const std::vector<double> best(optimiser.best().begin(), optimiser.best().end());
  out.tests = problem.tests_at(best);
  out.models = problem.models_at(best);
  return out;
}

SoftSlopes soft_slopes(const NumberRows& rows, const SoftStart& start, const SoftSettings& settings,
                       std::span<const double> tests, std::span<const double> models, Pool& pool, Control& control) {
  Problem problem(rows, start, settings, pool, control);
  if (tests.size() != start.tests.size() || models.size() != start.models.size())
    throw std::invalid_argument("tests and models do not fit the tree.");
  return problem.by_parts({tests.begin(), tests.end()}, {models.begin(), models.end()});
}

}  // namespace boscage::refine
