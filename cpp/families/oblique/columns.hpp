// The scaled rows of one node by column, for searches that look at one coefficient at a time.
//
// Dense rows are copied column by column. Of sparse rows only the entries are kept: a column is written out into the
// caller's memory when it is looked at, and sums over all columns touch entries alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "families/oblique/family.hpp"

namespace boscage {

class ScaledColumns {
 public:
  ScaledColumns(const ObliqueData& data, std::span<const uint32_t> rows);

  size_t rows() const { return rows_; }
  size_t columns() const { return columns_; }
  // The values of a column; `place` holds them if they are not stored as such.
  std::span<const double> column(size_t j, std::vector<double>& place) const;
  // theta.x + bias of every row; theta ends with the bias.
  void score(std::span<const double> theta, std::vector<double>& scores) const;
  // Adds theta.x of some columns to the scores.
  void add(std::span<const size_t> columns, std::span<const double> theta, std::vector<double>& scores) const;
  // For every column the sum of pull x over the rows.
  void project(std::span<const double> pull, std::vector<double>& sums) const;
  // Are there at least so many different rows?
  bool has_distinct_rows(size_t wanted) const;

 private:
  struct Entry {
    uint32_t row;
    double value;  // scaled
  };

  template <class T>
  void keep(const Matrix<T>& X, const Scaling& scaling, std::span<const uint32_t> rows);
  template <class T, class Index>
  void keep(const SparseRows<T, Index>& X, const Scaling& scaling, std::span<const uint32_t> rows);
  // Adds factor x of a column; of sparse rows what its entries have beyond an absent one.
  void add_entries(size_t j, double factor, std::vector<double>& scores) const;
  const double* dense(size_t j) const { return values_.data() + j * rows_; }
  std::span<const Entry> entries(size_t j) const {
    return {entries_.data() + offsets_[j], offsets_[j + 1] - offsets_[j]};
  }
  bool is_sparse() const { return !offsets_.empty(); }

  size_t rows_, columns_;
  std::vector<double> values_;  // dense rows
  std::vector<Entry> entries_;  // sparse rows, by column
  std::vector<size_t> offsets_;
  std::vector<double> absent_;  // what an absent entry of each column is, scaled
};

}  // namespace boscage
