#include "families/oblique/soft/sparse_entropy.hpp"

#include <algorithm>
#include <cmath>

#include "base/index.hpp"
#include "families/oblique/soft/soft_entropy.hpp"

namespace boscage {

template <class T, class Index>
SparseEntropy::SparseEntropy(const SparseRows<T, Index>& X, const Scaling& scaling, std::span<const uint32_t> rows,
                             std::span<const uint32_t> columns, std::span<const WeightedRow> local, int classes,
                             double l2, const Control& control, const SoftNumbers* numbers)
    : local_(local), numbers_(numbers), l2_(l2), control_(control) {
  for (const uint32_t column : columns) {
    centre_.push_back(scaling.centre[column]);
    inverse_.push_back(scaling.inverse[column]);
  }
  offsets_.push_back(0);
  for (const uint32_t row : rows) {
    const auto [begin, end] = X.range(row);
    auto place = columns.begin();
    for (int64_t k = begin; k < end; ++k) {
      const auto column = static_cast<uint32_t>(X.column(k));
      place = std::lower_bound(place, columns.end(), column);
      if (place == columns.end()) break;
      if (*place != column) continue;
      column_.push_back(static_cast<uint32_t>(place - columns.begin()));
      entry_.push_back(scaling.plain(static_cast<double>(X.data[k]), column));
    }
    offsets_.push_back(entry_.size());
  }
  for (const WeightedRow& row : local) all_ += row.weight;
  slope_.resize(rows.size());
  factor_.assign(to_size(classes), 0.0);
}

double SparseEntropy::value(std::span<const double> theta) {
  control_.check();
  theta_.assign(theta.begin(), theta.end());
  std::vector<double> unit(centre_.size()), sums(2 * factor_.size(), 0.0);
  double constant = theta_.back(), squares = 0;
  for (size_t j = 0; j < unit.size(); ++j) {
    unit[j] = theta_[j] * inverse_[j];
    constant -= unit[j] * centre_[j];
    squares += theta_[j] * theta_[j];
  }
  for (size_t i = 0; i < slope_.size(); ++i) {
    double z = constant;
    for (size_t k = offsets_[i]; k < offsets_[i + 1]; ++k) z += entry_[k] * unit[column_[k]];
    const double e = std::exp(-std::abs(z)), large = 1 / (1 + e), small = e * large;
    const auto [weight, label] = local_[i];
    const double right = weight * (z > 0 ? large : small), left = weight * (z > 0 ? small : large);
    if (numbers_ == nullptr) {
      sums[2 * label] += right;
      sums[2 * label + 1] += left;
    } else {
      for (size_t j = 0; j < numbers_->outputs(); ++j) {
        const double share = numbers_->share[j][i];
        double* pair = sums.data() + 4 * j;
        pair[0] += right * (1 - share);
        pair[1] += left * (1 - share);
        pair[2] += right * share;
        pair[3] += left * share;
      }
    }
    slope_[i] = weight * large * small;
  }
  const double left = numbers_ == nullptr ? entropy_of_sides(sums.data(), all_, factor_)
                                          : error_of_sides(sums.data(), *numbers_, factor_);
  return left + l2_ / (2 * std::sqrt(all_)) * squares;
}

std::span<const double> SparseEntropy::gradient() {
  control_.check();
  gradient_.assign(theta_.size(), 0.0);
  double bias = 0;
  for (size_t i = 0; i < slope_.size(); ++i) {
    const double pull = slope_[i] * (numbers_ == nullptr ? factor_[local_[i].label] : numbers_->along(factor_, i));
    bias += pull;
    for (size_t k = offsets_[i]; k < offsets_[i + 1]; ++k) gradient_[column_[k]] += pull * entry_[k];
  }
  for (size_t j = 0; j < centre_.size(); ++j)
    gradient_[j] = inverse_[j] * (gradient_[j] - centre_[j] * bias) + l2_ / std::sqrt(all_) * theta_[j];
  gradient_.back() = bias;
  return gradient_;
}

#define BOSCAGE_SPARSE(T, Index)                                                                                \
  template SparseEntropy::SparseEntropy(const SparseRows<T, Index>&, const Scaling&, std::span<const uint32_t>, \
                                        std::span<const uint32_t>, std::span<const WeightedRow>, int, double,   \
                                        const Control&, const SoftNumbers*);
BOSCAGE_SPARSE(float, int32_t)
BOSCAGE_SPARSE(float, int64_t)
BOSCAGE_SPARSE(double, int32_t)
BOSCAGE_SPARSE(double, int64_t)

}  // namespace boscage
