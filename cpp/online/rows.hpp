// Rows on their way into the learner.
//
// Batch: what the caller holds, dense or compressed by rows, float or double, borrowed. RawRow: one of its rows as
// doubles. Row: the scaled row with a constant 1 at position n_features, dense (padded) or as sorted pairs.
// Knows nothing of labels or models.
#pragma once

#include <cstdint>

#include "base/array.hpp"
#include "online/kernels.hpp"

namespace boscage::online {

struct Batch {
  int64_t rows = 0;
  int64_t features = 0;
  const float* data32 = nullptr;  // one of the two: row-major values, or the values of the stored entries
  const double* data64 = nullptr;
  const int32_t* indices = nullptr;  // nullptr: dense
  const int64_t* indptr = nullptr;
  int64_t entries = 0;  // length of the stored entries when sparse

  bool sparse() const { return indptr != nullptr; }
  double value(int64_t at) const { return data32 != nullptr ? static_cast<double>(data32[at]) : data64[at]; }
};

// Refuses non-finite or huge values and malformed compressed rows, before anything is learnt.
void check_batch(const Batch& batch);

struct RawRow {
  bool sparse = false;
  Array<double> values;    // all columns, or those stored
  Array<int32_t> indices;  // columns stored, increasing; empty when dense
};

// Reads row `row`; the result is dense or sparse as asked, zeros left out when sparse.
void read_row(const Batch& batch, int64_t row, bool want_sparse, RawRow& out);

struct Row {
  const float* values = nullptr;
  const int32_t* indices = nullptr;  // nullptr: dense
  int64_t size = 0;                  // padded length when dense, pairs when sparse
};

}  // namespace boscage::online
