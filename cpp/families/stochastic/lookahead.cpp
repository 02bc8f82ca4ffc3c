#include "families/stochastic/lookahead.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "base/index.hpp"

namespace boscage::stochastic {

namespace {

using detail::inner;
using detail::normalise;

constexpr size_t kMostClasses = 8;  // classes looked at, the heaviest first

double entry(const double* lower, size_t n, size_t i, size_t j) { return lower[std::max(i, j) * n + std::min(i, j)]; }

// Column and row sums of one class's moments against a vector: (sum z zᵀ) u.
Vector times(const double* lower, size_t n, const Vector& u) {
  Vector out(n, 0.0);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j) out[i] += entry(lower, n, i, j) * u[j];
  return out;
}

struct Whitened {
  size_t n = 0;
  Vector factor;  // of S, with a little of the identity
  Vector all;     // S per unit weight, lower triangle
  bool works = false;

  Whitened(const NodeSums& sums, const Vector& moments, double total) : n(to_size(sums.width)) {
    all.assign(n * n, 0.0);
    for (int32_t k = 0; k < sums.classes; ++k)
      for (size_t i = 0; i < n * n; ++i) all[i] += moments[to_size(k) * n * n + i] / total;
    double trace = 0;
    for (size_t i = 0; i < n; ++i) trace += all[i * n + i];
    factor = all;
    for (size_t i = 0; i < n; ++i) factor[i * n + i] += 1e-6 * trace / static_cast<double>(n);
    works = trace > 0 && cholesky(factor, n);
  }

  // L⁻¹ M L⁻ᵀ of a symmetric M given by its lower triangle.
  Vector sandwich(const Vector& lower) const {
    Vector half(n * n), whole(n * n), column(n);
    for (size_t j = 0; j < n; ++j) {
      for (size_t i = 0; i < n; ++i) column[i] = entry(lower.data(), n, i, j);
      solve_lower(factor, n, column.data());
      for (size_t i = 0; i < n; ++i) half[i * n + j] = column[i];
    }
    for (size_t i = 0; i < n; ++i) {
      Vector row(half.begin() + static_cast<std::ptrdiff_t>(i * n),
                 half.begin() + static_cast<std::ptrdiff_t>(i * n + n));
      solve_lower(factor, n, row.data());
      std::copy(row.begin(), row.end(), whole.begin() + static_cast<std::ptrdiff_t>(i * n));
    }
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < i; ++j) whole[i * n + j] = whole[j * n + i] = 0.5 * (whole[i * n + j] + whole[j * n + i]);
    return whole;
  }

  Vector back(const double* e) const {
    Vector f(e, e + n);
    solve_upper(factor, n, f.data());
    return f;
  }
};

// The extreme eigenvectors, one for each sign of the eigenvalue; empty where there is none.
std::pair<Vector, Vector> extremes(const Whitened& white, const Vector& lower) {
  const Eigen eigen = leading_eigen(white.sandwich(lower), white.n, std::min<size_t>(white.n, 4));
  std::pair<Vector, Vector> found;
  for (size_t i = 0; i < to_size(eigen.values.size()); ++i) {
    Vector& side = eigen.values[i] > 0 ? found.first : found.second;
    if (side.empty() && eigen.values[i] != 0) side = white.back(eigen.vectors.data() + i * white.n);
  }
  return found;
}

// A class's indicator, of this variance, by |p| > tan(angle) |q|, the sign of a product of two planes: the best angle
// and what it explains.
std::pair<double, double> fit_angle(const Vector& sums, size_t classes, size_t k, double variance) {
  double total = 0;
  for (size_t c = 0; c < classes; ++c) total += sums[c * kPlaneSums];
  const double rho = sums[k * kPlaneSums] / total;
  double below = 0, mine_below = 0, best = 0, at = 0;
  for (size_t i = 0; i + 1 < kAngles; ++i) {
    for (size_t c = 0; c < classes; ++c) below += sums[c * kPlaneSums + kPowerSums + i] / total;
    mine_below += sums[k * kPlaneSums + kPowerSums + i] / total;
    const double covariance = mine_below - rho * below, spread = below * (1 - below);
    const double explained = spread > 0 && variance > 0 ? covariance * covariance / (spread * variance) : 0;
    if (explained > best) {
      best = explained;
      at = static_cast<double>(i + 1) / static_cast<double>(kAngles) * (std::numbers::pi / 2);
    }
  }
  return {at, best};
}

// A class's indicator by one square, for classes inside and outside of a slab: what p² or q² explains.
std::pair<bool, double> fit_square(const Vector& sums, size_t classes, size_t k, double variance) {
  double s[kPowerSums] = {0, 0, 0, 0, 0, 0};
  for (size_t c = 0; c < classes; ++c)
    for (size_t i = 0; i < kPowerSums; ++i) s[i] += sums[c * kPlaneSums + i];
  const double* mine = sums.data() + k * kPlaneSums;
  const double rho = mine[0] / s[0];
  double explained[2] = {0, 0};
  for (size_t i = 0; i < 2; ++i) {
    const double mean = s[1 + i] / s[0], spread = s[3 + i] / s[0] - mean * mean;
    const double covariance = mine[1 + i] / s[0] - rho * mean;
    if (spread > 0 && variance > 0) explained[i] = covariance * covariance / (spread * variance);
  }
  return {explained[0] >= explained[1], std::max(explained[0], explained[1])};
}

Pair pair_in_plane(const Vector& sums, size_t classes, size_t k, double variance, const Vector& f, const Vector& g) {
  const auto [angle, by_angle] = fit_angle(sums, classes, k, variance);
  const auto [along_f, by_square] = fit_square(sums, classes, k, variance);
  Pair pair;
  pair.fit = std::max(by_angle, by_square);
  if (by_square > by_angle) {
    pair.u = pair.v = along_f ? f : g;
  } else {
    pair.u.resize(f.size());
    pair.v.resize(f.size());
    for (size_t j = 0; j < f.size(); ++j) {
      pair.u[j] = std::cos(angle) * f[j] + std::sin(angle) * g[j];
      pair.v[j] = std::cos(angle) * f[j] - std::sin(angle) * g[j];
    }
  }
  normalise(pair.u);
  normalise(pair.v);
  return pair;
}

// The classes looked at: one of two, of more the heaviest; of numbers one channel for each output, those first whose
// moments differ most.
std::vector<size_t> looked_at(const NodeSums& sums, const std::function<double(size_t)>& size_of_moments) {
  std::vector<size_t> order;
  for (size_t k = 0; k < sums.weight.size(); ++k)
    if (sums.weight[k] > 0 && (!sums.numbers || k % 2 == 1)) order.push_back(k);
  Vector first(sums.weight.size());
  for (const size_t k : order) first[k] = sums.numbers ? size_of_moments(k) : sums.weight[k];
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) { return first[i] > first[j]; });
  if (order.size() == 2 && !sums.numbers) return {std::max(order[0], order[1])};
  if (order.size() > kMostClasses) order.resize(kMostClasses);
  return order;
}

// The sums of a child: half of (B_k ± S_k u). `weight`: of its channels.
NodeSums child_of(const NodeSums& sums, const Vector& moments, const Vector& u, Vector weight, double sign) {
  NodeSums child = sums;
  const auto n = to_size(sums.width);
  const auto turn = [&](size_t k, double* sum) {
    const Vector turned = times(moments.data() + k * n * n, n, u);
    for (size_t j = 0; j < n; ++j) sum[j] = weight[k] > 0 ? 0.5 * (sum[j] + sign * turned[j]) : 0.0;
  };
  for (size_t k = 0; k < to_size(sums.classes); ++k) turn(k, child.sum.data() + k * n);
  if (sums.numbers) {
    turn(weight.size() - 1, child.squares.data());
    child.square_weight = weight.back();
    weight.pop_back();
  }
  child.weight = std::move(weight);
  return child;
}

// Weight times the variance that one channel of numbers would have if it had that of all outputs.
double variance_of_numbers(const NodeSums& sums) {
  const auto outputs = static_cast<double>(sums.numbers->outputs.size());
  return potential_of(sums, SquaredError{}) / (4 * outputs);
}

}  // namespace

Pair find_pair(const NodeSums& sums, const Vector& moments, const PlaneSums& plane_sums) {
  Pair best;
  const double total = std::accumulate(sums.weight.begin(), sums.weight.end(), 0.0);
  const Whitened white(sums, moments, total);
  if (!white.works) return best;
  const size_t n = white.n;
  const detail::Shares shares(sums);
  double linear = 0;
  const auto apart = [&](size_t k) {
    Vector lower(n * n);
    const double rho = sums.weight[k] / total;
    for (size_t i = 0; i < n * n; ++i) lower[i] = moments[k * n * n + i] / total - rho * white.all[i];
    return lower;
  };
  const auto size_of_moments = [&](size_t k) {
    const Vector lower = apart(k);
    return inner(lower, lower);
  };
  const double of_numbers = sums.numbers ? variance_of_numbers(sums) / total : 0;
  for (const size_t k : looked_at(sums, size_of_moments)) {
    const double rho = sums.weight[k] / total, variance = sums.numbers ? of_numbers : rho * (1 - rho);
    if (!(variance > 0)) continue;
    const Vector lower = apart(k);
    auto [f, g] = extremes(white, lower);
    const auto place = to_size(std::find(shares.present.begin(), shares.present.end(), static_cast<int32_t>(k)) -
                               shares.present.begin());
    Vector c(shares.c_of(place), shares.c_of(place) + n);
    solve_lower(white.factor, n, c.data());
    linear = std::max(linear, inner(c, c) / variance);
    if (f.empty() && g.empty()) continue;
    if (f.empty()) f = g;
    if (g.empty()) g = f;
    Pair pair = pair_in_plane(plane_sums(f, g), sums.weight.size(), k, variance, f, g);
    if (inner(times(lower.data(), n, pair.u), pair.v) < 0)
      for (double& x : pair.v) x = -x;
    if (pair.fit > best.fit) best = std::move(pair);
  }
  best.linear_fit = linear;
  return best;
}

std::vector<MeasuredTest> measure_triple(const NodeSums& sums, const Vector& moments, const Pair& pair, int64_t rows,
                                         const AnyCriterion& criterion, double min_weight) {
  MeasuredTest root;
  std::tie(root.left, root.right) = divide(sums, pair.u.data(), rows);
  set_gain(criterion, root);
  auto [on_left, on_right] = divide_channels(sums, pair.u.data());
  root.test.feature = kLinear;
  root.test.weights = pair.u;
  Vector opposite = pair.v;
  for (double& x : opposite) x = -x;
  auto left = measure(child_of(sums, moments, pair.u, std::move(on_left), -1), opposite, rows, criterion, min_weight);
  auto right = measure(child_of(sums, moments, pair.u, std::move(on_right), 1), pair.v, rows, criterion, min_weight);
  if (left.empty() || right.empty()) return {};
  return {std::move(root), std::move(left.front()), std::move(right.front())};
}

}  // namespace boscage::stochastic
