// Mean and standard deviation of every column, once per fit.
//
// Oblique searches work on (x - mean) / deviation, so that raw and scaled columns give the same trees; tests are
// stored in the user's units. A missing value stands at its column's mean, a constant column is 0 everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parallel.hpp"
#include "rows.hpp"

namespace boscage {

struct Scaling {
  std::vector<double> mean, deviation;
  std::vector<double> inverse;  // 1 / deviation; 0 for a constant column

  // x in the user's units, a missing value at its mean.
  double plain(double x, size_t column) const { return x == x ? x : mean[column]; }
  double scaled(double x, size_t column) const {
    // Halves cannot overflow where x - mean could.
    return (0.5 * x - 0.5 * mean[column]) * (2.0 * inverse[column]);
  }
};

// The two numbers of every column in Scaling::scaled: (0.5 x - centre) factor.
struct HalfScaling {
  HalfScaling() = default;
  explicit HalfScaling(const Scaling& scaling) : centre(scaling.mean), factor(scaling.inverse) {
    for (double& value : centre) value *= 0.5;
    for (double& value : factor) value *= 2.0;
  }
  std::vector<double> centre, factor;
};

// weight may be empty: every row counts 1.
Scaling make_scaling(const AnyRows& X, std::span<const double> weight, Pool& pool, const Control& control);

}  // namespace boscage
