// Growing a stochastic tree with all rows in memory: who reaches which node, and the passes over X.
//
// One pass divides the rows of all nodes that were split since the last one: a dot product, two reach numbers and
// one addition to the lighter child's sums per row; the other child is the difference. Tests come from solve() and
// lookahead, the order of growth from Grower.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "base/parallel.hpp"
#include "families/stochastic/divide.hpp"
#include "families/stochastic/frame.hpp"
#include "families/stochastic/sums.hpp"
#include "grow/growth.hpp"

namespace boscage::stochastic {

struct GrowSettings {
  SolveSettings solve;
  bool lookahead = false;
  int64_t most_reach = -1;  // reach numbers that are kept at once; -1: 2^26, or twice the numbers in X
};

// The probability of each row to reach a node: numbers that are written before they are read, so never set to zero.
// On pages of the usual size: where memory is in pieces, large ones take the system longer to find than they save.
class Reach {
 public:
  Reach() = default;
  explicit Reach(int64_t size) : values_(std::make_unique_for_overwrite<double[]>(to_size(size))), size_(size) {}

  explicit operator bool() const { return values_ != nullptr; }
  int64_t size() const { return size_; }
  double* data() { return values_.get(); }
  const double* data() const { return values_.get(); }

 private:
  std::unique_ptr<double[]> values_;
  int64_t size_ = 0;
};

template <class Rows>
class MemoryGrowth {
 public:
  // `numbers`: range and units of the values of the rows; null for classes.
  MemoryGrowth(const TrainingRows<Rows>& rows, const Frame& frame, const AnyCriterion& criterion,
               const GrowSettings& settings, std::shared_ptr<const NumberFacts> numbers, Pool& pool, Control& control);

  // Grows to the end of the limits; the grower's nodes are then final.
  Grower grow(const Limits& limits, Order order);

 private:
  // What is known of a node's rows.
  struct NodeState : KnownSums {
    std::vector<uint32_t> rows;  // empty: all
    Reach reach;                 // none: 1 for every row, or not kept
    bool has_reach = false;
  };
  struct Pass;
  struct Slot;

  void divide_parents(Grower& grower, const std::vector<Request>& requests);
  void divide_some(Grower& grower, std::span<const int32_t> parents);
  void answer_block(std::span<Pass> passes, std::span<const Division> divisions, int64_t block, Slot& slot);
  void start_pass(Grower& grower, Pass& pass);
  void finish_pass(const Grower& grower, Pass& pass);
  NodeBlock block_of(const NodeState& node, int64_t block) const;
  bool keeps_reach(const Grower& grower, int32_t id) const;
  void rebuild(const Grower& grower, int32_t id);
  void settle(NodeState& node);
  void forget_reach(NodeState& node);
  bool make_room(Grower& grower, int64_t wanted);
  NodeSums sums_of(const Grower& grower, int32_t id);
  double product_above(const Grower& grower, int32_t id) const;
  Proposal look_ahead(const Grower& grower, const Request& request, Proposal single);
  template <class Add>
  std::vector<double> sum_over(const NodeState& node, size_t size, Add add);
  NodeState& state(int32_t id);

  TrainingRows<Rows> rows_;
  const Frame& frame_;
  const AnyCriterion& criterion_;
  GrowSettings settings_;
  Pool& pool_;
  Control& control_;
  SumShape shape_;
  std::vector<NodeState> states_;
  Order order_ = Order::best_first;
  std::vector<double> product_fit_;  // share of the class's variance explained by the triple of a node
  int64_t kept_ = 0, budget_ = 0;    // reach numbers
};

}  // namespace boscage::stochastic
