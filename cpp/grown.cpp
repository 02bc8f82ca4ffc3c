#include "grown.hpp"

#include <algorithm>

namespace boscage {

namespace {

void add_test(Grown& tree, const Test* test) {
  tree.feature.push_back(test ? test->feature : kLeaf);
  tree.threshold.push_back(test ? test->threshold : 0.0);
  tree.missing_go_to_left.push_back(test && test->missing_left);
  tree.category_offset.push_back(-1);
  tree.linear_row.push_back(-1);
  if (!test) return;
  if (!test->categories.empty()) {
    tree.category_offset.back() = static_cast<int64_t>(tree.category_bits.size());
    tree.category_bits.insert(tree.category_bits.end(), test->categories.begin(), test->categories.end());
  }
  if (test->feature == kLinear) {
    tree.linear_row.back() = static_cast<int32_t>(tree.weights.size() / test->weights.size());
    tree.weights.insert(tree.weights.end(), test->weights.begin(), test->weights.end());
  }
}

}  // namespace

Grown flatten(const Grower& grower, const AnyCriterion& criterion) {
  Grown tree;
  const auto number = [&](int32_t id) { return id < 0 ? -1 : grower.node(id).number; };
  for (const int32_t id : grower.committed()) {
    const Node& node = grower.node(id);
    const bool is_split = node.left >= 0 && number(node.left) >= 0;
    tree.children_left.push_back(is_split ? number(node.left) : -1);
    tree.children_right.push_back(is_split ? number(node.right) : -1);
    add_test(tree, is_split ? &grower.test(id) : nullptr);
    tree.class_weights.insert(tree.class_weights.end(), node.class_weights.begin(), node.class_weights.end());
    tree.rows.push_back(node.rows);
    tree.weight.push_back(node.weight);
    const auto classes = static_cast<int>(node.class_weights.size());
    const double total =
        std::visit([&](const auto& g) { return g.total(node.class_weights.data(), classes); }, criterion);
    tree.impurity.push_back(node.weight > 0 ? total / node.weight : 0.0);
  }
  return tree;
}

}  // namespace boscage
