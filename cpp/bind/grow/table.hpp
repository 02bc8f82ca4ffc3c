// The user's rows, dense or CSR, as growth in memory borrows them: the arrays must outlive it.
#pragma once

#include "bind/bound_predictor.hpp"
#include "data/rows.hpp"

namespace boscage::bind {

struct Table {
  AnyRows rows;
  size_t count;
  size_t numbers;  // stored

  int64_t columns() const {
    return std::visit([](const auto& matrix) { return matrix.columns; }, rows);
  }
};

template <class T>
Table dense_table(const Strided2<T>& X) {
  return {dense_rows(X), X.shape(0), X.size()};
}

template <class T, class Index>
Table sparse_table(const In1<T>& entries, const In1<Index>& indices, const In1<Index>& offsets, int64_t columns) {
  const auto rows = sparse_rows<T, Index>(entries, indices, offsets, columns);
  return {rows, static_cast<size_t>(rows.rows), entries.size()};
}

}  // namespace boscage::bind
