// Hard trees of linear tests: many rows on their way at once, eight columns at a time.
//
// Scores have the bits of dot.hpp, so rows arrive where the walk of a single row would bring them.
#pragma once

#include <cstdint>

#include "base/array.hpp"

namespace boscage {

struct LinearNode {
  double threshold = 0;
  int32_t test = 0;             // row of the weights, or ~column
  int32_t child[2] = {-1, -1};  // left and right; -1 at a leaf
};

// The leaf of each of `count` rows of `width` numbers.
void walk_linear(const Array<LinearNode>& nodes, const double* weights, int64_t width, const double* const* rows,
                 int64_t count, int32_t* leaves);

}  // namespace boscage
