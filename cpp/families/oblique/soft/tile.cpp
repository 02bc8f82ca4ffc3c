#include "families/oblique/soft/tile.hpp"

namespace boscage {

namespace {

// Two rows exchange some of their values.
template <int... places>
BOSCAGE_INLINE Singles pick(Singles a, Singles b) {
  return __builtin_shufflevector(a, b, places...);
}
BOSCAGE_INLINE void exchange_ones(Singles& a, Singles& b) {
  const Singles first = a, second = b;
  a = pick<0, 8, 2, 10, 4, 12, 6, 14>(first, second);
  b = pick<1, 9, 3, 11, 5, 13, 7, 15>(first, second);
}
BOSCAGE_INLINE void exchange_pairs(Singles& a, Singles& b) {
  const Singles first = a, second = b;
  a = pick<0, 1, 8, 9, 4, 5, 12, 13>(first, second);
  b = pick<2, 3, 10, 11, 6, 7, 14, 15>(first, second);
}
BOSCAGE_INLINE void exchange_fours(Singles& a, Singles& b) {
  const Singles first = a, second = b;
  a = pick<0, 1, 2, 3, 8, 9, 10, 11>(first, second);
  b = pick<4, 5, 6, 7, 12, 13, 14, 15>(first, second);
}

// Eight rows of eight become eight columns.
BOSCAGE_INLINE void transpose(Singles* x) {
  for (int i = 0; i < 8; i += 2) exchange_ones(x[i], x[i + 1]);
  for (int i = 0; i < 8; i += 4)
    for (int k = 0; k < 2; ++k) exchange_pairs(x[i + k], x[i + k + 2]);
  for (int k = 0; k < 4; ++k) exchange_fours(x[k], x[k + 4]);
}

template <class T>
BOSCAGE_INLINE void fill_body(const T* X, int64_t row_stride, const uint32_t* rows, int64_t columns,
                              const HalfScaling& scaling, float* out) {
  const double *centre = scaling.centre.data(), *factor = scaling.factor.data(), *missing = scaling.missing.data();
  const Lanes half = all(0.5);
  int64_t j = 0;
  for (; j + kLanes <= columns; j += kLanes) {
    Singles x[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const Lanes value = (half * load(X + rows[lane] * row_stride + j) - load(centre + j)) * load(factor + j);
      x[lane] = __builtin_convertvector(value == value ? value : load(missing + j), Singles);
    }
    transpose(x);
    for (int64_t k = 0; k < kLanes; ++k) store(out + (j + k) * kLanes, x[k]);
  }
  for (; j < columns; ++j) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const double value = (0.5 * static_cast<double>(X[rows[lane] * row_stride + j]) - centre[j]) * factor[j];
      out[j * kLanes + lane] = static_cast<float>(value == value ? value : missing[j]);
    }
  }
}

}  // namespace

BOSCAGE_CLONES void fill_group(const float* X, int64_t row_stride, const uint32_t* rows, int64_t columns,
                               const HalfScaling& scaling, float* out) {
  fill_body(X, row_stride, rows, columns, scaling, out);
}
BOSCAGE_CLONES void fill_group(const double* X, int64_t row_stride, const uint32_t* rows, int64_t columns,
                               const HalfScaling& scaling, float* out) {
  fill_body(X, row_stride, rows, columns, scaling, out);
}

}  // namespace boscage
