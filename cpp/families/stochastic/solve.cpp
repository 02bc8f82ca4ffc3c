#include "families/stochastic/solve.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/dot.hpp"
#include "base/index.hpp"
#include "grow/number_side.hpp"

namespace boscage::stochastic {

namespace detail {

double inner(const double* x, const double* y, size_t n) { return dot(x, y, static_cast<int64_t>(n)); }
double inner(const Vector& x, const Vector& y) { return inner(x.data(), y.data(), x.size()); }

void normalise(Vector& w) {
  double largest = 0;
  for (const double x : w) largest = std::max(largest, std::abs(x));
  if (!(largest > 0)) return;
  for (double& x : w) x /= largest;
  const double length = std::sqrt(inner(w, w));
  for (double& x : w) x /= length;
}

Shares::Shares(const NodeSums& sums) : width(to_size(sums.width)) {
  for (int32_t k = 0; k < sums.classes; ++k) {
    if (!(sums.weight[to_size(k)] > 0)) continue;
    present.push_back(k);
    total += sums.weight[to_size(k)];
  }
  a.assign(width, 0.0);
  for (const int32_t k : present) {
    rho.push_back(sums.weight[to_size(k)] / total);
    for (size_t j = 0; j < width; ++j) {
      b.push_back(sums.of(k)[j] / total);
      a[j] += b.back();
    }
  }
  spread = 1 - inner(a, a);
  c.resize(b.size());
  sums.centred.empty() ? difference_of_means() : direct_differences(sums);
  for (size_t k = 0; k < classes(); ++k) {  // a difference of equal vectors is rounding
    double* row = c.data() + k * width;
    if (std::sqrt(inner(row, row, width)) <= 1e-12 * size_of(k)) std::fill_n(row, width, 0.0);
  }
}

double Shares::size_of(size_t k) const {
  return std::sqrt(inner(b_of(k), b_of(k), width)) + rho[k] * std::sqrt(inner(a, a));
}

void Shares::difference_of_means() {
  if (classes() == 2) {  // rho_0 b_1 - rho_1 b_0: no share is formed from the other side
    for (size_t j = 0; j < width; ++j) c[width + j] = rho[0] * b[width + j] - rho[1] * b[j];
    for (size_t j = 0; j < width; ++j) c[j] = -c[width + j];
  } else {
    for (size_t k = 0; k < classes(); ++k)
      for (size_t j = 0; j < width; ++j) c[k * width + j] = b[k * width + j] - rho[k] * a[j];
  }
}

// The centred sums add up to what the mean row was wrong by: each class takes its share of it.
void Shares::direct_differences(const NodeSums& sums) {
  spread = sums.spread;
  Vector rest(width, 0.0);
  for (size_t k = 0; k < classes(); ++k) {
    const double* mine = sums.centred.data() + static_cast<int64_t>(width) * present[k];
    for (size_t j = 0; j < width; ++j) rest[j] += c[k * width + j] = mine[j] / total;
  }
  for (size_t k = 0; k < classes(); ++k)
    for (size_t j = 0; j < width; ++j) c[k * width + j] -= rho[k] * rest[j];
}

namespace {

// z + (a.z)/(1 - |a|²) a, of unit length.
Vector lift(const Shares& node, Vector z) {
  const double factor = inner(node.a, z) / node.spread;
  for (size_t j = 0; j < node.width; ++j) z[j] += factor * node.a[j];
  normalise(z);
  return z;
}

// The top eigenvector; in an eigenspace of several dimensions the longest projection of a unit vector.
Vector top_vector(const Eigen& eigen, size_t n) {
  size_t same = 1;
  while (same < n && eigen.values[0] - eigen.values[same] <= 1e-10 * eigen.values[0]) ++same;
  if (same == 1) return {eigen.vectors.begin(), eigen.vectors.begin() + static_cast<std::ptrdiff_t>(n)};
  size_t best = 0;
  double longest = -1;
  for (size_t j = 0; j < n; ++j) {
    double length = 0;
    for (size_t i = 0; i < same; ++i) length += eigen.vectors[i * n + j] * eigen.vectors[i * n + j];
    if (length > longest + 1e-9) {
      longest = length;
      best = j;
    }
  }
  Vector u(n, 0.0);
  for (size_t i = 0; i < same; ++i)
    for (size_t j = 0; j < n; ++j) u[j] += eigen.vectors[i * n + best] * eigen.vectors[i * n + j];
  return u;
}

void divide_by_trace(Vector& matrix, size_t n) {
  double trace = 0;
  for (size_t i = 0; i < n; ++i) trace += matrix[i * n + i];
  if (trace > 0)
    for (double& x : matrix) x /= trace;
}

// The K x K problem C Cᵀ + (C a)(C a)ᵀ / spread: its top vector u gives z = Cᵀ u.
Vector by_classes(const Shares& node) {
  const size_t k = node.classes();
  Vector along(k), matrix(k * k);
  for (size_t i = 0; i < k; ++i) along[i] = inner(node.c_of(i), node.a.data(), node.width);
  for (size_t i = 0; i < k; ++i)
    for (size_t j = 0; j <= i; ++j)
      matrix[i * k + j] = matrix[j * k + i] =
          inner(node.c_of(i), node.c_of(j), node.width) + along[i] * along[j] / node.spread;
  divide_by_trace(matrix, k);
  const Vector u = top_vector(symmetric_eigen(std::move(matrix), k), k);
  Vector z(node.width, 0.0);
  for (size_t i = 0; i < k; ++i)
    for (size_t j = 0; j < node.width; ++j) z[j] += u[i] * node.c_of(i)[j];
  return lift(node, std::move(z));
}

// The d x d problem T Cᵀ C T, T = (I - a aᵀ)^(-1/2), for fewer columns than classes.
Vector by_columns(const Shares& node) {
  const size_t d = node.width;
  const double square = inner(node.a, node.a);
  const double factor = square > 0 ? (1 / std::sqrt(node.spread) - 1) / square : 0;
  Vector matrix(d * d, 0.0), row(d);
  for (size_t k = 0; k < node.classes(); ++k) {
    const double along = factor * inner(node.c_of(k), node.a.data(), d);
    for (size_t j = 0; j < d; ++j) row[j] = node.c_of(k)[j] + along * node.a[j];
    for (size_t i = 0; i < d; ++i)
      for (size_t j = 0; j < d; ++j) matrix[i * d + j] += row[i] * row[j];
  }
  divide_by_trace(matrix, d);
  Vector w = top_vector(symmetric_eigen(std::move(matrix), d), d);
  const double along = factor * inner(w, node.a);
  for (size_t j = 0; j < d; ++j) w[j] += along * node.a[j];
  normalise(w);
  return w;
}

size_t longest_class(const Shares& node) {
  size_t best = 0;
  double longest = -1;
  for (size_t k = 0; k < node.classes(); ++k) {
    const double length = inner(node.c_of(k), node.c_of(k), node.width);
    if (length > longest) {
      longest = length;
      best = k;
    }
  }
  return best;
}

// Many classes and columns: w <- (I - a aᵀ)⁻¹ Cᵀ C w until the drop no longer rises.
Vector by_power(const Shares& node) {
  const double* start = node.c_of(longest_class(node));
  Vector w = lift(node, Vector(start, start + node.width));
  double before = 0;
  for (int step = 0; step < 1000; ++step) {
    Vector z(node.width, 0.0);
    double value = 0;
    for (size_t k = 0; k < node.classes(); ++k) {
      const double along = inner(node.c_of(k), w.data(), node.width);
      value += along * along;
      for (size_t j = 0; j < node.width; ++j) z[j] += along * node.c_of(k)[j];
    }
    const double tilt = inner(node.a, w);
    value /= 1 - tilt * tilt;
    w = lift(node, std::move(z));
    if (value - before <= 1e-14 * value) break;
    before = value;
  }
  return w;
}

Vector gini_direction(const Shares& node) {
  if (node.classes() == 2) {
    const double* c = node.c_of(1);
    return lift(node, Vector(c, c + node.width));
  }
  constexpr size_t kLargest = 96;  // of a full eigenproblem
  if (std::min(node.classes(), node.width) > kLargest) return by_power(node);
  return node.classes() <= node.width ? by_classes(node) : by_columns(node);
}

// Right means the later class of two; of more, the largest component is positive.
void fix_sign(const Shares& node, Vector& w) {
  double mark = 0;
  if (node.classes() == 2) mark = inner(node.c_of(1), w.data(), node.width);
  if (mark == 0) {
    for (const double x : w)
      if (std::abs(x) > std::abs(mark) * (1 + 1e-9)) mark = x;
  }
  if (mark < 0)
    for (double& x : w) x = -x;
}

}  // namespace

}  // namespace detail

bool needs_direct_sums(const NodeSums& sums) {
  constexpr double kFewDigits = 1e-6;
  const detail::Shares node(sums);
  if (node.classes() < 2) return false;
  double longest = 0, size = 0;
  for (size_t k = 0; k < node.classes(); ++k) {
    longest = std::max(longest, std::sqrt(detail::inner(node.c_of(k), node.c_of(k), node.width)));
    size = std::max(size, node.size_of(k));
  }
  return longest > 0 && (longest < kFewDigits * size || node.spread < kFewDigits);
}

Vector solve(const NodeSums& sums, const AnyCriterion& criterion, const SolveSettings& settings) {
  using namespace detail;
  const Shares node(sums);
  if (node.classes() < 2 || !(node.spread >= settings.smallest_spread)) return {};
  double longest = 0;
  for (const double x : node.c) {
    if (!std::isfinite(x)) return {};
    longest = std::max(longest, std::abs(x));
  }
  if (longest == 0) return {};
  Vector w;
  if (settings.search == Search::fixed_pq) {
    w = fixed_pq(node, settings.epsilon, settings.control);
  } else if (settings.search == Search::fixed_p_search_q) {
    w = fixed_p_search_q(node, settings.epsilon);
  } else if (std::holds_alternative<Gini>(criterion) || sums.numbers) {
    w = gini_direction(node);
  } else if (node.classes() == 2) {
    w = search_circle(node, criterion);
  } else {
    w = search_sphere(node, criterion, gini_direction(node));
  }
  if (!w.empty()) fix_sign(node, w);
  return w;
}

Side side_of_channels(Vector weight, int64_t rows, const NumberFacts* numbers) {
  if (numbers == nullptr) {
    Side side;
    side.rows = rows;
    side.sums = std::move(weight);
    return side;
  }
  const size_t outputs = numbers->outputs.size();
  NumberSums sums(outputs);
  sums.rows = rows;
  sums.sums[0] = std::accumulate(weight.begin(), weight.end() - 1, 0.0);
  for (size_t j = 0; j < outputs; ++j)
    sums.sums[j + 1] = (weight[2 * j + 1] - weight[2 * j]) * static_cast<double>(outputs);
  sums.outputs = numbers->outputs;
  sums.report = weight.back();
  return number_side(std::move(sums), numbers->grid);
}

std::pair<Vector, Vector> divide_channels(const NodeSums& sums, const double* w) {
  Vector left, right;
  const auto divide = [&](double weight, const double* sum) {
    const double tilt = weight > 0 ? std::clamp(dot(sum, w, sums.width), -weight, weight) : 0.0;
    const auto side = [&](double part) { return part <= 1e-12 * weight ? 0.0 : part; };
    left.push_back(side((weight - tilt) / 2));
    right.push_back(side((weight + tilt) / 2));
  };
  for (int32_t k = 0; k < sums.classes; ++k) divide(sums.weight[to_size(k)], sums.of(k));
  if (sums.numbers) divide(sums.square_weight, sums.squares.data());
  return {std::move(left), std::move(right)};
}

std::pair<Side, Side> divide(const NodeSums& sums, const double* w, int64_t rows) {
  auto [left, right] = divide_channels(sums, w);
  return {side_of_channels(std::move(left), rows, sums.numbers.get()),
          side_of_channels(std::move(right), rows, sums.numbers.get())};
}

void set_gain(const AnyCriterion& criterion, MeasuredTest& found) {
  const double *left = found.left.sums.data(), *right = found.right.sums.data();
  const auto size = static_cast<int>(found.left.sums.size());
  if (found.left.numbers) {
    found.gain = found.drop = SquaredError{}.gain(right, left, size);
    return;
  }
  visit_classes(
      [&](const auto& g) {
        found.gain = g.gain(right, left, size);
        found.drop = g.drop(right, left, size);
      },
      criterion);
}

std::vector<MeasuredTest> measure(const NodeSums& sums, const Vector& w, int64_t rows, const AnyCriterion& criterion,
                                  double min_weight) {
  if (w.empty()) return {};
  MeasuredTest found;
  std::tie(found.left, found.right) = divide(sums, w.data(), rows);
  const double left = found.left.weight(), right = found.right.weight();
  if (!(left > 0 && right > 0) || left < min_weight || right < min_weight) return {};
  set_gain(criterion, found);
  if (!(found.drop > 1e-13 * potential_of(sums, criterion))) return {};
  found.test.feature = kLinear;
  found.test.weights = w;
  return {std::move(found)};
}

double potential_of(const NodeSums& sums, const AnyCriterion& criterion) {
  if (!sums.numbers)
    return visit_classes([&](const auto& g) { return g.total(sums.weight.data(), sums.classes); }, criterion);
  Vector weight = sums.weight;
  weight.push_back(sums.square_weight);
  const Side all = side_of_channels(std::move(weight), 0, sums.numbers.get());
  return SquaredError{}.total(all.sums.data(), static_cast<int>(all.sums.size()), all.numbers->report);
}

}  // namespace boscage::stochastic
