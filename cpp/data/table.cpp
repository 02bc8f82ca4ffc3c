#include "data/table.hpp"

#include <algorithm>
#include <stdexcept>
#include <variant>

#include "base/index.hpp"

namespace boscage {

std::shared_ptr<const std::vector<Column>> DataTable::exact_columns(std::span<const int64_t> n_categories, Pool& pool,
                                                                    const Control& control) const {
  const std::lock_guard lock(mutex_);
  if (exact_) return exact_;
  exact_ = std::visit(
      [&](const auto& matrix) -> std::shared_ptr<const std::vector<Column>> {
        if constexpr (requires { matrix.column_stride; }) {
          return std::make_shared<const std::vector<Column>>(make_columns(matrix, n_categories, 0, {}, pool, control));
        } else {
          throw std::logic_error("sparse rows have sparse columns");
        }
      },
      rows_);
  return exact_;
}

std::shared_ptr<const SparseColumns> DataTable::sparse_columns(Pool& pool, const Control& control) const {
  const std::lock_guard lock(mutex_);
  if (sparse_) return sparse_;
  sparse_ = std::visit(
      [&](const auto& matrix) -> std::shared_ptr<const SparseColumns> {
        if constexpr (requires { matrix.column_stride; }) {
          throw std::logic_error("dense rows have no sparse columns");
        } else {
          return std::make_shared<const SparseColumns>(make_sparse_columns(matrix, pool, control));
        }
      },
      rows_);
  return sparse_;
}

namespace {

constexpr uint32_t kNotThere = ~0U;

// The new number of each row.
std::vector<uint32_t> new_numbers(std::span<const uint32_t> rows, size_t all_rows) {
  std::vector<uint32_t> number(all_rows, kNotThere);
  for (size_t i = 0; i < rows.size(); ++i) number[rows[i]] = static_cast<uint32_t>(i);
  return number;
}

// Copies the entries of rows that stay and returns how many. "New value" moves to the next entry that stays.
size_t copy_entries(std::span<const uint32_t> order, std::span<const uint32_t> number, uint32_t* out) {
  uint32_t* end = out;
  uint32_t is_new = 0;
  for (const uint32_t entry : order) {
    const uint32_t row = number[entry & kRowMask];
    is_new |= entry & kNewValue;
    *end = (row & kRowMask) | is_new;
    const bool stays = row != kNotThere;
    end += stays;
    is_new = stays ? 0 : is_new;
  }
  return to_size(end - out);
}

template <class T>
std::vector<T> gathered(const std::vector<T>& values, std::span<const uint32_t> rows) {
  std::vector<T> found;
  if (values.empty()) return found;
  found.reserve(rows.size());
  for (const uint32_t row : rows) found.push_back(values[row]);
  return found;
}

}  // namespace

std::vector<Column> columns_of_rows(const std::vector<Column>& columns, std::span<const uint32_t> rows, Pool& pool) {
  size_t all_rows = 0;
  for (const Column& column : columns)
    if (column.kind == Column::Kind::sorted) all_rows = column.order.size();
  const auto number = new_numbers(rows, std::max(all_rows, rows.empty() ? size_t{0} : size_t{rows.back()} + 1));
  std::vector<Column> found(columns.size());
  pool.parallel_for(signed_size(columns), [&](int64_t j, int) {
    const Column& all = columns[to_size(j)];
    Column& mine = found[to_size(j)];
    mine.kind = all.kind;
    mine.has_missing = all.has_missing;
    mine.exact = all.exact;
    mine.bins = all.bins;
    mine.first = all.first;
    mine.last = all.last;
    mine.small = gathered(all.small, rows);
    mine.large = gathered(all.large, rows);
    mine.is_missing = gathered(all.is_missing, rows);
    if (all.kind != Column::Kind::sorted) return;
    mine.order.resize(rows.size() + 1);
    copy_entries(all.order, number, mine.order.data());
    mine.order.resize(rows.size());
  });
  return found;
}

SparseColumns columns_of_rows(const SparseColumns& columns, std::span<const uint32_t> rows, int64_t all_rows) {
  const auto number = new_numbers(rows, to_size(all_rows));
  SparseColumns found;
  found.entries.resize(columns.entries.size() + 1);
  uint32_t* out = found.entries.data();
  for (const SparseSlice& all : columns.slices) {
    const uint32_t* entries = columns.entries.data() + all.begin;
    SparseSlice mine;
    mine.begin = out - found.entries.data();
    // Numbers of each sign are values of their own, so each part is copied by itself.
    for (const auto part : {&SparseSlice::negative, &SparseSlice::positive, &SparseSlice::missing}) {
      const size_t kept = copy_entries({entries, all.*part}, number, out);
      mine.*part = static_cast<uint32_t>(kept);
      entries += all.*part;
      out += kept;
    }
    found.slices.push_back(mine);
  }
  found.entries.resize(to_size(out - found.entries.data()));
  return found;
}

}  // namespace boscage
