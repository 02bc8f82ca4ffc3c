#include "families/oblique/eigen.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/dot.hpp"

namespace boscage {

namespace {

constexpr size_t kLargestJacobi = 40;
constexpr int kSweeps = 30, kPowers = 300;

void rotate(double* a, double* b, size_t size, size_t stride, double c, double s) {
  for (size_t i = 0; i < size; ++i) {
    const double x = a[i * stride], y = b[i * stride];
    a[i * stride] = c * x - s * y;
    b[i * stride] = s * x + c * y;
  }
}

void make_largest_positive(double* v, size_t d) {
  const double* largest = std::max_element(v, v + d, [](double a, double b) { return std::abs(a) < std::abs(b); });
  if (*largest < 0)
    for (size_t i = 0; i < d; ++i) v[i] = -v[i];
}

// Every pair of axes rotated once; false if it was over before.
bool sweep(std::vector<double>& matrix, std::vector<double>& vectors, size_t d, const IsOver& is_over) {
  for (size_t p = 0; p < d; ++p) {
    if (is_over()) return false;
    for (size_t q = p + 1; q < d; ++q) {
      if (matrix[p * d + q] == 0) continue;
      const double ratio = (matrix[q * d + q] - matrix[p * d + p]) / (2 * matrix[p * d + q]);
      const double t = (ratio < 0 ? -1.0 : 1.0) / (std::abs(ratio) + std::sqrt(1 + ratio * ratio));
      const double c = 1 / std::sqrt(1 + t * t), s = t * c;
      rotate(&matrix[p * d], &matrix[q * d], d, 1, c, s);
      rotate(&matrix[p], &matrix[q], d, d, c, s);
      rotate(&vectors[p * d], &vectors[q * d], d, 1, c, s);
    }
  }
  return true;
}

}  // namespace

Eigen eigen_of(std::vector<double> matrix, size_t d, const IsOver& is_over) {
  std::vector<double> vectors(d * d, 0.0);
  for (size_t i = 0; i < d; ++i) vectors[i * d + i] = 1.0;
  double all = 0;
  for (const double value : matrix) all += value * value;
  for (int i = 0; i < kSweeps; ++i) {
    double off = 0;
    for (size_t p = 0; p < d; ++p)
      for (size_t q = p + 1; q < d; ++q) off += matrix[p * d + q] * matrix[p * d + q];
    if (off <= 1e-28 * all || !sweep(matrix, vectors, d, is_over)) break;
  }
  std::vector<size_t> order(d);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return matrix[a * d + a] > matrix[b * d + b]; });
  Eigen out;
  for (const size_t k : order) {
    make_largest_positive(&vectors[k * d], d);
    out.values.push_back(matrix[k * d + k]);
    out.vectors.insert(out.vectors.end(), vectors.begin() + static_cast<std::ptrdiff_t>(k * d),
                       vectors.begin() + static_cast<std::ptrdiff_t>((k + 1) * d));
  }
  return out;
}

std::vector<double> leading_vector(std::vector<double> matrix, size_t d, const IsOver& is_over) {
  double trace = 0;
  for (size_t i = 0; i < d; ++i) trace += matrix[i * d + i];
  if (!(trace > 0)) return {};
  if (d <= kLargestJacobi) {
    auto found = eigen_of(std::move(matrix), d, is_over);
    found.vectors.resize(d);
    return found.vectors;
  }
  // Start at the row of the largest diagonal entry: it has a part in the leading direction.
  size_t start = 0;
  for (size_t i = 1; i < d; ++i)
    if (matrix[i * d + i] > matrix[start * d + start]) start = i;
  std::vector<double> v(matrix.begin() + static_cast<std::ptrdiff_t>(start * d),
                        matrix.begin() + static_cast<std::ptrdiff_t>((start + 1) * d)),
      next(d);
  double value = 0;
  for (int power = 0; power < kPowers && !is_over(); ++power) {
    const double length = std::sqrt(dot(v.data(), v.data(), static_cast<int64_t>(d)));
    for (double& x : v) x /= length;
    for (size_t i = 0; i < d; ++i) next[i] = dot(&matrix[i * d], v.data(), static_cast<int64_t>(d));
    const double now = dot(v.data(), next.data(), static_cast<int64_t>(d));
    v.swap(next);
    if (std::abs(now - value) <= 1e-9 * now) break;
    value = now;
  }
  const double length = std::sqrt(dot(v.data(), v.data(), static_cast<int64_t>(d)));
  for (double& x : v) x /= length;
  make_largest_positive(v.data(), d);
  return v;
}

}  // namespace boscage
