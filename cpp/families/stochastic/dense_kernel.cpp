#include "families/stochastic/dense_kernel.hpp"

#include <cstring>

#include "base/instruction_sets.hpp"

#define BOSCAGE_SET baseline
#define BOSCAGE_WIDTH 2
#include "families/stochastic/dense_kernel_body.hpp"
#undef BOSCAGE_SET
#undef BOSCAGE_WIDTH

#ifdef BOSCAGE_SETS
BOSCAGE_BEGIN_AVX2
#define BOSCAGE_SET avx2
#define BOSCAGE_WIDTH 4
#include "families/stochastic/dense_kernel_body.hpp"
#undef BOSCAGE_SET
#undef BOSCAGE_WIDTH
BOSCAGE_END_SET
BOSCAGE_BEGIN_AVX512
#define BOSCAGE_SET avx512
#define BOSCAGE_WIDTH 8
#include "families/stochastic/dense_kernel_body.hpp"
#undef BOSCAGE_SET
#undef BOSCAGE_WIDTH
BOSCAGE_END_SET
#endif

namespace boscage::stochastic {

namespace {

template <class T>
void dispatch(const DenseRun<T>& run, int64_t* counts) {
#ifdef BOSCAGE_SETS
  if (instruction_set() == InstructionSet::avx512) return avx512::run(run, counts);
  if (instruction_set() == InstructionSet::avx2) return avx2::run(run, counts);
#endif
  baseline::run(run, counts);
}

}  // namespace

void run_rows(const DenseRun<float>& run, int64_t* counts) { dispatch(run, counts); }
void run_rows(const DenseRun<double>& run, int64_t* counts) { dispatch(run, counts); }

}  // namespace boscage::stochastic
