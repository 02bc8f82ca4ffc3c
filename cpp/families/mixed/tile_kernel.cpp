#include "families/mixed/tile_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/lanes.hpp"

namespace boscage::mixed {

namespace {

constexpr double kRelativeNoise = 1e-12;

// memory[8 j ...] += share x, or share (x - mean)^2.
BOSCAGE_INLINE void add_moments(const TileView& tile, const double* share, const double* mean, double* memory) {
  std::fill_n(memory, tile.columns * kLanes, 0.0);
  for (int64_t g = 0; g < tile.groups; ++g) {
    const double* group = tile.values + g * tile.columns * kLanes;
    const Lanes weight = load(share + g * kLanes);
    for (int64_t j = 0; j < tile.columns; ++j) {
      const Lanes x = load(group + j * kLanes);
      const Lanes off = mean == nullptr ? x : (x - mean[j]) * (x - mean[j]);
      store(memory + j * kLanes, load(memory + j * kLanes) + weight * off);
    }
  }
}

BOSCAGE_INLINE void store_as(double* to, Lanes value) { store(to, value); }
BOSCAGE_INLINE void store_as(float* to, Lanes value) { store(to, __builtin_convertvector(value, Singles)); }

template <class T>
BOSCAGE_INLINE void scale_body(const TileView& tile, const double* mean, const double* inverse, T* out) {
  for (int64_t g = 0; g < tile.groups; ++g) {
    const int64_t at = g * tile.columns * kLanes;
    for (int64_t j = 0; j < tile.columns; ++j) {
      const Lanes x = load(tile.values + at + j * kLanes);
      // Halves cannot overflow where x - mean could.
      store_as(out + at + j * kLanes, (x * 0.5 - 0.5 * mean[j]) * (2.0 * inverse[j]));
    }
  }
}

// Scores of `Count` groups at once.
template <int Count>
BOSCAGE_INLINE void score_groups(const double* group, int64_t stride, const double* weights, const int64_t* first,
                                 double* out) {
  Lanes lane[8][to_size(Count)];
  for (int i = 0; i < 8; ++i) {
    Lanes total[to_size(Count)] = {};
    for (int64_t j = first[i]; j < first[i + 1]; ++j)
      for (int g = 0; g < Count; ++g) total[g] += weights[j] * load(group + g * stride + j * kLanes);
    for (int g = 0; g < Count; ++g) lane[i][g] = total[g];
  }
  for (int g = 0; g < Count; ++g)
    store(out + g * kLanes, ((lane[0][g] + lane[1][g]) + (lane[2][g] + lane[3][g])) +
                                ((lane[4][g] + lane[5][g]) + (lane[6][g] + lane[7][g])));
}

// A block of the Gram matrix: columns j ... j + A - 1 by k ... k + B - 1.
template <int A, int B>
BOSCAGE_INLINE void gram_block(const TileView& tile, const double* weight, int64_t j, int64_t k, double* gram) {
  Lanes sums[to_size(A)][to_size(B)] = {};
  for (int64_t g = 0; g < tile.groups; ++g) {
    const double* group = tile.values + g * tile.columns * kLanes;
    const Lanes w = load(weight + g * kLanes);
    Lanes other[to_size(B)];
    for (int b = 0; b < B; ++b) other[b] = load(group + (k + b) * kLanes);
    for (int a = 0; a < A; ++a) {
      const Lanes x = w * load(group + (j + a) * kLanes);
      for (int b = 0; b < B; ++b) sums[a][b] += x * other[b];
    }
  }
  for (int a = 0; a < A; ++a)
    for (int b = 0; b < B; ++b)
      if (k + b <= j + a) gram[(j + a) * tile.columns + k + b] = sum(sums[a][b]);
}

}  // namespace

BOSCAGE_CLONES void column_scales(const TileView& tile, const double* share, double* memory, double* mean,
                                  double* inverse) {
  add_moments(tile, share, nullptr, memory);
  for (int64_t j = 0; j < tile.columns; ++j) mean[j] = sum(load(memory + j * kLanes));
  add_moments(tile, share, mean, memory);
  for (int64_t j = 0; j < tile.columns; ++j) {
    const double deviation = std::sqrt(sum(load(memory + j * kLanes)));
    inverse[j] = deviation > kRelativeNoise * std::abs(mean[j]) && std::isfinite(1.0 / deviation) ? 1.0 / deviation : 0;
  }
}

BOSCAGE_CLONES void scale_tile(const TileView& tile, const double* mean, const double* inverse, double* out) {
  scale_body(tile, mean, inverse, out);
}
BOSCAGE_CLONES void scale_tile(const TileView& tile, const double* mean, const double* inverse, float* out) {
  scale_body(tile, mean, inverse, out);
}

BOSCAGE_CLONES void score_tile(const TileView& tile, const double* weights, const int64_t* first, double* out) {
  constexpr int kTogether = 4;
  const int64_t stride = tile.columns * kLanes;
  int64_t g = 0;
  for (; g + kTogether <= tile.groups; g += kTogether)
    score_groups<kTogether>(tile.values + g * stride, stride, weights, first, out + g * kLanes);
  for (; g < tile.groups; ++g) score_groups<1>(tile.values + g * stride, stride, weights, first, out + g * kLanes);
}

BOSCAGE_CLONES void gram_of_columns(const TileView& tile, const double* weight, double* gram) {
  constexpr int64_t kBlock = 4;
  const int64_t m = tile.columns, whole = m - m % kBlock;
  for (int64_t j = 0; j < whole; j += kBlock)
    for (int64_t k = 0; k <= j; k += kBlock) gram_block<kBlock, kBlock>(tile, weight, j, k, gram);
  for (int64_t j = whole; j < m; ++j) {
    for (int64_t k = 0; k < whole; k += kBlock) gram_block<1, kBlock>(tile, weight, j, k, gram);
    for (int64_t k = whole; k <= j; ++k) gram_block<1, 1>(tile, weight, j, k, gram);
  }
}

BOSCAGE_CLONES void gram_of_rows(const TileView& tile, double* gram) {
  const int64_t size = tile.groups * kLanes, stride = tile.columns * kLanes;
  for (int64_t g = 0; g < tile.groups; ++g) {
    for (int64_t h = 0; h <= g; ++h) {
      Lanes sums[kLanes] = {};  // by row of group g, over the rows of group h
      const double *own = tile.values + g * stride, *other = tile.values + h * stride;
      for (int64_t j = 0; j < stride; j += kLanes) {
        const Lanes x = load(other + j);
        for (int64_t i = 0; i < kLanes; ++i) sums[i] += own[j + i] * x;
      }
      for (int64_t i = 0; i < kLanes; ++i) store(gram + (g * kLanes + i) * size + h * kLanes, sums[i]);
    }
  }
}

BOSCAGE_CLONES void project_tile(const TileView& tile, const double* pull, double* sums) {
  for (int64_t j = 0; j < tile.columns; ++j) {
    Lanes total{};
    for (int64_t g = 0; g < tile.groups; ++g)
      total += load(pull + g * kLanes) * load(tile.values + (g * tile.columns + j) * kLanes);
    sums[j] = sum(total);
  }
}

namespace {

constexpr double kMostWhole = 1125899906842624.0;  // 2^50

// low, high, and in lanes whether a number is missing or not whole.
struct LaneFacts {
  Lanes low, high;
  Bits missing{}, broken{};

  BOSCAGE_INLINE void add(Lanes x) {
    constexpr double magic = 6755399441055744.0;  // adding it rounds to an integer
    low = x < low ? x : low;
    high = x > high ? x : high;
    missing |= x != x;
    broken |= (x + magic) - magic != x;
  }
};

}  // namespace

BOSCAGE_CLONES ValueFacts facts_of(std::span<const double> values) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  LaneFacts lanes{all(infinity), all(-infinity)};
  size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) lanes.add(load(values.data() + i));
  for (; i < values.size(); ++i) lanes.add(all(values[i]));
  ValueFacts facts;
  facts.low = infinity;
  facts.high = -infinity;
  bool broken = false;
  for (int lane = 0; lane < kLanes; ++lane) {
    facts.low = std::min(facts.low, lanes.low[lane]);
    facts.high = std::max(facts.high, lanes.high[lane]);
    facts.has_missing |= lanes.missing[lane] != 0;
    broken |= lanes.broken[lane] != 0;
  }
  facts.is_whole = !broken && std::abs(facts.low) < kMostWhole && std::abs(facts.high) < kMostWhole;
  facts.varies = facts.low < facts.high || (facts.has_missing && facts.low == facts.high);
  return facts;
}

BOSCAGE_CLONES void add_line(const double* x, const double* centre, double share, int64_t columns, double* weight,
                             double* sum, double* square) {
  int64_t j = 0;
  for (; j + kLanes <= columns; j += kLanes) {
    const Lanes off = load(x + j) - load(centre + j), zero{};
    const Lanes part = off == off ? all(share) : zero, moment = off == off ? share * off : zero;
    store(weight + j, load(weight + j) + part);
    store(sum + j, load(sum + j) + moment);
    store(square + j, load(square + j) + (off == off ? moment * off : zero));
  }
  for (; j < columns; ++j) {
    const double off = x[j] - centre[j];
    if (off != off) continue;
    weight[j] += share;
    sum[j] += share * off;
    square[j] += share * off * off;
  }
}

}  // namespace boscage::mixed
