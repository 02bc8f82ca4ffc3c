#include "families/stochastic/divide.hpp"

namespace boscage::stochastic {

Division divide_by_test(const Grower& grower, int32_t parent, const Frame& frame) {
  const Node &node = grower.node(parent), &left = grower.node(node.left), &right = grower.node(node.right);
  Division division;
  division.test = FoldedTest(frame, grower.test(parent).weights);
  const double total = grower.node(0).weight;
  division.cut_left = kNegligible * left.weight / total;
  division.cut_right = kNegligible * right.weight / total;
  return division;
}

void choose_sides(const Grower& grower, int32_t parent, double summed_at, Division& division) {
  const Node& node = grower.node(parent);
  const Node &left = grower.node(node.left), &right = grower.node(node.right);
  const bool left_open = grower.is_open(node.left), right_open = grower.is_open(node.right);
  const double too_light = 1e-6 * summed_at;
  const bool right_is_lighter = right.weight <= left.weight;
  division.sum_right = right_open && (right_is_lighter || !left_open || right.weight < too_light);
  division.sum_left = left_open && (!right_is_lighter || !right_open || left.weight < too_light);
}

void share_sums(const Grower& grower, int32_t parent, const Division& division, const SumShape& shape,
                const KnownSums& from, KnownSums& left, KnownSums& right) {
  const Node& node = grower.node(parent);
  left.summed_at = division.sum_left ? grower.node(node.left).weight : from.summed_at;
  right.summed_at = division.sum_right ? grower.node(node.right).weight : from.summed_at;
  if (grower.is_open(node.left) && !division.sum_left) left.sums = other_child(from.sums, right.sums, shape);
  if (grower.is_open(node.right) && !division.sum_right) right.sums = other_child(from.sums, left.sums, shape);
}

}  // namespace boscage::stochastic
