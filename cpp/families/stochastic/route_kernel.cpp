#include "families/stochastic/route_kernel.hpp"

#include "base/instruction_sets.hpp"

#define BOSCAGE_SET route_baseline
#define BOSCAGE_WIDTH 2
#include "families/stochastic/route_kernel_body.hpp"
#undef BOSCAGE_SET
#undef BOSCAGE_WIDTH

#ifdef BOSCAGE_SETS
BOSCAGE_BEGIN_AVX2
#define BOSCAGE_SET route_avx2
#define BOSCAGE_WIDTH 4
#include "families/stochastic/route_kernel_body.hpp"
#undef BOSCAGE_SET
#undef BOSCAGE_WIDTH
BOSCAGE_END_SET
BOSCAGE_BEGIN_AVX512
#define BOSCAGE_SET route_avx512
#define BOSCAGE_WIDTH 8
#include "families/stochastic/route_kernel_body.hpp"
#undef BOSCAGE_SET
#undef BOSCAGE_WIDTH
BOSCAGE_END_SET
#endif

namespace boscage::stochastic {

void square_tile(const RouteTile& tile, const double* shift, const double* factor, double* squares) {
#ifdef BOSCAGE_SETS
  if (instruction_set() == InstructionSet::avx512) return route_avx512::square(tile, shift, factor, squares);
  if (instruction_set() == InstructionSet::avx2) return route_avx2::square(tile, shift, factor, squares);
#endif
  route_baseline::square(tile, shift, factor, squares);
}

void divide_tile(const RouteTile& tile, RouteRun& run) {
#ifdef BOSCAGE_SETS
  if (instruction_set() == InstructionSet::avx512) return route_avx512::divide(tile, run);
  if (instruction_set() == InstructionSet::avx2) return route_avx2::divide(tile, run);
#endif
  route_baseline::divide(tile, run);
}

void add_to_sums(const RouteTile& tile, const int32_t* rows, int64_t count, const double* const* weights,
                 const double* const* multipliers, double* const* sums, int64_t runs) {
#ifdef BOSCAGE_SETS
  if (instruction_set() == InstructionSet::avx512)
    return route_avx512::add(tile, rows, count, weights, multipliers, sums, runs);
  if (instruction_set() == InstructionSet::avx2)
    return route_avx2::add(tile, rows, count, weights, multipliers, sums, runs);
#endif
  route_baseline::add(tile, rows, count, weights, multipliers, sums, runs);
}

}  // namespace boscage::stochastic
