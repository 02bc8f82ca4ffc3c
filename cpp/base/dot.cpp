#include "base/dot.hpp"

#include "base/lanes.hpp"

namespace boscage {

BOSCAGE_CLONES void dot_rows(const double* weights, const double* X, int64_t row_stride, int64_t columns,
                             std::span<const uint32_t> rows, double* out) {
  for (size_t i = 0; i < rows.size(); ++i) out[i] = dot_lanes(weights, X + rows[i] * row_stride, columns);
}

BOSCAGE_CLONES double wide_dot(const double* a, const double* b, int64_t size) { return dot_lanes(a, b, size); }

BOSCAGE_CLONES void add_scaled(double factor, const double* x, int64_t size, double* sum) {
  for (int64_t j = 0; j < size; ++j) sum[j] += factor * x[j];
}

// 0 times NaN or infinity is NaN, and stays in the sum.
BOSCAGE_CLONES bool is_finite_row(const double* row, int64_t width) {
  Lanes total{};
  int64_t j = 0;
  for (; j + kLanes <= width; j += kLanes) total += 0.0 * load(row + j);
  double rest = 0;
  for (; j < width; ++j) rest += 0.0 * row[j];
  return sum(total) + rest == 0;
}

}  // namespace boscage
