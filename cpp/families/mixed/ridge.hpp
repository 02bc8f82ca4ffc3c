// Ridge regression on the rows of a tile: a direction in which a number of each row is seen best.
#pragma once

#include <span>
#include <vector>

#include "families/mixed/tile_kernel.hpp"

namespace boscage::mixed {

// Buffers of one thread.
struct RidgeScratch {
  std::vector<double> gram, pull, root;
};

// theta that minimises sum w (theta.x - t)^2 + penalty |theta|^2 for columns of mean 0, where t has its mean taken off.
// weight and target: one number for each row of the tile, weight 0 for those that fill up the last group. Solved in
// columns or in rows, whichever are fewer. False if there is none.
bool solve_ridge(const TileView& tile, std::span<const double> weight, std::span<const double> target, double penalty,
                 RidgeScratch& scratch, std::vector<double>& theta);

}  // namespace boscage::mixed
