#include "families/mixed/soft_squares.hpp"

#include <algorithm>
#include <cmath>

#include "numeric/expit.hpp"

namespace boscage::mixed {

namespace {

// Below this product of the sides' shares there is one side.
constexpr double kOneSide = 1e-200;

template <int Count>
BOSCAGE_INLINE void add_groups(const TileView& tile, int64_t g, const double* theta, const double* share,
                               const double* numbers, int64_t outputs, double* slope, Lanes* sums) {
  const int64_t stride = tile.columns * kLanes, size = tile.groups * kLanes;
  const double* group = tile.values + g * stride;
  Lanes z[to_size(Count)];
  for (int i = 0; i < Count; ++i) z[i] = all(theta[tile.columns]);
  for (int64_t j = 0; j < tile.columns; ++j)
    for (int i = 0; i < Count; ++i) z[i] += theta[j] * load(group + i * stride + j * kLanes);
  for (int i = 0; i < Count; ++i) {
    const int64_t at = (g + i) * kLanes;
    const Sides side = expit(z[i]);
    const Lanes right = load(share + at) * side.right;
    store(slope + at, right * side.left);
    sums[0] += right;
    sums[1] += load(share + at) * side.left;
    for (int64_t j = 0; j < outputs; ++j) sums[2 + j] += right * load(numbers + j * size + at);
  }
}

// sums: P, 1 - P and S of each output, eight lanes each.
BOSCAGE_CLONES void add_soft(const TileView& tile, const double* theta, const double* share, const double* numbers,
                             int64_t outputs, double* slope, Lanes* sums) {
  constexpr int kTogether = 4;
  int64_t g = 0;
  for (; g + kTogether <= tile.groups; g += kTogether)
    add_groups<kTogether>(tile, g, theta, share, numbers, outputs, slope, sums);
  for (; g < tile.groups; ++g) add_groups<1>(tile, g, theta, share, numbers, outputs, slope, sums);
}

}  // namespace

SoftSquares::SoftSquares(const TileView& tile, const double* share, std::span<const double> numbers, size_t outputs,
                         double weight, double l2)
    : tile_(tile),
      share_(share),
      numbers_(numbers),
      outputs_(outputs),
      penalty_(l2 / std::sqrt(weight)),
      gradient_(static_cast<size_t>(tile.columns) + 1),
      sums_(outputs + 2),
      slope_(static_cast<size_t>(tile.groups * kLanes)) {}

double SoftSquares::value(std::span<const double> theta) {
  theta_.assign(theta.begin(), theta.end());
  LineVector<Lanes> lanes(outputs_ + 2);
  std::fill(lanes.begin(), lanes.end(), Lanes{});
  add_soft(tile_, theta_.data(), share_, numbers_.data(), static_cast<int64_t>(outputs_), slope_.data(), lanes.data());
  for (size_t j = 0; j < sums_.size(); ++j) {
    double lane[kLanes];
    store(lane, lanes[j]);
    sums_[j] = ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
  }
  double squares = 0, length = 0;
  for (size_t j = 2; j < sums_.size(); ++j) squares += sums_[j] * sums_[j];
  for (size_t j = 0; j + 1 < theta_.size(); ++j) length += theta_[j] * theta_[j];
  const double product = sums_[0] * sums_[1], found = static_cast<double>(outputs_) * product;
  return (product > kOneSide ? 1 - squares / found : 1.0) + 0.5 * penalty_ * length;
}

std::span<const double> SoftSquares::gradient() {
  const size_t size = to_size(slope_.size()), m = theta_.size() - 1;
  const double product = sums_[0] * sums_[1], outputs = static_cast<double>(outputs_);
  double squares = 0;
  for (size_t j = 2; j < sums_.size(); ++j) squares += sums_[j] * sums_[j];
  const bool has_sides = product > kOneSide;
  const double shift = has_sides ? squares / product * ((sums_[1] - sums_[0]) / product) / outputs : 0.0;
  LineVector<double> pull(size);
  for (size_t i = 0; i < size; ++i) {
    double slope = shift;
    for (size_t j = 0; has_sides && j < outputs_; ++j)
      slope -= 2 * sums_[j + 2] / product * numbers_[j * size + i] / outputs;
    pull[i] = slope * slope_[i];
  }
  project_tile(tile_, pull.data(), gradient_.data());
  gradient_[m] = 0;
  for (const double value : pull) gradient_[m] += value;
  for (size_t j = 0; j < m; ++j) gradient_[j] += penalty_ * theta_[j];
  return gradient_;
}

}  // namespace boscage::mixed
