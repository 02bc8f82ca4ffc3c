// Prediction: where rows go in a finished tree, and what they get there.
//
// TreeArrays: the arrays of a tree, borrowed. Predictor: the same tree, verified once and packed for walking.
// Each row is worked out alone, so results depend neither on the batch nor on the number of threads.
// Nothing here knows of learning, criteria or the names of columns and classes. Many trees together: forest.hpp.
#pragma once

#include <cstdint>

#include "base/array.hpp"
#include "base/parallel.hpp"
#include "data/row_map.hpp"
#include "grow/split.hpp"
#include "predict/linear.hpp"
#include "predict/sparse_tests.hpp"

namespace boscage {

enum class Routing { hard, linear, logistic };

struct LinearWeights {
  int64_t rows = 0, columns = 0;
  Span<const double> dense;  // rows × columns, or compressed sparse rows:
  Span<const double> data;
  Span<const int64_t> indices, offsets;

  bool is_sparse() const { return !offsets.empty(); }
};

// The first of the largest; NaN is never the largest unless it comes first.
inline int64_t argmax(const double* values, int64_t size) { return std::max_element(values, values + size) - values; }

struct TreeArrays {
  Span<const int32_t> children_left, children_right, feature;
  Span<const double> threshold;
  Span<const bool> missing_go_to_left;
  Span<const int64_t> category_offset;
  Span<const uint8_t> category_bits;
  Span<const int32_t> linear_row;
  LinearWeights weights;
  Span<const int64_t> n_categories;  // one per column
  Span<const double> value;          // nodes × classes
  Span<const double> leaf_value;     // leaves × classes, or empty: value
  Span<const double> coef;           // leaves × classes × columns, or empty
  Span<const double> intercept;      // leaves × classes
  Span<const double> low, high;      // leaves × outputs, or empty: bounds of the numbers that models predict
  int64_t classes = 0;               // or outputs
  bool is_numbers = false;           // leaf models predict numbers, not class probabilities
  Routing routing = Routing::hard;
  RowMap map;
};

// Rows × nodes in compressed sparse rows.
struct Paths {
  Array<int64_t> offsets;
  Array<int32_t> nodes;
  Array<double> reach;
};

// One bit for each row of X: bit r % 8 of byte r / 8 for row number r. Null: all are set.
struct BlockBits {
  const uint8_t* bits = nullptr;
  int64_t first = 0;  // number in X of the table's first row

  bool has(int64_t row) const { return bits == nullptr || ((bits[(first + row) / 8] >> ((first + row) % 8)) & 1) != 0; }
};

class Predictor {
 public:
  // Throws std::invalid_argument if following the arrays could leave them.
  explicit Predictor(const TreeArrays& tree);

  const TreeArrays& tree() const { return tree_; }
  int64_t columns() const { return tree_.n_categories.size(); }
  int64_t leaves() const { return leaves_.size(); }
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
  // Adds the numbers of rows begin..end to sums, which has a line for each of them: one step of Forest.
  // Rows whose bit in `chosen` is not set are left out. is_complete: the caller knows that no number is missing.
  template <class Rows>
  void add_block(const Rows& rows, int64_t begin, int64_t end, bool is_complete, BlockBits chosen, double* sums) const;
  // Leaves of rows begin..end.
  template <class Rows>
  void apply_block(const Rows& rows, int64_t begin, int64_t end, bool is_complete, int64_t* out) const;
  // The same as proba from scores w.x of all linear tests (tests × rows), however they were computed.
  bool takes_scores() const;
  void soft_proba(Span<const double> scores, int64_t rows, double* out, int threads, Control& control) const;
  // Every node that is reached, with its probability.
  template <class Rows>
  Paths paths(const Rows& rows, int threads, Control& control) const;
  // Rows × leaves: the probability of each row to reach each leaf.
  template <class Rows>
  void leaf_reach(const Rows& rows, double* out, int threads, Control& control) const;
  // One path for each row, drawn by its probability: draw (seed, row, depth) decides each step.
  template <class Rows>
  Paths sample_paths(const Rows& rows, uint64_t seed, int threads, Control& control) const;

  double row_cost() const { return row_cost_; }
  bool has_linear_tests() const { return tree_.weights.rows > 0 || !tree_.coef.empty(); }

  // Sixteen bytes for an axis test. The right child follows the left one; a leaf is its own left child.
  struct Node {
    double threshold;
    int32_t feature;  // column, NaN goes right; ~column: NaN goes left
    uint32_t left;    // packed number of the left child
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
  void pack_sparse();
  double cost_of_row();
  int64_t block_rows() const;
  template <class Rows, class Block>
  void for_blocks(const Rows& rows, int threads, Control& control, const Block& block) const;
  template <class Rows, bool want_class>
  void walk_packed(const Rows& rows, int64_t begin, int64_t end, bool is_complete, int64_t* out) const;
  template <class Rows, bool want_class>
  void walk_sparse(const Rows& rows, int64_t begin, int64_t end, bool spreads, int64_t* out) const;
  // What a packed leaf stands for: its class, or its number in the tree.
  template <bool want_class>
  int64_t arrived(uint32_t packed) const {
    const int32_t node = packed_number_[packed];
    return want_class ? leaf_class_[leaf_index_[node]] : node;
  }
  // Leaves of a block of dense rows by linear_; false if the tree or the rows need the walk of single rows.
  template <class Rows>
  bool walk_tests(const Rows& rows, int64_t begin, int64_t end, Array<int32_t>& leaves) const;
  // Leaves of a block of dense rows by sparse_; false if the tree or the rows need the walk of single rows.
  template <class Rows>
  bool divide_rows(const Rows& rows, int64_t begin, int64_t end, int64_t* leaves) const;
  // Leaves of a block by the quick walks; false if there are none for this tree.
  template <class Rows>
  bool quick_leaves(const Rows& rows, int64_t begin, int64_t end, bool is_complete, Array<int64_t>& leaves) const;
  const double* leaf_values(int64_t node) const {
    return tree_.leaf_value.empty() ? tree_.value.data() + node * tree_.classes
                                    : tree_.leaf_value.data() + leaf_index_[node] * tree_.classes;
  }
  template <class Rows, class Emit>
  Paths collect_paths(const Rows& rows, int threads, Control& control, const Emit& emit) const;

  TreeArrays tree_;
  Array<int32_t> leaves_;         // numbers of the leaves
  Array<int32_t> leaf_index_;     // position among the leaves; -1 at inner nodes
  Array<int32_t> leaf_class_;     // one per leaf
  Array<Node> packed_;            // only if every test is an axis test
  Array<int32_t> packed_number_;  // number in the tree
  Array<LinearNode> linear_;      // only if there are linear tests that see rows in the user's units
  SparseTests sparse_;            // the same for tests that are stored sparsely
  int32_t deepest_ = 0;
  double row_cost_ = 1.0;
};

}  // namespace boscage
