#include "optimal/node.hpp"

#include <numeric>

#include "base/array.hpp"

namespace boscage::optimal {
namespace {

void count_classes(Node& node) {
  node.class_weight.assign(node.classes, 0);
  for (int64_t i = 0; i < node.rows; ++i) node.class_weight[node.label[i]] += node.weight[i];
  node.total = std::accumulate(node.class_weight.begin(), node.class_weight.end(), int64_t{0});
}

}  // namespace

void make_root(const Problem& problem, Node& root) {
  root.rows = problem.rows;
  root.features = problem.features;
  root.classes = problem.classes;
  root.order = problem.order;
  root.rank = problem.rank;
  root.weight = problem.weight;
  root.label = problem.label;
  root.source.resize(problem.rows);
  std::iota(root.source.begin(), root.source.end(), 0U);
  count_classes(root);
}

void make_child(const Node& parent, int feature, int64_t left, int side, Node& child, Array<int32_t>& map) {
  const uint32_t* taken = parent.sorted(feature) + (side == 0 ? 0 : left);
  const int64_t rows = side == 0 ? left : parent.rows - left;
  child.rows = rows;
  child.features = parent.features;
  child.classes = parent.classes;
  child.order.resize(rows * child.features + 1);  // the filter below writes one entry past the last it keeps
  child.rank.resize(rows * child.features);
  child.weight.resize(rows);
  child.label.resize(rows);
  child.source.resize(rows);
  map.assign(parent.rows, -1);
  for (int64_t i = 0; i < rows; ++i) {
    const uint32_t old = taken[i];
    map[old] = static_cast<int32_t>(i);
    child.weight[i] = parent.weight[old];
    child.label[i] = parent.label[old];
    child.source[i] = parent.source[old];
  }
  for (int k = 0; k < child.features; ++k) {
    const uint32_t* from = parent.sorted(k);
    uint32_t* to = child.order.data() + k * rows;
    if (k == feature) {
      std::iota(to, to + rows, 0U);
    } else {
      for (int64_t i = 0; i < parent.rows; ++i) {
        const int32_t fresh = map[from[i]];
        *to = static_cast<uint32_t>(fresh);
        to += fresh >= 0;
      }
    }
    const int32_t* old_rank = parent.ranks(k);
    int32_t* new_rank = child.rank.data() + k * rows;
    for (int64_t i = 0; i < rows; ++i) new_rank[i] = old_rank[taken[i]];
  }
  child.order.resize(rows * child.features);
  count_classes(child);
}

}  // namespace boscage::optimal
