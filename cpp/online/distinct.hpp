// Equal rows of a batch found and put in an order of their own.
//
// A row with its label is hashed by content; rows are ordered by hash, equal ones merged and their weights added.
// The result depends on which rows there are and how much they weigh, not on where they stood.
#pragma once

#include <cstdint>

#include "base/array.hpp"
#include "online/rows.hpp"

namespace boscage::online {

struct DistinctRows {
  Array<int64_t> rows;    // one row of each kind
  Array<double> weights;  // of the whole kind
};

// weights == nullptr: 1 each. Rows of weight 0 are left out.
DistinctRows distinct_rows(const Batch& batch, const int32_t* labels, const double* weights);

}  // namespace boscage::online
