// A borrowed table of numbers with any strides: C order, Fortran order or a slice, never copied.
#pragma once

#include <cstdint>
#include <variant>

namespace boscage {

template <class T>
struct Matrix {
  const T* data = nullptr;
  int64_t rows = 0, columns = 0;
  int64_t row_stride = 0, column_stride = 0;  // counted in elements

  T operator()(int64_t row, int64_t column) const { return data[row * row_stride + column * column_stride]; }
};

using AnyMatrix = std::variant<Matrix<float>, Matrix<double>>;

}  // namespace boscage
