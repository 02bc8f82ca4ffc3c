// Columns made ready for axis tests, once per fit.
//
// A column with few distinct values is *binned* (each row's value number, counted exactly), a categorical
// one likewise by category; any other is *sorted*: its rows in order of value, missing ones last. The top
// bit of an entry says "the value before this one is smaller", so that no scan has to look at X again.
//
// Columns of sparse rows are kept as their stored numbers alone, in the same order; all other rows of a node are zeros.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "base/parallel.hpp"
#include "data/matrix.hpp"
#include "data/rows.hpp"

namespace boscage {

constexpr uint32_t kNewValue = 0x80000000U;
constexpr uint32_t kRowMask = 0x7fffffffU;

struct Column {
  enum class Kind : uint8_t { sorted, binned, category };

  Kind kind = Kind::sorted;
  bool has_missing = false;
  bool exact = true;                // false: values were grouped into max_bins bins
  uint32_t bins = 0;                // binned: distinct values; category: categories
  std::vector<uint32_t> order;      // sorted
  std::vector<uint8_t> is_missing;  // sorted, by row; empty when no value is missing
  std::vector<uint8_t> small;       // binned or category: bin of each row, `bins` when missing ...
  std::vector<uint32_t> large;      // ... the same when there are more than 255
  std::vector<double> first, last;  // binned: smallest and largest value of each bin

  uint32_t bin(int64_t row) const { return small.empty() ? large[to_size(row)] : small[to_size(row)]; }
};

// Rows in increasing order of value, NaN last; equal values keep their row order. The top bit as in Column::order.
template <class T>
std::vector<uint32_t> sorted_rows(const Matrix<T>& X, int64_t column, const Control& control);

// n_categories[j] > 0 marks a categorical column (values are codes 0 .. n_categories[j] - 1 or NaN).
// max_bins > 0 groups every numeric column into at most so many bins of about equal weight.
template <class T>
std::vector<Column> make_columns(const Matrix<T>& X, std::span<const int64_t> n_categories, int64_t max_bins,
                                 std::span<const double> weight, Pool& pool, const Control& control);

// The entries of one sparse column in one node: negative numbers, positive numbers, missing values. No zeros.
struct SparseSlice {
  int64_t begin = 0;
  uint32_t negative = 0, positive = 0, missing = 0;

  size_t present() const { return size_t{negative} + positive; }
  size_t size() const { return present() + missing; }
};

struct SparseColumns {
  std::vector<uint32_t> entries;    // rows in order of value, the top bit as in Column::order; column by column
  std::vector<SparseSlice> slices;  // of all rows, by column
};

template <class T, class Index>
SparseColumns make_sparse_columns(const SparseRows<T, Index>& X, Pool& pool, const Control& control);

}  // namespace boscage
