// Values of all leaves of a forest at once: a linear model whose columns are the leaves, one of each tree at a row.
//
// A row that ends in leaf l(t) of tree t has the scores z = base + Σ_t B_l(t). With loss the logarithmic loss of
// softmax(z) for classes, or ½ |z − y|² for numbers,
//   Σ w loss(z) + l2 / 2 |B − start|²
// is minimised by L-BFGS, in units of B that make the curvature alike for light and heavy leaves. Rows are read in
// blocks and slopes are added tree by tree, both in the order of rows: the same bits for any number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.hpp"

namespace boscage::refine {

struct ForestRows {
  std::span<const int32_t> leaf;   // trees × rows: leaves are numbered through all trees
  std::span<const int32_t> first;  // trees + 1: the first leaf of each tree
  std::span<const int32_t> label;  // by row: classes; empty where targets are numbers
  std::span<const double> y;       // rows × outputs: numbers; empty where targets are classes
  std::span<const double> weight;  // by row
  std::span<const double> base;    // by class or output
  std::span<const double> start;   // leaves × outputs

  int64_t rows() const { return static_cast<int64_t>(weight.size()); }
  int64_t trees() const { return static_cast<int64_t>(first.size()) - 1; }
  int64_t leaves() const { return first.back(); }
  int64_t outputs() const { return static_cast<int64_t>(base.size()); }
};

struct JointLeafOptions {
  double l2 = 1;
  int max_iter = 1000;
};

// B: leaves × outputs.
std::vector<double> fit_joint_leaves(const ForestRows& rows, const JointLeafOptions& options, Pool& pool,
                                     Control& control);

}  // namespace boscage::refine
