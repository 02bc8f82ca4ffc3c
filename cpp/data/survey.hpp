// A first look at rows: the range of every column, and whether all numbers are finite.
//
// Missing numbers (NaN) have no part in a range; infinities have. Must not know what is made of it.
#pragma once

#include <cstdint>

#include "base/array.hpp"
#include "base/parallel.hpp"
#include "data/matrix.hpp"

namespace boscage {

// (inf, -inf) for a column without numbers.
template <class T>
struct ColumnSurvey {
  Array<T> low, high;
  bool has_missing = false, has_infinity = false;
};

template <class T>
ColumnSurvey<T> survey_columns(const Matrix<T>& X, Pool& pool, const Control& control);

}  // namespace boscage
