// The order in which a tree grows, as a question-and-answer machine.
//
// ask() names the leaves whose best test must be known before growth can go on; tell() takes a
// Proposal for one of them. Who answers (memory, batches on disk, a cluster) is not known here.
// A leaf's best test depends on that leaf alone: with no limit on the number of leaves every open leaf
// is asked for at once, and the order of growth only numbers the nodes at the end. With a limit, ask() may look ahead:
// it names the children of the next best leaves too, which saves passes over the rows and changes no tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/index.hpp"
#include "grow/split.hpp"

namespace boscage {

// Which leaf is split next; priority() in growth.cpp says what each order goes by.
enum class Order { best_first, heaviest_first, depth_first };

// The order of this name: std::invalid_argument if there is none.
Order order_of(const std::string& name);

struct Limits {
  int64_t max_splits = -1;  // -1: none
  int64_t max_depth = -1;   // -1: none
  int64_t min_samples_leaf = 1;
  double min_weight_leaf = 0;
  double min_drop = 0;  // smallest weighted drop of a split
  int64_t min_samples_split = 2;
};

struct Node {
  int32_t parent = -1, left = -1, right = -1;
  bool is_right = false;
  int32_t depth = 0;
  uint64_t path = 1;
  int64_t rows = 0;
  double weight = 0;
  std::vector<double> sums;  // as in Side
  std::shared_ptr<const NumberFacts> numbers;
  bool is_settled = false;
  int32_t number = -1;    // in the finished tree; -1 until the node is committed
  bool answered = false;  // its proposal is known (possibly empty)
  Proposal proposal;
};

// The leaf of largest priority is split first, among equal ones that of the lowest number.
double priority(const Node& leaf, Order order);

struct Request {
  int32_t node;
  bool may_triple;  // room for a proposal of three tests
};

class Grower {
 public:
  // `together`: leaves whose children are asked for at once where the number of leaves is limited.
  Grower(Side root, Limits limits, Order order, int64_t together = 1);

  std::vector<Request> ask();
  void tell(int32_t node, Proposal proposal);

  const Node& node(int32_t id) const { return nodes_[to_size(id)]; }
  // The test by which a node's rows are divided among its children.
  const Test& test(int32_t id) const { return node(id).proposal.tests.front().test; }
  size_t size() const { return nodes_.size(); }
  const Limits& limits() const { return limits_; }
  // Will this node be asked for? Pure, small and deepest leaves never are.
  bool is_open(int32_t id) const;
  // Committed nodes by their number; valid once ask() has returned nothing.
  const std::vector<int32_t>& committed() const { return committed_; }
  int64_t splits() const { return splits_; }

 private:
  struct Key {
    double priority;
    int32_t number;
    int32_t node;
    bool operator<(const Key& other) const {  // std heap: the largest priority, then the smallest number
      return priority != other.priority ? priority < other.priority : number > other.number;
    }
  };

  static void measure(Node& node, Side side);
  int32_t add_child(int32_t parent, bool is_right, Side side);
  void make_children(int32_t id);
  void commit_child(int32_t id);
  std::vector<int32_t> commit(int32_t id);
  void push(int32_t id);
  int32_t pop();
  void advance();
  void look_ahead();
  bool fits(const Node& node) const;
  bool may_triple(const Node& node) const;
  bool children_may_split(const Proposal& proposal) const;
  bool explores_everything() const { return limits_.max_splits < 0; }

  std::vector<Node> nodes_;
  std::vector<int32_t> pending_, committed_;
  std::vector<Key> heap_;
  Limits limits_;
  Order order_;
  int64_t together_;
  int64_t splits_ = 0;
};

}  // namespace boscage
