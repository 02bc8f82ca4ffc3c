// The inner loops over dense rows, compiled for several instruction sets.
//
// Eight running sums in fixed places and no fused multiply-add: every instruction set gives the same bits.
#pragma once

#include <cstdint>

namespace boscage::stochastic {

// A number v from -1 to 1 is as two classes between which it lies, so that the Gini index of their weights is half the
// variance of v plus a constant; a third channel holds its square, for reports.
constexpr int kNumberChannels = 3;
inline double number_share(double v, int channel) {
  return channel == 0 ? (1 - v) / 2 : channel == 1 ? (1 + v) / 2 : v * v;
}

// A run of rows of one node with all that the loop reads and writes; null pointers mean "not there".
template <class T>
struct DenseRun {
  const T* data;  // row r starts at data + (r - first) * stride
  int64_t stride, first, columns;
  const uint32_t* rows;  // or begin, begin + 1, …
  int64_t begin, count;
  const double *shift, *norm, *weight;
  const int32_t* label;
  const double* value;  // of numbers, by row; null: classes
  int64_t sums_stride;
  const double* reach;
  double *left, *right, *left_sums, *right_sums;
  const double* theta;  // null: no test, the rows are only added to right_sums
  double offset, cut_left, cut_right;
};

// Adds to counts the rows that can go left and right.
void run_rows(const DenseRun<float>& run, int64_t* counts);
void run_rows(const DenseRun<double>& run, int64_t* counts);

}  // namespace boscage::stochastic
