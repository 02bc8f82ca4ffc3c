// The best tree of depth two on one node: the search's workhorse.
//
// Column by column it evaluates up to kLanes cuts per sweep and drops, by the weight between them, the
// cuts that can no longer beat the best (see bounds.hpp for the two rules). Works in value units outside
// and kernel units inside. Knows nothing of caches, siblings or threads.
#pragma once

#include <cstdint>
#include <memory>

#include "base/array.hpp"
#include "optimal/node.hpp"

namespace boscage::optimal {

// value is F(node) if exact, else a lower bound of it that reaches the budget.
struct Answer {
  int64_t value = kNever;
  bool exact = false;
  int32_t feature = -1;  // of the best split if exact; -1: a leaf
  int32_t rank = -1;     // left if rank <= this
};

class DepthTwo {
 public:
  virtual ~DepthTwo() = default;
  // F_2 under a budget. least[j] holds a lower bound of the cost with the root split on j, on the way in
  // from elsewhere, on the way out the best known. floor: a lower bound of F_1 of the node.
  virtual Answer solve(const Node& node, int64_t budget, Array<int64_t>& least, int64_t& floor) = 0;
  // The first split, by column and then by rank, of cost `value`, which must be F_2 and below the leaf's.
  virtual Answer first_split(const Node& node, int64_t value) = 0;
  virtual int64_t work() const = 0;  // row places swept so far
};

std::unique_ptr<DepthTwo> make_depth_two(const Problem& problem, const Stopper& stopper);

// The first best tree of depth one by column and rank; exact always.
Answer best_stump(const Problem& problem, const Node& node);

}  // namespace boscage::optimal
