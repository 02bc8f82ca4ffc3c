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

#include "base/array.hpp"
#include "base/parallel.hpp"
#include "data/table.hpp"
#include "data/target.hpp"

namespace boscage::optimal {

// 128 bits that name a set of rows: the exclusive or of its rows' words.
struct Identity {
  uint64_t low = 0, high = 0;
  void toggle(const Identity& other) { low ^= other.low, high ^= other.high; }
  bool operator==(const Identity&) const = default;
};

struct Problem {
  int64_t rows = 0;  // merged rows
  int features = 0;
  int classes = 0;               // classes that occur
  Array<int32_t> rank;           // [features][rows], dense ranks of the whole column
  Array<uint32_t> order;         // [features][rows], rows by rank
  Array<int32_t> label;          // [rows], 0..classes-1
  Array<int64_t> weight;         // [rows], kernel units, > 0
  Array<uint8_t> tied;           // [features], 1 if two merged rows share a rank
  Array<Identity> identity;      // [rows]
  Array<Array<double>> values;   // [features], distinct values by rank
  Array<int32_t> original_rank;  // [features][original rows]
  int64_t original_rows = 0;
  int64_t scale = 1;     // value units per kernel unit
  int64_t total = 0;     // weight of all original rows, value units
  int64_t constant = 0;  // value units
  int64_t penalty = 0;   // of one leaf, value units
  bool narrow = true;    // kernel sums fit in 32 bits

  const int32_t* ranks(int feature) const { return rank.data() + feature * rows; }
  double to_objective(int64_t value) const { return static_cast<double>(value) / static_cast<double>(total); }
};

using Poll = std::function<void()>;  // called every now and then; may throw

// Rows of weight 0 are left out; every class has a row of positive weight.
Problem make_problem(const DataTable& table, const Target& target, double alpha, const Control& control,
                     const Poll& poll);

}  // namespace boscage::optimal
