#include "stochastic/dense_kernel.hpp"

#include <algorithm>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__)
#define BOSCAGE_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define BOSCAGE_CLONES
#endif
#define BOSCAGE_INLINE inline __attribute__((always_inline))

namespace boscage::stochastic {

namespace {

// theta.(x - shift) in eight lanes; x - shift is left in the buffer.
template <class T, bool shifted>
BOSCAGE_INLINE double centred_dot(const T* __restrict x, const double* __restrict shift,
                                  const double* __restrict theta, double* __restrict z, int64_t d) {
  double lane[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  int64_t j = 0;
  for (; j + 8 <= d; j += 8) {
    for (int k = 0; k < 8; ++k) {
      const double value = static_cast<double>(x[j + k]) - (shifted ? shift[j + k] : 0.0);
      z[j + k] = value;
      lane[k] += value * theta[j + k];
    }
  }
  for (int k = 0; j < d; ++j, ++k) {
    const double value = static_cast<double>(x[j]) - (shifted ? shift[j] : 0.0);
    z[j] = value;
    lane[k] += value * theta[j];
  }
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

template <class T, bool shifted>
BOSCAGE_INLINE void centre(const T* __restrict x, const double* __restrict shift, double* __restrict z, int64_t d) {
  for (int64_t j = 0; j < d; ++j) z[j] = static_cast<double>(x[j]) - (shifted ? shift[j] : 0.0);
}

BOSCAGE_INLINE void add_row(double* __restrict sums, const double* __restrict z, double weight, double lever,
                            int64_t d) {
  sums[0] += weight;
  sums[1] += lever;
  for (int64_t j = 0; j < d; ++j) sums[j + 2] += lever * z[j];
}

template <class T, bool shifted>
BOSCAGE_INLINE void run(const DenseRun<T>& r) {
  for (int64_t i = 0; i < r.count; ++i) {
    const int64_t row = r.rows != nullptr ? static_cast<int64_t>(r.rows[i]) : r.begin + i;
    const double reach = r.reach != nullptr ? r.reach[i] : 1.0;
    if (reach == 0) {
      if (r.left != nullptr) r.left[i] = 0;
      if (r.right != nullptr) r.right[i] = 0;
      continue;
    }
    const T* x = r.data + (row - r.first) * r.stride;
    const double weight = r.weight != nullptr ? r.weight[row] : 1.0, norm = r.norm != nullptr ? r.norm[row] : 1.0;
    const int64_t start = r.label[row] * r.sums_stride;
    if (r.theta == nullptr) {
      centre<T, shifted>(x, r.shift, r.buffer, r.columns);
      add_row(r.right_sums + start, r.buffer, weight * reach, weight * reach * norm, r.columns);
      continue;
    }
    const double score = norm * (centred_dot<T, shifted>(x, r.shift, r.theta, r.buffer, r.columns) + r.offset);
    const double tilt = std::min(1.0, std::max(-1.0, score));
    double left = reach * ((1 - tilt) / 2), right = reach * ((1 + tilt) / 2);
    left = left < r.cut_left ? 0 : left;
    right = right < r.cut_right ? 0 : right;
    if (r.left != nullptr) r.left[i] = left;
    if (r.right != nullptr) r.right[i] = right;
    if (r.left_sums != nullptr)
      add_row(r.left_sums + start, r.buffer, weight * left, weight * left * norm, r.columns);
    if (r.right_sums != nullptr)
      add_row(r.right_sums + start, r.buffer, weight * right, weight * right * norm, r.columns);
  }
}

}  // namespace

BOSCAGE_CLONES void run_rows(const DenseRun<float>& r) {
  r.shift != nullptr ? run<float, true>(r) : run<float, false>(r);
}

BOSCAGE_CLONES void run_rows(const DenseRun<double>& r) {
  r.shift != nullptr ? run<double, true>(r) : run<double, false>(r);
}

}  // namespace boscage::stochastic
