// Directions for criteria without a closed form.
//
// The value after a split is concave in w, so the best w lies on the unit sphere of span(b_k): one angle for two
// classes. There the zero of the slope is found; with more classes steps to the best point of the linearised gain,
// which never lose, are followed by Newton steps on the sphere.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/rng.hpp"
#include "criteria/slopes.hpp"
#include "families/stochastic/solve.hpp"

namespace boscage::stochastic::detail {

namespace {

// Gain and its gradient in coordinates t of an orthonormal basis, w = sum t_i e_i.
template <class Criterion>
class Gain {
 public:
  Gain(const Criterion& criterion, const Shares& node, const Vector& basis)
      : criterion_(criterion), rho_(node.rho), k_(node.classes()), m_(basis.size() / node.width) {
    beta_.resize(k_ * m_);
    for (size_t k = 0; k < k_; ++k)
      for (size_t i = 0; i < m_; ++i)
        beta_[k * m_ + i] = inner(node.b_of(k), basis.data() + i * node.width, node.width);
    right_.resize(k_);
    left_.resize(k_);
    slope_right_.resize(k_);
    slope_left_.resize(k_);
  }

  size_t size() const { return m_; }

  double value(const double* t) {
    divide(t);
    return criterion_.gain(right_.data(), left_.data(), classes());
  }

  // Of the gain: it is convex in t.
  void gradient(const double* t, double* out) {
    divide(t);
    slope(criterion_, right_.data(), classes(), slope_right_.data());
    slope(criterion_, left_.data(), classes(), slope_left_.data());
    std::fill_n(out, m_, 0.0);
    for (size_t k = 0; k < k_; ++k)
      for (size_t i = 0; i < m_; ++i) out[i] -= 0.5 * (slope_right_[k] - slope_left_[k]) * beta_[k * m_ + i];
  }

 private:
  int classes() const { return static_cast<int>(k_); }

  void divide(const double* t) {
    for (size_t k = 0; k < k_; ++k) {
      const double tilt = std::clamp(inner(beta_.data() + k * m_, t, m_), -rho_[k], rho_[k]);
      right_[k] = (rho_[k] + tilt) / 2;
      left_[k] = (rho_[k] - tilt) / 2;
    }
  }

  const Criterion& criterion_;
  const Vector& rho_;
  size_t k_, m_;
  Vector beta_, right_, left_, slope_right_, slope_left_;
};

Vector combine(const Vector& basis, const Vector& t, size_t width) {
  Vector w(width, 0.0);
  for (size_t i = 0; i < t.size(); ++i)
    for (size_t j = 0; j < width; ++j) w[j] += t[i] * basis[i * width + j];
  normalise(w);
  return w;
}

// Adds the part of `vector` outside the span of the basis.
void extend(Vector& basis, Vector vector, size_t width) {
  const double before = std::sqrt(inner(vector, vector));
  for (int again = 0; again < 2; ++again) {
    for (size_t i = 0; i < basis.size() / width; ++i) {
      const double along = inner(vector.data(), basis.data() + i * width, width);
      for (size_t j = 0; j < width; ++j) vector[j] -= along * basis[i * width + j];
    }
  }
  if (!(std::sqrt(inner(vector, vector)) > 1e-10 * before)) return;
  normalise(vector);
  basis.insert(basis.end(), vector.begin(), vector.end());
}

// The gain is 0 where c.w = 0, at the ends of ]-pi/2, pi/2[, and in every known case has one hill between them, as
// narrow as the rows are alike: bisect its slope over the whole range, and guard by a scan.
template <class Criterion>
double angle_of_best(Gain<Criterion>& gain, double gini_angle) {
  const auto value = [&](double angle) {
    const double t[2] = {std::cos(angle), std::sin(angle)};
    return gain.value(t);
  };
  const auto rise = [&](double angle) {
    const double t[2] = {std::cos(angle), std::sin(angle)};
    double g[2];
    gain.gradient(t, g);
    return -g[0] * t[1] + g[1] * t[0];
  };
  double best = gini_angle, most = value(gini_angle);
  const auto offer = [&](double angle) {
    const double here = value(angle);
    if (!(here > most)) return;
    most = here;
    best = angle;
  };
  const auto climb_between = [&](double low, double high) {
    for (int i = 0; i < 100; ++i) {
      const double middle = 0.5 * (low + high);
      if (middle <= low || middle >= high) break;
      (rise(middle) > 0 ? low : high) = middle;
    }
    // Where the slope is 0 the value is flat: the slope tells better than the value which angle is best.
    const double zero = 0.5 * (low + high), here = value(zero);
    if (here >= most * (1 - 1e-12)) {
      most = std::max(most, here);
      best = zero;
    }
  };
  constexpr double half = std::numbers::pi / 2;
  climb_between(-half, half);
  const double first = best;
  constexpr int kScan = 32;
  constexpr double step = std::numbers::pi / kScan;
  for (int i = 1; i < kScan; ++i) offer(-half + i * step);
  if (best != first) climb_between(best - step, best + step);
  return best;
}

// The part of the gradient along the sphere.
template <class Criterion>
double project(Gain<Criterion>& gain, const Vector& t, Vector& g, Vector& flat) {
  gain.gradient(t.data(), g.data());
  const double radial = inner(g, t);
  for (size_t i = 0; i < t.size(); ++i) flat[i] = g[i] - radial * t[i];
  return std::sqrt(inner(flat, flat));
}

// One Newton step for a maximum on the sphere: (H - (g.t) I) step = -flat, step orthogonal to t.
template <class Criterion>
Vector newton_step(Gain<Criterion>& gain, const Vector& t, const Vector& g, const Vector& flat) {
  const size_t m = t.size(), n = m + 1;
  Vector system(n * n, 0.0), step(n, 0.0), up(m), down(m), moved = t;
  constexpr double h = 1e-5;
  for (size_t j = 0; j < m; ++j) {
    moved[j] = t[j] + h;
    gain.gradient(moved.data(), up.data());
    moved[j] = t[j] - h;
    gain.gradient(moved.data(), down.data());
    moved[j] = t[j];
    for (size_t i = 0; i < m; ++i) system[i * n + j] = (up[i] - down[i]) / (2 * h);
  }
  const double radial = inner(g, t);
  for (size_t i = 0; i < m; ++i) {
    system[i * n + i] -= radial;
    system[i * n + m] = system[m * n + i] = t[i];
    step[i] = -flat[i];
  }
  if (!solve_linear(std::move(system), n, step)) return {};
  step.pop_back();
  return step;
}

template <class Criterion>
double climb(Gain<Criterion>& gain, Vector& t) {
  const size_t m = t.size();
  Vector g(m), flat(m), other_g(m), other_flat(m);
  double before = gain.value(t.data()), steep = project(gain, t, g, flat);
  const int steps = m <= 64 ? 200 : 500;
  for (int i = 0; i < steps && steep > 1e-9 * std::sqrt(inner(g, g)); ++i) {
    Vector next = g;
    normalise(next);
    const double here = gain.value(next.data());
    if (!(here > before * (1 + 1e-15))) break;
    t = std::move(next);
    before = here;
    steep = project(gain, t, g, flat);
  }
  for (int i = 0; i < 12 && m <= 64 && steep > 1e-14 * std::sqrt(inner(g, g)); ++i) {
    const Vector step = newton_step(gain, t, g, flat);
    if (step.empty()) break;
    Vector next = t;
    for (size_t j = 0; j < m; ++j) next[j] += step[j];
    normalise(next);
    const double here = gain.value(next.data()), now = project(gain, next, other_g, other_flat);
    if (!(now < steep && here >= before * (1 - 1e-12))) break;
    t = std::move(next);
    std::swap(g, other_g);
    std::swap(flat, other_flat);
    steep = now;
    before = std::max(before, here);
  }
  return before;
}

}  // namespace

Vector search_circle(const Shares& node, const AnyCriterion& criterion) {
  const Vector c(node.c_of(1), node.c_of(1) + node.width);
  Vector basis;
  extend(basis, c, node.width);
  extend(basis, node.a, node.width);
  if (basis.size() <= node.width) return basis;  // one direction, or none if c is too short to be one
  const Vector e1(basis.begin(), basis.begin() + static_cast<std::ptrdiff_t>(node.width));
  const Vector e2(basis.begin() + static_cast<std::ptrdiff_t>(node.width), basis.end());
  // The Gini direction c + (a.c)/(1 - |a|²) a in this basis.
  const double factor = inner(node.a, c) / node.spread;
  const double gini = std::atan2(factor * inner(node.a, e2), std::sqrt(inner(c, c)) + factor * inner(node.a, e1));
  const double angle = visit_classes(
      [&](const auto& g) {
        Gain<std::decay_t<decltype(g)>> gain(g, node, basis);
        return angle_of_best(gain, gini);
      },
      criterion);
  return combine(basis, {std::cos(angle), std::sin(angle)}, node.width);
}

namespace {

// Directions from which a hill may be reached: the Gini direction, each class and each group of classes (of few
// classes) against the rest, as they are and as Gini would take them, each class's own mean, where it can be emptied
// of one side, and pairs of means.
std::vector<Vector> likely_directions(const Shares& node, const Vector& gini) {
  const size_t width = node.width, k = node.classes();
  std::vector<Vector> found{gini};
  const auto against_rest = [&](Vector c) {
    if (!(inner(c, c) > 0)) return;
    found.push_back(c);
    const double factor = inner(node.a, c) / node.spread;
    for (size_t j = 0; j < width; ++j) c[j] += factor * node.a[j];
    found.push_back(std::move(c));
  };
  constexpr size_t kFewClasses = 6, kSomeClasses = 32;
  if (k <= kFewClasses) {
    for (size_t group = 1; group < size_t{1} << (k - 1); ++group) {  // the last class stays with the rest
      Vector c(width, 0.0);
      for (size_t i = 0; i < k; ++i)
        for (size_t j = 0; j < width && (group >> i & 1) != 0; ++j) c[j] += node.c_of(i)[j];
      against_rest(std::move(c));
    }
  }
  for (size_t i = 0; i < std::min(k, kSomeClasses); ++i) {
    if (k > kFewClasses) against_rest(Vector(node.c_of(i), node.c_of(i) + width));
    found.emplace_back(node.b_of(i), node.b_of(i) + width);
    for (size_t other = 0; k <= kFewClasses && other < i; ++other) {
      Vector pair(width);
      for (size_t j = 0; j < width; ++j)
        pair[j] = node.b_of(i)[j] / node.rho[i] - node.b_of(other)[j] / node.rho[other];
      found.push_back(std::move(pair));
    }
  }
  return found;
}

struct Start {
  double gain;
  Vector t;
};

// Points all over the sphere, always the same ones.
void scatter(size_t count, size_t m, std::vector<Start>& starts) {
  constexpr uint64_t kSeed = 0x5eed;
  for (size_t i = 0; i < count; ++i) {
    Vector t(m);
    for (size_t j = 0; j < m; ++j) t[j] = normal(kSeed, i, j);
    normalise(t);
    starts.push_back({0.0, std::move(t)});
  }
}

}  // namespace

Vector search_sphere(const Shares& node, const AnyCriterion& criterion, const Vector& gini) {
  const size_t width = node.width, k = node.classes();
  Vector basis;
  for (size_t i = 0; i < k; ++i) extend(basis, Vector(node.c_of(i), node.c_of(i) + width), width);
  extend(basis, node.a, width);
  const size_t m = basis.size() / width;
  if (m == 0) return {};
  std::vector<Start> starts;
  for (const Vector& direction : likely_directions(node, gini)) {
    Vector t(m);
    for (size_t i = 0; i < m; ++i) t[i] = inner(direction.data(), basis.data() + i * width, width);
    normalise(t);
    starts.push_back({0.0, std::move(t)});
  }
  scatter(m <= 8 ? 512 : 64, m, starts);
  Vector best;
  visit_classes(
      [&](const auto& g) {
        Gain<std::decay_t<decltype(g)>> gain(g, node, basis);
        for (Start& start : starts) start.gain = gain.value(start.t.data());
        // From Gini's, and then from the highest of the others.
        std::stable_sort(starts.begin() + 1, starts.end(),
                         [](const auto& x, const auto& y) { return x.gain > y.gain; });
        starts.resize(std::min<size_t>(starts.size(), m <= 8 ? 32 : 12));
        double most = -1;
        for (Start& start : starts) {
          const double found = climb(gain, start.t);
          if (found > most * (1 + 1e-9)) {
            most = found;
            best = std::move(start.t);
          }
        }
      },
      criterion);
  return combine(basis, best, width);
}

}  // namespace boscage::stochastic::detail
