#include "families/oblique/soft/soft_entropy_kernel.hpp"

#include <algorithm>

#include "base/lanes.hpp"
#include "numeric/expit.hpp"

namespace boscage {

namespace {

// Of numbers about 1 and below; what is too small to matter beside them is 0, for numbers below the normal range of
// single precision are very slow.
BOSCAGE_INLINE Singles narrow(Lanes value) { return __builtin_convertvector(value < 1e-20 ? Lanes{} : value, Singles); }

constexpr int kTogether = 4;  // groups at once
// So many columns, or groups of rows, are added in single precision before they go into a sum of double precision.
constexpr int64_t kRun = 32, kStretch = 32;
constexpr int64_t kLine = 16;  // numbers in a cache line

// z of `Count` groups of rows at once.
template <int Count>
BOSCAGE_INLINE void scores(const double* group, int64_t columns, const double* theta, double bias, Lanes* z) {
  for (int g = 0; g < Count; ++g) z[g] = all(bias);
  for (int64_t j = 0; j < columns; ++j)
    for (int g = 0; g < Count; ++g) z[g] += theta[j] * load(group + g * kLanes * columns + j * kLanes);
}
// theta: eight times each. Two columns at once; the even and the odd ones are added apart.
template <int Count>
BOSCAGE_INLINE void scores(const float* group, int64_t columns, const float* theta, double bias, Lanes* z) {
  for (int g = 0; g < Count; ++g) z[g] = all(bias);
  const int64_t stride = kLanes * columns;
  int64_t at = 0;
  while (at + kLine <= stride) {
    const int64_t end = std::min(stride - stride % kLine, at + kRun * kLanes);
    TwoSingles part[to_size(Count)] = {};
    for (; at < end; at += kLine)
      for (int g = 0; g < Count; ++g) part[g] += load_two(theta + at) * load_two(group + g * stride + at);
    for (int g = 0; g < Count; ++g) z[g] += __builtin_convertvector(low(part[g]) + high(part[g]), Lanes);
  }
  if (at == stride) return;
  for (int g = 0; g < Count; ++g)
    z[g] += __builtin_convertvector(load_singles(theta + at) * load_singles(group + g * stride + at), Lanes);
}

// The soft sides of eight rows; their slopes are kept.
BOSCAGE_INLINE Sides weighted_sides(Lanes z, const BlockRows& rows, int64_t first) {
  const Lanes weight = load(rows.weight + first);
  const Sides side = expit(z);
  store(rows.slope + first, weight * side.right * side.left);
  return {weight * side.right, weight * side.left};
}

// Adds them to `sums`: for each class right and left, eight lanes each.
BOSCAGE_INLINE void add_group_sides(Lanes z, const BlockRows& rows, int64_t first, bool two_classes, double* sums) {
  const auto [right, left] = weighted_sides(z, rows, first);
  const uint32_t* label = rows.label + first;
  const auto add_pair = [&](Lanes second, double* pair) {
    const Lanes one = 1.0 - second;
    store(pair, load(pair) + right * one);
    store(pair + 8, load(pair + 8) + left * one);
    store(pair + 16, load(pair + 16) + right * second);
    store(pair + 24, load(pair + 24) + left * second);
  };
  if (rows.share != nullptr) {
    for (int j = 0; j < rows.outputs; ++j)
      add_pair(load(rows.share + j * rows.share_stride + first), sums + 4 * kLanes * j);
    return;
  }
  if (two_classes) {
    Lanes second;
    for (int lane = 0; lane < kLanes; ++lane) second[lane] = label[lane];
    return add_pair(second, sums);
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    double* place = sums + label[lane] * 2 * kLanes + lane;
    place[0] += right[lane];
    place[kLanes] += left[lane];
  }
}

// The same for kTogether groups of one class.
BOSCAGE_INLINE void add_class_sides(const Lanes* z, const BlockRows& rows, int64_t first, double* sums) {
  Sides total{};
  for (int g = 0; g < kTogether; ++g) {
    const auto [right, left] = weighted_sides(z[g], rows, first + g * kLanes);
    total.right += right;
    total.left += left;
  }
  double* place = sums + rows.label[first] * 2 * kLanes;
  store(place, load(place) + total.right);
  store(place + kLanes, load(place + kLanes) + total.left);
}

// Adds c x of `Count` groups of rows to the sums of each column, and c to those of the bias.
template <int Count>
BOSCAGE_INLINE void add_products(const double* group, int64_t columns, const Lanes* c, double* sums) {
  for (int64_t j = 0; j < columns; ++j) {
    Lanes total = load(sums + j * kLanes);
    for (int g = 0; g < Count; ++g) total += c[g] * load(group + g * kLanes * columns + j * kLanes);
    store(sums + j * kLanes, total);
  }
  Lanes bias = load(sums + columns * kLanes);
  for (int g = 0; g < Count; ++g) bias += c[g];
  store(sums + columns * kLanes, bias);
}
BOSCAGE_INLINE void add_products(const float* group, int64_t columns, Lanes c, double* sums) {
  const Singles single = narrow(c);
  for (int64_t j = 0; j < columns; ++j) {
    const Singles product = single * load_singles(group + j * kLanes);
    store(sums + j * kLanes, load(sums + j * kLanes) + __builtin_convertvector(product, Lanes));
  }
  store(sums + columns * kLanes, load(sums + columns * kLanes) + c);
}

template <int Count>
BOSCAGE_INLINE void add_gradient(const double* group, int64_t columns, const BlockRows& rows, int64_t first,
                                 const double* factor, double* sums) {
  Lanes c[to_size(Count)];
  for (int g = 0; g < Count; ++g) {
    const int64_t at = first + g * kLanes;
    Lanes by_class{};
    if (rows.share != nullptr)
      for (int j = 0; j < rows.outputs; ++j)
        by_class += factor[2 * j] + load(rows.share + j * rows.share_stride + at) * (factor[2 * j + 1] - factor[2 * j]);
    else
      for (int lane = 0; lane < kLanes; ++lane) by_class[lane] = factor[rows.label[at + lane]];
    c[g] = load(rows.slope + at) * by_class;
  }
  add_products<Count>(group, columns, c, sums);
}

BOSCAGE_INLINE bool are_equal(const uint32_t* label, int64_t count) {
  for (int64_t i = 1; i < count; ++i)
    if (label[i] != label[0]) return false;
  return true;
}

// Adds slope x of eight rows to the sums of their classes, one class after the other.
BOSCAGE_INLINE void add_mixed(const float* group, int64_t columns, const double* slope, const uint32_t* label,
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
    add_products(group, columns, c, moments + label[lane] * (columns + 1) * kLanes);
  }
}

// slope x of groups of one class, kTogether by kTogether, of one stretch: added in single precision before they go into
// the moments.
class ClassRun {
 public:
  BOSCAGE_INLINE ClassRun(int64_t columns, double* moments, float* memory)
      : columns_(columns), moments_(moments), memory_(memory) {}

  BOSCAGE_INLINE void add(const float* group, const double* slope, uint32_t label) {
    if (label != label_) close();
    Singles c[kTogether];
    for (int g = 0; g < kTogether; ++g) {
      const Lanes wide = load(slope + g * kLanes);
      bias_ += wide;
      c[g] = narrow(wide);
    }
    rounds_ == 0 ? add_products<true>(group, c) : add_products<false>(group, c);
    label_ = label;
    ++rounds_;
  }

  BOSCAGE_INLINE void close() {
    if (rounds_ == 0) return;
    double* sums = moments_ + label_ * (columns_ + 1) * kLanes;
    for (int64_t j = 0; j < columns_; ++j)
      store(sums + j * kLanes, load(sums + j * kLanes) + load(memory_ + j * kLanes));
    store(sums + columns_ * kLanes, load(sums + columns_ * kLanes) + bias_);
    bias_ = Lanes{};
    rounds_ = 0;
  }

 private:
  // Two columns at once, side by side in memory.
  template <bool first>
  BOSCAGE_INLINE void add_products(const float* group, const Singles* c) {
    const int64_t stride = kLanes * columns_;
    TwoSingles twice[kTogether];
    for (int g = 0; g < kTogether; ++g) twice[g] = repeat(c[g]);
    int64_t at = 0;
    for (; at + kLine <= stride; at += kLine) {
      // These values are in the cache: meanwhile the memory can bring the next ones.
      for (int g = 0; g < kTogether; ++g) __builtin_prefetch(group + (kTogether + g) * stride + at, 0, 2);
      TwoSingles part = twice[0] * load_two(group + at);
      for (int g = 1; g < kTogether; ++g) part += twice[g] * load_two(group + g * stride + at);
      if constexpr (!first) part += load_two(memory_ + at);
      store(memory_ + at, part);
    }
    if (at == stride) return;
    Singles part = c[0] * load_singles(group + at);
    for (int g = 1; g < kTogether; ++g) part += c[g] * load_singles(group + g * stride + at);
    if constexpr (!first) part += load_singles(memory_ + at);
    store(memory_ + at, part);
  }

  int64_t columns_;
  double* moments_;
  float* memory_;
  Lanes bias_{};
  uint32_t label_ = 0;
  int rounds_ = 0;
};

}  // namespace

BOSCAGE_CLONES void add_sides(const BlockTile<double>& tile, const double* theta, double bias, const BlockRows& rows,
                              bool two_classes, double* sums) {
  const auto& [values, groups, columns] = tile;
  Lanes z[kTogether];
  int64_t g = 0;
  for (; g + kTogether <= groups; g += kTogether) {
    scores<kTogether>(values + g * kLanes * columns, columns, theta, bias, z);
    for (int i = 0; i < kTogether; ++i) add_group_sides(z[i], rows, (g + i) * kLanes, two_classes, sums);
  }
  for (; g < groups; ++g) {
    scores<1>(values + g * kLanes * columns, columns, theta, bias, z);
    add_group_sides(z[0], rows, g * kLanes, two_classes, sums);
  }
}

BOSCAGE_CLONES void add_gradients(const BlockTile<double>& tile, const BlockRows& rows, const double* factor,
                                  double* sums) {
  const auto& [values, groups, columns] = tile;
  int64_t g = 0;
  for (; g + kTogether <= groups; g += kTogether)
    add_gradient<kTogether>(values + g * kLanes * columns, columns, rows, g * kLanes, factor, sums);
  for (; g < groups; ++g) add_gradient<1>(values + g * kLanes * columns, columns, rows, g * kLanes, factor, sums);
}

namespace {

// One stretch of the rows: a run of each class in it.
BOSCAGE_INLINE void add_stretch(const BlockTile<float>& tile, int64_t begin, int64_t end, const float* theta,
                                double bias, const BlockRows& rows, double* sums, double* moments, float* memory) {
  const int64_t columns = tile.columns;
  ClassRun run(columns, moments, memory);
  Lanes z[kTogether];
  int64_t g = begin;
  for (; g + kTogether <= end; g += kTogether) {
    const float* group = tile.values + g * kLanes * columns;
    const int64_t first = g * kLanes;
    scores<kTogether>(group, columns, theta, bias, z);
    if (are_equal(rows.label + first, kTogether * kLanes)) {
      add_class_sides(z, rows, first, sums);
      run.add(group, rows.slope + first, rows.label[first]);
      continue;
    }
    for (int i = 0; i < kTogether; ++i) {
      const int64_t at = first + i * kLanes;
      add_group_sides(z[i], rows, at, false, sums);
      add_mixed(group + i * kLanes * columns, columns, rows.slope + at, rows.label + at, moments);
    }
  }
  run.close();
  for (; g < end; ++g) {
    const float* group = tile.values + g * kLanes * columns;
    scores<1>(group, columns, theta, bias, z);
    add_group_sides(z[0], rows, g * kLanes, false, sums);
    add_mixed(group, columns, rows.slope + g * kLanes, rows.label + g * kLanes, moments);
  }
}

}  // namespace

BOSCAGE_CLONES void add_sides_and_moments(const BlockTile<float>& tile, bool backwards, const float* theta, double bias,
                                          const BlockRows& rows, double* sums, double* moments, float* memory) {
  const int64_t stretches = (tile.groups + kStretch - 1) / kStretch;
  for (int64_t i = 0; i < stretches; ++i) {
    const int64_t begin = (backwards ? stretches - 1 - i : i) * kStretch;
    add_stretch(tile, begin, std::min(tile.groups, begin + kStretch), theta, bias, rows, sums, moments, memory);
  }
}

}  // namespace boscage
