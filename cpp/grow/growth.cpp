#include "grow/growth.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/index.hpp"
#include "base/rng.hpp"

namespace boscage {

Order order_of(const std::string& name) {
  if (name == "best_first") return Order::best_first;
  if (name == "heaviest_first") return Order::heaviest_first;
  if (name == "depth_first") return Order::depth_first;
  throw std::invalid_argument("unknown growth: " + name);
}

double priority(const Node& leaf, Order order) {
  switch (order) {
    case Order::best_first:
      return leaf.proposal.priority();
    case Order::heaviest_first:
      return leaf.weight;
    case Order::depth_first:
      return leaf.depth;  // children are numbered from the left, after their parent
  }
  return 0;
}

Grower::Grower(Side root, Limits limits, Order order, int64_t together)
    : limits_(limits), order_(order), together_(together) {
  Node node;
  measure(node, std::move(root));
  nodes_.push_back(std::move(node));
  commit_child(0);
  if (is_open(0)) pending_.push_back(0);
}

bool Grower::is_open(int32_t id) const {
  const Node& node = nodes_[to_size(id)];
  if (limits_.max_depth >= 0 && node.depth >= limits_.max_depth) return false;
  if (node.rows < std::max(limits_.min_samples_split, 2 * limits_.min_samples_leaf)) return false;
  return !(node.weight < 2 * limits_.min_weight_leaf) && !node.is_settled;
}

bool Grower::may_triple(const Node& node) const {
  const bool levels = limits_.max_depth < 0 || node.depth + 2 <= limits_.max_depth;
  const bool splits = limits_.max_splits < 0 || splits_ + 3 <= limits_.max_splits;
  return levels && splits;
}

std::vector<Request> Grower::ask() {
  if (pending_.empty()) advance();
  // Nobody will ask for the children of the last split.
  if (limits_.max_splits >= 0 && splits_ >= limits_.max_splits) pending_.clear();
  if (!pending_.empty()) look_ahead();
  std::vector<Request> requests;
  requests.reserve(pending_.size());
  for (int32_t id : pending_) requests.push_back({id, may_triple(nodes_[to_size(id)])});
  pending_.clear();
  return requests;
}

// The children of a triple are split with it: they need as many rows as any node that is split.
bool Grower::children_may_split(const Proposal& proposal) const {
  if (proposal.tests.size() != 3) return true;
  const MeasuredTest& root = proposal.tests.front();
  return std::min(root.left.rows, root.right.rows) >= limits_.min_samples_split;
}

void Grower::tell(int32_t id, Proposal proposal) {
  Node& node = nodes_[to_size(id)];
  node.proposal = std::move(proposal);
  node.answered = true;
  if (!children_may_split(node.proposal)) node.proposal.tests = std::move(node.proposal.single);
  double drop = 0;
  for (const auto& measured : node.proposal.tests) drop += measured.drop;
  // The tolerance is scikit-learn's: a drop equal to the limit up to rounding is enough.
  if (drop + 2.2e-16 * node.weight < limits_.min_drop) node.proposal = {};
  if (!explores_everything()) {
    if (node.number >= 0) push(id);  // else it is pushed when its parent is split
  } else if (!node.proposal.tests.empty()) {
    make_children(id);  // may move the nodes: `node` is not valid after it
  }
}

void Grower::measure(Node& node, Side side) {
  node.rows = side.rows;
  node.weight = side.weight();
  node.is_settled = side.is_settled();
  node.sums = std::move(side.sums);
  node.numbers = std::move(side.numbers);
}

int32_t Grower::add_child(int32_t parent, bool is_right, Side side) {
  const auto id = static_cast<int32_t>(nodes_.size());
  Node child;
  child.parent = parent;
  child.is_right = is_right;
  child.depth = nodes_[to_size(parent)].depth + 1;
  child.path = child_path(nodes_[to_size(parent)].path, is_right);
  measure(child, std::move(side));
  nodes_.push_back(std::move(child));
  return id;
}

// Gives a node its two children. The children of a triple have their tests already.
void Grower::make_children(int32_t id) {
  auto tests = std::move(nodes_[to_size(id)].proposal.tests);
  const int32_t left = add_child(id, false, std::move(tests[0].left));
  const int32_t right = add_child(id, true, std::move(tests[0].right));
  nodes_[to_size(id)].left = left;
  nodes_[to_size(id)].right = right;
  if (tests.size() == 3) {
    for (int side = 0; side < 2; ++side) {
      const int32_t child = side == 0 ? left : right;
      nodes_[to_size(child)].answered = true;
      nodes_[to_size(child)].proposal.tests = {std::move(tests[to_size(side + 1)])};
      make_children(child);
    }
  } else {
    for (int32_t child : {left, right})
      if (is_open(child)) pending_.push_back(child);
  }
  nodes_[to_size(id)].proposal.tests = std::move(tests);
}

void Grower::commit_child(int32_t id) {
  nodes_[to_size(id)].number = static_cast<int32_t>(committed_.size());
  committed_.push_back(id);
}

// Splits a leaf for good: numbers its children and returns the new leaves.
std::vector<int32_t> Grower::commit(int32_t id) {
  const bool is_triple = nodes_[to_size(id)].proposal.tests.size() == 3;
  if (nodes_[to_size(id)].left < 0) make_children(id);
  const int32_t left = nodes_[to_size(id)].left, right = nodes_[to_size(id)].right;
  ++splits_;
  commit_child(left);
  commit_child(right);
  if (!is_triple) return {right, left};
  const auto below_left = commit(left);
  auto leaves = commit(right);
  leaves.insert(leaves.end(), below_left.begin(), below_left.end());
  return leaves;
}

bool Grower::fits(const Node& node) const {
  return limits_.max_splits < 0 || splits_ + signed_size(node.proposal.tests) <= limits_.max_splits;
}

void Grower::push(int32_t id) {
  const Node& node = nodes_[to_size(id)];
  if (node.proposal.tests.empty()) return;
  heap_.push_back({priority(node, order_), node.number, id});
  std::push_heap(heap_.begin(), heap_.end());
}

int32_t Grower::pop() {
  if (heap_.empty()) return -1;
  std::pop_heap(heap_.begin(), heap_.end());
  const int32_t id = heap_.back().node;
  heap_.pop_back();
  return id;
}

// Commits splits until a new leaf has to be asked for, or nothing is left to do.
void Grower::advance() {
  if (explores_everything() && nodes_[0].answered && nodes_[0].left >= 0 && splits_ == 0) push(0);
  while (pending_.empty()) {
    if (limits_.max_splits >= 0 && splits_ >= limits_.max_splits) return;
    const int32_t id = pop();
    if (id < 0) return;
    Node& node = nodes_[to_size(id)];
    if (!fits(node)) {  // a triple that came too late: its single test stands in, if there is one
      node.proposal.tests = std::move(node.proposal.single);
      node.proposal.single.clear();
      push(id);
      continue;
    }
    for (const int32_t leaf : commit(id))
      if (nodes_[to_size(leaf)].answered) push(leaf);
  }
}

// Gives children to the next best leaves, which will be split soon unless better ones take all splits that are left.
void Grower::look_ahead() {
  if (explores_everything()) return;
  const int64_t likely = std::min(together_ - 1, (limits_.max_splits - splits_) / 2);
  if (likely < 1) return;
  std::vector<Key> next;
  for (const Key& key : heap_) {
    const Node& node = nodes_[to_size(key.node)];
    if (node.left < 0 && node.proposal.tests.size() == 1) next.push_back(key);
  }
  const auto count = std::min(next.size(), to_size(likely));
  std::partial_sort(next.begin(), next.begin() + static_cast<std::ptrdiff_t>(count), next.end(),
                    [](const Key& a, const Key& b) { return b < a; });
  for (size_t i = 0; i < count; ++i) make_children(next[i].node);
}

}  // namespace boscage
