// What a split is, for every family: a Test sends a row left or right, a Proposal is what a family
// offers for one leaf. Numbers only: who found a test, and how, is not known here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "base/index.hpp"
#include "base/inline_vector.hpp"
#include "data/number_grid.hpp"

namespace boscage {

constexpr int32_t kLeaf = -1;
constexpr int32_t kLinear = -3;  // not -2, which marks a leaf in scikit-learn

struct Test {
  int32_t feature = kLeaf;  // a column, or kLinear
  double threshold = 0;     // left if x <= threshold; linear: right if w.x > threshold
  bool missing_left = false;
  std::vector<uint8_t> categories;  // bit set of the categories that go left; empty for numbers
  std::vector<double> weights;      // linear tests
  std::vector<int32_t> columns;     // of the weights, increasing; empty: all columns
};

// Whether a bit set of categories holds one.
inline bool has_category(const std::vector<uint8_t>& categories, int64_t category) {
  const auto byte = to_size(category / 8);
  return byte < categories.size() && ((categories[byte] >> (category % 8)) & 1) != 0;
}

// Of one output or two classes in place.
using Sums = InlineVector<double, 2>;

// One side of a test as measured by the engine.
struct Side {
  int64_t rows = 0;
  Sums sums;  // class weights; or weight, then weight times value of each output
  std::optional<NumberFacts> numbers = std::nullopt;  // nothing for classes

  double weight() const { return numbers ? sums[0] : std::accumulate(sums.begin(), sums.end(), 0.0); }
  // Is there nothing left to tell apart?
  bool is_settled() const {
    if (numbers) return numbers->is_constant();
    return std::count_if(sums.begin(), sums.end(), [](double weight) { return weight > 0; }) <= 1;
  }
};

struct MeasuredTest {
  Test test;
  Side left, right;
  double gain = 0;  // weight times the criterion's gain: what tests are chosen and leaves are ordered by
  double drop = 0;  // weight times the fall of the potential; differs from the gain only for Separation
};

// One test, or three = (root, left child, right child) when a family looks two levels ahead;
// `single` is the fall-back of a triple that no longer fits the limits. Empty: no valid test.
struct Proposal {
  std::vector<MeasuredTest> tests;
  std::vector<MeasuredTest> single;

  double priority() const {  // gain per split
    double sum = 0;
    for (const auto& measured : tests) sum += measured.gain;
    return tests.empty() ? 0 : sum / static_cast<double>(tests.size());
  }
};

}  // namespace boscage
