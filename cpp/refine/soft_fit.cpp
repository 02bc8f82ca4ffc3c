#include "refine/soft_fit.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace boscage::refine {

namespace {

constexpr int64_t kBlock = 512;
constexpr double kLeastReach = 1e-6;  // what is reached less is left out
constexpr size_t kMemory = 10;        // pairs of L-BFGS
constexpr size_t kWatched = 10;       // so many steps must lower the loss by this share, or they are the last
constexpr double kEnough = 1e-3;

size_t at(int64_t i) { return static_cast<size_t>(i); }

double dot(const double* a, const double* b, int64_t n) {
  double parts[4] = {0, 0, 0, 0};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int64_t e = 0; e < 4; ++e) parts[e] += a[i + e] * b[i + e];
  for (; i < n; ++i) parts[0] += a[i] * b[i];
  return (parts[0] + parts[1]) + (parts[2] + parts[3]);
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return dot(a.data(), b.data(), static_cast<int64_t>(a.size()));
}

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

// The pairs of steps and changes of slopes that stand for the curvature.
class Curvature {
 public:
  void add(std::vector<double> step, std::vector<double> change) {
    const double product = dot(step, change);
    if (!(product > 1e-12 * std::sqrt(dot(step, step) * dot(change, change)))) return;
    if (steps_.size() == kMemory) {
      steps_.erase(steps_.begin());
      changes_.erase(changes_.begin());
    }
    steps_.push_back(std::move(step));
    changes_.push_back(std::move(change));
  }

  void forget() { steps_ = changes_ = {}; }
  bool is_empty() const { return steps_.empty(); }

  // Newton's direction, downhill.
  std::vector<double> direction(const std::vector<double>& slopes) const {
    std::vector<double> out = slopes, part(steps_.size());
    for (size_t i = steps_.size(); i-- > 0;) {
      part[i] = dot(steps_[i], out) / dot(steps_[i], changes_[i]);
      for (size_t e = 0; e < out.size(); ++e) out[e] -= part[i] * changes_[i][e];
    }
    const double scale = steps_.empty() ? 1 / std::max(1.0, std::sqrt(dot(slopes, slopes)))
                                        : dot(steps_.back(), changes_.back()) / dot(changes_.back(), changes_.back());
    for (double& v : out) v *= scale;
    for (size_t i = 0; i < steps_.size(); ++i) {
      const double back = dot(changes_[i], out) / dot(steps_[i], changes_[i]);
      for (size_t e = 0; e < out.size(); ++e) out[e] += (part[i] - back) * steps_[i][e];
    }
    for (double& v : out) v = -v;
    return out;
  }

 private:
  std::vector<std::vector<double>> steps_, changes_;
};

}  // namespace

SoftFit fit_soft_tree(const NumberRows& rows, const SoftStart& start, const SoftSettings& settings, Pool& pool,
                      Control& control) {
  Problem problem(rows, start, settings, pool, control);
  std::vector<double> x(at(problem.size()), 0.0), slopes;
  double loss = problem(x, slopes);
  SoftFit out;
  out.losses.push_back(loss);
  Curvature curvature;
  for (int64_t step = 0; step < settings.steps && loss > 0; ++step) {
    std::vector<double> direction = curvature.direction(slopes);
    double fall = dot(direction, slopes);
    if (!(fall < 0)) break;
    // Halve the step until the loss falls by a share of what the slope promises.
    double length = 1, after = 0;
    std::vector<double> tried(x.size()), found;
    bool is_lower = false;
    for (int halving = 0; halving < 20 && !is_lower; ++halving) {
      for (size_t i = 0; i < x.size(); ++i) tried[i] = x[i] + length * direction[i];
      after = problem(tried, found);
      is_lower = after <= loss + 1e-4 * length * fall;
      if (!is_lower) length *= 0.5;
    }
    if (!is_lower) {
      if (curvature.is_empty()) break;
      curvature.forget();
      continue;
    }
    std::vector<double> moved(x.size()), change(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      moved[i] = tried[i] - x[i];
      change[i] = found[i] - slopes[i];
    }
    curvature.add(std::move(moved), std::move(change));
    x = std::move(tried);
    slopes = std::move(found);
    loss = after;
    out.losses.push_back(loss);
    control.advance(1);
    const size_t count = out.losses.size();
    if (count > kWatched && out.losses[count - 1 - kWatched] - loss <= kEnough * loss) break;
  }
  out.tests = problem.tests_at(x);
  out.models = problem.models_at(x);
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
