#include "oblique/tile.hpp"

namespace boscage {

namespace {

typedef int32_t Places __attribute__((vector_size(32)));

// Eight rows of eight become eight columns: pairs, then fours, then eights change places.
BOSCAGE_INLINE void transpose(Singles* x) {
  constexpr Places low_pairs = {0, 8, 2, 10, 4, 12, 6, 14}, high_pairs = {1, 9, 3, 11, 5, 13, 7, 15};
  constexpr Places low_fours = {0, 1, 8, 9, 4, 5, 12, 13}, high_fours = {2, 3, 10, 11, 6, 7, 14, 15};
  constexpr Places low_eights = {0, 1, 2, 3, 8, 9, 10, 11}, high_eights = {4, 5, 6, 7, 12, 13, 14, 15};
  const auto exchange = [&](int a, int b, const Places& low, const Places& high) {
    const Singles first = x[a], second = x[b];
    x[a] = __builtin_shuffle(first, second, low);
    x[b] = __builtin_shuffle(first, second, high);
  };
  for (int i = 0; i < 8; i += 2) exchange(i, i + 1, low_pairs, high_pairs);
  for (int i = 0; i < 8; i += 4)
    for (int k = 0; k < 2; ++k) exchange(i + k, i + k + 2, low_fours, high_fours);
  for (int k = 0; k < 4; ++k) exchange(k, k + 4, low_eights, high_eights);
}

template <class T>
BOSCAGE_INLINE void fill_body(const T* X, int64_t row_stride, const uint32_t* rows, int64_t columns,
                              const double* centre, const double* factor, float* out) {
  const Lanes half = all(0.5);
  int64_t j = 0;
  for (; j + kLanes <= columns; j += kLanes) {
    Singles x[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const Lanes value = (half * load(X + rows[lane] * row_stride + j) - load(centre + j)) * load(factor + j);
      x[lane] = __builtin_convertvector(value == value ? value : Lanes{}, Singles);
    }
    transpose(x);
    for (int64_t k = 0; k < kLanes; ++k) store(out + (j + k) * kLanes, x[k]);
  }
  for (; j < columns; ++j) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const double value = (0.5 * static_cast<double>(X[rows[lane] * row_stride + j]) - centre[j]) * factor[j];
      out[j * kLanes + lane] = value == value ? static_cast<float>(value) : 0.0F;
    }
  }
}

}  // namespace

BOSCAGE_CLONES void fill_group(const float* X, int64_t row_stride, const uint32_t* rows, int64_t columns,
                               const double* centre, const double* factor, float* out) {
  fill_body(X, row_stride, rows, columns, centre, factor, out);
}
BOSCAGE_CLONES void fill_group(const double* X, int64_t row_stride, const uint32_t* rows, int64_t columns,
                               const double* centre, const double* factor, float* out) {
  fill_body(X, row_stride, rows, columns, centre, factor, out);
}

}  // namespace boscage
