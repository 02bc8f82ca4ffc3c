// Joint refinement of a soft tree of numbers: all tests and all leaf models at once, by L-BFGS on the squared error.
//
// A row goes right at node k with probability s_k = sigmoid(bias_k + weights_k · z) and is predicted the mean of the
// leaves' models by reach. The loss is
//   1/2 Σ w |prediction - y|² + 1/2 model_l2 |M - M0|² + 1/2 test_l2 |P|²,
// where M are the leaf models in units of their leaves, W = W0 + unit_k · P the tests, and 0 marks the start. Sums run
// over blocks of rows and are added by block number: the same bits for any number of threads.
#pragma once

#include <cstdint>

#include "base/array.hpp"
#include "base/parallel.hpp"
#include "refine/ridge_leaves.hpp"

namespace boscage::refine {

struct SoftSettings {
  double model_l2 = 3, test_l2 = 1;
  int64_t steps = 60;
  bool slopes = true;  // whether leaves have linear models; else one number for each output
};

struct SoftStart {
  Span<const int32_t> children_left, children_right;  // nodes; children come after their parent
  Span<const double> tests;                           // inner nodes in node order × (1 + columns): bias, weights
  Span<const double> unit;                            // inner nodes: size of one unit of P
  Span<const double> models;                          // leaves × outputs × (1 + columns): at the centre, slopes
  Span<const double> centre, spread;                  // leaves × columns: units of the slopes
};

struct SoftFit {
  Array<double> tests, models;  // as in SoftStart
  Array<double> losses;         // before each step and after the last
};

SoftFit fit_soft_tree(const NumberRows& rows, const SoftStart& start, const SoftSettings& settings, Pool& pool,
                      Control& control);

// The loss and its slopes at given tests and models, for tests of this code.
struct SoftSlopes {
  double loss = 0;
  Array<double> tests, models;
};

SoftSlopes soft_slopes(const NumberRows& rows, const SoftStart& start, const SoftSettings& settings,
                       Span<const double> tests, Span<const double> models, Pool& pool, Control& control);

}  // namespace boscage::refine
