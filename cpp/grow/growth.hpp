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
#include <optional>
#include <string>
#include <vector>

#include "base/index.hpp"
#include "base/stable_array.hpp"
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

// What decides in which order leaves are split comes first, on one cache line.
struct alignas(32) Node {
  double gain = 0;  // of its proposal, per split
  double weight = 0;
  int32_t left = -1, right = -1;
  int32_t number = -1;  // in the finished tree; -1 until the node is committed
  int8_t tests = 0;     // in its proposal: 0, 1 or 3
  bool is_right = false;
  bool is_settled = false;
  bool answered = false;  // its proposal is known (possibly empty)

  int32_t parent = -1;
  int32_t depth = 0;
  int32_t test = -1;  // of those that have children: which
  uint64_t path = 1;
  int64_t rows = 0;
  Sums sums;                           // as in Side
  std::optional<NumberFacts> numbers;  // as in Side
  std::unique_ptr<Proposal> proposal;  // of one that may be split later
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
  // The same, but of the leaves that are known only the youngest and its sibling: what has just been written is asked
  // for while it is in cache. `requests` is overwritten.
  void ask_youngest(std::vector<Request>& requests);
  void tell(int32_t node, Proposal proposal);
  // From now on leaves are asked for one by one where their number is limited.
  void stop_looking_ahead() { together_ = 1; }

  const Node& node(int32_t id) const { return nodes_[id]; }
  // The test by which a node's rows are divided among its children.
  const Test& test(int32_t id) const {
    return node(id).test < 0 ? node(id).proposal->tests.front().test : tests_[node(id).test];
  }
  int64_t size() const { return nodes_.size(); }
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
    int32_t child;                            // the left one, -1 if there is none
    bool operator<(const Key& other) const {  // std heap: the largest priority, then the smallest number
      return priority != other.priority ? priority < other.priority : number > other.number;
    }
  };

  static void measure(Node& node, Side&& side);
  static void set_tests(Node& node, const Proposal& proposal);
  int32_t add_child(int32_t parent, bool is_right, Side&& side);
  void make_children(int32_t id, std::vector<MeasuredTest>&& tests);
  void make_children(int32_t id);
  void commit_child(int32_t id);
  void commit(int32_t id);
  void push(int32_t id);
  int32_t pop();
  void advance();
  void look_ahead();
  void refill();
  void take(size_t first, std::vector<Request>& requests);
  bool fits(const Node& node) const;
  bool may_triple(const Node& node) const;
  bool children_may_split(const Proposal& proposal) const;
  bool explores_everything() const { return limits_.max_splits < 0; }

  StableArray<Node> nodes_;
  StableArray<Test> tests_;  // of nodes that have children
  std::vector<int32_t> pending_, committed_;
  std::vector<Key> heap_;
  Limits limits_;
  Order order_;
  int64_t together_;
  int64_t splits_ = 0;
};

}  // namespace boscage
