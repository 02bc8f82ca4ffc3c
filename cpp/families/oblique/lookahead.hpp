// Two levels at once: what greedy tests cannot see, the second moments of the classes, or of numbers, can.
//
// Candidates for a node's test and its children's come from eigenvectors of these moments, whitened; for the best
// pairs all three tests are refined together (two_levels.hpp) and measured exactly. Serves every linear family; knows
// none.
#pragma once

#include <cstdint>

#include "families/oblique/family.hpp"

namespace boscage {

// Three tests (node, left child, right child), or none.
std::vector<MeasuredTest> look_ahead(const ObliqueData& data, const NodeOffers& node, const Control& control);

}  // namespace boscage
