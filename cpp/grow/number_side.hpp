// A side of numbers from its sums, which are in units of the grid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "grow/split.hpp"

namespace boscage {

struct NumberSums {
  explicit NumberSums(size_t count = 1) : sums(count + 1, 0.0), outputs(count) {}

  int64_t rows = 0;
  Sums sums;  // weight, and weight times value of each output
  Outputs outputs;
  double report = 0;
  std::optional<double> quantile;  // what is predicted where ranks decide
};

// It predicts the mean of each output, or the quantile; a number that all rows share is predicted as it is.
inline Side number_side(NumberSums sums, std::shared_ptr<const NumberGrid> grid) {
  for (size_t j = 0; j < sums.outputs.size(); ++j) {
    OutputFacts& output = sums.outputs[j];
    if (output.is_constant()) {
      output.value = output.low;
    } else {
      output.value = sums.quantile ? *sums.quantile : grid->number(sums.sums[j + 1] / sums.sums[0], j, output);
    }
  }
  Side side;
  side.rows = sums.rows;
  side.sums = std::move(sums.sums);
  side.numbers = NumberFacts{std::move(sums.outputs), sums.report, std::move(grid)};
  return side;
}

}  // namespace boscage
