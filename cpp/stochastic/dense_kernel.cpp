#include "stochastic/dense_kernel.hpp"

#include <cstring>

// Vectors longer than the baseline's never cross a function boundary here.
#pragma GCC diagnostic ignored "-Wpsabi"

#define BOSCAGE_SET baseline
#define BOSCAGE_WIDTH 2
#include "stochastic/dense_kernel_body.hpp"
#undef BOSCAGE_SET
#undef BOSCAGE_WIDTH

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define BOSCAGE_SETS 1
#pragma GCC push_options
#pragma GCC target("avx2")
#define BOSCAGE_SET avx2
#define BOSCAGE_WIDTH 4
#include "stochastic/dense_kernel_body.hpp"
#undef BOSCAGE_SET
#undef BOSCAGE_WIDTH
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,prefer-vector-width=512")
#define BOSCAGE_SET avx512
#define BOSCAGE_WIDTH 8
#include "stochastic/dense_kernel_body.hpp"
#undef BOSCAGE_SET
#undef BOSCAGE_WIDTH
#pragma GCC pop_options
#endif

namespace boscage::stochastic {

namespace {

template <class T>
void dispatch(const DenseRun<T>& run, int64_t* counts) {
#ifdef BOSCAGE_SETS
  static const int set = __builtin_cpu_supports("avx512f") ? 2 : (__builtin_cpu_supports("avx2") ? 1 : 0);
  if (set == 2) return avx512::run(run, counts);
  if (set == 1) return avx2::run(run, counts);
#endif
  baseline::run(run, counts);
}

}  // namespace

void run_rows(const DenseRun<float>& run, int64_t* counts) { dispatch(run, counts); }
void run_rows(const DenseRun<double>& run, int64_t* counts) { dispatch(run, counts); }

}  // namespace boscage::stochastic
