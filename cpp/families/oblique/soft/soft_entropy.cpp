#include "families/oblique/soft/soft_entropy.hpp"

#include <algorithm>
#include <cmath>

#include "base/index.hpp"
#include "base/lanes.hpp"
#include "families/oblique/soft/soft_entropy_kernel.hpp"
#include "numeric/expit.hpp"

namespace boscage {

namespace {

// width sums of eight lanes each, in place.
void add_lanes(double* sums, int64_t width) {
  for (int64_t i = 0; i < width; ++i) sums[i] = sum(load(sums + i * kLanes));
}

constexpr int64_t kBlockGroups = kBlockRows / kLanes;
// Tiles of this many values are read once for value and gradient, if the sums by class do not grow too many.
constexpr int64_t kLargeTile = 1 << 15, kMostMoments = 1 << 14;

}  // namespace

void expit_lanes(const double* z, double* right, double* left) {
  const Sides sides = expit(load(z));
  store(right, sides.right);
  store(left, sides.left);
}

double entropy_of_sides(const double* sums, double all, std::vector<double>& factor) {
  constexpr double kFloor = 1e-300;
  double right = 0, left = 0, bits = 0;
  for (size_t c = 0; c < factor.size(); ++c) {
    right += sums[2 * c];
    left += sums[2 * c + 1];
  }
  for (size_t c = 0; c < factor.size(); ++c) {
    const double r = sums[2 * c], l = sums[2 * c + 1];
    const double right_bits = std::log2(std::max(right, kFloor) / std::max(r, kFloor));
    const double left_bits = std::log2(std::max(left, kFloor) / std::max(l, kFloor));
    bits += r * right_bits + l * left_bits;
    factor[c] = (right_bits - left_bits) / all;
  }
  return bits / all;
}

double error_of_sides(const double* sums, const SoftNumbers& numbers, std::vector<double>& factor) {
  constexpr double kFloor = 1e-300;
  const double right = std::max(sums[0] + sums[2], kFloor), left = std::max(sums[1] + sums[3], kFloor);
  double explained = 0;
  for (size_t j = 0; j < numbers.outputs(); ++j) {
    const double* pair = sums + 4 * j;
    // Means of the sides about that of the node.
    const double at_right = (pair[2] - pair[0]) / right - numbers.mean[j];
    const double at_left = (pair[3] - pair[1]) / left - numbers.mean[j];
    for (size_t c = 0; c < 2; ++c) {
      const double distance = (c == 0 ? -1.0 : 1.0) - numbers.mean[j];
      factor[2 * j + c] = -(at_right - at_left) * (2 * distance - at_right - at_left) / numbers.error;
    }
    explained += right * at_right * at_right + left * at_left * at_left;
  }
  return 1 - explained / numbers.error;
}

template <class T>
SoftEntropy<T>::SoftEntropy(const Tile<T>& tile, std::span<const WeightedRow> rows, int classes, double l2, Pool* pool,
                            const Control& control, const SoftNumbers* numbers)
    : tile_(tile),
      classes_(classes),
      l2_(l2),
      pool_(pool),
      control_(control),
      blocks_(block_count(tile.rows())),
      numbers_(numbers) {
  const auto filled = to_size(tile.groups() * kLanes);
  if (numbers_ != nullptr) {
    share_.assign(numbers_->outputs() * filled, 0.0);
    for (size_t j = 0; j < numbers_->outputs(); ++j)
      std::copy(numbers_->share[j].begin(), numbers_->share[j].end(),
                share_.begin() + static_cast<std::ptrdiff_t>(j * filled));
  }
  label_.assign(filled, rows.empty() ? 0 : rows.back().label);
  weight_.assign(filled, 0.0);
  slope_.assign(filled, 0.0);
  for (const WeightedRow& row : rows) all_ += row.weight;
  // About 1 each, as single precision wants them.
  unit_ = kReadsOnce ? all_ / static_cast<double>(rows.size()) : 1.0;
  for (size_t i = 0; i < rows.size(); ++i) {
    label_[i] = rows[i].label;
    weight_[i] = rows[i].weight / unit_;
  }
  factor_.assign(to_size(classes), 0.0);
  gradient_.assign(to_size(size()), 0.0);
}

bool is_large_tile(int64_t rows, int64_t columns, int classes) {
  return rows * columns >= kLargeTile && classes * (columns + 1) <= kMostMoments;
}

template <class T>
BlockRows SoftEntropy<T>::block_rows(int64_t first) {
  return {weight_.data() + first * kLanes, label_.data() + first * kLanes,
          slope_.data() + first * kLanes,  numbers_ == nullptr ? nullptr : share_.data() + first * kLanes,
          tile_.groups() * kLanes,         numbers_ == nullptr ? 0 : static_cast<int>(numbers_->outputs())};
}

template <class T>
double SoftEntropy<T>::value(std::span<const double> theta) {
  theta_.assign(theta.begin(), theta.end());
  const LineVector<T> weights = spread(theta.first(theta.size() - 1));
  const int64_t sides = 2 * classes_, width = sides + (kReadsOnce ? classes_ * size() : 0);
  backwards_ = !backwards_;
  add_blocks(width, [&](const BlockTile<T>& tile, const BlockRows& rows, double* sums) {
    if constexpr (kReadsOnce) {
      LineVector<float> memory(to_size(tile.columns * kLanes));
      add_sides_and_moments(tile, backwards_, weights.data(), theta.back(), rows, sums, sums + sides * kLanes,
                            memory.data());
    } else {
      add_sides(tile, weights.data(), theta.back(), rows, classes_ == 2, sums);
    }
  });
  double squares = 0;
  for (size_t j = 0; j + 1 < theta_.size(); ++j) squares += theta_[j] * theta_[j];
  const double left = numbers_ == nullptr ? entropy_of_sides(parts_.data(), all_ / unit_, factor_)
                                          : error_of_sides(parts_.data(), *numbers_, factor_);
  return left + l2_ / (2 * std::sqrt(all_)) * squares;
}

// theta as the kernels want it.
template <class T>
LineVector<T> SoftEntropy<T>::spread(std::span<const double> theta) {
  constexpr size_t times = kReadsOnce ? kLanes : 1;
  LineVector<T> copies(theta.size() * times);
  for (size_t j = 0; j < theta.size(); ++j) std::fill_n(copies.data() + j * times, times, static_cast<T>(theta[j]));
  return copies;
}

// kernel(tile, rows, sums) for every block; the `width` sums over all of them then begin parts_. Lanes are
// added up inside each block, so only the first `width` numbers of a block's stretch remain in use.
template <class T>
template <class Kernel>
void SoftEntropy<T>::add_blocks(int64_t width, const Kernel& kernel) {
  const int64_t stretch = width * kLanes;
  parts_.assign(to_size(blocks_ * stretch), 0.0);
  for_blocks(blocks_, pool_, [&](int64_t turn) {
    control_.check();
    const int64_t block = backwards_ ? blocks_ - 1 - turn : turn;
    const int64_t first = block * kBlockGroups;
    double* sums = parts_.data() + block * stretch;
    const int64_t groups = std::min(kBlockGroups, tile_.groups() - first);
    kernel(BlockTile<T>{tile_.group(first), groups, tile_.columns()}, block_rows(first), sums);
    add_lanes(sums, width);
  });
  add_pairwise(parts_, blocks_, stretch);
}

template <class T>
std::span<const double> SoftEntropy<T>::gradient() {
  const auto width = to_size(size());
  if constexpr (kReadsOnce) {
    std::fill(gradient_.begin(), gradient_.end(), 0.0);
    const double* moments = parts_.data() + 2 * classes_;
    for (const double factor : factor_)
      for (size_t j = 0; j < width; ++j) gradient_[j] += factor * *moments++;
  } else {
    add_blocks(size(), [&](const BlockTile<T>& tile, const BlockRows& rows, double* sums) {
      add_gradients(tile, rows, factor_.data(), sums);
    });
    std::copy_n(parts_.begin(), width, gradient_.begin());
  }
  for (size_t j = 0; j + 1 < theta_.size(); ++j) gradient_[j] += l2_ / std::sqrt(all_) * theta_[j];
  return gradient_;
}

template class SoftEntropy<float>;
template class SoftEntropy<double>;

}  // namespace boscage
