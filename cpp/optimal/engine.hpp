// The search itself: recursion over nodes, shared by any number of threads.
//
// Worker: one thread's memory (nodes by depth, a depth-two solver). Engine: solves nodes under budgets,
// asks the cache first, lets idle workers join open nodes, keeps the best tree found so far.
// SplitTree: the shape of a tree as (feature, rank) tests. Knows nothing of Python or of user arrays.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "base/array.hpp"
#include "optimal/node_search.hpp"

namespace boscage::optimal {

struct Split {
  int32_t feature = -1, rank = -1;  // feature -1: a leaf
  int32_t left = -1, right = -1;
};

// Node 0 is the root; value in value units, the constant of the problem not included.
struct SplitTree {
  Array<Split> nodes;
  int64_t value = kNever;
};

struct Worker {
  std::unique_ptr<DepthTwo> depth_two;
  Array<Node> nodes;         // by remaining depth
  Array<int64_t> accounted;  // bytes of nodes[depth] already charged
  Array<int32_t> map;
  Array<int64_t> classes;
  int64_t explored = 0;
  double waited = 0;  // seconds without anything to do
};

class Engine {
 public:
  using Span = Stopper::Span;

  Engine(const Problem& problem, int threads, int64_t memory_left, Stopper& stopper);

  const Node& root() const { return root_; }
  // The heuristics: the first split of the best depth-two tree, again and again, on ever smaller sets; and
  // the same with many cuts tried near the root and the lowest levels solved.
  SplitTree lookahead(int depth);
  SplitTree wide_lookahead(int depth);
  // Proves the optimum below `incumbent`, then picks the first optimal tree in a fixed order.
  // Returns false if stopped; best() then holds the best tree so far and lower_bound() what is proven.
  bool search(int depth, const SplitTree& incumbent);
  // Spends some time on the lower bound alone: afterwards lower_bound() says what is proven, and best() is the
  // incumbent or a better tree met on the way.
  void bound(int depth, const SplitTree& incumbent, Span patience);

  SplitTree best();
  int64_t lower_bound() const { return lower_.load(); }
  int64_t upper_bound() const { return upper_.load(); }
  int64_t explored() const;
  int64_t work() const;   // row places swept: the search's cost in a unit that no other process can change
  double waited() const;  // seconds of all threads together in which one had nothing to do
  bool out_of_memory() const { return out_of_memory_.load(); }
  Meter& meter() { return meter_; }
  // Called with (lower, upper) whenever one may have changed, from any thread, one at a time.
  std::function<void(int64_t, int64_t)> on_change = [](int64_t, int64_t) {};
  // The best tree that uses a shape's tests: useless ones dropped, cut off at `depth`.
  SplitTree fit_shape(const SplitTree& shape, int depth);

 private:
  // How long to try: a time, or a number of states where these are limited.
  struct Patience {
    Span time;
    int64_t states;
  };
  static constexpr Patience kAll{Span::max() / 4, Stopper::kNoLimit};

  Answer solve(Worker& worker, const Node& node, int depth, int64_t budget, const Identity& rows,
               const NodeSearch* parent, const Record* smaller, const Record* larger, Kept* record);
  Answer solve_two(Worker& worker, const Node& node, int64_t budget, const Record* smaller, const Record* larger,
                   Kept* record);
  Answer solve_child(Worker& worker, const NodeSearch& search, const Task& task, int side, int64_t budget,
                     const Record* smaller, const Record* larger, Kept* record);
  void prove(Worker& worker, NodeSearch& search, SplitTree& proven);
  bool attempt(const std::function<void()>& work, Patience patience, NodeSearch& search);
  int64_t begin(int depth, const SplitTree& incumbent);
  void refresh(NodeSearch& search);
  void raise_bound(Worker& worker, NodeSearch& search, Span patience);
  void finish(Worker& worker, NodeSearch& search, SplitTree& proven);
  void run(Worker& worker, NodeSearch& search);
  void run_task(Worker& worker, NodeSearch& search, const Task& task);
  bool help(Worker& worker, const NodeSearch* above);
  NodeSearch* choose(const NodeSearch* above, bool quiet, Task& task);
  void help_until_done(Worker& worker);
  void improve(Worker& worker, const NodeSearch& search, const Task& task, int64_t value, const int64_t* sides);
  void report(Worker& worker, NodeSearch& search, const Task& task);
  void watch(NodeSearch& search, bool always);
  void with_helpers(const std::function<void()>& work);

  Node& child_node(Worker& worker, const NodeSearch& search, const Task& task, int side);
  void charge(int64_t bytes);
  int64_t quick_bound(const Array<int64_t>& classes, int depth, int64_t& leaf) const;
  int32_t extract(Worker& worker, const Node& node, const Identity& rows, int depth, int64_t value, NodeSearch* search,
                  const Record* smaller, const Record* larger, SplitTree& out);
  bool rebuild(Worker& worker, const Node& node, const Identity& rows, int depth, int64_t value, SplitTree& out);
  int32_t look(Worker& worker, const Node& node, int depth, SplitTree& out);
  int32_t widen(Worker& worker, const Node& node, int depth, SplitTree& out);
  Answer widest_split(Worker& worker, const Node& node, int depth);
  int64_t look_cost(Worker& worker, const Node& node, int depth);
  bool solve_three(Worker& worker, const Node& node, SplitTree& out);
  Answer look_split(Worker& worker, const Node& node, int depth);

  const Problem& problem_;
  Stopper& stopper_;
  Meter meter_;
  Cache cache_;
  Node root_;
  Identity all_rows_;
  Array<Worker> workers_;
  std::atomic<NodeSearch*> root_search_{nullptr};
  std::mutex registry_mutex_;
  Array<NodeSearch*> open_;
  std::atomic<bool> finished_{false}, out_of_memory_{false};
  std::atomic<int64_t> lower_{0}, upper_{kNever};
  std::mutex best_mutex_;
  SplitTree best_;
  Stopper::Clock::time_point last_watch_{};
  const Stopper::Clock::time_point start_ = Stopper::Clock::now();
  Span shared_{};  // time with all threads at work
};

// The rows of `parent` left (side 0) or right of a test, as positions: number of rows on the left.
int64_t rows_left(const Node& node, int feature, int32_t rank);

}  // namespace boscage::optimal
