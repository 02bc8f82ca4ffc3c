#include "families/oblique/scaling.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/index.hpp"
#include "base/lanes.hpp"
#include "data/survey.hpp"
#include "numeric/deviation.hpp"
#include "numeric/pairwise_sum.hpp"

namespace boscage {

namespace {

// Where the deviation is less than this share of the mean, sums of plain numbers lose too many digits.
constexpr double kNoiseOfSums = 1e-9;

// What is added up for a value: its distance to a centre in some unit, or the square of that.
struct Measured {
  std::span<const double> inverse_unit, centre;
  bool squared;

  BOSCAGE_INLINE double operator()(double x, size_t column) const {
    const double off = x * inverse_unit[column] - centre[column];
    return squared ? off * off : off;
  }
};

constexpr int kRowsAtOnce = 4;

// Adds `Count` rows that lie side by side, whatever is missing left out; several columns at once.
template <bool squared, int Count, class T>
BOSCAGE_INLINE void add_rows(const T* const* row, const double* w, int64_t columns, const double* __restrict unit,
                             const double* __restrict centre, double* __restrict sums, double* __restrict weights) {
  for (int64_t j = 0; j < columns; ++j) {
    double sum = 0, weight = 0;
    for (int r = 0; r < Count; ++r) {
      const auto x = static_cast<double>(row[r][j]);
      const double off = x * unit[j] - centre[j], added = w[r] * (squared ? off * off : off);
      sum += x == x ? added : 0.0;
      weight += x == x ? w[r] : 0.0;
    }
    sums[j] += sum;
    weights[j] += weight;
  }
}

template <bool squared, class T>
BOSCAGE_INLINE void add_all_rows(const T* X, int64_t row_stride, int64_t rows, int64_t columns, const double* weight,
                                 const Measured& value, double* sums) {
  const double* unit = value.inverse_unit.data();
  const double* centre = value.centre.data();
  for (int64_t i = 0; i < rows; i += kRowsAtOnce) {
    const T* row[kRowsAtOnce];
    double w[kRowsAtOnce];
    const int64_t count = std::min<int64_t>(kRowsAtOnce, rows - i);
    for (int64_t r = 0; r < count; ++r) {
      row[r] = X + (i + r) * row_stride;
      w[r] = weight == nullptr ? 1.0 : weight[i + r];
    }
    if (count == kRowsAtOnce) {
      add_rows<squared, kRowsAtOnce>(row, w, columns, unit, centre, sums, sums + columns);
    } else {
      for (int64_t r = 0; r < count; ++r)
        add_rows<squared, 1>(row + r, w + r, columns, unit, centre, sums, sums + columns);
    }
  }
}

BOSCAGE_CLONES void add_block(const float* X, int64_t row_stride, int64_t rows, int64_t columns, const double* weight,
                              const Measured& value, double* sums) {
  value.squared ? add_all_rows<true>(X, row_stride, rows, columns, weight, value, sums)
                : add_all_rows<false>(X, row_stride, rows, columns, weight, value, sums);
}
BOSCAGE_CLONES void add_block(const double* X, int64_t row_stride, int64_t rows, int64_t columns, const double* weight,
                              const Measured& value, double* sums) {
  value.squared ? add_all_rows<true>(X, row_stride, rows, columns, weight, value, sums)
                : add_all_rows<false>(X, row_stride, rows, columns, weight, value, sums);
}

template <class Rows>
class ColumnSums;

template <class T>
class ColumnSums<Matrix<T>> {
 public:
  ColumnSums(const Matrix<T>& X, std::span<const double> weight, Pool& pool, const Control& control)
      : X_(X), weight_(weight), pool_(pool), control_(control), blocks_(block_count(X.rows)) {}

  // For every column the sum of weight * value(x, column) over the rows that are there, and their weight.
  std::vector<double> operator()(const Measured& value) {
    const int64_t d = X_.columns, width = 2 * d;
    std::vector<double> parts(to_size(std::max<int64_t>(blocks_, 1) * width), 0.0);
    for_blocks(blocks_, pool_.threads() > 1 ? &pool_ : nullptr, [&](int64_t block) {
      control_.check();
      double* sums = parts.data() + block * width;
      const int64_t begin = block * kBlockRows, end = std::min(X_.rows, begin + kBlockRows);
      if (X_.column_stride == 1) {
        add_block(X_.data + begin * X_.row_stride, X_.row_stride, end - begin, d,
                  weight_.empty() ? nullptr : weight_.data() + begin, value, sums);
        return;
      }
      for (int64_t column = 0; column < d; ++column) add_column(column, begin, end, value, sums);
    });
    add_pairwise(parts, blocks_, width);
    return parts;
  }

 private:
  // In the order of add_block, so that the layout of X makes no difference.
  void add_column(int64_t column, int64_t begin, int64_t end, const Measured& value, double* sums) const {
    const int64_t whole = begin + (end - begin) / kRowsAtOnce * kRowsAtOnce;
    double sum = 0, weight = 0;
    for (int64_t row = begin; row < end; ++row) {
      const auto x = static_cast<double>(X_(row, column));
      const double w = weight_.empty() ? 1.0 : weight_[to_size(row)];
      if (!std::isnan(x)) sum += w * value(x, to_size(column));
      if (!std::isnan(x)) weight += w;
      if (row < whole && (row - begin) % kRowsAtOnce != kRowsAtOnce - 1) continue;
      sums[column] += std::exchange(sum, 0.0);
      sums[X_.columns + column] += std::exchange(weight, 0.0);
    }
  }

  const Matrix<T>& X_;
  std::span<const double> weight_;
  Pool& pool_;
  const Control& control_;
  int64_t blocks_;
};

// Rows in order: absent entries are zeros, counted together at the end.
template <class T, class Index>
class ColumnSums<SparseRows<T, Index>> {
 public:
  ColumnSums(const SparseRows<T, Index>& X, std::span<const double> weight, Pool&, const Control& control)
      : X_(X), weight_(weight), control_(control) {}

  std::vector<double> operator()(const Measured& value) {
    const auto d = to_size(X_.columns);
    std::vector<double> sums(2 * d, 0.0), present(d, 0.0), missing(d, 0.0);
    double all = 0;
    for (int64_t row = 0; row < X_.rows; ++row) {
      if (row % kBlockRows == 0) control_.check();
      const double w = weight_.empty() ? 1.0 : weight_[to_size(row)];
      const auto [begin, end] = X_.range(row);
      all += w;
      for (int64_t k = begin; k < end; ++k) {
        const auto column = to_size(X_.column(k));
        const auto x = static_cast<double>(X_.data[k]);
        (std::isnan(x) ? missing : present)[column] += w;
        if (!std::isnan(x)) sums[column] += w * value(x, column);
      }
    }
    for (size_t j = 0; j < d; ++j) {
      sums[d + j] = all - missing[j];
      sums[j] += (sums[d + j] - present[j]) * value(0.0, j);
    }
    return sums;
  }

 private:
  const SparseRows<T, Index>& X_;
  std::span<const double> weight_;
  const Control& control_;
};

// Powers of two near the largest number of each column: in these units no sum or square leaves the range of doubles.
std::vector<double> safe_units(const ColumnRanges& ranges) {
  std::vector<double> units(ranges.low.size(), 1.0);
  for (size_t j = 0; j < units.size(); ++j) {
    const double largest = ranges.largest(j);
    if (largest > 0 && std::isfinite(largest)) units[j] = std::ldexp(1.0, std::clamp(std::ilogb(largest), -1000, 1000));
  }
  return units;
}

bool is_safe(const Scaling& scaling) {
  for (size_t j = 0; j < scaling.mean.size(); ++j) {
    const double mean = std::abs(scaling.mean[j]), deviation = scaling.deviation[j];
    if (!std::isfinite(mean) || !std::isfinite(deviation)) return false;
    if (std::max(mean, deviation) > 0 && std::max(mean, deviation) < 1e-140) return false;
  }
  return true;
}

// Columns that vary little for their size are measured from the middle of their range: such differences are exact. The
// mean of equal numbers is that number: else a value that is missing would differ from all those that are there.
template <class Rows>
void settle_far_columns(const Rows& X, std::span<const double> weight, Pool& pool, const Control& control,
                        Scaling& scaling) {
  ColumnRanges ranges;
  for (size_t j = 0; j < scaling.mean.size(); ++j) {
    double &mean = scaling.mean[j], &deviation = scaling.deviation[j];
    if (mean == 0 || deviation > kNoiseOfSums * std::abs(mean)) continue;
    control.check();
    if (ranges.low.empty()) ranges = column_ranges(X, weight, pool, control);
    const auto column = static_cast<int64_t>(j);
    const double low = ranges.low[j], high = ranges.high[j];
    mean = std::clamp(mean, low, high);
    deviation = scaling.inverse[j] = 0;
    if (!(low < high)) continue;
    const double unit = std::ldexp(1.0, std::clamp(std::ilogb(high - low), -1000, 1000));
    const double start = low / 2 + high / 2;
    const auto average = [&](double centre, bool squared) {
      double sum = 0, all = 0;
      for (int64_t row = 0; row < X.rows; ++row) {
        const double w = weight.empty() ? 1.0 : weight[to_size(row)];
        const double off = (static_cast<double>(X(row, column)) - centre) / unit;
        if (off != off || !(w > 0)) continue;
        sum += w * (squared ? off * off : off);
        all += w;
      }
      return sum / all;
    };
    mean = std::clamp(start + average(start, false) * unit, low, high);
    const double found = std::sqrt(average(mean, true)) * unit;
    if (!is_spread(found, std::abs(mean))) continue;
    deviation = found;
    scaling.inverse[j] = 1.0 / found;
  }
}

template <class Rows>
Scaling scaling_in_units(const Rows& X, const std::vector<double>& unit, ColumnSums<Rows>& sums) {
  const auto d = to_size(X.columns);
  Scaling out(std::vector<double>(d, 0.0), std::vector<double>(d, 0.0), std::vector<double>(d, 0.0));
  std::vector<double> centre(d, 0.0), inverse(unit);  // of powers of two: products with them are exact
  for (double& value : inverse) value = 1.0 / value;
  const auto first = sums({inverse, centre, false});
  for (size_t j = 0; j < d; ++j) centre[j] = first[d + j] > 0 ? first[j] / first[d + j] : 0.0;
  const auto second = sums({inverse, centre, true});
  for (size_t j = 0; j < d; ++j) {
    const double deviation = second[d + j] > 0 ? std::sqrt(second[j] / second[d + j]) : 0.0;
    out.mean[j] = centre[j] * unit[j];
    if (!is_spread(deviation * unit[j], std::abs(out.mean[j]))) continue;
    out.deviation[j] = deviation * unit[j];
    out.inverse[j] = 1.0 / out.deviation[j];
  }
  return out;
}

template <class Rows>
Scaling scaling_of(const Rows& X, std::span<const double> weight, Pool& pool, const Control& control) {
  ColumnSums<Rows> sums(X, weight, pool, control);
  Scaling scaling = scaling_in_units(X, std::vector<double>(to_size(X.columns), 1.0), sums);
  if (!is_safe(scaling)) scaling = scaling_in_units(X, safe_units(column_ranges(X, weight, pool, control)), sums);
  settle_far_columns(X, weight, pool, control, scaling);
  scaling.centre = scaling.mean;
  return scaling;
}

}  // namespace

Scaling make_scaling(const AnyRows& X, std::span<const double> weight, Pool& pool, const Control& control) {
  return std::visit([&](const auto& rows) { return scaling_of(rows, weight, pool, control); }, X);
}

}  // namespace boscage
