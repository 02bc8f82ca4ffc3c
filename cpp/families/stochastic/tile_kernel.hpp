// The inner loops over a tile, a few rows that stay in the cache, compiled for several instruction sets.
//
// A tile holds doubles by row: whole groups of eight columns in order, then a group whose last places are the last
// columns and which has a 1 before them. Eight running sums in fixed places and no fused multiply-add: every
// instruction set gives the same bits, and so does every way to cut rows into tiles. Must not know where rows come
// from.
#pragma once

#include <cstdint>

namespace boscage::stochastic {

// Rows are worked on so many at a time: a tile has places for a multiple of it.
constexpr int64_t kTileStep = 8;

inline int64_t whole_groups(int64_t columns) { return columns / 8 * 8; }
// Where a column lies in a row of a tile, where the 1 does, and the numbers of a row.
inline int64_t column_place(int64_t column, int64_t columns) {
  const int64_t whole = whole_groups(columns);
  return column < whole || columns < 8 ? column : column + 8 - (columns - whole);
}
inline int64_t one_place(int64_t columns) { return columns < 8 ? columns : whole_groups(columns); }
inline int64_t tile_width(int64_t columns) { return whole_groups(columns) + 8; }

// Rows to be brought into a tile. Null pointers mean "not there".
template <class T>
struct RowsToLoad {
  const T* data;
  int64_t row_stride, column_stride, columns;
  const uint32_t* rows;  // or begin, begin + 1, …
  int64_t begin, count;
  const double* shift;  // by column
};

void load_tile(const RowsToLoad<float>& from, double* tile);
void load_tile(const RowsToLoad<double>& from, double* tile);

struct TileRows {
  int64_t rows, columns;  // rows: a multiple of kTileStep, those beyond the last have weight and reach 0
  const double* data;
  const double *norm, *weight;
  const char* next = nullptr;  // memory that is needed soon, so many bytes for each row
  int64_t next_bytes = 0;
};

// |z|² of each row without the constant, z = (x - shift) * factor: column j is added in place j mod 8. Both have
// tile_width(columns) numbers, by column, zeros behind them.
void square_rows(const TileRows& tile, const double* shift, const double* factor, double* squares);

// One test on all rows of a tile; null pointers mean "not wanted".
struct TileTest {
  const double* theta;  // by column_place, 0 at one_place
  double offset, cut_left, cut_right;
  const double* reach;                    // null: 1
  double *left, *right;                   // reach of the sides; left may be `reach`
  double *left_weight, *left_multiplier;  // weight times reach, and that times the norm
  double *right_weight, *right_multiplier;
  int64_t* counts;  // rows that can go left and right are added
};

void divide_rows(const TileRows& tile, const TileTest& test);

// Adds multiplier times row for chosen rows, for several sides at once. Each of `weights` and `multipliers` has a
// number for every row of the tile; each of `sums` has those of a row, then the weight.
void add_rows(const TileRows& tile, const int32_t* rows, int64_t count, const double* const* weights,
              const double* const* multipliers, double* const* sums, int64_t sides);

}  // namespace boscage::stochastic
