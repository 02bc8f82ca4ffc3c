#include "families/stochastic/tile_kernel.hpp"

#include <cstddef>
#include <utility>

#include "base/instruction_sets.hpp"
#include "base/vectors.hpp"

#define BOSCAGE_SET tile_baseline
#define BOSCAGE_WIDTH 2
#include "families/stochastic/tile_kernel_body.hpp"
#undef BOSCAGE_SET
#undef BOSCAGE_WIDTH

#ifdef BOSCAGE_SETS
BOSCAGE_BEGIN_AVX2
#define BOSCAGE_SET tile_avx2
#define BOSCAGE_WIDTH 4
#include "families/stochastic/tile_kernel_body.hpp"
#undef BOSCAGE_SET
#undef BOSCAGE_WIDTH
BOSCAGE_END_SET
BOSCAGE_BEGIN_AVX512
#define BOSCAGE_SET tile_avx512
#define BOSCAGE_WIDTH 8
#include "families/stochastic/tile_kernel_body.hpp"
#undef BOSCAGE_SET
#undef BOSCAGE_WIDTH
BOSCAGE_END_SET
#define BOSCAGE_DISPATCH(call)                                               \
  if (instruction_set() == InstructionSet::avx512) return tile_avx512::call; \
  if (instruction_set() == InstructionSet::avx2) return tile_avx2::call;     \
  tile_baseline::call
#else
#define BOSCAGE_DISPATCH(call) tile_baseline::call
#endif

namespace boscage::stochastic {

void load_tile(const RowsToLoad<float>& from, double* tile) { BOSCAGE_DISPATCH(load(from, tile)); }
void load_tile(const RowsToLoad<double>& from, double* tile) { BOSCAGE_DISPATCH(load(from, tile)); }

void square_rows(const TileRows& tile, const double* shift, const double* factor, double* squares) {
  BOSCAGE_DISPATCH(square(tile, shift, factor, squares));
}

void divide_rows(const TileRows& tile, const TileTest& test) { BOSCAGE_DISPATCH(divide(tile, test)); }

void add_rows(const TileRows& tile, const int32_t* rows, int64_t count, const double* const* weights,
              const double* const* multipliers, double* const* sums, int64_t sides) {
  BOSCAGE_DISPATCH(add(tile, rows, count, weights, multipliers, sums, sides));
}

}  // namespace boscage::stochastic
