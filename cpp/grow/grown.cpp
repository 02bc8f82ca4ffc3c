#include "grow/grown.hpp"

#include <algorithm>

#include "base/index.hpp"

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
    tree.category_offset.back() = signed_size(tree.category_bits);
    tree.category_bits.insert(tree.category_bits.end(), test->categories.begin(), test->categories.end());
  }
  if (test->feature == kLinear && !test->columns.empty()) {
    if (tree.weight_offsets.empty()) tree.weight_offsets.push_back(0);
    tree.linear_row.back() = static_cast<int32_t>(tree.weight_offsets.size()) - 1;
    tree.weights.insert(tree.weights.end(), test->weights.begin(), test->weights.end());
    tree.weight_columns.insert(tree.weight_columns.end(), test->columns.begin(), test->columns.end());
    tree.weight_offsets.push_back(signed_size(tree.weights));
  } else if (test->feature == kLinear) {
    tree.linear_row.back() = static_cast<int32_t>(tree.weights.size() / test->weights.size());
    tree.weights.insert(tree.weights.end(), test->weights.begin(), test->weights.end());
  }
}

constexpr double kMostImpurity = 1e300;  // squares of the largest numbers are no numbers; sums of impurities must be

double impurity(const Node& node, const AnyCriterion& criterion) {
  if (!(node.weight > 0) || (node.numbers && node.is_settled)) return 0;
  const auto k = static_cast<int>(node.sums.size());
  if (!node.numbers)
    return visit_classes([&](const auto& g) { return g.total(node.sums.data(), k); }, criterion) / node.weight;
  const double total =
      visit_numbers([&](const auto& g) { return g.total(node.sums.data(), k, node.numbers->report); }, criterion);
  const double found = in_units(criterion, total / node.weight, node.numbers->grid->exponent);
  return std::min(found, kMostImpurity);
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
    if (node.numbers) {
      for (const OutputFacts& output : node.numbers->outputs) tree.value.push_back(output.value);
    } else {
      tree.value.insert(tree.value.end(), node.sums.begin(), node.sums.end());
    }
    tree.rows.push_back(node.rows);
    tree.weight.push_back(node.weight);
    tree.impurity.push_back(impurity(node, criterion));
  }
  return tree;
}

}  // namespace boscage
