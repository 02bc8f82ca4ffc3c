// From user arrays to the search's own terms: ranks, merged rows, whole-number weights.
//
// Problem: the distinct rows as ranks per column, with one class and one weight each. Its weights are
// integers, so every sum is exact in any order. `scale` turns kernel units into value units, where
// errors and the leaf penalty are added; `constant` is what every tree pays (rows with equal features
// and different classes). Knows nothing of search, threads or trees.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace boscage::optimal {

// A dense matrix with any strides (in elements).
struct Matrix {
  const void* data = nullptr;
  bool is_double = true;
  int64_t rows = 0, columns = 0;
  int64_t row_stride = 0, column_stride = 0;

  double at(int64_t row, int64_t column) const {
    const int64_t place = row * row_stride + column * column_stride;
    return is_double ? static_cast<const double*>(data)[place] : static_cast<const float*>(data)[place];
  }
};

// 128 bits that name a set of rows: the exclusive or of its rows' words.
struct Identity {
  uint64_t low = 0, high = 0;
  void toggle(const Identity& other) { low ^= other.low, high ^= other.high; }
  bool operator==(const Identity&) const = default;
};

struct Problem {
  int64_t rows = 0;  // merged rows
  int features = 0;
  int classes = 0;                          // classes that occur
  std::vector<int32_t> rank;                // [features][rows], dense ranks of the whole column
  std::vector<uint32_t> order;              // [features][rows], rows by rank
  std::vector<int32_t> label;               // [rows], 0..classes-1
  std::vector<int64_t> weight;              // [rows], kernel units, > 0
  std::vector<uint8_t> tied;                // [features], 1 if two merged rows share a rank
  std::vector<Identity> identity;           // [rows]
  std::vector<std::vector<double>> values;  // [features], distinct values by rank
  std::vector<int32_t> original_rank;       // [features][original rows]
  int64_t original_rows = 0;
  int64_t scale = 1;     // value units per kernel unit
  int64_t total = 0;     // weight of all original rows, value units
  int64_t constant = 0;  // value units
  int64_t penalty = 0;   // of one leaf, value units
  bool narrow = true;    // kernel sums fit in 32 bits

  const int32_t* ranks(int feature) const { return rank.data() + feature * rows; }
  double to_objective(int64_t value) const { return static_cast<double>(value) / static_cast<double>(total); }
};

// labels in 0..classes-1; weights may be null (all 1); rows of weight 0 are left out.
// poll is called every now and then and may throw.
Problem make_problem(const Matrix& x, const int32_t* labels, const double* weights, double alpha,
                     const std::function<void()>& poll);

}  // namespace boscage::optimal
