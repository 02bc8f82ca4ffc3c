// The best test with at most so many columns: subsets are searched for and fitted again, not cut out of a long test.
//
// It asks for fits and slopes and knows neither rows nor an objective, so it serves every target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace boscage {

// Some columns in increasing order, their weights with the bias last, and the objective there.
struct Terms {
  std::vector<uint32_t> columns;
  std::vector<double> theta;
  double value = 0;
};

struct FewTermsSteps {
  // Moves the weights to those that minimise the objective in the same columns, and sets the value.
  std::function<void(Terms& terms)> fit;
  // The slope of the objective along each of all columns, in their order.
  std::function<std::vector<double>(const Terms& at)> slopes;
};

// The test with at most `most` of all columns whose objective is the lowest that is found. `full` is a fit in all of
// them; `single` has one column, or none. Backward elimination and forward selection find two subsets, and exchanges
// improve the better one.
Terms search_few_terms(std::span<const uint32_t> all, const Terms& full, const Terms& single, size_t most,
                       const FewTermsSteps& steps);

}  // namespace boscage
