// All tests of a route on one tile of rows, compiled for several instruction sets.
//
// The tile is held twice: by column for scores (one row per lane) and by row for sums (one column per lane). Every
// number is made by the same operations in the same order as in dense_kernel, so that a route and a run of rows give
// the same bits. Must not know where rows come from.
#pragma once

#include <cstdint>

namespace boscage::stochastic {

constexpr int64_t kRouteLanes = 8;
// A tile has a multiple of so many rows.
constexpr int64_t kRouteRows = 16;

// Where a column lies in a tile held by column: whole groups of eight in order, the last columns where they are among
// the last eight of a row; the other places of their group hold zeros.
inline int64_t lane_place(int64_t column, int64_t columns) {
  const int64_t whole = columns / 8 * 8;
  return column < whole || columns < 8 ? column : column + 8 - (columns - whole);
}

inline int64_t lane_places(int64_t columns) { return (columns + 7) / 8 * 8; }

// One test on a tile; null pointers mean "not wanted".
struct RouteRun {
  const double* theta;  // by lane_place
  double offset, cut_left, cut_right;
  const double* reach;                    // null: 1
  double *left, *right;                   // reach of the sides
  double *left_weight, *left_multiplier;  // weight times reach, and that times the norm
  double *right_weight, *right_multiplier;
  int64_t counts[2];
};

// Rows: a multiple of kRouteRows, those beyond the last have weight and reach 0.
struct RouteTile {
  int64_t rows, columns, width;  // width: columns and a 1, rounded up to whole lanes
  const double* by_column;       // lane_places x rows
  const double* by_row;          // rows x width
  const double *norm, *weight;
};

// |z|² of each row without the constant, z = (x - shift) * factor; null: 0 and 1.
void square_tile(const RouteTile& tile, const double* shift, const double* factor, double* squares);

void divide_tile(const RouteTile& tile, RouteRun& run);

// Adds multiplier times row for chosen rows of one class, for several runs at once. Each of `weights` and `multipliers`
// has a number for every row of the tile; each of `sums` has `width` numbers (columns, then the multiplier), then the
// weight.
void add_to_sums(const RouteTile& tile, const int32_t* rows, int64_t count, const double* const* weights,
                 const double* const* multipliers, double* const* sums, int64_t runs);

}  // namespace boscage::stochastic
