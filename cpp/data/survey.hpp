// A first look at rows: the range of every column, and whether all numbers are finite.
//
// Missing numbers (NaN) have no part in a range; infinities have. (inf, -inf) is the range of a column without numbers.
// Must not know what is made of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/array.hpp"
#include "base/parallel.hpp"
#include "data/rows.hpp"

namespace boscage {

template <class T>
struct ColumnSurvey {
  Array<T> low, high;
  bool has_missing = false, has_infinity = false;
};

template <class T>
ColumnSurvey<T> survey_columns(const Matrix<T>& X, Pool& pool, const Control& control);

struct ColumnRanges {
  std::vector<double> low, high;

  bool is_wide(size_t j) const { return high[j] / 2 - low[j] / 2 > 0; }
  double largest(size_t j) const;  // absolute value
  // A power of two near half the range, in which distances are measured so that no square overflows.
  double unit(size_t j) const;
};

// Of the rows that weigh something: weight may be empty, every row counts then. Zeros that are not stored count.
template <class Rows>
ColumnRanges column_ranges(const Rows& X, std::span<const double> weight, Pool& pool, const Control& control);

}  // namespace boscage
