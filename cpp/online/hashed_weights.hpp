// The weights of one node over sparse features: only the features it has met take memory.
//
// An open-addressing table from feature number to a cell: a weight with its sum of squared gradients, or a weight
// alone. Its layout never shows: sums follow the order of the row, and saving sorts by feature.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/array.hpp"

namespace boscage::online {

struct TrainedCell {
  int32_t feature = -1;
  float weight = 0;
  float square = 0;
};

struct PlainCell {
  int32_t feature = -1;
  float weight = 0;
};

template <class Content>
class Hashed {
 public:
  using Cell = Content;

  int64_t size() const { return size_; }
  int64_t bytes() const { return static_cast<int64_t>(to_size(cells_.capacity()) * sizeof(Cell)); }

  const Cell* find(int32_t feature) const {
    if (cells_.empty()) return nullptr;
    for (int64_t at = home(feature);; at = (at + 1) & (cells_.size() - 1)) {
      if (cells_[at].feature == feature) return &cells_[at];
      if (cells_[at].feature < 0) return nullptr;
    }
  }

  // Room for `more` cells: no cell moves until that many were added.
  void reserve_more(int64_t more) {
    const auto wanted = size_ + more;
    if (4 * wanted <= 3 * cells_.size()) return;
    int64_t capacity = 8;
    while (3 * capacity < 4 * wanted) capacity *= 2;
    Array<Cell> old = std::move(cells_);
    cells_.assign(capacity, Cell{});
    for (const Cell& cell : old) {
      if (cell.feature >= 0) cells_[vacancy(cell.feature)] = cell;
    }
  }

  // The cell of a feature, made if missing; call reserve_more first.
  Cell& get(int32_t feature) {
    for (int64_t at = home(feature);; at = (at + 1) & (cells_.size() - 1)) {
      if (cells_[at].feature == feature) return cells_[at];
      if (cells_[at].feature < 0) {
        cells_[at].feature = feature;
        ++size_;
        return cells_[at];
      }
    }
  }

  // Calls visit(cell) for every cell, in no particular order: what comes of it must not depend on the order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Cell& cell : cells_) {
      if (cell.feature >= 0) visit(cell);
    }
  }

  Array<Cell> sorted() const {
    Array<Cell> all;
    for (const Cell& cell : cells_) {
      if (cell.feature >= 0) all.push_back(cell);
    }
    std::sort(all.begin(), all.end(), [](const Cell& a, const Cell& b) { return a.feature < b.feature; });
    return all;
  }

 private:
  int64_t home(int32_t feature) const {
    return (static_cast<uint32_t>(feature) * 2654435769u >> 7) & (cells_.size() - 1);
  }
  int64_t vacancy(int32_t feature) const {
    int64_t at = home(feature);
    while (cells_[at].feature >= 0) at = (at + 1) & (cells_.size() - 1);
    return at;
  }

  Array<Cell> cells_;
  int64_t size_ = 0;
};

using HashedWeights = Hashed<TrainedCell>;
using HashedSums = Hashed<PlainCell>;

}  // namespace boscage::online
