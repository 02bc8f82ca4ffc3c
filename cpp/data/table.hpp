// What is known of X, made once and never changed: a view of the caller's matrix, and indexes made when first asked
// for.
//
// Many trees read one Table at the same time; what a growing tree moves about is its own. Exact columns take 4 bytes
// for each number of X, or one byte where a column has few values; each growing tree has as much for its own rows.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <variant>
#include <vector>

#include "base/parallel.hpp"
#include "data/columns.hpp"
#include "data/rows.hpp"

namespace boscage {

class DataTable {
 public:
  template <class Rows>
    requires std::constructible_from<AnyRows, Rows>
  DataTable(const Rows& rows, bool is_shared = false) : rows_(rows), is_shared_(is_shared) {}

  const AnyRows& rows() const { return rows_; }
  bool is_shared() const { return is_shared_; }
  int64_t size() const {
    return std::visit([](const auto& matrix) { return matrix.rows; }, rows_);
  }
  int64_t columns() const {
    return std::visit([](const auto& matrix) { return matrix.columns; }, rows_);
  }

  // Columns for axis tests, of all rows, without a limit on bins. The categories are those of the first call.
  std::shared_ptr<const std::vector<Column>> exact_columns(std::span<const int64_t> n_categories, Pool& pool,
                                                           const Control& control) const;
  std::shared_ptr<const SparseColumns> sparse_columns(Pool& pool, const Control& control) const;

 private:
  AnyRows rows_;
  bool is_shared_;
  mutable std::mutex mutex_;  // held while an index is made: the others wait for it
  mutable std::shared_ptr<const std::vector<Column>> exact_;
  mutable std::shared_ptr<const SparseColumns> sparse_;
};

// The same columns with some of the rows only, in increasing order; they are numbered anew from 0 on.
std::vector<Column> columns_of_rows(const std::vector<Column>& columns, std::span<const uint32_t> rows, Pool& pool);
SparseColumns columns_of_rows(const SparseColumns& columns, std::span<const uint32_t> rows, int64_t all_rows);

}  // namespace boscage
