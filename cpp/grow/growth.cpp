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
      return leaf.gain;
    case Order::heaviest_first:
      return leaf.weight;
    case Order::depth_first:
      return leaf.depth;  // children are numbered from the left, after their parent
  }
  return 0;
}

Grower::Grower(Side root, Limits limits, Order order, int64_t together)
    : limits_(limits), order_(order), together_(together) {
  measure(nodes_.emplace_back(), std::move(root));
  commit_child(0);
  if (is_open(0)) pending_.push_back(0);
}

bool Grower::is_open(int32_t id) const {
  const Node& node = nodes_[id];
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
  std::vector<Request> requests;
  refill();
  take(0, requests);
  return requests;
}

void Grower::ask_youngest(std::vector<Request>& requests) {
  refill();
  size_t first = pending_.size();
  while (first > 0 && node(pending_[first - 1]).parent == node(pending_.back()).parent) --first;
  take(first, requests);
}

// Finds leaves to ask for, if there are any.
void Grower::refill() {
  if (pending_.empty()) advance();
  // Nobody will ask for the children of the last split.
  if (limits_.max_splits >= 0 && splits_ >= limits_.max_splits) pending_.clear();
  if (!pending_.empty()) look_ahead();
}

void Grower::take(size_t first, std::vector<Request>& requests) {
  requests.clear();
  requests.reserve(pending_.size() - first);
  for (size_t i = first; i < pending_.size(); ++i) requests.push_back({pending_[i], may_triple(nodes_[pending_[i]])});
  pending_.resize(first);
}

// The children of a triple are split with it: they need as many rows as any node that is split.
bool Grower::children_may_split(const Proposal& proposal) const {
  if (proposal.tests.size() != 3) return true;
  const MeasuredTest& root = proposal.tests.front();
  return std::min(root.left.rows, root.right.rows) >= limits_.min_samples_split;
}

void Grower::tell(int32_t id, Proposal proposal) {
  Node& node = nodes_[id];
  node.answered = true;
  if (!children_may_split(proposal)) proposal.tests = std::move(proposal.single);
  double drop = 0;
  for (const auto& measured : proposal.tests) drop += measured.drop;
  // The tolerance is scikit-learn's: a drop equal to the limit up to rounding is enough.
  if (drop + 2.2e-16 * node.weight < limits_.min_drop) return;
  set_tests(node, proposal);
  if (node.tests == 0) return;
  if (explores_everything()) return make_children(id, std::move(proposal.tests));
  node.proposal = std::make_unique<Proposal>(std::move(proposal));
  if (node.number >= 0) push(id);  // else it is pushed when its parent is split
}

void Grower::set_tests(Node& node, const Proposal& proposal) {
  node.tests = static_cast<int8_t>(proposal.tests.size());
  node.gain = proposal.priority();
}

void Grower::measure(Node& node, Side&& side) {
  node.rows = side.rows;
  node.weight = side.weight();
  node.is_settled = side.is_settled();
  node.sums = std::move(side.sums);
  node.numbers = std::move(side.numbers);
}

int32_t Grower::add_child(int32_t parent, bool is_right, Side&& side) {
  const auto id = static_cast<int32_t>(nodes_.size());
  Node& child = nodes_.emplace_back();
  child.parent = parent;
  child.is_right = is_right;
  child.depth = nodes_[parent].depth + 1;
  child.path = child_path(nodes_[parent].path, is_right);
  measure(child, std::move(side));
  return id;
}

// Gives a node its two children. The children of a triple have their tests already. Of the proposal the test alone is
// kept: large trees are as fast as they are small in memory.
void Grower::make_children(int32_t id, std::vector<MeasuredTest>&& tests) {
  const int32_t left = add_child(id, false, std::move(tests[0].left));
  const int32_t right = add_child(id, true, std::move(tests[0].right));
  Node& node = nodes_[id];
  node.left = left;
  node.right = right;
  node.test = static_cast<int32_t>(tests_.size());
  tests_.emplace_back() = std::move(tests[0].test);
  for (const int32_t child : {left, right}) {
    if (tests.size() == 3) {
      Node& known = nodes_[child];
      known.answered = true;
      Proposal proposal;
      proposal.tests.push_back(std::move(tests[child == left ? 1 : 2]));
      set_tests(known, proposal);
      make_children(child, std::move(proposal.tests));
    } else if (is_open(child)) {
      pending_.push_back(child);
    }
  }
}

void Grower::make_children(int32_t id) {
  make_children(id, std::move(nodes_[id].proposal->tests));
  nodes_[id].proposal.reset();
}

void Grower::commit_child(int32_t id) {
  nodes_[id].number = static_cast<int32_t>(committed_.size());
  committed_.push_back(id);
}

// Splits a leaf for good: numbers its children, which may be split next.
void Grower::commit(int32_t id) {
  if (nodes_[id].left < 0) make_children(id);
  const Node& node = nodes_[id];
  const bool is_triple = node.tests == 3;
  const int32_t left = node.left, right = node.right;
  ++splits_;
  commit_child(left);
  commit_child(right);
  for (const int32_t child : {left, right}) {
    if (is_triple) {
      commit(child);
    } else if (nodes_[child].answered) {
      push(child);
    }
  }
}

bool Grower::fits(const Node& node) const {
  return limits_.max_splits < 0 || splits_ + node.tests <= limits_.max_splits;
}

void Grower::push(int32_t id) {
  const Node& node = nodes_[id];
  if (node.tests == 0) return;
  heap_.push_back({priority(node, order_), node.number, id, node.left});
  std::push_heap(heap_.begin(), heap_.end());
}

int32_t Grower::pop() {
  if (heap_.empty()) return -1;
  std::pop_heap(heap_.begin(), heap_.end());
  const int32_t id = heap_.back().node;
  heap_.pop_back();
  // What is on top now is likely to be split next, and its children, which are neighbours, are far away in memory.
  if (!heap_.empty() && heap_.front().child >= 0)
    for (const int32_t child : {0, 1}) __builtin_prefetch(&nodes_[heap_.front().child + child]);
  return id;
}

// Commits splits until a new leaf has to be asked for, or nothing is left to do.
void Grower::advance() {
  if (explores_everything() && nodes_[0].answered && nodes_[0].left >= 0 && splits_ == 0) push(0);
  while (pending_.empty()) {
    if (limits_.max_splits >= 0 && splits_ >= limits_.max_splits) return;
    const int32_t id = pop();
    if (id < 0) return;
    Node& node = nodes_[id];
    if (!fits(node)) {  // a triple that came too late: its single test stands in, if there is one
      node.proposal->tests = std::exchange(node.proposal->single, {});
      set_tests(node, *node.proposal);
      push(id);
      continue;
    }
    commit(id);
  }
}

// Gives children to the next best leaves, which will be split soon unless better ones take all splits that are left.
void Grower::look_ahead() {
  if (explores_everything()) return;
  const int64_t likely = std::min(together_ - 1, (limits_.max_splits - splits_) / 2);
  if (likely < 1) return;
  std::vector<Key> next;
  for (const Key& key : heap_) {
    const Node& node = nodes_[key.node];
    if (node.left < 0 && node.tests == 1) next.push_back(key);
  }
  const auto count = std::min(next.size(), to_size(likely));
  std::partial_sort(next.begin(), next.begin() + static_cast<std::ptrdiff_t>(count), next.end(),
                    [](const Key& a, const Key& b) { return b < a; });
  for (size_t i = 0; i < count; ++i) make_children(next[i].node);
}

}  // namespace boscage
