// What one pass over rows brings to the search of weighted oblique trees, and how a block of rows answers.
//
// ObliquePass: the tests on the way to the nodes being searched (a route) and tasks, each a few sums over the rows of
// one of them. A plain value that can be sent anywhere; it keeps nothing of the rows. Sums of blocks add up, and those
// of a task do not depend on the other tasks. Must not know what the sums are for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/index.hpp"
#include "data/matrix.hpp"
#include "data/number_grid.hpp"
#include "families/oblique/scaling.hpp"

namespace boscage {

// spread: sum and sum of squares of every scaled column.
// sides:  for each class the soft weight on the right, on the left, then the sums of s(z) s(-z) x and s(z) s(-z).
//         Of numbers each output lies between two classes, at -1 and 1 in its units.
// mass:   the weight in each bin of w.x.
// cut:    for each bin the weight of every class, then the number of rows by bin. Of numbers for each bin the weight
// and
//         the sum of every output, then the rows and then the reports by bin; these sums are exact.
enum class Wanted : uint8_t { spread, sides, mass, cut };

struct ObliqueTask {
  Wanted wanted = Wanted::spread;
  int32_t leaf = 0;
  std::vector<double> vector;  // sides: theta and bias, for scaled columns; mass, cut: w, in the user's units
  std::vector<double> edges;   // mass, cut: in increasing order; bin b holds the rows that are above b of them

  size_t bins() const { return edges.size() + 1; }
};

// Where a row goes next: a step, a leaf, or nowhere that is asked for.
constexpr int32_t kNowhere = -1;
constexpr int32_t link_to_leaf(int32_t leaf) { return -2 - leaf; }
constexpr int32_t leaf_of_link(int32_t link) { return -2 - link; }

struct ObliqueStep {
  std::vector<double> weights;
  double threshold = 0;
  int32_t next[2] = {kNowhere, kNowhere};
  int32_t place = 0;
};

struct ObliqueLeaf {
  std::vector<int32_t> number;  // of each class among those present, else -1; of numbers nothing
  int32_t classes = 0;          // present
  int32_t place = 0;
};

struct ObliquePass {
  Scaling scaling;
  std::vector<ObliqueStep> steps;  // parents before children; none: all rows are in leaf 0
  std::vector<ObliqueLeaf> leaves;
  std::vector<ObliqueTask> tasks;                        // by leaf
  std::shared_ptr<const NumberFacts> numbers = nullptr;  // range and units of all numbers; nothing for classes

  int64_t columns() const { return signed_size(scaling.mean); }
  size_t outputs() const { return numbers == nullptr ? 0 : numbers->outputs.size(); }
  size_t size(const ObliqueTask& task) const;
  size_t size() const;
};

template <class T>
struct LabelledRows {
  Matrix<T> X;
  std::span<const int32_t> y;
  std::span<const double> weight;       // empty: every row counts 1
  std::span<const double> number = {};  // in place of classes: rows x outputs

  double weight_of(int64_t row) const { return weight.empty() ? 1.0 : weight[to_size(row)]; }
};

// Answers for blocks of rows, one after the other.
template <class T>
class ObliqueBlocks {
 public:
  explicit ObliqueBlocks(const ObliquePass& pass);

  // Adds rows begin .. end - 1 to zeros. `places`, if there are any, remembers for every row of X the deepest place of
  // the tree that it is known to reach (at first 0), so that the next pass need not send it down from the root.
  void add(const LabelledRows<T>& rows, int64_t begin, int64_t end, int32_t* places, double* out);

 private:
  int32_t find_leaf(const Matrix<T>& X, int64_t row, int32_t* place);
  void fill(const Matrix<T>& X, int64_t row, double* out) const;
  void order_by_leaf(const LabelledRows<T>& rows, int64_t begin, int64_t end, int32_t* places);
  void order_by_class(const LabelledRows<T>& rows, size_t leaf);
  void load(const LabelledRows<T>& rows, size_t leaf);
  void load_numbers(const LabelledRows<T>& rows);
  void answer(const ObliqueTask& task, double* out);
  void answer_sides(const ObliqueTask& task, double* out);
  void count(const ObliqueTask& task, double* out) const;

  const ObliquePass& pass_;
  std::unordered_map<int32_t, int32_t> link_of_place_;
  std::vector<size_t> first_task_;  // of each leaf, then the number of tasks
  std::vector<size_t> offset_;      // of each task in the sums
  HalfScaling half_;
  std::vector<uint8_t> needs_;                       // by leaf: which copies of its rows
  std::vector<double> row_;                          // one row in the user's units, without gaps
  std::vector<int64_t> found_, first_row_;           // rows in leaves, leaf by leaf; where each leaf's begin
  std::vector<int64_t> here_, class_start_;          // rows of the leaf, class by class
  std::vector<double> plain_, scaled_, weight_, z_;  // of these rows
  std::vector<size_t> class_;
  std::vector<double> value_, exact_, channel_;  // of numbers: values, terms of exact sums, weights of one class
};

// What is added up of columns, (x - shift) * per_unit, and of numbers, if there are any.
struct ColumnUnits {
  std::span<const double> shift, per_unit;
  const NumberFacts* numbers = nullptr;
};

// Sums over rows begin .. end - 1: for every column the weight of what is there, the sum and the sum of squares of
// (x - shift) * per_unit; then the weight of each class, or the weight, the sum of every output and the report.
template <class T>
void add_columns(const LabelledRows<T>& rows, int64_t begin, int64_t end, const ColumnUnits& units, double* out);

}  // namespace boscage
