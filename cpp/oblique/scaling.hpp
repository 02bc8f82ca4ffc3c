// Mean and standard deviation of every column, once per fit.
//
// Oblique searches work on (x - mean) / deviation, so that raw and scaled columns give the same trees; tests are
// stored in the user's units. A missing value stands at its column's mean, a constant column is 0 everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "matrix.hpp"
#include "parallel.hpp"

namespace boscage {

struct Scaling {
  std::vector<double> mean, deviation;
  std::vector<double> inverse;  // 1 / deviation; 0 for a constant column

  double scaled(double x, size_t column) const {
    // Halves cannot overflow where x - mean could.
    return (0.5 * x - 0.5 * mean[column]) * (2.0 * inverse[column]);
  }
};

// weight may be empty: every row counts 1.
Scaling make_scaling(const AnyMatrix& X, std::span<const double> weight, Pool& pool, const Control& control);

}  // namespace boscage
