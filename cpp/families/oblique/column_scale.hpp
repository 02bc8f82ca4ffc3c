// The two ways in which weighted oblique trees scale columns, and the random starts that belong to each.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>

#include "families/oblique/scaling.hpp"

namespace boscage {

// standard: mean 0, standard deviation 1. range: the range of the training rows becomes [-1, 1].
enum class ColumnScale { standard, range };

inline ColumnScale column_scale(std::string_view name) {
  return name == "range" ? ColumnScale::range : ColumnScale::standard;
}

// Standard deviation of the numbers of a start: standard starts have length 1 on average, those of `range` are N(0, 1).
inline double start_length(ColumnScale scale, size_t weights) {
  return scale == ColumnScale::range ? 1.0 : 1.0 / std::sqrt(static_cast<double>(weights));
}

// Replaces centre and inverse: every column from its smallest to its largest value becomes [-1, 1].
// weight may be empty: every row counts 1. Rows of weight 0 and missing values do not count.
void scale_by_range(const AnyRows& X, std::span<const double> weight, Pool& pool, const Control& control,
                    Scaling& scaling);

}  // namespace boscage
