#include "oblique/scaling.hpp"

#include <algorithm>
#include <cmath>

#include "oblique/block_sum.hpp"

namespace boscage {

namespace {

// A column that varies less than this, or less than rounding beside its mean, is constant.
constexpr double kSmallestDeviation = 1e-290, kRelativeNoise = 1e-14;

template <class Rows>
class ColumnSums;

template <class T>
class ColumnSums<Matrix<T>> {
 public:
  ColumnSums(const Matrix<T>& X, std::span<const double> weight, Pool& pool, const Control& control)
      : X_(X), weight_(weight), pool_(pool), control_(control), blocks_(block_count(X.rows)) {}

  // For every column the sum of weight * value(x, column) over the rows that are there, and their weight.
  template <class Value>
  std::vector<double> operator()(const Value& value) {
    const int64_t d = X_.columns, width = 2 * d;
    std::vector<double> parts(static_cast<size_t>(std::max<int64_t>(blocks_, 1) * width), 0.0);
    for_blocks(blocks_, pool_.threads() > 1 ? &pool_ : nullptr, [&](int64_t block) {
      control_.check();
      double* sums = parts.data() + block * width;
      const int64_t begin = block * kBlockRows, end = std::min(X_.rows, begin + kBlockRows);
      const auto add = [&](int64_t row, int64_t column) {
        const auto x = static_cast<double>(X_(row, column));
        if (std::isnan(x)) return;
        const double w = weight_.empty() ? 1.0 : weight_[static_cast<size_t>(row)];
        sums[column] += w * value(x, static_cast<size_t>(column));
        sums[d + column] += w;
      };
      if (X_.column_stride <= X_.row_stride) {
        for (int64_t row = begin; row < end; ++row)
          for (int64_t column = 0; column < d; ++column) add(row, column);
      } else {
        for (int64_t column = 0; column < d; ++column)
          for (int64_t row = begin; row < end; ++row) add(row, column);
      }
    });
    add_pairwise(parts, blocks_, width);
    return parts;
  }

 private:
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

  template <class Value>
  std::vector<double> operator()(const Value& value) {
    const auto d = static_cast<size_t>(X_.columns);
    std::vector<double> sums(2 * d, 0.0), present(d, 0.0), missing(d, 0.0);
    double all = 0;
    for (int64_t row = 0; row < X_.rows; ++row) {
      if (row % kBlockRows == 0) control_.check();
      const double w = weight_.empty() ? 1.0 : weight_[static_cast<size_t>(row)];
      const auto [begin, end] = X_.range(row);
      all += w;
      for (int64_t k = begin; k < end; ++k) {
        const auto column = static_cast<size_t>(X_.column(k));
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
template <class T>
std::vector<double> safe_units(const Matrix<T>& X) {
  std::vector<double> units(static_cast<size_t>(X.columns), 1.0);
  for (int64_t j = 0; j < X.columns; ++j) {
    double largest = 0;
    for (int64_t row = 0; row < X.rows; ++row) largest = std::fmax(largest, std::abs(static_cast<double>(X(row, j))));
    if (largest > 0) units[static_cast<size_t>(j)] = std::ldexp(1.0, std::clamp(std::ilogb(largest), -1000, 1000));
  }
  return units;
}

template <class T, class Index>
std::vector<double> safe_units(const SparseRows<T, Index>& X) {
  std::vector<double> largest(static_cast<size_t>(X.columns), 0.0);
  for (int64_t k = 0; k < X.stored; ++k) {
    double& most = largest[static_cast<size_t>(X.column(k))];
    most = std::fmax(most, std::abs(static_cast<double>(X.data[k])));
  }
  for (double& value : largest)
    value = value > 0 ? std::ldexp(1.0, std::clamp(std::ilogb(value), -1000, 1000)) : 1.0;
  return largest;
}

bool is_safe(const Scaling& scaling) {
  for (size_t j = 0; j < scaling.mean.size(); ++j) {
    const double mean = std::abs(scaling.mean[j]), deviation = scaling.deviation[j];
    if (!std::isfinite(mean) || !std::isfinite(deviation)) return false;
    if (std::max(mean, deviation) > 0 && std::max(mean, deviation) < 1e-140) return false;
  }
  return true;
}

template <class Rows>
Scaling scaling_in_units(const Rows& X, const std::vector<double>& unit, ColumnSums<Rows>& sums) {
  const auto d = static_cast<size_t>(X.columns);
  Scaling out{std::vector<double>(d, 0.0), std::vector<double>(d, 0.0), std::vector<double>(d, 0.0)};
  const auto first = sums([&](double x, size_t j) { return x / unit[j]; });
  std::vector<double> centre(d, 0.0);
  for (size_t j = 0; j < d; ++j) centre[j] = first[d + j] > 0 ? first[j] / first[d + j] : 0.0;
  const auto second = sums([&](double x, size_t j) {
    const double off = x / unit[j] - centre[j];
    return off * off;
  });
  for (size_t j = 0; j < d; ++j) {
    const double deviation = second[d + j] > 0 ? std::sqrt(second[j] / second[d + j]) : 0.0;
    out.mean[j] = centre[j] * unit[j];
    if (!(deviation > kRelativeNoise * std::abs(centre[j])) || !(deviation * unit[j] > kSmallestDeviation)) continue;
    out.deviation[j] = deviation * unit[j];
    out.inverse[j] = 1.0 / out.deviation[j];
  }
  return out;
}

template <class Rows>
Scaling scaling_of(const Rows& X, std::span<const double> weight, Pool& pool, const Control& control) {
  ColumnSums<Rows> sums(X, weight, pool, control);
  Scaling scaling = scaling_in_units(X, std::vector<double>(static_cast<size_t>(X.columns), 1.0), sums);
  return is_safe(scaling) ? scaling : scaling_in_units(X, safe_units(X), sums);
}

}  // namespace

Scaling make_scaling(const AnyRows& X, std::span<const double> weight, Pool& pool, const Control& control) {
  return std::visit([&](const auto& rows) { return scaling_of(rows, weight, pool, control); }, X);
}

}  // namespace boscage
