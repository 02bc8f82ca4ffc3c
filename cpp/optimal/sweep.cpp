#include "optimal/sweep.hpp"

namespace boscage::optimal {

#define BOSCAGE_ISA plain
#define BOSCAGE_TARGET
#define BOSCAGE_BYTES 16
#include "optimal/sweep_body.hpp"
#undef BOSCAGE_ISA
#undef BOSCAGE_TARGET
#undef BOSCAGE_BYTES

#if defined(__x86_64__) && defined(__GNUC__)
#define BOSCAGE_ISA avx2
#define BOSCAGE_TARGET __attribute__((target("avx2")))
#define BOSCAGE_BYTES 32
#include "optimal/sweep_body.hpp"
#undef BOSCAGE_ISA
#undef BOSCAGE_TARGET
#undef BOSCAGE_BYTES

#define BOSCAGE_ISA avx512
#ifdef __clang__
#define BOSCAGE_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#else
#define BOSCAGE_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))
#endif
#define BOSCAGE_BYTES 64
#include "optimal/sweep_body.hpp"
#undef BOSCAGE_ISA
#undef BOSCAGE_TARGET
#undef BOSCAGE_BYTES
#endif

template <class T>
std::vector<SweepKernels<T>> runnable_sweep_kernels() {
  std::vector<SweepKernels<T>> all{{"plain", plain::binary<T>, plain::classes<T>}};
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx2")) all.push_back({"avx2", avx2::binary<T>, avx2::classes<T>});
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (wide) all.push_back({"avx512", avx512::binary<T>, avx512::classes<T>});
#endif
  return all;
}

template <class T>
const SweepKernels<T>& sweep_kernels() {
  static const SweepKernels<T> kernels = runnable_sweep_kernels<T>().back();
  return kernels;
}

template std::vector<SweepKernels<int32_t>> runnable_sweep_kernels<int32_t>();
template std::vector<SweepKernels<int64_t>> runnable_sweep_kernels<int64_t>();
template const SweepKernels<int32_t>& sweep_kernels<int32_t>();
template const SweepKernels<int64_t>& sweep_kernels<int64_t>();

}  // namespace boscage::optimal
