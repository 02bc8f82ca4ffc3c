// A Predictor that keeps its Python arrays alive, and rows from Python as the core reads them.
#pragma once

#include "base/index.hpp"
#include "bind/arrays.hpp"
#include "data/matrix.hpp"
#include "data/rows.hpp"
#include "predict/predict.hpp"

namespace boscage::bind {

TreeArrays tree_arrays(nb::handle arrays);

struct BoundPredictor {
  explicit BoundPredictor(nb::object arrays) : owner(std::move(arrays)), core(tree_arrays(owner)) {}

  nb::object owner;
  Predictor core;
};

template <class T>
Matrix<T> dense_rows(const Strided2<T>& X) {
  return {X.data(), static_cast<int64_t>(X.shape(0)), static_cast<int64_t>(X.shape(1)), X.stride(0), X.stride(1)};
}

template <class T, class Index>
SparseRows<T, Index> sparse_rows(const In1<T>& data, const In1<Index>& indices, const In1<Index>& offsets,
                                 int64_t columns) {
  if (offsets.size() == 0 || indices.size() != data.size()) throw std::invalid_argument("X: the CSR matrix is broken.");
  const auto rows = signed_size(offsets) - 1;
  return {data.data(), indices.data(), offsets.data(), rows, columns, signed_size(data)};
}

}  // namespace boscage::bind
