// A multinomial linear model in every leaf, drawn towards constant class shares.
//
// In a leaf of weight W, mean m and constant shares q, the scores of the classes present are
//   z_c = log q_c + delta_c + B_c . (x - m) / s      (s: the standard's deviations)
// and  sum_i w_i [log(sum_c e^z_c + sum of q over absent classes) - z_y] + l2 / 2 (|B|^2 + |delta|^2)  is minimised by
// L-BFGS. Leaves are fitted one beside the other, each by one thread.
#pragma once

#include "base/array.hpp"
#include "refine/batch.hpp"

namespace boscage::refine {

// Which rows of the sample a leaf sees, and with what weight: members [offsets[l], offsets[l + 1]).
struct Members {
  Span<const int64_t> offsets, rows;
  Span<const double> weight;

  int64_t leaves() const { return offsets.size() - 1; }
};

struct LeafModelOptions {
  double l2 = 1;
  int max_iter = 200;
  double tolerance = 1e-7;
};

struct LeafModelArrays {
  Array<double> coef;       // leaves × classes × columns, in the units of the source
  Array<double> intercept;  // leaves × classes
};

// shares: leaves × classes, q of every leaf; a class of share 0 has intercept -1000. A leaf of a single class keeps q.
template <class T>
LeafModelArrays fit_leaf_models(const RowSource& source, const Standard& standard, const Sample& sample,
                                const Members& members, Span<const double> shares, int64_t classes,
                                const LeafModelOptions& options, Pool& pool, Control& control);

}  // namespace boscage::refine
