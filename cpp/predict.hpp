// Prediction: where rows go in a finished tree, and what they get there.
//
// TreeArrays: the arrays of a tree, borrowed. Predictor: the same tree, verified once and packed for walking.
// Each row is worked out alone, so results depend neither on the batch nor on the number of threads.
// This room knows nothing of learning, criteria or the names of columns and classes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parallel.hpp"
#include "predict_linear.hpp"
#include "row_map.hpp"
#include "split.hpp"

namespace boscage {

enum class Routing { hard, linear, logistic };

struct LinearWeights {
  int64_t rows = 0, columns = 0;
  std::span<const double> dense;  // rows × columns, or compressed sparse rows:
  std::span<const double> data;
  std::span<const int64_t> indices, offsets;

  bool is_sparse() const { return !offsets.empty(); }
};

// The first of the largest; NaN is never the largest unless it comes first.
inline int64_t argmax(const double* values, int64_t size) { return std::max_element(values, values + size) - values; }

struct TreeArrays {
  std::span<const int32_t> children_left, children_right, feature;
  std::span<const double> threshold;
  std::span<const bool> missing_go_to_left;
  std::span<const int64_t> category_offset;
  std::span<const uint8_t> category_bits;
  std::span<const int32_t> linear_row;
  LinearWeights weights;
  std::span<const int64_t> n_categories;  // one per column
  std::span<const double> value;          // nodes × classes
  std::span<const double> leaf_value;     // leaves × classes, or empty: value
  std::span<const double> coef;           // leaves × classes × columns, or empty
  std::span<const double> intercept;      // leaves × classes
  int64_t classes = 0;
  Routing routing = Routing::hard;
  RowMap map;
};

// Rows × nodes in compressed sparse rows.
struct Paths {
  std::vector<int64_t> offsets;
  std::vector<int32_t> nodes;
  std::vector<double> reach;
};

class Predictor {
 public:
  // Throws std::invalid_argument if following the arrays could leave them.
  explicit Predictor(const TreeArrays& tree);

  const TreeArrays& tree() const { return tree_; }
  int64_t columns() const { return static_cast<int64_t>(tree_.n_categories.size()); }
  // Whether rows × (work of one row) is worth no thread of its own.
  bool is_short(int64_t rows) const { return static_cast<double>(rows) * row_cost_ < 1e7; }

  // Number of the leaf of largest reach (lowest number on ties), one per row.
  template <class Rows>
  void apply(const Rows& rows, int64_t* out, int threads, Control& control) const;
  // Class of largest probability (lowest on ties), one per row.
  template <class Rows>
  void classes(const Rows& rows, int64_t* out, int threads, Control& control) const;
  // rows × classes.
  template <class Rows>
  void proba(const Rows& rows, double* out, int threads, Control& control) const;
  // The same from scores w.x of all linear tests (tests × rows), however they were computed.
  bool takes_scores() const;
  void soft_proba(std::span<const double> scores, int64_t rows, double* out, int threads, Control& control) const;
  // Every node that is reached, with its probability.
  template <class Rows>
  Paths paths(const Rows& rows, int threads, Control& control) const;
  // One path for each row, drawn by its probability: draw (seed, row, depth) decides each step.
  template <class Rows>
  Paths sample_paths(const Rows& rows, uint64_t seed, int threads, Control& control) const;

  // Sixteen bytes for an axis test. The right child follows the left one.
  struct Node {
    double threshold;
    int32_t feature;  // inner: column, NaN goes right; ~column: NaN goes left. Leaf: its class.
    int32_t left;     // inner: packed number of the left child. Leaf: ~(number in the tree).
  };

 private:
  template <class Rows>
  friend class Walker;

  void verify() const;
  void verify_map() const;
  void verify_weights() const;
  void number_leaves();
  void pack();
  void pack_linear();
  double cost_of_row();
  int64_t block_rows() const;
  template <class Rows, class Block>
  void for_blocks(const Rows& rows, int threads, Control& control, const Block& block) const;
  template <class Rows, bool want_class>
  void walk_packed(const Rows& rows, int64_t begin, int64_t end, int64_t* out) const;
  template <class Rows, bool want_class>
  void walk_spread(const Rows& rows, int64_t begin, int64_t end, int64_t* out) const;
  // Leaves of a block of dense rows by linear_; false if the tree or the rows need the walk of single rows.
  template <class Rows>
  bool walk_tests(const Rows& rows, int64_t begin, int64_t end, std::vector<int32_t>& leaves) const;
  template <class Rows, class Emit>
  Paths collect_paths(const Rows& rows, int threads, Control& control, const Emit& emit) const;

  TreeArrays tree_;
  std::vector<int32_t> leaves_;      // numbers of the leaves
  std::vector<int32_t> leaf_index_;  // position among the leaves; -1 at inner nodes
  std::vector<int32_t> leaf_class_;  // one per leaf
  std::vector<Node> packed_;         // only if every test is an axis test
  std::vector<LinearNode> linear_;   // only if there are linear tests that see rows in the user's units
  int32_t deepest_ = 0;
  double row_cost_ = 1.0;
};

}  // namespace boscage
