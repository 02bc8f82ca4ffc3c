// The scaled rows of one node by column, for searches that look at one coefficient at a time.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "oblique/family.hpp"

namespace boscage {

class ScaledColumns {
 public:
  ScaledColumns(const ObliqueData& data, std::span<const uint32_t> rows)
      : rows_(rows.size()), columns_(static_cast<size_t>(data.columns())), values_(rows_ * columns_) {
    std::visit(
        [&](const auto& X) {
          for (size_t i = 0; i < rows_; ++i) {
            for (size_t j = 0; j < columns_; ++j) {
              const double value = data.scaling.scaled(static_cast<double>(X(rows[i], static_cast<int64_t>(j))), j);
              values_[j * rows_ + i] = std::isnan(value) ? 0.0 : value;
            }
          }
        },
        data.X);
  }

  size_t rows() const { return rows_; }
  size_t columns() const { return columns_; }
  std::span<const double> column(size_t j) const { return {values_.data() + j * rows_, rows_}; }

  // theta.x + bias of every row; theta ends with the bias.
  void score(std::span<const double> theta, std::vector<double>& scores) const {
    scores.assign(rows_, theta[columns_]);
    for (size_t j = 0; j < columns_; ++j) {
      if (theta[j] == 0) continue;
      const double* x = column(j).data();
      for (size_t i = 0; i < rows_; ++i) scores[i] += theta[j] * x[i];
    }
  }

 private:
  size_t rows_, columns_;
  std::vector<double> values_;
};

}  // namespace boscage
