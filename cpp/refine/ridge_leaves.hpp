// Linear models of numbers: a ridge regression in every node, each a correction of its parent's, and trees grown for
// such models.
//
// Rows come standardised and in row order, columns also as bins. A node's model is its parent's plus a ridge fit to
// what the parent's left over, so light nodes stay close to their ancestors. Sums run over blocks of rows and are added
// by block number: the same bits for any number of threads.
#pragma once

#include <cstdint>

#include "base/array.hpp"
#include "base/parallel.hpp"

namespace boscage::refine {

struct NumberRows {
  int64_t rows = 0, columns = 0, outputs = 1;
  const double* z = nullptr;       // rows × columns, standardised
  const double* y = nullptr;       // rows × outputs, of size about 1
  const double* weight = nullptr;  // rows
};

struct RidgeSettings {
  double l2 = -1;       // negative: by generalised cross-validation in each node
  double split_l2 = 3;  // of the models compared in the search for a test
  double df_price = 1;  // what a parameter counts in cross-validation
  int64_t split_columns = 6, cuts = 32;
  int64_t max_leaves = 64, max_depth = -1, min_rows = 1, min_rows_split = 2;
  double min_weight = 0, min_gain = 0;
  bool heaviest_first = false;
};

struct RidgeTree {
  Array<int32_t> children_left, children_right, feature;
  Array<double> edge;  // rows with z <= edge go left; of leaves 0
  Array<int64_t> rows;
  Array<double> weight, impurity, cost;  // cost: cross-validated loss of the node as a leaf
  Array<double> value;                   // nodes × outputs: means of y
  Array<double> low, high;               // nodes × outputs: range of y
  Array<double> coef, intercept;         // nodes × outputs × columns, nodes × outputs
};

// Tests lie between the bins of columns, 256 of equal weight where there are more values.
RidgeTree grow_ridge_tree(const NumberRows& rows, const RidgeSettings& settings, Pool& pool, Control& control);

// Models of a tree that is given: children, and the leaf of each row.
RidgeTree follow_ridge_tree(const NumberRows& rows, Span<const int32_t> children_left,
                            Span<const int32_t> children_right, Span<const int64_t> leaf_of_row,
                            const RidgeSettings& settings, Pool& pool, Control& control);

// Normal equations of all leaves' corrections at once, where row i counts in leaf l with reach r: features
// r·(1, (z - centre_l) / spread_l) over the columns of each leaf. gram is size × size (lower half), right size ×
// outputs.
struct JointLeaves {
  Span<const int64_t> offsets;  // of the entries of each row
  Span<const int32_t> leaf;
  Span<const double> reach;
  int64_t leaves = 0, per_leaf = 0;   // columns of each leaf
  Span<const int32_t> columns;        // leaves × per_leaf
  Span<const double> centre, spread;  // leaves × per_leaf
};

struct JointSums {
  Array<double> gram, right;
};

JointSums joint_sums(const NumberRows& rows, const JointLeaves& leaves, Pool& pool, Control& control);

// Solves (gram + l2·I) x = right for each output, in place; gram is size × size, its lower half is read.
bool solve_ridge(Array<double>& gram, int64_t size, double l2, Array<double>& right, int64_t outputs,
                 const Control& control);

}  // namespace boscage::refine
