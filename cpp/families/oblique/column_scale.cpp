#include "families/oblique/column_scale.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "base/index.hpp"

namespace boscage {

namespace {

constexpr int64_t kRowsPerCheck = 1024;  // whether the caller asked to stop
constexpr double kSmallestHalf = 1e-290;

struct Ranges {
  explicit Ranges(size_t columns)
      : low(columns, std::numeric_limits<double>::infinity()),
        high(columns, -std::numeric_limits<double>::infinity()) {}

  void add(size_t column, double x) {  // NaN changes nothing
    low[column] = std::fmin(low[column], x);
    high[column] = std::fmax(high[column], x);
  }

  std::vector<double> low, high;
};

template <class T>
void add_row(const Matrix<T>& X, int64_t row, Ranges& ranges, std::vector<int64_t>&) {
  for (int64_t j = 0; j < X.columns; ++j) ranges.add(to_size(j), static_cast<double>(X(row, j)));
}

template <class T, class Index>
void add_row(const SparseRows<T, Index>& X, int64_t row, Ranges& ranges, std::vector<int64_t>& stored) {
  const auto [begin, end] = X.range(row);
  for (int64_t k = begin; k < end; ++k) {
    const auto column = to_size(X.column(k));
    ranges.add(column, static_cast<double>(X.data[k]));
    ++stored[column];
  }
}

template <class Rows>
constexpr bool kIsSparse = false;
template <class T, class Index>
constexpr bool kIsSparse<SparseRows<T, Index>> = true;

template <class Rows>
Ranges ranges_of(const Rows& X, std::span<const double> weight, const Control& control) {
  const auto columns = to_size(X.columns);
  Ranges ranges(columns);
  std::vector<int64_t> stored(kIsSparse<Rows> ? columns : 0, 0);
  int64_t rows = 0;
  for (int64_t row = 0; row < X.rows; ++row) {
    if (row % kRowsPerCheck == 0) control.check();
    if (!weight.empty() && !(weight[to_size(row)] > 0)) continue;
    ++rows;
    add_row(X, row, ranges, stored);
  }
  for (size_t j = 0; j < stored.size(); ++j)
    if (stored[j] < rows) ranges.add(j, 0.0);  // an entry that is not stored
  return ranges;
}

}  // namespace

void scale_by_range(const AnyRows& X, std::span<const double> weight, const Control& control, Scaling& scaling) {
  const Ranges ranges = std::visit([&](const auto& rows) { return ranges_of(rows, weight, control); }, X);
  for (size_t j = 0; j < scaling.inverse.size(); ++j) {
    if (!(scaling.inverse[j] > 0)) continue;  // constant, or missing everywhere
    const double half = 0.5 * ranges.high[j] - 0.5 * ranges.low[j];
    scaling.centre[j] = 0.5 * ranges.low[j] + 0.5 * ranges.high[j];
    scaling.inverse[j] = half > kSmallestHalf ? 1.0 / half : 0.0;
  }
}

}  // namespace boscage
