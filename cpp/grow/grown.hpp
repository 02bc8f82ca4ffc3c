// A finished tree as flat arrays, nodes by number: what crosses the boundary.
#pragma once

#include <cstdint>
#include <vector>

#include "criteria/criteria.hpp"
#include "grow/growth.hpp"

namespace boscage {

struct Grown {
  std::vector<int32_t> children_left, children_right, feature, linear_row;
  std::vector<double> threshold, weights, weight, impurity;
  std::vector<double> value;  // nodes x classes: their weights; or nodes x outputs: the numbers predicted
  std::vector<uint8_t> missing_go_to_left, category_bits;
  std::vector<int64_t> category_offset, rows;
  // Where tests name their columns, `weights` are those of compressed sparse rows; else both are empty.
  std::vector<int32_t> weight_columns;
  std::vector<int64_t> weight_offsets;
};

Grown flatten(const Grower& grower, const AnyCriterion& criterion);

}  // namespace boscage
