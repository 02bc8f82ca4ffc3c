// Joint refinement of a tree of linear tests: every test becomes logistic, every leaf a softmax, and the mean log-loss
//   -sum_i w_i log p(y_i | x_i) / W + l2 / 2 * sum_v |theta_v|^2
// is descended over all of them at once, by Adam on batches of rows. p is the average of the leaves by reach.
//
// Every sum has a fixed order: rows in batches of a drawn order, nodes by number. It does not know how trees grow.
#pragma once

#include <cstdint>

#include "base/array.hpp"
#include "refine/batch.hpp"
#include "refine/soft_pass.hpp"

namespace boscage::refine {

struct PolishOptions {
  int64_t epochs = 30;
  double learning_rate = 0.01, l2 = 3e-4;
  double dropout = 0;                      // share of the entries of a row that a step does not see
  double first_slope = 2, last_slope = 4;  // of the tests, whose mean |theta.x| over the rows of a node begins at 1
  uint64_t seed = 0;
  double time_limit = 1e300;
};

// Tests over standardised columns, the threshold last (theta.x + bias > 0 goes right), and logits of the leaves.
struct SoftTree {
  TreeShape shape;
  int64_t width = 0, classes = 0;  // width: columns and the bias
  Array<double> theta;             // inner × width
  Array<double> logits;            // leaves × classes
  double slope = 1;
};

struct Polished {
  Array<double> theta;       // inner × width, the slope of the tests multiplied in
  Array<double> leaf_value;  // leaves × classes
  Array<double> leaf_sums;   // leaves × classes: training weight by reach
  Array<double> losses;      // mean loss of the rows of each epoch, as they were met
  bool timed_out = false;
};

template <class T>
class Polisher {
 public:
  // capacity: rows of a batch. Logits may be empty if run() is to set them.
  Polisher(const RowSource& source, const Standard& standard, const Sample& sample, SoftTree tree, int64_t capacity,
           Pool& pool, Control& control);

  Polished run(const PolishOptions& options);

  // The objective over all rows (mean loss and penalty) and its slopes at the tree as it was given.
  double value(double l2, Array<double>& theta_slope, Array<double>& logit_slope);

 private:
  void scale_tests();
  void start_leaves();
  Array<double> leaf_sums();
  void set_values();
  // The batch that begins at this place of the order, and the scores of its rows.
  void fill(int64_t begin, const Dropout& dropout = {});
  double slopes_of_batch();
  void take_step(const PolishOptions& options, double rate, int64_t step);
  // Adds each row's share of each leaf to the leaf's sum of the row's class.
  void add_by_leaf(Array<double>& sums);
  template <class Task>
  void for_row_chunks(const Task& task);

  const Sample& sample_;
  SoftTree tree_;
  Pool& pool_;
  Control& control_;
  int64_t capacity_;
  Batch<T> batch_;
  int64_t stride_;  // from one row of theta_ to the next
  double total_ = 0;
  Array<int64_t> order_;
  Array<T> theta_, theta_slope_, logits_, values_, scores_, shares_;
  Array<double> logit_slope_, chunk_loss_;
  Array<Array<T>> scratch_;
  Array<T> first_, second_;  // Adam's means: tests, then leaves
};

}  // namespace boscage::refine
