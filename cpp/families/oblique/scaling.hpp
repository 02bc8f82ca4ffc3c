// Mean and standard deviation of every column, once per fit.
//
// Oblique searches work on (x - centre) * inverse, so that raw and scaled columns give the same trees; tests are stored
// in the user's units. The centre is the mean and the inverse that of the deviation, unless column_scale.hpp replaces
// them. A missing value stands at its column's mean, a constant column is 0 everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "data/rows.hpp"

namespace boscage {

struct Scaling {
  Scaling() = default;
  Scaling(std::vector<double> means, std::vector<double> deviations, std::vector<double> inverses)
      : mean(std::move(means)), deviation(std::move(deviations)), inverse(std::move(inverses)), centre(mean) {}

  std::vector<double> mean, deviation;
  std::vector<double> inverse;  // 0 for a constant column
  std::vector<double> centre;

  // x in the user's units, a missing value at its mean.
  double plain(double x, size_t column) const { return x == x ? x : mean[column]; }
  double scaled(double x, size_t column) const {
    // Halves cannot overflow where x - mean could.
    return (0.5 * x - 0.5 * centre[column]) * (2.0 * inverse[column]);
  }
  // A missing value, scaled.
  double missing(size_t column) const { return scaled(mean[column], column); }
};

// The numbers of every column in Scaling::scaled: (0.5 x - centre) factor, and what stands for a missing value.
struct HalfScaling {
  HalfScaling() = default;
  explicit HalfScaling(const Scaling& scaling) : centre(scaling.centre), factor(scaling.inverse) {
    for (size_t j = 0; j < centre.size(); ++j) missing.push_back(scaling.missing(j));
    for (double& value : centre) value *= 0.5;
    for (double& value : factor) value *= 2.0;
  }
  std::vector<double> centre, factor, missing;
};

// weight may be empty: every row counts 1.
Scaling make_scaling(const AnyRows& X, std::span<const double> weight, Pool& pool, const Control& control);

}  // namespace boscage
