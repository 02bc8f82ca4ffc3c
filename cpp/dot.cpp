#include "dot.hpp"

#include "lanes.hpp"

namespace boscage {

namespace {

// As dot() adds: column j in lane j mod 8.
BOSCAGE_INLINE double dot_body(const double* a, const double* b, int64_t size) {
  Lanes lanes{};
  int64_t j = 0;
  for (; j + kLanes <= size; j += kLanes) lanes += load(a + j) * load(b + j);
  for (int lane = 0; j < size; ++j, ++lane) lanes[lane] += a[j] * b[j];
  return sum(lanes);
}

}  // namespace

BOSCAGE_CLONES void dot_rows(const double* weights, const double* X, int64_t row_stride, int64_t columns,
                             std::span<const uint32_t> rows, double* out) {
  for (size_t i = 0; i < rows.size(); ++i) out[i] = dot_body(weights, X + rows[i] * row_stride, columns);
}

BOSCAGE_CLONES double wide_dot(const double* a, const double* b, int64_t size) { return dot_body(a, b, size); }

BOSCAGE_CLONES void add_scaled(double factor, const double* x, int64_t size, double* sum) {
  for (int64_t j = 0; j < size; ++j) sum[j] += factor * x[j];
}

}  // namespace boscage
