// The loops of soft_entropy.cpp over a block of a tile: groups of eight rows, sums in eight lanes each.
//
// Large tiles are in single precision and read once: their products are made in single precision, and sums of a few
// of them go into sums of double precision. The same bits with every instruction set. Must not know of threads.
#pragma once

#include <cstdint>

#include "base/instruction_sets.hpp"

namespace boscage {

struct BlockRows {
  const double* weight;
  const uint32_t* label;
  double* slope;  // weight s(z) s(-z), written with the soft weights
  // Of numbers: in the second of the two classes between which an output of a row lies; outputs one after the other.
  const double* share = nullptr;
  int64_t share_stride = 0;
  int outputs = 0;
};

// Groups of a tile side by side.
template <class T>
struct BlockTile {
  const T* values;
  int64_t groups, columns;
};

// The soft weights by class, right and left, at theta and bias.
BOSCAGE_CLONED void add_sides(const BlockTile<double>& tile, const double* theta, double bias, const BlockRows& rows,
                              bool two_classes, double* sums);
// slope factor[label] x by column, the bias last.
BOSCAGE_CLONED void add_gradients(const BlockTile<double>& tile, const BlockRows& rows, const double* factor,
                                  double* sums);
// The soft weights and, by class, slope x by column, the bias last; rows from the last to the first if `backwards`.
// `memory`: eight numbers for each column.
BOSCAGE_CLONED void add_sides_and_moments(const BlockTile<float>& tile, bool backwards, const float* theta, double bias,
                                          const BlockRows& rows, double* sums, double* moments, float* memory);

}  // namespace boscage
