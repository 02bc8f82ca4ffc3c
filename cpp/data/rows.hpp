// Compressed sparse rows as they come from the user, borrowed; the sparse sister of Matrix. AnyRows: either of them.
//
// x(row, column) finds an entry or gives 0. It knows nothing of labels, weights or trees.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <variant>

#include "data/matrix.hpp"

namespace boscage {

// Column numbers increase within a row. What scipy hands over is checked row by row as it is used.
template <class T, class Index>
struct SparseRows {
  const T* data;
  const Index* indices;
  const Index* offsets;  // rows + 1 of them
  int64_t rows, columns, stored;

  struct Range {
    int64_t begin, end;
  };

  Range range(int64_t row) const {
    const auto begin = static_cast<int64_t>(offsets[row]), end = static_cast<int64_t>(offsets[row + 1]);
    if (begin < 0 || end < begin || end > stored)
      throw std::invalid_argument("X: row offsets of the CSR matrix are broken.");
    return {begin, end};
  }

  int64_t column(int64_t k) const {
    const auto found = static_cast<int64_t>(indices[k]);
    if (found < 0 || found >= columns)
      throw std::invalid_argument("X: a column index of the CSR matrix is out of range.");
    return found;
  }

  T operator()(int64_t row, int64_t wanted) const {
    const auto [begin, end] = range(row);
    const Index* last = indices + end;
    const Index* place = std::lower_bound(indices + begin, last, static_cast<Index>(wanted));
    return place != last && static_cast<int64_t>(*place) == wanted ? data[place - indices] : T(0);
  }
};

using AnyRows = std::variant<Matrix<float>, Matrix<double>, SparseRows<float, int32_t>, SparseRows<float, int64_t>,
                             SparseRows<double, int32_t>, SparseRows<double, int64_t>>;

template <class Rows>
constexpr bool is_sparse = !requires(const Rows& rows) { rows.column_stride; };

// Calls visit(column, value) for the numbers of a row, of a sparse one for those that are stored.
template <class Rows, class Visit>
void for_entries(const Rows& X, int64_t row, Visit visit) {
  if constexpr (is_sparse<Rows>) {
    const auto [begin, end] = X.range(row);
    for (int64_t k = begin; k < end; ++k) visit(X.column(k), static_cast<double>(X.data[k]));
  } else {
    const auto* data = X.data + row * X.row_stride;
    if (X.column_stride == 1) {  // the loop that the compiler makes wide
      for (int64_t j = 0; j < X.columns; ++j) visit(j, static_cast<double>(data[j]));
    } else {
      for (int64_t j = 0; j < X.columns; ++j) visit(j, static_cast<double>(data[j * X.column_stride]));
    }
  }
}

}  // namespace boscage
