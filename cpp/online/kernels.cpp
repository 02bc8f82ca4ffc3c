#include "online/kernels.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "base/instruction_sets.hpp"
#include "base/vectors.hpp"

namespace boscage::online {

namespace {

using Lanes = Loose<float>;

BOSCAGE_INLINE const Lanes& at(const float* p) { return *reinterpret_cast<const Lanes*>(p); }

// Halves folded on each other: 16, 8, 4, 2, 1.
BOSCAGE_INLINE float fold(const Lanes& sum) {
  using Eight = Vector<float, 32>;
  using Four = Vector<float, 16>;
  const Eight eight = __builtin_shufflevector(sum, sum, 0, 1, 2, 3, 4, 5, 6, 7) +
                      __builtin_shufflevector(sum, sum, 8, 9, 10, 11, 12, 13, 14, 15);
  const Four four =
      __builtin_shufflevector(eight, eight, 0, 1, 2, 3) + __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
  const Four two = four + __builtin_shufflevector(four, four, 2, 3, 2, 3);
  return two[0] + two[1];
}

BOSCAGE_INLINE float dot_row(const float* x, const float* row, int64_t n) {
  Lanes sum{};
  for (int64_t j = 0; j < n; j += lanes) sum += at(x + j) * at(row + j);
  return fold(sum);
}

BOSCAGE_INLINE float averaged_dot_row(const float* x, const float* row, const float* average, float factor, int64_t n) {
  Lanes sum{};
  for (int64_t j = 0; j < n; j += lanes) sum += at(x + j) * (at(row + j) - at(average + j) * factor);
  return fold(sum);
}

// Listed rows lie anywhere in memory: asks for the next four before they are read.
BOSCAGE_INLINE void prefetch_rows(const float* rows, int64_t stride, const int32_t* ids, int64_t first, int64_t count) {
  const int64_t end = first + 4 < count ? first + 4 : count;
  for (int64_t i = first; i < end; ++i) prefetch_vector(rows + ids[i] * stride, stride);
}

constexpr size_t large_page = size_t{1} << 21;

std::align_val_t alignment_of(size_t bytes) { return std::align_val_t{bytes >= large_page ? large_page : 64}; }

}  // namespace

void* allocate_lines(size_t bytes) {
  void* p = ::operator new(bytes, alignment_of(bytes));
#if defined(__linux__)
  if (bytes >= large_page) (void)madvise(p, bytes / large_page * large_page, MADV_HUGEPAGE);
#endif
  return p;
}

void free_lines(void* p, size_t bytes) { ::operator delete(p, alignment_of(bytes)); }

BOSCAGE_CLONES
void dots(const float* x, const float* rows, int64_t stride, const int32_t* ids, int64_t count, float* out) {
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {  // four rows at a time share the loads of x and hide each other's latency
    const float* row[4];
    for (int64_t k = 0; k < 4; ++k) row[k] = rows + (ids == nullptr ? i + k : ids[i + k]) * stride;
    if (ids != nullptr) prefetch_rows(rows, stride, ids, i + 4, count);
    Lanes sum0{}, sum1{}, sum2{}, sum3{};
    for (int64_t j = 0; j < stride; j += lanes) {
      const Lanes here = at(x + j);
      sum0 += here * at(row[0] + j);
      sum1 += here * at(row[1] + j);
      sum2 += here * at(row[2] + j);
      sum3 += here * at(row[3] + j);
    }
    out[i] = fold(sum0);
    out[i + 1] = fold(sum1);
    out[i + 2] = fold(sum2);
    out[i + 3] = fold(sum3);
  }
  for (; i < count; ++i) out[i] = dot_row(x, rows + (ids == nullptr ? i : ids[i]) * stride, stride);
}

BOSCAGE_CLONES
void averaged_dots(const float* x, const float* rows, const float* averages, const float* factors, int64_t stride,
                   const int32_t* ids, int64_t count, float* out) {
  int64_t i = 0;
  for (; i + 2 <= count; i += 2) {
    const int64_t id0 = ids == nullptr ? i : ids[i], id1 = ids == nullptr ? i + 1 : ids[i + 1];
    const float *row0 = rows + id0 * stride, *row1 = rows + id1 * stride;
    const float *average0 = averages + id0 * stride, *average1 = averages + id1 * stride;
    const float factor0 = factors[id0], factor1 = factors[id1];
    Lanes sum0{}, sum1{};
    for (int64_t j = 0; j < stride; j += lanes) {
      const Lanes here = at(x + j);
      sum0 += here * (at(row0 + j) - at(average0 + j) * factor0);
      sum1 += here * (at(row1 + j) - at(average1 + j) * factor1);
    }
    out[i] = fold(sum0);
    out[i + 1] = fold(sum1);
  }
  for (; i < count; ++i) {
    const int64_t id = ids == nullptr ? i : ids[i];
    out[i] = averaged_dot_row(x, rows + id * stride, averages + id * stride, factors[id], stride);
  }
}

BOSCAGE_CLONES
void adagrad(const float* x, const Step& step, float* weights, float* squares, int64_t n) {
  const float gradient = step.gradient, rate = step.rate, epsilon = step.epsilon;
  for (int64_t j = 0; j < n; ++j) {
    const float slope = gradient * x[j];
    const float square = squares[j] + slope * slope;
    squares[j] = square;
    weights[j] -= rate * slope / std::sqrt(square + epsilon);
  }
}

BOSCAGE_CLONES
void adagrad_averaged(const float* x, const Step& step, float* weights, float* squares, float* averages, int64_t n) {
  const float gradient = step.gradient, rate = step.rate, epsilon = step.epsilon, clock = step.clock;
  for (int64_t j = 0; j < n; ++j) {
    const float slope = gradient * x[j];
    const float square = squares[j] + slope * slope;
    const float move = rate * slope / std::sqrt(square + epsilon);
    squares[j] = square;
    weights[j] -= move;
    averages[j] -= clock * move;
  }
}

BOSCAGE_CLONES
void adagrad_classes(float x, const float* gradients, const float* starts, const Step& step, float* weights,
                     float* squares, float* averages, int64_t classes) {
  const float rate = step.rate, epsilon = step.epsilon, clock = step.clock;
  for (int64_t k = 0; k < classes; ++k) {
    const float slope = gradients[k] * x;
    const float square = squares[k] + slope * slope;
    const float move = rate * slope / std::sqrt(square + epsilon);
    squares[k] = square;
    weights[k] -= move;
    averages[k] -= (clock - starts[k]) * move;
  }
}

BOSCAGE_CLONES
float median_step(const float* x, const Step& step, float direction, float limit, float* weights, float* squares,
                  float* scratch, int64_t n) {
  const float gradient = step.gradient, epsilon = step.epsilon;
  for (int64_t j = 0; j < n; ++j) {
    const float slope = gradient * x[j];
    const float square = squares[j] + slope * slope;
    squares[j] = square;
    scratch[j] = slope / std::sqrt(square + epsilon);
  }
  const float reach = step.rate * dot_row(x, scratch, n);
  const float change = reach < limit ? reach : limit;
  const float factor = reach > 0 ? direction * (step.rate * (change / reach)) : 0.0f;
  for (int64_t j = 0; j < n; ++j) weights[j] += factor * scratch[j];
  return change;
}

BOSCAGE_CLONES
void sortable_keys(const float* values, int64_t n, uint32_t* out) {
  for (int64_t i = 0; i < n; ++i) {
    const auto bits = std::bit_cast<uint32_t>(values[i]);
    out[i] = bits ^ (bits >> 31 ? 0xffffffffU : 0x80000000U);
  }
}

BOSCAGE_CLONES
uint32_t threshold_of(const uint32_t* keys, int64_t n, int64_t k) {
  uint32_t found = 0;
  for (int bit = 31; bit >= 0; --bit) {
    const uint32_t tried = found | (1U << bit);
    uint32_t count = 0;
    for (int64_t i = 0; i < n; ++i) count += keys[i] >= tried ? 1U : 0U;
    if (static_cast<int64_t>(count) >= k) found = tried;
    if (static_cast<int64_t>(count) == k) break;
  }
  return found;
}

BOSCAGE_CLONES
void branch_scores(const float* parents, const float* margins, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) {
    const float margin = margins[i], size = std::fabs(margin);
    const float both = parents[i] - log_one_plus(exp_negative(-size));
    out[2 * i] = both - (margin > 0 ? margin : 0.0f);
    out[2 * i + 1] = both + (margin < 0 ? margin : 0.0f);
  }
}

BOSCAGE_CLONES
void softmax(float* scores, int64_t n) {
  float largest = scores[0];
  for (int64_t i = 1; i < n; ++i) largest = scores[i] > largest ? scores[i] : largest;
  for (int64_t i = 0; i < n; ++i) scores[i] = exp_negative(scores[i] - largest);
  float sums[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (int64_t lane = 0; lane < lanes; ++lane) sums[lane] += scores[i + lane];
  }
  for (; i < n; ++i) sums[i % lanes] += scores[i];
  Lanes sum;
  std::memcpy(&sum, sums, sizeof(sums));
  const float total = fold(sum);
  for (int64_t k = 0; k < n; ++k) scores[k] = scores[k] / total;
}

BOSCAGE_CLONES
void observe_columns(const double* x, double share, double* centre, double* radius, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    const double middle = centre[j] + (x[j] - centre[j]) * share;
    const double size = std::fabs(x[j] - middle);
    centre[j] = middle;
    radius[j] = size > radius[j] ? size : radius[j];
  }
}

BOSCAGE_CLONES
void scale_columns(const double* x, const double* centre, const double* radius, float* out, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    const double scaled = (x[j] - centre[j]) / (radius[j] > 0 ? radius[j] : 1.0);
    // A column that never moved in training carries nothing, whatever it shows later.
    const double kept = radius[j] > 0 ? scaled : 0.0;
    out[j] = static_cast<float>(kept > 1e6 ? 1e6 : (kept < -1e6 ? -1e6 : kept));
  }
}

BOSCAGE_CLONES
void add_to_mean(const double* x, double share, double spread, double* mean, double* within, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    const double gap = x[j] - mean[j];
    within[j] += spread * gap * gap;
    mean[j] += gap * share;
  }
}

BOSCAGE_CLONES
void axpy(float a, const float* x, float* y, int64_t n) {
  for (int64_t j = 0; j < n; ++j) y[j] += a * x[j];
}

BOSCAGE_CLONES
void averaged_axpy(float a, const float* x, const float* average, const float* factors, float* y, int64_t n) {
  for (int64_t j = 0; j < n; ++j) y[j] += a * (x[j] - average[j] * factors[j]);
}

}  // namespace boscage::online
