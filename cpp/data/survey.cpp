#include "data/survey.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/array.hpp"
#include "base/index.hpp"

namespace boscage {

namespace {

constexpr int64_t kRowsAtOnce = 4096, kLanes = 16;

template <class T>
void see(T x, T& low, T& high, T& flaw) {
  low = x < low ? x : low;
  high = x > high ? x : high;
  flaw += x - x;  // 0 for finite numbers, else NaN
}

// A stretch of one column in lanes, which the compiler makes wide.
template <class T>
void see_column(const T* x, int64_t n, T& low, T& high, T& flaw) {
  T lows[kLanes], highs[kLanes], flaws[kLanes] = {};
  std::fill(lows, lows + kLanes, low);
  std::fill(highs, highs + kLanes, high);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t k = 0; k < kLanes; ++k) see(x[i + k], lows[k], highs[k], flaws[k]);
  for (; i < n; ++i) see(x[i], lows[0], highs[0], flaws[0]);
  low = *std::min_element(lows, lows + kLanes);
  high = *std::max_element(highs, highs + kLanes);
  for (const T lane : flaws) flaw += lane;
}

template <class T>
bool has_nan(const Matrix<T>& X) {
  for (int64_t i = 0; i < X.rows; ++i)
    for (int64_t j = 0; j < X.columns; ++j)
      if (std::isnan(X(i, j))) return true;
  return false;
}

}  // namespace

template <class T>
ColumnSurvey<T> survey_columns(const Matrix<T>& X, Pool& pool, const Control& control) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const auto d = X.columns;
  ColumnSurvey<T> all{Array<T>(d, infinity), Array<T>(d, -infinity)};
  Array<ColumnSurvey<T>> parts(pool.threads(), all);
  Array<Array<T>> flaws(parts.size(), Array<T>(d));
  pool.parallel_for((X.rows + kRowsAtOnce - 1) / kRowsAtOnce, [&](int64_t chunk, int thread) {
    control.check();
    ColumnSurvey<T>& mine = parts[thread];
    auto& flaw = flaws[thread];
    const int64_t begin = chunk * kRowsAtOnce, end = std::min(begin + kRowsAtOnce, X.rows);
    if (X.row_stride == 1) {
      for (int64_t j = 0; j < d; ++j)
        see_column(X.data + begin + static_cast<int64_t>(j) * X.column_stride, end - begin, mine.low[j], mine.high[j],
                   flaw[j]);
    } else {
      for (int64_t i = begin; i < end; ++i)
        for (int64_t j = 0; j < d; ++j) see(X(i, static_cast<int64_t>(j)), mine.low[j], mine.high[j], flaw[j]);
    }
  });
  bool is_finite = true;
  for (int64_t t = 0; t < parts.size(); ++t) {
    for (int64_t j = 0; j < d; ++j) {
      all.low[j] = std::min(all.low[j], parts[t].low[j]);
      all.high[j] = std::max(all.high[j], parts[t].high[j]);
      is_finite = is_finite && flaws[t][j] == 0;
    }
  }
  if (is_finite) return all;
  all.has_missing = has_nan(X);
  for (int64_t j = 0; j < d; ++j)
    all.has_infinity =
        all.has_infinity || (all.low[j] <= all.high[j] && (std::isinf(all.low[j]) || std::isinf(all.high[j])));
  return all;
}

double ColumnRanges::largest(size_t j) const { return std::max(std::abs(low[j]), std::abs(high[j])); }

double ColumnRanges::unit(size_t j) const {
  int exponent = 0;
  std::frexp(high[j] / 2 - low[j] / 2, &exponent);
  return std::ldexp(1.0, std::clamp(exponent, -1000, 1000));
}

namespace {

// What one thread has seen.
struct SeenRows {
  explicit SeenRows(size_t columns)
      : ranges{std::vector<double>(columns, std::numeric_limits<double>::infinity()),
               std::vector<double>(columns, -std::numeric_limits<double>::infinity())},
        stored(columns, 0) {}

  void add(size_t column, double x) {
    ranges.low[column] = std::min(ranges.low[column], x);
    ranges.high[column] = std::max(ranges.high[column], x);
  }

  void merge(const SeenRows& other) {
    rows += other.rows;
    for (size_t j = 0; j < stored.size(); ++j) {
      ranges.low[j] = std::min(ranges.low[j], other.ranges.low[j]);
      ranges.high[j] = std::max(ranges.high[j], other.ranges.high[j]);
      stored[j] += other.stored[j];
    }
  }

  ColumnRanges ranges;
  std::vector<int64_t> stored;
  int64_t rows = 0;
};

}  // namespace

template <class Rows>
ColumnRanges column_ranges(const Rows& X, std::span<const double> weight, Pool& pool, const Control& control) {
  if constexpr (!is_sparse<Rows>) {
    if (weight.empty()) {
      const auto found = survey_columns(X, pool, control);
      return {{found.low.begin(), found.low.end()}, {found.high.begin(), found.high.end()}};
    }
  }
  std::vector<SeenRows> parts(to_size(pool.threads()), SeenRows(to_size(X.columns)));
  pool.parallel_for((X.rows + kRowsAtOnce - 1) / kRowsAtOnce, [&](int64_t chunk, int thread) {
    control.check();
    SeenRows& mine = parts[to_size(thread)];
    const int64_t begin = chunk * kRowsAtOnce, end = std::min(begin + kRowsAtOnce, X.rows);
    for (int64_t row = begin; row < end; ++row) {
      if (!weight.empty() && !(weight[to_size(row)] > 0)) continue;
      ++mine.rows;
      for_entries(X, row, [&](int64_t j, double x) {
        mine.add(to_size(j), x);
        ++mine.stored[to_size(j)];
      });
    }
  });
  SeenRows& all = parts[0];
  for (size_t t = 1; t < parts.size(); ++t) all.merge(parts[t]);
  for (size_t j = 0; j < all.stored.size(); ++j)
    if (all.stored[j] < all.rows) all.add(j, 0.0);
  return std::move(all.ranges);
}

template ColumnSurvey<float> survey_columns(const Matrix<float>&, Pool&, const Control&);
template ColumnSurvey<double> survey_columns(const Matrix<double>&, Pool&, const Control&);

#define BOSCAGE_RANGES(...) \
  template ColumnRanges column_ranges(const __VA_ARGS__&, std::span<const double>, Pool&, const Control&);
BOSCAGE_RANGES(Matrix<float>)
BOSCAGE_RANGES(Matrix<double>)
BOSCAGE_RANGES(SparseRows<float, int32_t>)
BOSCAGE_RANGES(SparseRows<float, int64_t>)
BOSCAGE_RANGES(SparseRows<double, int32_t>)
BOSCAGE_RANGES(SparseRows<double, int64_t>)

}  // namespace boscage
