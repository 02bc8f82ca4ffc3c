// A row and its label as one number that depends on their content alone.
//
// Dense and sparse, float and double rows of the same numbers have the same hash; zeros are left out, and one NaN is
// like another. Equal hashes are taken for equal rows: for a million rows the odds against are ten million to one.
#pragma once

#include <bit>
#include <limits>

#include "base/array.hpp"
#include "base/rng.hpp"
#include "data/rows.hpp"

namespace boscage {

inline uint64_t with_entry(uint64_t hash, int64_t column, double value) {
  if (value == 0) return hash;
  if (value != value) value = std::numeric_limits<double>::quiet_NaN();
  return mix(hash ^ std::bit_cast<uint64_t>(value)) + 0x9e3779b97f4a7c15ULL * static_cast<uint64_t>(column + 1);
}

template <class Rows>
Array<uint64_t> row_hashes(const Rows& rows, Span<const int32_t> label) {
  Array<uint64_t> out(rows.rows);
  for (int64_t row = 0; row < rows.rows; ++row) {
    uint64_t hash = mix(static_cast<uint64_t>(label[row]) + 0x9e3779b97f4a7c15ULL);
    for_entries(rows, row, [&](int64_t column, double value) { hash = with_entry(hash, column, value); });
    out[row] = mix(hash);
  }
  return out;
}

}  // namespace boscage
