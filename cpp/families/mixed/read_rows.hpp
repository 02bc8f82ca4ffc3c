// Some columns of some rows, read from X as the finders and the cuts want them. X itself is never copied.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "families/mixed/mixed.hpp"
#include "families/oblique/soft/tile.hpp"

namespace boscage::mixed {

class RowReader {
 public:
  explicit RowReader(const Data& data) : data_(data) {}

  // Values as linear tests see them; the last group is filled up with the last row.
  void read(std::span<const uint32_t> rows, std::span<const int32_t> columns, Tile<double>& tile);
  // One column as it is stored.
  void read_column(std::span<const uint32_t> rows, int32_t column, std::vector<double>& values) const;
  // Does a column of dense rows have more than one value, a missing one counted as a value?
  bool varies(std::span<const uint32_t> rows, int32_t column) const;
  // The columns of sparse rows that do.
  void varying(std::span<const uint32_t> rows, std::vector<int32_t>& columns);

 private:
  template <class T>
  void read_dense(const Matrix<T>& X, std::span<const uint32_t> rows, std::span<const int32_t> columns,
                  Tile<double>& tile) const;
  template <class T, class Index>
  void read_sparse(const SparseRows<T, Index>& X, std::span<const uint32_t> rows, std::span<const int32_t> columns,
                   Tile<double>& tile);

  struct Seen {
    double first = 0;
    int64_t count = 0;
    bool differs = false;
  };

  const Data& data_;
  std::vector<int32_t> place_;    // sparse rows: where a column is in the tile, -1: nowhere
  std::vector<Seen> seen_;        // sparse rows, by column
  std::vector<int32_t> touched_;  // columns with something in seen_
};

}  // namespace boscage::mixed
