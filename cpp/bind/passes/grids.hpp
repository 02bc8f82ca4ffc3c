// Grids of numbers as rows of an array: exponent, step of reports, whether weights are whole numbers, then centre, step
// and bound of each output.
#pragma once

#include <cmath>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "data/number_grid.hpp"

namespace boscage::bind {

inline nb::ndarray<nb::numpy, double> give_grids(const std::vector<std::shared_ptr<const NumberGrid>>& grids) {
  std::vector<double> numbers;
  for (const auto& found : grids) {
    const NumberGrid& grid = *found;
    numbers.insert(numbers.end(),
                   {static_cast<double>(grid.exponent), grid.report_step, static_cast<double>(grid.has_whole_weights)});
    for (const auto& output : grid.outputs)
      numbers.insert(numbers.end(), {output.centre, output.step, static_cast<double>(output.bound)});
  }
  const size_t width = grids.empty() ? 0 : numbers.size() / grids.size();
  return give(std::move(numbers), {grids.size(), width});
}

inline std::vector<std::shared_ptr<const NumberGrid>> grids_of(const In2<double>& numbers, size_t outputs,
                                                               const AnyCriterion& criterion) {
  if (numbers.shape(0) > 0 && numbers.shape(1) != 3 + 3 * outputs)
    throw std::invalid_argument("the grids of a pass do not fit the outputs.");
  // As whole numbers; no grid has exponents beyond those of doubles and of their sums.
  const auto exponent = [&](double number) {
    if (!(std::abs(number) < 10000)) throw std::invalid_argument("a grid of a pass has no valid exponent.");
    return static_cast<int>(number);
  };
  std::vector<std::shared_ptr<const NumberGrid>> grids;
  for (size_t i = 0; i < numbers.shape(0); ++i) {
    auto grid = std::make_shared<NumberGrid>();
    grid->exponent = exponent(numbers(i, 0));
    grid->set_unit();
    grid->report_step = numbers(i, 1);
    grid->has_whole_weights = numbers(i, 2) != 0;
    grid->is_centred = visit_numbers([](const auto& found) { return found.is_centred; }, criterion);
    for (size_t j = 0; j < outputs; ++j)
      grid->outputs.push_back({numbers(i, 3 + 3 * j), numbers(i, 4 + 3 * j), exponent(numbers(i, 5 + 3 * j))});
    grids.push_back(std::move(grid));
  }
  return grids;
}

}  // namespace boscage::bind
