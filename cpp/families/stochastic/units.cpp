#include "families/stochastic/units.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/index.hpp"

namespace boscage::stochastic {

namespace {

// Columns whose largest number is between these are added up as they are: weights sum to at most 2^61.
constexpr double kLarge = 0x1p300, kSmall = 0x1p-300;
// A column that is so many times as large as its range loses too many digits where its mean is taken off late.
constexpr double kFar = 0x1p26;
// Rows that are only divided by their norm: from here on their sums could overflow, and reciprocal norms vanish.
constexpr double kOverflows = 0x1p800, kAway = 0x1p-300;

// The power of two that brings a number near 1, as far as it can be represented.
double unit_of(double size) {
  int exponent = 0;
  std::frexp(size, &exponent);
  return std::ldexp(1.0, std::min(-exponent, 1023));
}

double read(const ColumnUnits& units, size_t j, double x) { return (x - units.centre[j]) * units.unit[j]; }

}  // namespace

Range ColumnUnits::of(Range range) const {
  for (size_t j = 0; j < unit.size(); ++j) {
    range.low[j] = read(*this, j, range.low[j]);
    range.high[j] = read(*this, j, range.high[j]);
  }
  return range;
}

double ColumnUnits::settle(double shift, size_t j) const {
  return is_empty() ? shift : read(*this, j, centre[j] + shift / unit[j]);
}

void ColumnUnits::undo(std::vector<double>& shift, std::vector<double>& factor) const {
  for (size_t j = 0; j < unit.size(); ++j) {
    if (!shift.empty()) shift[j] = centre[j] + shift[j] / unit[j];
    if (!factor.empty()) factor[j] *= unit[j];
  }
}

ColumnUnits find_units(const Range& range) {
  const size_t d = range.low.size();
  ColumnUnits units{std::vector<double>(d, 0.0), std::vector<double>(d, 1.0)};
  bool is_needed = false;
  for (size_t j = 0; j < d; ++j) {
    double size = range.largest(j);
    const double width = range.high[j] - range.low[j];
    if (width > 0 && size > kFar * width) {
      units.centre[j] = range.low[j] / 2 + range.high[j] / 2;
      size = width;
      is_needed = true;
    }
    if (!(size > 0) || (size >= kSmall && size <= kLarge)) continue;
    units.unit[j] = unit_of(size);
    is_needed = true;
  }
  return is_needed ? units : ColumnUnits{};
}

ColumnUnits common_unit(const Range& range) {
  const size_t d = range.low.size();
  double largest = 0;
  for (size_t j = 0; j < d; ++j) largest = std::max(largest, range.largest(j));
  if (largest < kOverflows) return {};
  return {std::vector<double>(d, 0.0), std::vector<double>(d, kAway)};
}

Matrix<double> read_rows(const Matrix<double>& X, const ColumnUnits& units, std::vector<double>& values) {
  values.resize(to_size(X.rows * X.columns));
  for (int64_t row = 0; row < X.rows; ++row)
    for (int64_t j = 0; j < X.columns; ++j) values[to_size(row * X.columns + j)] = read(units, to_size(j), X(row, j));
  return {values.data(), X.rows, X.columns, X.columns, 1};
}

template <class Index>
SparseRows<double, Index> read_rows(const SparseRows<double, Index>& X, const ColumnUnits& units,
                                    std::vector<double>& values) {
  values.resize(to_size(X.stored));
  for (int64_t k = 0; k < X.stored; ++k) values[to_size(k)] = read(units, to_size(X.column(k)), X.data[k]);
  SparseRows<double, Index> rows = X;
  rows.data = values.data();
  return rows;
}

template SparseRows<double, int32_t> read_rows(const SparseRows<double, int32_t>&, const ColumnUnits&,
                                               std::vector<double>&);
template SparseRows<double, int64_t> read_rows(const SparseRows<double, int64_t>&, const ColumnUnits&,
                                               std::vector<double>&);

}  // namespace boscage::stochastic
