#include "refine/product.hpp"

#include "base/index.hpp"

namespace boscage::refine {

namespace {

template <int Rows, class T>
BOSCAGE_INLINE void multiply_rows(const T* left, int64_t left_stride, const T* panel, int64_t depth, T* out,
                                  int64_t out_stride) {
  Vector<T> sum[to_size(Rows)];
  for (int i = 0; i < Rows; ++i) sum[i] = all<T>(0);
  for (int64_t k = 0; k < depth; ++k) {
    const Vector<T> right = load(panel + k * kLane<T>);
    for (int i = 0; i < Rows; ++i) sum[i] += left[i * left_stride + k] * right;
  }
  for (int i = 0; i < Rows; ++i) store(out + i * out_stride, sum[i]);
}

template <class T>
BOSCAGE_INLINE void multiply_body(const T* left, int64_t left_stride, const T* right, int64_t depth, int64_t panels,
                                  T* out, int64_t out_stride, int64_t begin, int64_t end) {
  constexpr int kTogether = 6;
  for (int64_t p = 0; p < panels; ++p) {
    const T* panel = right + p * depth * kLane<T>;
    T* place = out + p * kLane<T>;
    int64_t i = begin;
    for (; i + kTogether <= end; i += kTogether)
      multiply_rows<kTogether>(left + i * left_stride, left_stride, panel, depth, place + i * out_stride, out_stride);
    for (; i + 2 <= end; i += 2)
      multiply_rows<2>(left + i * left_stride, left_stride, panel, depth, place + i * out_stride, out_stride);
    if (i < end)
      multiply_rows<1>(left + i * left_stride, left_stride, panel, depth, place + i * out_stride, out_stride);
  }
}

}  // namespace

BOSCAGE_CLONES void multiply(const float* left, int64_t left_stride, const float* right, int64_t depth, int64_t panels,
                             float* out, int64_t out_stride, int64_t begin, int64_t end) {
  multiply_body(left, left_stride, right, depth, panels, out, out_stride, begin, end);
}
BOSCAGE_CLONES void multiply(const double* left, int64_t left_stride, const double* right, int64_t depth,
                             int64_t panels, double* out, int64_t out_stride, int64_t begin, int64_t end) {
  multiply_body(left, left_stride, right, depth, panels, out, out_stride, begin, end);
}

}  // namespace boscage::refine
