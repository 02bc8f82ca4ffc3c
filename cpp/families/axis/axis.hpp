// The axis family in memory: the best threshold or category set over all columns of one node.
//
// AxisSearch owns the prepared columns and keeps them divided as the tree grows; NodeRows says which rows
// are where, a criterion what a cut is worth. Knows nothing of growth order, limits on leaves, or the tree.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "base/stable_array.hpp"
#include "criteria/criteria.hpp"
#include "data/column_sample.hpp"
#include "data/columns.hpp"
#include "data/table.hpp"
#include "grow/growth.hpp"
#include "grow/node_rows.hpp"
#include "grow/quantile_sweep.hpp"
#include "grow/scan.hpp"

namespace boscage {

// The best cut of one column.
struct Cut {
  double gain = -1;  // below 0: no valid cut
  int32_t feature = kLeaf;
  bool missing_left = false;
  int64_t position = 0;             // sorted: rows that go left; binned: bins; sparse: entries
  int64_t next_bin = 0;             // binned: the first bin on the right that has rows
  std::vector<uint8_t> categories;  // category: bit set of those that go left
  bool zeros_left = false;          // sparse: the rows without an entry go left
  bool is_constant = false;         // the column has one value in this node, hence in all its descendants

  // The first column keeps a tie.
  bool is_better_than(const Cut& other) const {
    return gain >= 0 && (gain > other.gain || (gain == other.gain && feature < other.feature));
  }
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
  std::vector<double> total;     // weight of each class present; the sums of numbers
  std::vector<uint32_t> labels;  // local class of each row of the node
  double noise = 0;              // a gain up to this is rounding
  RankedNode ranked;             // where ranks decide
  std::vector<uint32_t> order, sequence, moved;
  std::vector<uint8_t> constant;  // by place among the columns of the node: constant there
  std::vector<int64_t> counts;    // of rows in bins: batches may hold more than 32 bits do
  std::vector<uint64_t> keys;
  std::vector<double> sums, start, scan, share;
};

class AxisSearch {
 public:
  // n_categories and max_bins are for dense rows only; bins want all rows of the table. `sample`: how many columns a
  // node looks at. `row_of`: the rows of the table that `rows` numbers from 0 on, borrowed; empty: all of them.
  AxisSearch(const DataTable& X, std::span<const int64_t> n_categories, int64_t max_bins, NodeRows& rows,
             const AnyCriterion& criterion, const Limits& limits, Pool& pool, const Control& control,
             ColumnSample sample = {}, std::span<const uint32_t> row_of = {});

  // The best test of a node, its rows marked in NodeRows::goes_left. Columns are searched in parallel when
  // `inner` is not null.
  Proposal search(const Node& node, int32_t id, std::vector<AxisScratch>& scratch, int thread, Pool* inner);

  // Divides the rows and columns of a node among its children; the columns of a side only if it is open.
  struct Child {
    int32_t id;
    bool is_open;
  };
  void divide(int32_t id, Child left, Child right, std::vector<AxisScratch>& scratch, int thread, Pool* inner);

  int64_t work(int32_t id) const;  // numbers still to be looked at
  void reserve_nodes(int64_t count);

 private:
  // The columns of a node that are not known to be constant; for sparse rows also where their entries are.
  struct NodeColumns {
    std::shared_ptr<const std::vector<int32_t>> features;
    std::vector<SparseSlice> slices;
  };

  bool is_sparse() const { return X_.index() >= 2; }
  // Columns of one chunk where several threads share a node: sparse ones hold few entries.
  size_t columns_together() const { return is_sparse() ? 64 : 1; }
  Cut search_columns(const Node& node, int32_t id, std::vector<uint8_t>& constant, std::vector<AxisScratch>& scratch,
                     int thread, Pool* inner);
  template <class At>
  Cut best_of(const Node& node, int32_t id, size_t count, const At& at, std::vector<uint8_t>& constant,
              std::vector<AxisScratch>& scratch, int thread, Pool* inner);
  template <class Criterion, class Rows>
  Cut search_column(const Criterion& criterion, const Rows& rows, int32_t id, size_t place, const NodeView& view,
                    AxisScratch& scratch) const;
  void drop_constant(int32_t id, const std::vector<uint8_t>& constant);
  void divide_sorted(int32_t id, Child left, Child right, std::vector<AxisScratch>& scratch, int thread, Pool* inner);
  void divide_sparse(int32_t id, Child left, Child right, std::vector<AxisScratch>& scratch, int thread, Pool* inner);
  const SparseSlice& slice(int32_t id, int32_t feature) const;
  std::span<uint32_t> entries(const SparseSlice& slice) { return {sparse_.entries.data() + slice.begin, slice.size()}; }
  std::span<const uint32_t> entries(const SparseSlice& slice) const {
    return {sparse_.entries.data() + slice.begin, slice.size()};
  }
  NodeView view(const Node& node, int32_t id, AxisScratch& scratch) const;
  void prepare(const Node& node, int32_t id, AxisScratch& scratch) const;
  void mark(int32_t id, const Cut& cut);
  Test make_test(int32_t id, const Cut& cut, const std::pair<Side, Side>& sides) const;
  bool sees_missing(int32_t id, int32_t feature) const;
  double threshold_between(int32_t id, const Cut& cut) const;

  // The number in X of an entry's row.
  uint32_t row_in_X(uint32_t entry) const {
    const uint32_t row = entry & kRowMask;
    return row_of_.empty() ? row : row_of_[row];
  }

  AnyRows X_;
  std::span<const uint32_t> row_of_;
  NodeRows& rows_;
  AnyCriterion criterion_;
  Limits limits_;
  const Control& control_;
  ColumnSample sample_;
  std::vector<Column> columns_;  // dense rows
  SparseColumns sparse_;         // sparse rows
  bool has_bins_ = false;
  int root_exponent_ = 0;  // of numbers: gains are compared in the units of the root
  std::vector<uint8_t> small_labels_;
  std::vector<uint32_t> large_labels_;
  std::vector<WeightedRow> weighted_;
  std::vector<SmallRow> small_rows_;
  StableArray<NodeColumns> open_;  // by node
};

// The whole loop in memory: asks, answers and stops by control.
void grow_in_memory(Grower& grower, AxisSearch& search, Pool& pool, Control& control);

}  // namespace boscage
