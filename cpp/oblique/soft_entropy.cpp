#include "oblique/soft_entropy.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lanes.hpp"
#include "oblique/expit.hpp"

namespace boscage {

namespace {

// z of `Count` groups of rows at once.
template <int Count, class T>
BOSCAGE_INLINE void scores(const T* group, int64_t columns, const double* theta, Lanes* z) {
  for (int g = 0; g < Count; ++g) z[g] = all(theta[columns]);
  for (int64_t j = 0; j < columns; ++j)
    for (int g = 0; g < Count; ++g) z[g] += theta[j] * load(group + g * kLanes * columns + j * kLanes);
}

struct BlockRows {
  const double* weight;
  const uint32_t* label;
  double* slope;
};

// Adds the soft sides of eight rows to `sums`: for each class right and left, eight lanes each.
BOSCAGE_INLINE void add_sides(Lanes z, const BlockRows& rows, int64_t first, bool two_classes, double* sums) {
  const Lanes weight = load(rows.weight + first);
  const Sides side = expit(z);
  store(rows.slope + first, weight * side.right * side.left);
  const Lanes right = weight * side.right, left = weight * side.left;
  const uint32_t* label = rows.label + first;
  if (two_classes) {
    Lanes second;
    for (int lane = 0; lane < kLanes; ++lane) second[lane] = label[lane];
    const Lanes one = 1.0 - second;
    store(sums, load(sums) + right * one);
    store(sums + 8, load(sums + 8) + left * one);
    store(sums + 16, load(sums + 16) + right * second);
    store(sums + 24, load(sums + 24) + left * second);
    return;
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    double* place = sums + label[lane] * 2 * kLanes + lane;
    place[0] += right[lane];
    place[kLanes] += left[lane];
  }
}

template <class T>
BOSCAGE_INLINE void value_body(const T* values, int64_t groups, int64_t columns, const double* theta,
                               const BlockRows& rows, bool two_classes, double* sums) {
  constexpr int kTogether = 4;
  Lanes z[kTogether];
  int64_t g = 0;
  for (; g + kTogether <= groups; g += kTogether) {
    scores<kTogether>(values + g * kLanes * columns, columns, theta, z);
    for (int i = 0; i < kTogether; ++i) add_sides(z[i], rows, (g + i) * kLanes, two_classes, sums);
  }
  for (; g < groups; ++g) {
    scores<1>(values + g * kLanes * columns, columns, theta, z);
    add_sides(z[0], rows, g * kLanes, two_classes, sums);
  }
}

// Adds c x of `Count` groups of rows to the sums of each column, and c to those of the bias.
template <int Count, class T>
BOSCAGE_INLINE void add_products(const T* group, int64_t columns, const Lanes* c, double* sums) {
  for (int64_t j = 0; j < columns; ++j) {
    Lanes total = load(sums + j * kLanes);
    for (int g = 0; g < Count; ++g) total += c[g] * load(group + g * kLanes * columns + j * kLanes);
    store(sums + j * kLanes, total);
  }
  Lanes bias = load(sums + columns * kLanes);
  for (int g = 0; g < Count; ++g) bias += c[g];
  store(sums + columns * kLanes, bias);
}

template <int Count, class T>
BOSCAGE_INLINE void add_gradient(const T* group, int64_t columns, const double* slope, const uint32_t* label,
                                 const double* factor, double* sums) {
  Lanes c[Count];
  for (int g = 0; g < Count; ++g) {
    Lanes by_class;
    for (int lane = 0; lane < kLanes; ++lane) by_class[lane] = factor[label[g * kLanes + lane]];
    c[g] = load(slope + g * kLanes) * by_class;
  }
  add_products<Count>(group, columns, c, sums);
}

template <class T>
BOSCAGE_INLINE void gradient_body(const T* values, int64_t groups, int64_t columns, const double* slope,
                                  const uint32_t* label, const double* factor, double* sums) {
  constexpr int kTogether = 4;
  int64_t g = 0;
  for (; g + kTogether <= groups; g += kTogether)
    add_gradient<kTogether>(values + g * kLanes * columns, columns, slope + g * kLanes, label + g * kLanes, factor,
                            sums);
  for (; g < groups; ++g)
    add_gradient<1>(values + g * kLanes * columns, columns, slope + g * kLanes, label + g * kLanes, factor, sums);
}

BOSCAGE_INLINE bool are_equal(const uint32_t* label, int64_t count) {
  for (int64_t i = 1; i < count; ++i)
    if (label[i] != label[0]) return false;
  return true;
}

// Adds slope x of eight rows to the sums of their classes, one class after the other.
template <class T>
BOSCAGE_INLINE void add_mixed(const T* group, int64_t columns, const double* slope, const uint32_t* label,
                              double* moments) {
  uint32_t pending = (1U << kLanes) - 1;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(pending >> lane & 1U)) continue;
    Lanes c{};
    for (int other = lane; other < kLanes; ++other) {
      if (label[other] != label[lane]) continue;
      c[other] = slope[other];
      pending &= ~(1U << other);
    }
    add_products<1>(group, columns, &c, moments + label[lane] * (columns + 1) * kLanes);
  }
}

// Value and, by class, what the gradient is made of: the rows are read once.
template <class T>
BOSCAGE_INLINE void both_body(const T* values, int64_t groups, int64_t columns, const double* theta,
                              const BlockRows& rows, bool two_classes, double* sums, double* moments) {
  constexpr int kTogether = 4;
  Lanes z[kTogether];
  int64_t g = 0;
  for (; g + kTogether <= groups; g += kTogether) {
    const T* group = values + g * kLanes * columns;
    const int64_t first = g * kLanes;
    scores<kTogether>(group, columns, theta, z);
    for (int i = 0; i < kTogether; ++i) add_sides(z[i], rows, first + i * kLanes, two_classes, sums);
    if (are_equal(rows.label + first, kTogether * kLanes)) {
      for (int i = 0; i < kTogether; ++i) z[i] = load(rows.slope + first + i * kLanes);
      add_products<kTogether>(group, columns, z, moments + rows.label[first] * (columns + 1) * kLanes);
    } else {
      for (int i = 0; i < kTogether; ++i)
        add_mixed(group + i * kLanes * columns, columns, rows.slope + first + i * kLanes,
                  rows.label + first + i * kLanes, moments);
    }
  }
  for (; g < groups; ++g) {
    const T* group = values + g * kLanes * columns;
    scores<1>(group, columns, theta, z);
    add_sides(z[0], rows, g * kLanes, two_classes, sums);
    add_mixed(group, columns, rows.slope + g * kLanes, rows.label + g * kLanes, moments);
  }
}

BOSCAGE_CLONES void both_kernel(const float* values, int64_t groups, int64_t columns, const double* theta,
                                const BlockRows& rows, bool two_classes, double* sums, double* moments) {
  both_body(values, groups, columns, theta, rows, two_classes, sums, moments);
}
BOSCAGE_CLONES void both_kernel(const double* values, int64_t groups, int64_t columns, const double* theta,
                                const BlockRows& rows, bool two_classes, double* sums, double* moments) {
  both_body(values, groups, columns, theta, rows, two_classes, sums, moments);
}
BOSCAGE_CLONES void value_kernel(const float* values, int64_t groups, int64_t columns, const double* theta,
                                 const BlockRows& rows, bool two_classes, double* sums) {
  value_body(values, groups, columns, theta, rows, two_classes, sums);
}
BOSCAGE_CLONES void value_kernel(const double* values, int64_t groups, int64_t columns, const double* theta,
                                 const BlockRows& rows, bool two_classes, double* sums) {
  value_body(values, groups, columns, theta, rows, two_classes, sums);
}
BOSCAGE_CLONES void gradient_kernel(const float* values, int64_t groups, int64_t columns, const double* slope,
                                    const uint32_t* label, const double* factor, double* sums) {
  gradient_body(values, groups, columns, slope, label, factor, sums);
}
BOSCAGE_CLONES void gradient_kernel(const double* values, int64_t groups, int64_t columns, const double* slope,
                                    const uint32_t* label, const double* factor, double* sums) {
  gradient_body(values, groups, columns, slope, label, factor, sums);
}

// width sums of eight lanes each, in place.
void add_lanes(double* sums, int64_t width) {
  for (int64_t i = 0; i < width; ++i) sums[i] = sum(load(sums + i * kLanes));
}

constexpr int64_t kBlockGroups = kBlockRows / kLanes;
// Tiles from this many bytes are read once for value and gradient, if the sums by class do not grow too many.
constexpr int64_t kLargeTile = 1 << 18, kMostMoments = 1 << 14;

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

template <class T>
SoftEntropy<T>::SoftEntropy(const Tile<T>& tile, std::span<const WeightedRow> rows, int classes, double l2, Pool* pool,
                            const Control& control)
    : tile_(tile), classes_(classes), l2_(l2), pool_(pool), control_(control), blocks_(block_count(tile.rows())) {
  const auto filled = static_cast<size_t>(tile.groups() * kLanes);
  reads_once_ = is_large(tile.rows(), tile.columns(), classes);
  label_.assign(filled, rows.empty() ? 0 : rows.back().label);
  weight_.assign(filled, 0.0);
  slope_.assign(filled, 0.0);
  for (size_t i = 0; i < rows.size(); ++i) {
    label_[i] = rows[i].label;
    weight_[i] = rows[i].weight;
    all_ += rows[i].weight;
  }
  factor_.assign(static_cast<size_t>(classes), 0.0);
  gradient_.assign(static_cast<size_t>(size()), 0.0);
}

template <class T>
bool SoftEntropy<T>::is_large(int64_t rows, int64_t columns, int classes) {
  return rows * columns * static_cast<int64_t>(sizeof(T)) >= kLargeTile && classes * (columns + 1) <= kMostMoments;
}

template <class T>
double SoftEntropy<T>::value(std::span<const double> theta) {
  theta_.assign(theta.begin(), theta.end());
  const int64_t sides = 2 * classes_, width = sides + (reads_once_ ? classes_ * size() : 0);
  add_blocks(width, [&](int64_t first, int64_t groups, double* sums) {
    const BlockRows rows{weight_.data() + first * kLanes, label_.data() + first * kLanes,
                         slope_.data() + first * kLanes};
    if (reads_once_) {
      both_kernel(tile_.group(first), groups, tile_.columns(), theta_.data(), rows, classes_ == 2, sums,
                  sums + sides * kLanes);
    } else {
      value_kernel(tile_.group(first), groups, tile_.columns(), theta_.data(), rows, classes_ == 2, sums);
    }
  });
  double squares = 0;
  for (size_t j = 0; j + 1 < theta_.size(); ++j) squares += theta_[j] * theta_[j];
  return entropy_of_sides(parts_.data(), all_, factor_) + l2_ / (2 * std::sqrt(all_)) * squares;
}

// kernel(first group, groups, sums) for every block; the `width` sums over all of them then begin parts_. Lanes are
// added up inside each block, so only the first `width` numbers of a block's stretch remain in use.
template <class T>
template <class Kernel>
void SoftEntropy<T>::add_blocks(int64_t width, const Kernel& kernel) {
  const int64_t stretch = width * kLanes;
  parts_.assign(static_cast<size_t>(blocks_ * stretch), 0.0);
  for_blocks(blocks_, pool_, [&](int64_t block) {
    control_.check();
    const int64_t first = block * kBlockGroups;
    double* sums = parts_.data() + block * stretch;
    kernel(first, std::min(kBlockGroups, tile_.groups() - first), sums);
    add_lanes(sums, width);
  });
  add_pairwise(parts_, blocks_, stretch);
}

template <class T>
std::span<const double> SoftEntropy<T>::gradient() {
  const auto width = static_cast<size_t>(size());
  if (reads_once_) {
    std::fill(gradient_.begin(), gradient_.end(), 0.0);
    const double* moments = parts_.data() + 2 * classes_;
    for (const double factor : factor_)
      for (size_t j = 0; j < width; ++j) gradient_[j] += factor * *moments++;
  } else {
    add_blocks(size(), [&](int64_t first, int64_t groups, double* sums) {
      gradient_kernel(tile_.group(first), groups, tile_.columns(), slope_.data() + first * kLanes,
                      label_.data() + first * kLanes, factor_.data(), sums);
    });
    std::copy_n(parts_.begin(), width, gradient_.begin());
  }
  for (size_t j = 0; j + 1 < theta_.size(); ++j) gradient_[j] += l2_ / std::sqrt(all_) * theta_[j];
  return gradient_;
}

template class SoftEntropy<float>;
template class SoftEntropy<double>;

}  // namespace boscage
