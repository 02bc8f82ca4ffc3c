// Sums over rows of reach times reach and of reach times what is to be predicted: what leaves are fitted jointly from.
#pragma once

#include <cstdint>

#include "base/array.hpp"
#include "base/parallel.hpp"
#include "numeric/pairwise_sum.hpp"

namespace boscage::refine {

struct ReachedRows {
  int64_t rows = 0, leaves = 0, outputs = 0;
  const double* reach = nullptr;   // rows × leaves
  const double* target = nullptr;  // rows × outputs
  Span<const double> weight;       // empty: all 1
};

// leaves × (leaves + outputs) numbers: for each leaf l and column c the sum of weight · reach_l · (reach, target)_c.
// Rows of a block are added in their order.
PairwiseSum reach_sums(const ReachedRows& rows, int64_t first_block, Pool& pool, Control& control);

}  // namespace boscage::refine
