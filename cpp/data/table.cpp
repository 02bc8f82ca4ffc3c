#include "data/table.hpp"

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

// Copies the entries of used rows and returns how many. "New value" moves to the next entry that stays.
size_t copy_used(std::span<const uint32_t> order, std::span<const uint8_t> used, uint32_t* out) {
  uint32_t* end = out;
  uint32_t is_new = 0;
  for (const uint32_t entry : order) {
    const uint32_t row = entry & kRowMask;
    is_new |= entry & kNewValue;
    *end = row | is_new;
    const bool stays = used[row] != 0;
    end += stays;
    is_new = stays ? 0 : is_new;
  }
  return to_size(end - out);
}

}  // namespace

std::vector<Column> columns_of_rows(const std::vector<Column>& columns, std::span<const uint8_t> used, Pool& pool) {
  std::vector<Column> found(columns.size());
  pool.parallel_for(signed_size(columns), [&](int64_t j, int) {
    const Column& all = columns[to_size(j)];
    Column& mine = found[to_size(j)];
    if (all.kind != Column::Kind::sorted) {
      mine = all;
      return;
    }
    mine.has_missing = all.has_missing;
    mine.is_missing = all.is_missing;
    mine.order.resize(all.order.size() + 1);
    mine.order.resize(copy_used(all.order, used, mine.order.data()));
  });
  return found;
}

SparseColumns columns_of_rows(const SparseColumns& columns, std::span<const uint8_t> used) {
  SparseColumns found;
  found.entries.resize(columns.entries.size() + 1);
  uint32_t* out = found.entries.data();
  for (const SparseSlice& all : columns.slices) {
    const uint32_t* entries = columns.entries.data() + all.begin;
    SparseSlice mine;
    mine.begin = out - found.entries.data();
    // Numbers of each sign are values of their own, so each part is copied by itself.
    for (const auto part : {&SparseSlice::negative, &SparseSlice::positive, &SparseSlice::missing}) {
      const size_t kept = copy_used({entries, all.*part}, used, out);
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
