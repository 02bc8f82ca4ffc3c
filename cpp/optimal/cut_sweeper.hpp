// Best stumps on both sides of cuts of one column, for one node: what the kernels are fed and give back.
//
// prepare() lays a node out for the kernels (class numbers, places where stumps may cut), select() chooses
// the column to cut, evaluate() answers up to kLanes cuts in one sweep. T is the kernels' number: 32 bits
// where all sums fit. Knows nothing of budgets or of which cuts are worth asking for.
#pragma once

#include <cstdint>

#include "base/array.hpp"
#include "optimal/node.hpp"
#include "optimal/sweep.hpp"

namespace boscage::optimal {

// A cut to be evaluated: how it parts the node's rows, and the answer.
struct SweptCut {
  int32_t position;     // rows on the left
  int64_t left_weight;  // kernel units
  int64_t side[2];      // F_1 of both sides, value units
};

template <class T>
class CutSweeper {
 public:
  CutSweeper(const Problem& problem, const Stopper& stopper) : problem_(problem), stopper_(stopper) {}

  void prepare(const Node& node);
  void select(int feature);
  // At most kLanes cuts of the selected column, by rising position.
  void evaluate(Array<SweptCut>& cuts);
  int64_t work() const { return work_; }

 private:
  template <class Visit>
  void walk_groups(int k, Visit&& visit) const;
  void mark_order();
  void mark_column(int k);
  void list_runs();
  void sum_left(const Array<SweptCut>& cuts);
  int64_t class_total(int c) const;
  int64_t stump_value(int64_t stump_error, int64_t leaf_error) const;
  int columns_at_once() const;
  void evaluate_binary(Array<SweptCut>& cuts);
  void evaluate_classes(Array<SweptCut>& cuts);
  void fill_totals(int lanes);

  const Problem& problem_;
  const Stopper& stopper_;
  const Node* node_ = nullptr;
  int feature_ = 0;
  int64_t work_ = 0;
  bool binary_ = true;
  int classes_ = 0;
  Array<int32_t> local_, label_, code_;
  Array<Item<T>> items_;
  Array<uint32_t> marked_, run_start_;
  Array<uint8_t> dense_;
  Array<Run> runs_;
  Array<int64_t> left_, sums_;
  T lane_cut_[kLanes] = {};
  Array<T> total_[2], rest_[2];
};

extern template class CutSweeper<int32_t>;
extern template class CutSweeper<int64_t>;

}  // namespace boscage::optimal
