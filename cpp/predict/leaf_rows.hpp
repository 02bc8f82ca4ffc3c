// The training rows that share leaves with a row to be predicted: quantiles of their targets.
//
// Of every tree the rows in the leaf that was reached share a weight of 1, in proportion to their own weights. The
// quantiles of all trees together are those of quantile regression forests (Meinshausen 2006).
#pragma once

#include <cstdint>

#include "base/array.hpp"
#include "base/parallel.hpp"

namespace boscage {

class LeafRows {
 public:
  // leaf: trees × rows, the number of each row's leaf, below the number of nodes of the tree. weight: by row, positive;
  // empty: 1. Throws std::invalid_argument for other numbers.
  LeafRows(Span<const uint32_t> leaf, Span<const int64_t> nodes, Span<const double> weight);

  int64_t trees() const { return first_.size(); }
  int64_t rows() const { return rows_; }

  // reached: count × trees, numbers of leaves. rank: place of each row in the order of the targets. For each of the
  // levels the smallest rank up to which so much of the weight lies, count × levels; -1 if no row shares a leaf.
  void quantiles(Span<const int64_t> reached, Span<const int64_t> rank, Span<const double> levels, int64_t* out,
                 int threads, Control& control) const;

 private:
  struct Entry {
    int64_t rank;
    double weight;
  };

  void gather(const int64_t* reached, Span<const int64_t> rank, Array<Entry>& entries) const;

  int64_t rows_ = 0;
  Array<Array<uint32_t>> first_;  // of each tree: by node where its rows begin in `order_`
  Array<uint32_t> order_;         // trees × rows: the rows, leaf by leaf
  Array<double> weight_;
};

}  // namespace boscage
