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
#define BOSCAGE_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))
#define BOSCAGE_BYTES 64
#include "optimal/sweep_body.hpp"
#undef BOSCAGE_ISA
#undef BOSCAGE_TARGET
#undef BOSCAGE_BYTES
#endif

namespace {

template <class T>
SweepKernels<T> choose() {
#if defined(__x86_64__) && defined(__GNUC__)
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (wide) return {avx512::binary<T>, avx512::classes<T>};
  if (__builtin_cpu_supports("avx2")) return {avx2::binary<T>, avx2::classes<T>};
#endif
  return {plain::binary<T>, plain::classes<T>};
}

}  // namespace

template <class T>
const SweepKernels<T>& sweep_kernels() {
  static const SweepKernels<T> kernels = choose<T>();
  return kernels;
}

template const SweepKernels<int32_t>& sweep_kernels<int32_t>();
template const SweepKernels<int64_t>& sweep_kernels<int64_t>();

}  // namespace boscage::optimal
