#include "grow/grown.hpp"

#include <algorithm>

#include "base/index.hpp"

namespace boscage {

namespace {

// The parts of a test that most tests do not have.
bool has_parts(const Test& test) { return !test.categories.empty() || test.feature == kLinear; }

void add_parts(Grown& tree, size_t number, const Test& test) {
  if (!test.categories.empty()) {
    tree.category_offset[number] = signed_size(tree.category_bits);
    tree.category_bits.insert(tree.category_bits.end(), test.categories.begin(), test.categories.end());
  }
  if (test.feature == kLinear && !test.columns.empty()) {
    if (tree.weight_offsets.empty()) tree.weight_offsets.push_back(0);
    tree.linear_row[number] = static_cast<int32_t>(tree.weight_offsets.size()) - 1;
    tree.weights.insert(tree.weights.end(), test.weights.begin(), test.weights.end());
    tree.weight_columns.insert(tree.weight_columns.end(), test.columns.begin(), test.columns.end());
    tree.weight_offsets.push_back(signed_size(tree.weights));
  } else if (test.feature == kLinear) {
    tree.linear_row[number] = static_cast<int32_t>(tree.weights.size() / test.weights.size());
    tree.weights.insert(tree.weights.end(), test.weights.begin(), test.weights.end());
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

// What a node predicts: the weights of its classes, or the number for each output.
size_t values_of(const Node& node) { return node.numbers ? node.numbers->outputs.size() : node.sums.size(); }

void set_values(const Node& node, double* out) {
  if (node.numbers) {
    for (const OutputFacts& output : node.numbers->outputs) *out++ = output.value;
  } else {
    std::copy(node.sums.begin(), node.sums.end(), out);
  }
}

}  // namespace

// Nodes are read in the order they lie in memory; only parts of tests are put one after the other by number.
Grown flatten(const Grower& grower, const AnyCriterion& criterion) {
  const auto& committed = grower.committed();
  const size_t n = committed.size(), k = values_of(grower.node(0));
  Grown tree;
  for (auto* children : {&tree.children_left, &tree.children_right, &tree.linear_row}) children->assign(n, -1);
  tree.feature.assign(n, kLeaf);
  tree.threshold.assign(n, 0.0);
  tree.missing_go_to_left.assign(n, 0);
  tree.category_offset.assign(n, -1);
  tree.value.resize(n * k);
  tree.rows.resize(n);
  tree.weight.resize(n);
  tree.impurity.resize(n);
  const auto number = [&](int32_t id) { return id < 0 ? -1 : grower.node(id).number; };
  bool any_parts = false;
  for (int32_t id = 0; id < grower.size(); ++id) {
    const Node& node = grower.node(id);
    if (node.number < 0) continue;
    const auto at = to_size(node.number);
    if (number(node.left) >= 0) {
      const Test& test = grower.test(id);
      tree.children_left[at] = number(node.left);
      tree.children_right[at] = number(node.right);
      tree.feature[at] = test.feature;
      tree.threshold[at] = test.threshold;
      tree.missing_go_to_left[at] = test.missing_left;
      any_parts |= has_parts(test);
    }
    set_values(node, tree.value.data() + at * k);
    tree.rows[at] = node.rows;
    tree.weight[at] = node.weight;
    tree.impurity[at] = impurity(node, criterion);
  }
  if (!any_parts) return tree;
  for (size_t at = 0; at < n; ++at)
    if (tree.children_left[at] >= 0) add_parts(tree, at, grower.test(committed[at]));
  return tree;
}

}  // namespace boscage
