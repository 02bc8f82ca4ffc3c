// The inner loops of the online learner over dense float rows.
//
// Every sum runs over sixteen fixed lanes that are folded in one fixed order, so the same bits come out
// whatever register width the processor has. Rows are padded with zeros to a multiple of the lanes.
// Knows nothing of classes, trees or streams: pointers and lengths only.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/array.hpp"
#include "base/instruction_sets.hpp"

namespace boscage::online {

inline constexpr int64_t lanes = 16;
constexpr int64_t padded(int64_t n) { return (n + lanes - 1) / lanes * lanes; }

// Bytes that start on a cache line; from a few megabytes on they ask for large pages, because a beam that jumps between
// ten thousand rows would else look up the address of nearly each of them.
void* allocate_lines(size_t bytes);
void free_lines(void* p, size_t bytes);

// Vectors that start on a cache line: rows of a multiple of sixteen floats then never straddle one.
template <class T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}  // NOLINT: conversions between element types are the point
  T* allocate(size_t n) { return static_cast<T*>(allocate_lines(n * sizeof(T))); }
  void deallocate(T* p, size_t n) { free_lines(p, n * sizeof(T)); }
  bool operator==(const AlignedAllocator&) const { return true; }
};
using Floats = Array<float, AlignedAllocator<float>>;

// Asks for the beginning of a vector before it is read; the processor sees by itself how a long one goes on.
[[gnu::always_inline]] inline void prefetch_vector(const float* values, int64_t n) {
  constexpr int64_t most = 128;
  for (int64_t j = 0; j < (n < most ? n : most); j += lanes) __builtin_prefetch(values + j);
}

// exp for x <= 0: 2^k times a polynomial on [-ln2/2, ln2/2]; relative error below 2e-7.
[[gnu::always_inline]] inline float exp_negative(float x) {
  x = x > -87.0f ? x : -87.0f;
  const float shifted = x * 1.44269504f + 12582912.0f;
  const float whole = shifted - 12582912.0f;
  const float r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const int32_t scale = (static_cast<int32_t>(whole) + 127) << 23;
  return p * std::bit_cast<float>(scale);
}

// log(1 + t) for 0 <= t <= 1; absolute error below 1e-7.
[[gnu::always_inline]] inline float log_one_plus(float t) {
  float p = -0.0064535442f;
  p = p * t + 0.0360884937f;
  p = p * t - 0.0953293897f;
  p = p * t + 0.1676540711f;
  p = p * t - 0.2407338084f;
  p = p * t + 0.3317990258f;
  p = p * t - 0.4998741238f;
  p = p * t + 0.9999964239f;
  return p * t;
}

// One AdaGrad step: G += (g x)^2, step = rate * g * x / sqrt(G + epsilon), w -= step.
struct Step {
  float gradient = 0;
  float rate = 0;
  float epsilon = 0;
  float clock = 0;  // V -= clock * step keeps the polynomial average (scorers only)
};

// out[i] = x . row ids[i]; ids == nullptr means rows 0..count-1.
BOSCAGE_CLONED void dots(const float* x, const float* rows, int64_t stride, const int32_t* ids, int64_t count,
                         float* out);

// out[i] = x . (row - factor * average row): the averaged weights without forming them. factors by row.
BOSCAGE_CLONED void averaged_dots(const float* x, const float* rows, const float* averages, const float* factors,
                                  int64_t stride, const int32_t* ids, int64_t count, float* out);

BOSCAGE_CLONED void adagrad(const float* x, const Step& step, float* weights, float* squares, int64_t n);
BOSCAGE_CLONED void adagrad_averaged(const float* x, const Step& step, float* weights, float* squares, float* averages,
                                     int64_t n);

// The same step of one feature for many classes: x is its value, everything else by class; a class's clock is that
// of the step less its start.
BOSCAGE_CLONED void adagrad_classes(float x, const float* gradients, const float* starts, const Step& step,
                                    float* weights, float* squares, float* averages, int64_t classes);

// One step of size `rate` down |target - h| with gradient `gradient` * x, shortened so that the margin moves
// by at most `limit` towards the target; scratch holds n floats. Returns the change of the margin (>= 0).
BOSCAGE_CLONED float median_step(const float* x, const Step& step, float direction, float limit, float* weights,
                                 float* squares, float* scratch, int64_t n);

// Floats as whole numbers in the same order, and the largest number that at least k of some reach (1 <= k <= n), found
// bit by bit: a few passes of comparisons without a branch, where sorting would guess wrong at every second one. Stops
// at the first number that exactly k reach.
BOSCAGE_CLONED void sortable_keys(const float* values, int64_t n, uint32_t* out);
BOSCAGE_CLONED uint32_t threshold_of(const uint32_t* keys, int64_t n, int64_t k);

// Log probabilities of both children of n nodes: out[2i] = parents[i] + log sigmoid(-margin), out[2i + 1] with +margin.
BOSCAGE_CLONED void branch_scores(const float* parents, const float* margins, int64_t n, float* out);

// Replaces scores by exp(score - largest) / sum; n may be any number, scores needs no padding.
BOSCAGE_CLONED void softmax(float* scores, int64_t n);

// Running centre and largest deviation of every column; share = weight of the row / total weight, row included.
BOSCAGE_CLONED void observe_columns(const double* x, double share, double* centre, double* radius, int64_t n);
// The scaled row (x - centre) / radius, 0 where the radius is 0, kept within +-1e6.
BOSCAGE_CLONED void scale_columns(const double* x, const double* centre, const double* radius, float* out, int64_t n);

// Adds a row to a class's mean and to the sum of squared deviations within classes.
BOSCAGE_CLONED void add_to_mean(const double* x, double share, double spread, double* mean, double* within, int64_t n);

// y += a * x, and y += a * (x - factors * average).
BOSCAGE_CLONED void axpy(float a, const float* x, float* y, int64_t n);
BOSCAGE_CLONED void averaged_axpy(float a, const float* x, const float* average, const float* factors, float* y,
                                  int64_t n);

}  // namespace boscage::online
