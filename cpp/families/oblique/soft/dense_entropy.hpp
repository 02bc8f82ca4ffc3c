// The soft entropy of the dense rows of a node, in some of their columns: a tile and the objective over it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "families/oblique/soft/soft_entropy.hpp"

namespace boscage {

class DenseEntropy {
 public:
  // `weighted` are the rows' classes (0 .. classes - 1) and weights, in their order.
  template <class T>
  DenseEntropy(const Matrix<T>& X, const Scaling& scaling, std::span<const uint32_t> rows,
               std::span<const uint32_t> columns, std::span<const WeightedRow> weighted, int classes, double l2,
               Pool* inner, const Control& control, const SoftNumbers* numbers = nullptr) {
    if (numbers != nullptr || !is_large_tile(signed_size(rows), signed_size(columns), classes)) {
      full_.emplace(X, scaling, rows, columns, weighted, classes, l2, inner, control, numbers);
      return;
    }
    std::vector<uint32_t> order(rows.size()), rows_by_class;  // one class after the other
    std::vector<WeightedRow> weighted_by_class;
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return weighted[a].label < weighted[b].label; });
    for (const uint32_t i : order) {
      rows_by_class.push_back(rows[i]);
      weighted_by_class.push_back(weighted[i]);
    }
    single_.emplace(X, scaling, rows_by_class, columns, weighted_by_class, classes, l2, inner, control, nullptr);
  }

  double value(std::span<const double> theta) {
    return single_ ? single_->entropy.value(theta) : full_->entropy.value(theta);
  }
  // At the point of the last value().
  std::span<const double> gradient() { return single_ ? single_->entropy.gradient() : full_->entropy.gradient(); }

 private:
  template <class T>
  struct Part {
    template <class Stored>
    Part(const Matrix<Stored>& X, const Scaling& scaling, std::span<const uint32_t> rows,
         std::span<const uint32_t> columns, std::span<const WeightedRow> weighted, int classes, double l2, Pool* inner,
         const Control& control, const SoftNumbers* numbers)
        : tile(X, scaling, rows, columns, inner), entropy(tile, weighted, classes, l2, inner, control, numbers) {}
    Part(const Part&) = delete;  // the entropy looks into the tile
    Part& operator=(const Part&) = delete;

    Tile<T> tile;
    SoftEntropy<T> entropy;
  };

  std::optional<Part<float>> single_;
  std::optional<Part<double>> full_;
};

}  // namespace boscage
