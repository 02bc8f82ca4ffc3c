// Rows as they come from the user, borrowed: dense with any strides, or compressed sparse rows.
//
// at(row, column) widens to double, which is exact, so float32 rows compare as the numbers they are.
// These types know nothing of labels, weights or trees.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace boscage {

template <class T>
struct DenseRows {
  const T* data;
  int64_t rows, columns;
  int64_t row_stride, column_stride;  // in elements

  double at(int64_t row, int64_t column) const {
    return static_cast<double>(data[row * row_stride + column * column_stride]);
  }
};

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
    if (begin < 0 || end < begin || end > stored) throw std::invalid_argument("X: row offsets of the CSR matrix are broken.");
    return {begin, end};
  }

  int64_t column(int64_t k) const {
    const auto found = static_cast<int64_t>(indices[k]);
    if (found < 0 || found >= columns) throw std::invalid_argument("X: a column index of the CSR matrix is out of range.");
    return found;
  }

  double at(int64_t row, int64_t wanted) const {
    const auto [begin, end] = range(row);
    const Index* last = indices + end;
    const Index* place = std::lower_bound(indices + begin, last, static_cast<Index>(wanted));
    return place != last && static_cast<int64_t>(*place) == wanted ? static_cast<double>(data[place - indices]) : 0.0;
  }
};

}  // namespace boscage
