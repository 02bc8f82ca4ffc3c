// A few rows through a tree of logistic tests: down with their reach, up with what they are worth, slopes of the loss.
//
// With s = sigmoid(slope * z) the share that goes right and V[l][y] the value of leaf l for the row's class,
//   a_leaf = V[leaf][y],  a_node = a_left + s (a_right - a_left),  p = a_root,  loss = -weight log p,
//   dloss/dz = -weight / p * reach * slope * s (1 - s) (a_right - a_left).
// It knows the shape of the tree, not the columns.
#pragma once

#include <cstdint>

#include "base/array.hpp"
#include "base/instruction_sets.hpp"
#include "refine/vectors.hpp"

namespace boscage::refine {

// Inner nodes are numbered in the order of their node numbers, so are leaves; a child is an inner node or ~leaf.
struct TreeShape {
  Array<int32_t> left, right;
  int64_t leaves = 1;

  int64_t inner() const { return left.size(); }
  // Place of a child among all: inner nodes first, then leaves.
  int64_t place(int32_t child) const { return child >= 0 ? child : inner() + ~child; }
};

TreeShape shape_of(const int32_t* children_left, const int32_t* children_right, int64_t nodes);

// Rows side by side; `stride` is the distance from one node (or leaf) to the next in scores and shares.
template <class T>
struct PassRows {
  T* scores;  // inner nodes × rows: z, overwritten by dloss/dz
  T* shares;  // leaves × rows: out, the weight that each leaf is given of each row
  const int32_t* label;
  const T* weight;
  int64_t stride, count;  // count: a multiple of kLane
};

constexpr int64_t kPassRows = 32;  // the reach of all nodes for so many rows stays in the cache

template <class T>
int64_t pass_scratch(const TreeShape& shape) {
  return ((2 * (shape.inner() + shape.leaves) + shape.inner() + 1) * kPassRows);
}

// values: classes × leaves. Shares are posterior: weight * reach * V[leaf][y] / p. Returns the sum of losses.
BOSCAGE_CLONED double soft_pass(const TreeShape& shape, float slope, const float* values, const PassRows<float>& rows,
                                float* scratch);
BOSCAGE_CLONED double soft_pass(const TreeShape& shape, double slope, const double* values,
                                const PassRows<double>& rows, double* scratch);

// Only down: shares are weight * reach; scores are left as sigmoid(slope * z).
BOSCAGE_CLONED void soft_reach(const TreeShape& shape, float slope, const PassRows<float>& rows, float* scratch);
BOSCAGE_CLONED void soft_reach(const TreeShape& shape, double slope, const PassRows<double>& rows, double* scratch);

}  // namespace boscage::refine
