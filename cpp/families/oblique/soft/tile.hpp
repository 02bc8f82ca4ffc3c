// The scaled rows of one node, side by side in memory for the kernels, in those columns that matter there.
//
// Rows stand in groups of eight: the eight values of a column lie next to each other, so eight rows are
// multiplied at once whatever the number of columns. The last group is filled up with rows of zeros.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "base/index.hpp"
#include "base/lanes.hpp"
#include "data/matrix.hpp"
#include "families/oblique/scaling.hpp"
#include "numeric/pairwise_sum.hpp"

namespace boscage {

// A group in single precision, of all columns of rows that lie in one piece.
BOSCAGE_CLONED void fill_group(const float* X, int64_t row_stride, const uint32_t* rows, int64_t columns,
                               const HalfScaling& half, float* out);
BOSCAGE_CLONED void fill_group(const double* X, int64_t row_stride, const uint32_t* rows, int64_t columns,
                               const HalfScaling& half, float* out);

template <class T>
class Tile {
 public:
  template <class Stored>
  Tile(const Matrix<Stored>& X, const Scaling& scaling, std::span<const uint32_t> rows,
       std::span<const uint32_t> columns, Pool* pool)
      : rows_(signed_size(rows)), columns_(signed_size(columns)) {
    values_.resize(to_size(groups() * kLanes * columns_));
    const bool whole = std::is_same_v<T, float> && X.column_stride == 1 && columns_ == X.columns;
    const HalfScaling half = whole ? HalfScaling(scaling) : HalfScaling();
    const bool by_column = X.column_stride > X.row_stride;
    for_blocks(block_count(rows_), pool, [&](int64_t block) {
      const int64_t begin = block * kBlockGroups, end = std::min(groups(), begin + kBlockGroups);
      const auto put_column = [&](int64_t g, int64_t j) {
        put(X, scaling, rows.data() + g * kLanes, columns[to_size(j)], g, j);
      };
      for (int64_t j = 0; by_column && j < columns_; ++j)
        for (int64_t g = begin; g < end; ++g) put_column(g, j);
      for (int64_t g = begin; !by_column && g < end; ++g) {
        if constexpr (std::is_same_v<T, float>) {
          if (whole && rows_ - g * kLanes >= kLanes) {
            fill_group(X.data, X.row_stride, rows.data() + g * kLanes, columns_, half, place(g, 0));
            continue;
          }
        }
        for (int64_t j = 0; j < columns_; ++j) put_column(g, j);
      }
    });
  }

  // To be filled in by place().
  Tile() : rows_(0), columns_(0) {}
  void resize(int64_t rows, int64_t columns) {
    rows_ = rows;
    columns_ = columns;
    values_.resize(to_size(groups() * kLanes * columns_));
  }

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t groups() const { return (rows_ + kLanes - 1) / kLanes; }
  const T* group(int64_t number) const { return values_.data() + number * kLanes * columns_; }
  // The values of a column in eight rows.
  T* place(int64_t group, int64_t column) { return values_.data() + (group * columns_ + column) * kLanes; }

 private:
  static constexpr int64_t kBlockGroups = kBlockRows / kLanes;

  // The values of a column in up to eight rows; zeros behind them.
  template <class Stored>
  void put(const Matrix<Stored>& X, const Scaling& scaling, const uint32_t* row, uint32_t column, int64_t g,
           int64_t j) {
    T* out = place(g, j);
    const int64_t count = std::min(kLanes, rows_ - g * kLanes);
    for (int64_t lane = 0; lane < count; ++lane) {
      const double value = scaling.scaled(static_cast<double>(X(row[lane], column)), column);
      out[lane] = static_cast<T>(value == value ? value : scaling.missing(column));
    }
    std::fill(out + count, out + kLanes, T(0));
  }

  int64_t rows_, columns_;
  LineVector<T> values_;
};

}  // namespace boscage
