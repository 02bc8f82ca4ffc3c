#include "data/survey.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/array.hpp"

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

template ColumnSurvey<float> survey_columns(const Matrix<float>&, Pool&, const Control&);
template ColumnSurvey<double> survey_columns(const Matrix<double>&, Pool&, const Control&);

}  // namespace boscage
