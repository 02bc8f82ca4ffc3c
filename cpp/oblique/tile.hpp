// The scaled rows of one node, side by side in memory for the kernels, in those columns that matter there.
//
// Rows stand in groups of eight: the eight values of a column lie next to each other, so eight rows are
// multiplied at once whatever the number of columns. The last group is filled up with rows of zeros.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "lanes.hpp"
#include "matrix.hpp"
#include "oblique/block_sum.hpp"
#include "oblique/scaling.hpp"

namespace boscage {

template <class T>
class Tile {
 public:
  Tile(const Matrix<T>& X, const Scaling& scaling, std::span<const uint32_t> rows, std::span<const uint32_t> columns,
       Pool* pool)
      : rows_(static_cast<int64_t>(rows.size())), columns_(static_cast<int64_t>(columns.size())) {
    const int64_t groups = (rows_ + kLanes - 1) / kLanes;
    values_.resize(static_cast<size_t>(groups * kLanes * columns_));
    const bool by_column = X.column_stride > X.row_stride;
    for_blocks(block_count(rows_), pool, [&](int64_t block) {
      const int64_t begin = block * kBlockRows, end = std::min(rows_, begin + kBlockRows);
      const auto put = [&](int64_t i, int64_t j) {
        const uint32_t column = columns[static_cast<size_t>(j)];
        const auto x = static_cast<double>(X(rows[static_cast<size_t>(i)], column));
        const double value = scaling.scaled(x, column);
        place(i, j) = std::isnan(value) ? T(0) : static_cast<T>(value);
      };
      if (by_column) {
        for (int64_t j = 0; j < columns_; ++j)
          for (int64_t i = begin; i < end; ++i) put(i, j);
      } else {
        for (int64_t i = begin; i < end; ++i)
          for (int64_t j = 0; j < columns_; ++j) put(i, j);
      }
    });
  }

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t groups() const { return (rows_ + kLanes - 1) / kLanes; }
  const T* group(int64_t number) const { return values_.data() + number * kLanes * columns_; }

 private:
  T& place(int64_t row, int64_t column) {
    return values_[static_cast<size_t>((row / kLanes) * kLanes * columns_ + column * kLanes + row % kLanes)];
  }

  int64_t rows_, columns_;
  LineVector<T> values_;
};

}  // namespace boscage
