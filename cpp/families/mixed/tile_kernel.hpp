// Loops over a tile: rows in groups of eight, the eight values of a column side by side (oblique/soft/tile.hpp).
//
// Sums are made in eight lanes in the order of the groups. The same bits with every instruction set.
#pragma once

#include <cstdint>
#include <span>

#include "base/instruction_sets.hpp"

namespace boscage::mixed {

struct TileView {
  const double* values;
  int64_t groups, columns;
};

// Mean of every column by shares that sum to 1 (0 for rows that fill up the last group), and one over its deviation: 0
// where that is no more than rounding. memory: 8 numbers for each column.
BOSCAGE_CLONED void column_scales(const TileView& tile, const double* share, double* memory, double* mean,
                                  double* inverse);

// (x - mean) inverse.
BOSCAGE_CLONED void scale_tile(const TileView& tile, const double* mean, const double* inverse, double* out);
BOSCAGE_CLONED void scale_tile(const TileView& tile, const double* mean, const double* inverse, float* out);

// w.x of every row with the bits of dot.hpp. Columns are in the order of their number modulo 8: those of lane i begin
// at first[i], and first[8] is the number of columns.
BOSCAGE_CLONED void score_tile(const TileView& tile, const double* weights, const int64_t* first, double* out);

// The lower half of the weighted Gram matrix of the columns: gram[j * columns + k] for k <= j.
BOSCAGE_CLONED void gram_of_columns(const TileView& tile, const double* weight, double* gram);
// The lower half of the Gram matrix of the rows: gram[i * size + k], where size is 8 times the number of groups.
BOSCAGE_CLONED void gram_of_rows(const TileView& tile, double* gram);
// sums[j] = sum of pull[i] x over the rows.
BOSCAGE_CLONED void project_tile(const TileView& tile, const double* pull, double* sums);

// What the numbers of a column are like in a node.
struct ValueFacts {
  double low = 0, high = 0;  // of the numbers that are not missing
  bool has_missing = false;
  bool is_whole = false;  // every number is one, and of less than 2^50
  bool varies = false;    // a missing value counts as one more number
};
BOSCAGE_CLONED ValueFacts facts_of(std::span<const double> values);

// Adds a row to sums by column: share, share (x - centre) and share (x - centre)^2 where x is not missing.
BOSCAGE_CLONED void add_line(const double* x, const double* centre, double share, int64_t columns, double* weight,
                             double* sum, double* square);

}  // namespace boscage::mixed
