// Linear models of numbers: a ridge regression in every node, each a correction of its parent's, and trees grown for
// such models.
//
// Rows come standardised and in row order, columns also as bins. A node's model is its parent's plus a ridge fit to
// what the parent's left over, so light nodes stay close to their ancestors. Sums run over blocks of rows and are added
// by block number: the same bits for any number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.hpp"

namespace boscage::refine {

struct NumberRows {
  int64_t rows = 0, columns = 0, outputs = 1;
  const double* z = nullptr;       // rows × columns, standardised
  const double* y = nullptr;       // rows × outputs, of size about 1
  const double* weight = nullptr;  // rows
};

struct ColumnBins {
  std::span<const uint8_t> codes;  // columns × rows: x <= edge i exactly if code <= i
  std::span<const int32_t> edges;  // edges of each column, at most 255
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
  std::vector<int32_t> children_left, children_right, feature, edge;  // edge: of the column's edges
  std::vector<int64_t> rows;
  std::vector<double> weight, impurity, cost;  // cost: cross-validated loss of the node as a leaf
  std::vector<double> value;                   // nodes × outputs: means of y
  std::vector<double> low, high;               // nodes × outputs: range of y
  std::vector<double> coef, intercept;         // nodes × outputs × columns, nodes × outputs
};

RidgeTree grow_ridge_tree(const NumberRows& rows, const ColumnBins& bins, const RidgeSettings& settings, Pool& pool,
                          Control& control);

// Models of a tree that is given: children, and the leaf of each row.
RidgeTree follow_ridge_tree(const NumberRows& rows, std::span<const int32_t> children_left,
                            std::span<const int32_t> children_right, std::span<const int64_t> leaf_of_row,
                            const RidgeSettings& settings, Pool& pool, Control& control);

// Normal equations of all leaves' corrections at once, where row i counts in leaf l with reach r: features
// r·(1, (z - centre_l) / spread_l) over the columns of each leaf. gram is size × size (lower half), right size ×
// outputs.
struct JointLeaves {
  std::span<const int64_t> offsets;  // of the entries of each row
  std::span<const int32_t> leaf;
  std::span<const double> reach;
  int64_t leaves = 0, per_leaf = 0;        // columns of each leaf
  std::span<const int32_t> columns;        // leaves × per_leaf
  std::span<const double> centre, spread;  // leaves × per_leaf
};

struct JointSums {
  std::vector<double> gram, right;
};

JointSums joint_sums(const NumberRows& rows, const JointLeaves& leaves, Pool& pool, Control& control);

// Solves (gram + l2·I) x = right for each output, in place; gram is size × size, its lower half is read.
bool solve_ridge(std::vector<double>& gram, int64_t size, double l2, std::vector<double>& right, int64_t outputs,
                 const Control& control);

}  // namespace boscage::refine
