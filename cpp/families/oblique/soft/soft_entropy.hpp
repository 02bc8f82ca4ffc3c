// WODT's objective at one node: the entropy, or the squared error, of two soft sides, and its gradient.
//
// A row goes right with probability s(z), z = theta.x + bias, left with s(-z); E is the entropy (bits) that is left,
// divided by the node's weight, plus l2 / (2 sqrt(weight)) |theta|^2 without the bias. Every sum is made over blocks
// of rows in a fixed order. Small tiles are in double precision; large ones in single precision, which is half as much
// to read. Knows nothing of the optimiser or of hard cuts.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "base/parallel.hpp"
#include "families/oblique/soft/soft_entropy_kernel.hpp"
#include "families/oblique/soft/tile.hpp"
#include "grow/cut.hpp"
#include "grow/scan.hpp"

namespace boscage {

// Is a tile so large that one reading must do for value and gradient? It should then be in single precision, its rows
// by class.
bool is_large_tile(int64_t rows, int64_t columns, int classes);

template <class T>
class SoftEntropy {
 public:
  // `rows` are the tile's rows in order, classes numbered 0 .. classes - 1; of numbers (two classes for each output,
  // tiles of double precision) `numbers` says where they lie.
  SoftEntropy(const Tile<T>& tile, std::span<const WeightedRow> rows, int classes, double l2, Pool* pool,
              const Control& control, const SoftNumbers* numbers = nullptr);

  int64_t size() const { return tile_.columns() + 1; }  // theta, then the bias
  double value(std::span<const double> theta);
  // At the point of the last value().
  std::span<const double> gradient();

 private:
  static constexpr bool kReadsOnce = std::is_same_v<T, float>;

  static LineVector<T> spread(std::span<const double> theta);
  BlockRows block_rows(int64_t first_group);
  template <class Kernel>
  void add_blocks(int64_t width, const Kernel& kernel);

  const Tile<T>& tile_;
  int classes_;
  double l2_, all_ = 0, unit_ = 1;  // weights are counted in units
  Pool* pool_;
  const Control& control_;
  int64_t blocks_;
  bool backwards_ = true;        // every reading begins where the last one ended: those rows are still in the cache
  std::vector<uint32_t> label_;  // by row, filled up to a whole group
  LineVector<double> weight_, slope_;  // weight 0 in the filled-up rows; slope = weight s(z) s(-z)
  LineVector<double> share_;           // of numbers
  const SoftNumbers* numbers_;
  LineVector<double> parts_;  // sums of each block
  std::vector<double> theta_, gradient_;
  std::vector<double> factor_;  // by class: log2 of W_R W_L^k / (W_L W_R^k), over the weight
};

// Entropy (bits) of two sides over `all`, the weight of both, from class weights right, left, right, left ...; `factor`
// gets what a row of each class adds to the gradient, by unit of s(z) s(-z).
double entropy_of_sides(const double* sums, double all, std::vector<double>& factor);

// Of numbers: what two sides leave of the node's squared error, as a share of it; `factor` as above, of rows that lie
// wholly in each class: two for each output.
double error_of_sides(const double* sums, const SoftNumbers& numbers, std::vector<double>& factor);

// s(z) and s(-z), eight at a time: within 1e-14 of the exact ones, relative. For tests.
void expit_lanes(const double* z, double* right, double* left);

}  // namespace boscage
