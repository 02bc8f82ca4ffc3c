#include "optimal/sweep.hpp"

#include "base/array.hpp"
#include "base/instruction_sets.hpp"
#include "base/vectors.hpp"

namespace boscage::optimal {

#define BOSCAGE_ISA plain
#define BOSCAGE_TARGET
#define BOSCAGE_BYTES 16
#include "optimal/sweep_body.hpp"
#undef BOSCAGE_ISA
#undef BOSCAGE_TARGET
#undef BOSCAGE_BYTES

#ifdef BOSCAGE_SETS
#define BOSCAGE_ISA avx2
#define BOSCAGE_TARGET BOSCAGE_INTEGER_AVX2
#define BOSCAGE_BYTES 32
#include "optimal/sweep_body.hpp"
#undef BOSCAGE_ISA
#undef BOSCAGE_TARGET
#undef BOSCAGE_BYTES

#define BOSCAGE_ISA avx512
#define BOSCAGE_TARGET BOSCAGE_INTEGER_AVX512
#define BOSCAGE_BYTES 64
#include "optimal/sweep_body.hpp"
#undef BOSCAGE_ISA
#undef BOSCAGE_TARGET
#undef BOSCAGE_BYTES
#endif

template <class T>
Array<SweepKernels<T>> runnable_sweep_kernels() {
  Array<SweepKernels<T>> all{{"plain", plain::binary<T>, plain::classes<T>}};
#ifdef BOSCAGE_SETS
  const InstructionSet set = integer_instruction_set();
  if (set >= InstructionSet::avx2) all.push_back({"avx2", avx2::binary<T>, avx2::classes<T>});
  if (set >= InstructionSet::avx512) all.push_back({"avx512", avx512::binary<T>, avx512::classes<T>});
#endif
  return all;
}

template <class T>
const SweepKernels<T>& sweep_kernels() {
  static const SweepKernels<T> kernels = runnable_sweep_kernels<T>().back();
  return kernels;
}

template Array<SweepKernels<int32_t>> runnable_sweep_kernels<int32_t>();
template Array<SweepKernels<int64_t>> runnable_sweep_kernels<int64_t>();
template const SweepKernels<int32_t>& sweep_kernels<int32_t>();
template const SweepKernels<int64_t>& sweep_kernels<int64_t>();

}  // namespace boscage::optimal
