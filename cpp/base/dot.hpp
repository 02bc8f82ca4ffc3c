// The one dot product: eight running sums, column j always in sum j mod 8.
//
// The order of additions depends on column numbers alone, so a row gives the same bits whether it is stored
// dense or sparse, and learners that score rows with this function cut exactly where prediction compares.
#pragma once

#include <cstdint>
#include <span>

#include "base/instruction_sets.hpp"

namespace boscage {

class LaneSum {
 public:
  void add(int64_t column, double term) { lane_[column & 7] += term; }
  double total() const {
    return ((lane_[0] + lane_[1]) + (lane_[2] + lane_[3])) + ((lane_[4] + lane_[5]) + (lane_[6] + lane_[7]));
  }

 private:
  double lane_[8] = {0, 0, 0, 0, 0, 0, 0, 0};
};

inline double dot(const double* a, const double* b, int64_t size) {
  double lane[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  int64_t j = 0;
  for (; j + 8 <= size; j += 8) {
    for (int k = 0; k < 8; ++k) lane[k] += a[j + k] * b[j + k];
  }
  for (int k = 0; j < size; ++j, ++k) lane[k] += a[j] * b[j];
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

// The same for many rows of a matrix, and for one pair, in wide registers.
BOSCAGE_CLONED void dot_rows(const double* weights, const double* X, int64_t row_stride, int64_t columns,
                             std::span<const uint32_t> rows, double* out);
BOSCAGE_CLONED double wide_dot(const double* a, const double* b, int64_t size);
// sum += factor * x.
BOSCAGE_CLONED void add_scaled(double factor, const double* x, int64_t size, double* sum);
// Is every number finite?
BOSCAGE_CLONED bool is_finite_row(const double* row, int64_t width);

// values[k] stands at column[k] of a sparse vector; dense has an entry for every column.
template <class Index>
double dot_sparse(const Index* column, const double* values, int64_t stored, const double* dense) {
  LaneSum sum;
  for (int64_t k = 0; k < stored; ++k) sum.add(column[k], values[k] * dense[column[k]]);
  return sum.total();
}

}  // namespace boscage
