#include "numeric/linear_algebra.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/dot.hpp"

namespace boscage {

namespace {

using Vector = std::vector<double>;

double product(const double* a, const double* b, size_t n) { return dot(a, b, static_cast<int64_t>(n)); }

// One Jacobi rotation that clears entry (p, q).
void rotate(Vector& a, Vector& v, size_t n, size_t p, size_t q) {
  const double apq = a[p * n + q];
  if (apq == 0) return;
  const double ratio = (a[q * n + q] - a[p * n + p]) / (2 * apq);
  const double t = (ratio >= 0 ? 1.0 : -1.0) / (std::abs(ratio) + std::hypot(1.0, ratio));
  const double c = 1 / std::sqrt(1 + t * t), s = t * c;
  for (size_t i = 0; i < n; ++i) {
    const double x = a[i * n + p], y = a[i * n + q];
    a[i * n + p] = c * x - s * y;
    a[i * n + q] = s * x + c * y;
  }
  for (size_t i = 0; i < n; ++i) {
    const double x = a[p * n + i], y = a[q * n + i];
    a[p * n + i] = c * x - s * y;
    a[q * n + i] = s * x + c * y;
  }
  a[p * n + q] = a[q * n + p] = 0;
  for (size_t i = 0; i < n; ++i) {
    const double x = v[p * n + i], y = v[q * n + i];
    v[p * n + i] = c * x - s * y;
    v[q * n + i] = s * x + c * y;
  }
}

template <class Before>
Eigen sorted(const Vector& values, const Vector& vectors, size_t n, size_t kept, Before before) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), before);
  Eigen found;
  for (size_t i = 0; i < kept; ++i) {
    found.values.push_back(values[order[i]]);
    const double* row = vectors.data() + order[i] * n;
    found.vectors.insert(found.vectors.end(), row, row + n);
  }
  return found;
}

// Makes the rows of `basis` orthonormal, in order; rows that vanish become unit vectors and are tried again.
void orthonormalise(Vector& basis, size_t rows, size_t n) {
  size_t spare = 0;
  for (size_t i = 0; i < rows; ++i) {
    double* row = basis.data() + i * n;
    while (true) {
      const double before = std::sqrt(product(row, row, n));
      for (int again = 0; again < 2; ++again) {
        for (size_t j = 0; j < i; ++j) {
          const double* other = basis.data() + j * n;
          const double along = product(row, other, n);
          for (size_t k = 0; k < n; ++k) row[k] -= along * other[k];
        }
      }
      const double length = std::sqrt(product(row, row, n));
      if (length > 1e-12 * before && length > 0) {
        for (size_t k = 0; k < n; ++k) row[k] /= length;
        break;
      }
      std::fill_n(row, n, 0.0);
      row[spare++ % n] = 1;
    }
  }
}

Vector times(const Vector& matrix, const Vector& rows, size_t count, size_t n) {
  Vector out(count * n);
  for (size_t i = 0; i < count; ++i)
    for (size_t j = 0; j < n; ++j) out[i * n + j] = product(matrix.data() + j * n, rows.data() + i * n, n);
  return out;
}

}  // namespace

void make_largest_positive(double* v, size_t n) {
  const double* largest = std::max_element(v, v + n, [](double a, double b) { return std::abs(a) < std::abs(b); });
  if (*largest < 0)
    for (size_t i = 0; i < n; ++i) v[i] = -v[i];
}

Eigen symmetric_eigen(Vector a, size_t n, const IsOver& is_over) {
  Vector v(n * n, 0.0);
  for (size_t i = 0; i < n; ++i) v[i * n + i] = 1;
  double size = 0;
  for (const double x : a) size += x * x;
  bool over = false;
  for (int sweep = 0; sweep < 60 && !over; ++sweep) {
    double off = 0;
    for (size_t p = 0; p < n; ++p)
      for (size_t q = p + 1; q < n; ++q) off += a[p * n + q] * a[p * n + q];
    if (off <= 1e-32 * size) break;
    for (size_t p = 0; p < n && !over; ++p) {
      over = is_over && is_over();
      for (size_t q = p + 1; q < n && !over; ++q) rotate(a, v, n, p, q);
    }
  }
  Vector values(n);
  for (size_t i = 0; i < n; ++i) values[i] = a[i * n + i];
  return sorted(values, v, n, n, [&](size_t i, size_t j) { return values[i] > values[j]; });
}

Eigen leading_eigen(const Vector& matrix, size_t n, size_t count, const IsOver& is_over) {
  const auto by_size = [](const Vector& values) {
    return [&values](size_t i, size_t j) { return std::abs(values[i]) > std::abs(values[j]); };
  };
  if (n <= 24) {
    const Eigen all = symmetric_eigen(matrix, n, is_over);
    return sorted(all.values, all.vectors, n, std::min(count, n), by_size(all.values));
  }
  const size_t wide = std::min(n, count + 6);
  // Start with the longest columns: fixed, and never orthogonal to all that matters.
  Vector lengths(n);
  for (size_t j = 0; j < n; ++j) lengths[j] = product(matrix.data() + j * n, matrix.data() + j * n, n);
  Vector basis = sorted(lengths, matrix, n, wide, [&](size_t i, size_t j) { return lengths[i] > lengths[j]; }).vectors;
  Eigen ritz;
  double before = -1;
  for (int step = 0; step < 200; ++step) {
    orthonormalise(basis, wide, n);
    Vector image = times(matrix, basis, wide, n);
    Vector small(wide * wide);
    for (size_t i = 0; i < wide; ++i)
      for (size_t j = 0; j < wide; ++j)
        small[i * wide + j] = 0.5 * (product(basis.data() + i * n, image.data() + j * n, n) +
                                     product(basis.data() + j * n, image.data() + i * n, n));
    const Eigen turned = symmetric_eigen(small, wide, is_over);
    Vector vectors(wide * n, 0.0);
    for (size_t i = 0; i < wide; ++i)
      for (size_t k = 0; k < wide; ++k)
        for (size_t j = 0; j < n; ++j) vectors[i * n + j] += turned.vectors[i * wide + k] * basis[k * n + j];
    ritz = sorted(turned.values, vectors, n, count, by_size(turned.values));
    double sizes = 0;
    for (const double value : ritz.values) sizes += std::abs(value);
    if (std::abs(sizes - before) <= 1e-14 * sizes || (is_over && is_over())) break;
    before = sizes;
    basis = std::move(image);
  }
  return ritz;
}

bool cholesky(Vector& a, size_t n) {
  for (size_t j = 0; j < n; ++j) {
    double* row = a.data() + j * n;
    for (size_t i = 0; i < j; ++i) {
      const double* other = a.data() + i * n;
      row[i] = (row[i] - product(row, other, i)) / other[i];
    }
    const double square = row[j] - product(row, row, j);
    if (!(square > 0)) return false;
    row[j] = std::sqrt(square);
    std::fill(row + j + 1, row + n, 0.0);
  }
  return true;
}

void solve_lower(const Vector& factor, size_t n, double* x) {
  for (size_t i = 0; i < n; ++i) x[i] = (x[i] - product(factor.data() + i * n, x, i)) / factor[i * n + i];
}

void solve_upper(const Vector& factor, size_t n, double* x) {
  for (size_t i = n; i-- > 0;) {
    x[i] /= factor[i * n + i];
    for (size_t j = 0; j < i; ++j) x[j] -= factor[i * n + j] * x[i];
  }
}

bool solve_linear(Vector a, size_t n, Vector& x) {
  for (size_t column = 0; column < n; ++column) {
    size_t pivot = column;
    for (size_t row = column + 1; row < n; ++row)
      if (std::abs(a[row * n + column]) > std::abs(a[pivot * n + column])) pivot = row;
    if (!(std::abs(a[pivot * n + column]) > 0)) return false;
    if (pivot != column) {
      for (size_t j = 0; j < n; ++j) std::swap(a[column * n + j], a[pivot * n + j]);
      std::swap(x[column], x[pivot]);
    }
    for (size_t row = column + 1; row < n; ++row) {
      const double factor = a[row * n + column] / a[column * n + column];
      for (size_t j = column; j < n; ++j) a[row * n + j] -= factor * a[column * n + j];
      x[row] -= factor * x[column];
    }
  }
  for (size_t row = n; row-- > 0;) {
    for (size_t j = row + 1; j < n; ++j) x[row] -= a[row * n + j] * x[j];
    x[row] /= a[row * n + row];
  }
  return true;
}

}  // namespace boscage
