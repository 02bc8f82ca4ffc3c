// The axis family in memory: the best threshold or category set over all columns of one node.
//
// AxisSearch owns the prepared columns and keeps them divided as the tree grows; NodeRows says which rows
// are where, a criterion what a cut is worth. Knows nothing of growth order, limits on leaves, or the tree.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "columns.hpp"
#include "criteria.hpp"
#include "growth.hpp"
#include "matrix.hpp"
#include "node_rows.hpp"
#include "parallel.hpp"
#include "scan.hpp"

namespace boscage {

// The best cut of one column.
struct Cut {
  double gain = -1;  // below 0: no valid cut
  int32_t feature = kLeaf;
  bool missing_left = false;
  int64_t position = 0;             // sorted: rows that go left; binned: bins that go left
  int64_t next_bin = 0;             // binned: the first bin on the right that has rows
  std::vector<uint8_t> categories;  // category: bit set of those that go left
  bool is_constant = false;         // the column has one value in this node, hence in all its descendants
};

// The middle of two neighbours in the type of X, so that training and prediction compare the same numbers.
template <class T>
double middle(T low, T high) {
  const T mid = low / 2 + high / 2;
  return static_cast<double>(low <= mid && mid < high ? mid : low);
}

// Buffers of one thread, reused from node to node.
struct AxisScratch {
  int32_t node = -1;             // the node whose classes are prepared below
  std::vector<uint32_t> local;   // class -> its number among those present
  std::vector<double> total;     // weight of each class present
  std::vector<uint32_t> labels;  // local class of each row of the node
  double potential = 0;
  std::vector<uint32_t> order, sequence, moved;
  std::vector<int64_t> counts;  // of rows in bins: batches may hold more than 32 bits do
  std::vector<uint64_t> keys;
  std::vector<double> sums, start, scan, share;
};

class AxisSearch {
 public:
  AxisSearch(const AnyMatrix& X, std::span<const int64_t> n_categories, int64_t max_bins, NodeRows& rows,
             std::span<const double> weight, const AnyCriterion& criterion, const Limits& limits, Pool& pool,
             const Control& control);

  // The best test of a node, its rows marked in NodeRows::goes_left. Columns are searched in parallel when
  // `inner` is not null.
  Proposal search(const Node& node, int32_t id, std::vector<AxisScratch>& scratch, int thread, Pool* inner);

  // Divides the rows and columns of a node among its children; the right side's columns only if it is open.
  void divide(int32_t id, int32_t left, int32_t right, bool right_open, std::vector<AxisScratch>& scratch, int thread,
              Pool* inner);

  int64_t work(int32_t id) const;  // rows times columns still to be looked at
  void reserve_nodes(size_t count);

 private:
  template <class Rows>
  Cut search_column(const Rows& rows, int32_t id, int32_t feature, const NodeView& view, AxisScratch& scratch) const;
  NodeView view(const Node& node, int32_t id, AxisScratch& scratch) const;
  void prepare(const Node& node, int32_t id, AxisScratch& scratch) const;
  void mark(int32_t id, const Cut& cut);
  Test make_test(int32_t id, const Cut& cut, const std::pair<Side, Side>& sides) const;
  double threshold_between(int32_t id, const Cut& cut) const;

  AnyMatrix X_;
  NodeRows& rows_;
  AnyCriterion criterion_;
  Limits limits_;
  const Control& control_;
  std::vector<Column> columns_;
  bool has_bins_ = false;
  std::vector<uint8_t> small_labels_;
  std::vector<uint32_t> large_labels_;
  std::vector<WeightedRow> weighted_;
  std::vector<std::shared_ptr<const std::vector<int32_t>>> features_;  // by node: columns not known to be constant
};

// The whole loop in memory: asks, answers and stops by control.
void grow_in_memory(Grower& grower, AxisSearch& search, Pool& pool, Control& control);

}  // namespace boscage
