// A finished tree as flat arrays, nodes by number: what crosses the boundary.
#pragma once

#include <cstdint>
#include <vector>

#include "criteria.hpp"
#include "growth.hpp"

namespace boscage {

struct Grown {
  std::vector<int32_t> children_left, children_right, feature, linear_row;
  std::vector<double> threshold, weights, class_weights, weight, impurity;
  std::vector<uint8_t> missing_go_to_left, category_bits;
  std::vector<int64_t> category_offset, rows;
};

Grown flatten(const Grower& grower, const AnyCriterion& criterion);

}  // namespace boscage
