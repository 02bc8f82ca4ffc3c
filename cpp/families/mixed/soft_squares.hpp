// The squared error that is left by two soft sides, and its gradient: what WODT's entropy is for classes.
//
// A row goes right with probability s(z), z = theta.x + bias. With shares D of the weight and numbers c of mean 0 whose
// squares have the mean 1 (over the outputs too), P = sum D s(z) and S = sum D s(z) c of each output:
// E = 1 - (sum of S^2) / (outputs P (1 - P)), plus l2 / (2 sqrt(weight)) |theta|^2 without the bias.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/lanes.hpp"
#include "families/mixed/tile_kernel.hpp"

namespace boscage::mixed {

class SoftSquares {
 public:
  // share: 0 for rows that fill up the last group; numbers: rows of the tile by output.
  SoftSquares(const TileView& tile, const double* share, std::span<const double> numbers, size_t outputs, double weight,
              double l2);

  double value(std::span<const double> theta);
  // At the point of the last value().
  std::span<const double> gradient();

 private:
  TileView tile_;
  const double* share_;
  std::span<const double> numbers_;
  size_t outputs_;
  double penalty_;
  std::vector<double> theta_, gradient_, sums_;
  LineVector<double> slope_;
};

}  // namespace boscage::mixed
