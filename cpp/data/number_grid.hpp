// Numbers as targets on a fixed-point grid, so that sums of them are exact in any order.
//
// NumberGrid: values v = (y - centre) / 2^exponent of a node, of size at most 1, where what is added (w·v) is a
// multiple of `step`, and all sums of a node's rows stay below 2^53 steps. With whole-number weights v is rounded first
// and then multiplied, so that a row of weight 2 is that row twice to the bit; else the product is rounded. Rounding
// moves a row's w·v by at most half a step: 2^-52 of weight times range of the node.
// A node keeps its parent's grid while that tells kFineBits of its own range apart, or is at most kSpareBits coarser
// than its own would be.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "base/inline_vector.hpp"
#include "criteria/criteria.hpp"
#include "data/target.hpp"

namespace boscage {

// One output of some rows: its range, and what is predicted for it.
struct OutputFacts {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  double value = 0;

  void widen(double y) {
    low = y < low ? y : low;
    high = y > high ? y : high;
  }
  bool is_constant() const { return low == high; }
};

using Outputs = InlineVector<OutputFacts, 1>;

struct NumberGrid {
  static constexpr int kFineBits = 40, kSpareBits = 8;

  struct Output {
    double centre = 0;
    double step = 0;  // in units of 2^exponent
    int bound = 0;    // weight times distance from the centre is below 2^bound in any sum
    bool operator==(const Output&) const = default;
  };

  int exponent = 0;
  double unit[2] = {1, 1};  // their product is 2^-exponent
  std::vector<Output> outputs;
  double report_step = 0;
  bool has_whole_weights = true;
  bool is_centred = true;
  bool operator==(const NumberGrid&) const = default;

  // The grid of rows with this total weight, whose outputs lie in these ranges.
  static NumberGrid of(const Outputs& ranges, double weight, bool has_whole_weights, const AnyCriterion& criterion) {
    NumberGrid grid;
    grid.has_whole_weights = has_whole_weights;
    grid.is_centred = visit_numbers([](const auto& found) { return found.is_centred; }, criterion);
    const int of_weight = std::ilogb(weight) + 1;
    int largest = std::numeric_limits<int>::min();
    for (const OutputFacts& range : ranges) {
      const double size = grid.radius(range);
      const int e = size > 0 ? std::ilogb(size) + 1 : kConstant;
      largest = std::max(largest, e);
      const double centre = range.is_constant() ? range.low : range.low / 2 + range.high / 2;
      grid.outputs.push_back({grid.is_centred ? centre : 0.0, 0.0, e + of_weight});
    }
    grid.exponent = largest == kConstant ? 0 : largest;
    grid.set_unit();
    // An output that is constant, or far narrower than another, has no step of its own: the least one takes its place.
    for (Output& output : grid.outputs)
      output.step = std::max(std::ldexp(1.0, output.bound - grid.exponent - 52), std::numeric_limits<double>::min());
    const auto m = static_cast<int>(ranges.size());
    const int of_report = visit_numbers([m](const auto& found) { return found.report_exponent(m); }, criterion);
    grid.report_step = std::ldexp(1.0, of_weight + of_report - 52);
    return grid;
  }

  void set_unit() {
    unit[0] = std::ldexp(1.0, -(exponent / 2));
    unit[1] = std::ldexp(1.0, exponent / 2 - exponent);
  }

  // Do rows of this weight and range need a grid of their own? An output that is constant needs none: its value is
  // known.
  bool is_coarse_for(const Outputs& ranges, double weight) const {
    for (size_t j = 0; j < outputs.size(); ++j) {
      if (ranges[j].is_constant()) continue;
      const int e = std::ilogb(radius(ranges[j])) + 1, fine = e + 52 - outputs[j].bound;
      if (fine < kFineBits && e + std::ilogb(weight) + 1 + kSpareBits <= outputs[j].bound) return true;
    }
    return false;
  }

  // What a row adds to the sum of output j.
  double value(double y, size_t j, double weight) const {
    const Output& output = outputs[j];
    const double v = scaled(y - output.centre), factor = has_whole_weights ? 1.0 : weight;
    double steps = std::nearbyint(v * factor / output.step);
    if (!is_centred && y > 0) steps = std::max(steps, 1.0);  // a logarithm may need it
    return steps * output.step * (has_whole_weights ? weight : 1.0);
  }

  double report(double unweighted, double weight) const {
    const double factor = has_whole_weights ? 1.0 : weight;
    return std::nearbyint(unweighted * factor / report_step) * report_step * (has_whole_weights ? weight : 1.0);
  }

  // The number at a mean of values; a mean lies in the range of what it is the mean of.
  double number(double mean, size_t j, const OutputFacts& range) const {
    return std::clamp(outputs[j].centre + std::ldexp(mean, exponent), range.low, range.high);
  }

  // A difference from the centre in units of 2^exponent; in two steps, as 2^-exponent need not be a double.
  double scaled(double difference) const { return difference * unit[0] * unit[1]; }

 private:
  static constexpr int kConstant = -2000;

  double radius(const OutputFacts& range) const {
    if (!is_centred) return std::max(std::abs(range.low), std::abs(range.high));
    const double half = range.high / 2 - range.low / 2;  // 0 where both are the least numbers there are
    return range.is_constant() ? 0.0 : std::max(half, std::numeric_limits<double>::denorm_min());
  }
};

// What is known of all numbers before anything is summed; of classes nothing.
struct NumberRange {
  Outputs outputs;
  double weight = 0;
  bool has_whole_weights = true;

  std::shared_ptr<const NumberGrid> grid(const AnyCriterion& criterion) const {
    return std::make_shared<NumberGrid>(NumberGrid::of(outputs, weight, has_whole_weights, criterion));
  }
};

inline NumberRange range_of(const Target& target, std::span<const uint32_t> rows) {
  const auto outputs = to_size(target.outputs);
  NumberRange range;
  range.outputs = Outputs(outputs);
  for (const uint32_t row : rows) {
    const double weight = target.weight_of(row);
    range.weight += weight;
    range.has_whole_weights = range.has_whole_weights && weight == std::floor(weight);
    for (size_t j = 0; j < outputs; ++j) range.outputs[j].widen(target.number[row * outputs + j]);
  }
  return range;
}

inline NumberRange range_of(const Target& target) {
  std::vector<uint32_t> rows(to_size(target.rows()));
  std::iota(rows.begin(), rows.end(), 0U);
  return range_of(target, rows);
}

// What a side of numbers knows beside its sums, which are in units of the grid.
struct NumberFacts {
  Outputs outputs;
  double report = 0;
  std::shared_ptr<const NumberGrid> grid;

  bool is_constant() const {
    return std::all_of(outputs.begin(), outputs.end(), [](const OutputFacts& output) { return output.is_constant(); });
  }
};

}  // namespace boscage
