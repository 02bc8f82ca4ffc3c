// The best stochastic linear test of a node, from the node's sums alone.
//
// NodeSums: class weights W_k and class sums B_k = sum of weight times row, rows as the tests see them (norm at
// most 1). A test w, |w| <= 1, sends a row right with probability (1 + w.x)/2, so its sides are linear in w:
// right_k = (W_k + B_k.w)/2. Must not know rows, labels, growth or trees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "criteria/criteria.hpp"
#include "grow/split.hpp"
#include "numeric/linear_algebra.hpp"

namespace boscage::stochastic {

using Vector = std::vector<double>;

struct NodeSums {
  int32_t classes = 0;
  int64_t width = 0;  // length of a row
  Vector weight;      // W_k
  Vector sum;         // B_k, class by class
  // Where these lose their digits (see needs_direct_sums): the sums of weight times (row - mean row), class by class,
  // and 1 - |mean row|², both summed over the rows themselves.
  Vector centred;
  double spread = 0;
  // Of numbers, where the classes are the channels of frame.hpp: the last of them, and range and units.
  double square_weight = 0;
  Vector squares;
  std::shared_ptr<const NumberFacts> numbers = nullptr;

  const double* of(int32_t k) const { return sum.data() + k * width; }
};

// exact: the closed form and its extensions; the others: Algorithms 2 and 3 of Jurgenson and Mansour.
enum class Search { exact, fixed_pq, fixed_p_search_q };

struct SolveSettings {
  Search search = Search::exact;
  double epsilon = 0.1;              // of the approximate searches
  double smallest_spread = 1e-9;     // 1 - |a|² below which all rows count as equal
  const Control* control = nullptr;  // asked now and then by the long searches
};

// Whether differences of the sums keep so few digits that the rows should be summed again: the classes' means or all
// rows nearly agree.
bool needs_direct_sums(const NodeSums& sums);

// The direction of the best test; empty if no test gains anything.
Vector solve(const NodeSums& sums, const AnyCriterion& criterion, const SolveSettings& settings);

// A side by the weights of its classes, or of all channels of numbers.
Side side_of_channels(Vector weight, int64_t rows, const NumberFacts* numbers);

// Weights of the classes, or of all channels, on the (left, right) side of a test.
std::pair<Vector, Vector> divide_channels(const NodeSums& sums, const double* w);
// The sides themselves. Both have the rows of the node.
std::pair<Side, Side> divide(const NodeSums& sums, const double* w, int64_t rows);
// Weight times impurity of the node.
double potential_of(const NodeSums& sums, const AnyCriterion& criterion);
// Writes gain and drop of a test whose sides are known.
void set_gain(const AnyCriterion& criterion, MeasuredTest& found);

// The test with its sides and gain; no test if it gains nothing or a side is lighter than allowed.
std::vector<MeasuredTest> measure(const NodeSums& sums, const Vector& w, int64_t rows, const AnyCriterion& criterion,
                                  double min_weight);

namespace detail {

// A node in units of its weight: shares, mean row a, class parts b_k, and c_k = b_k - share_k a, present classes only.
struct Shares {
  std::vector<int32_t> present;
  size_t width = 0;
  double total = 0;
  Vector rho, a, b, c;  // b and c class by class
  double spread = 0;    // 1 - |a|²

  explicit Shares(const NodeSums& sums);
  void difference_of_means();
  void direct_differences(const NodeSums& sums);
  size_t classes() const { return present.size(); }
  double size_of(size_t k) const;  // |b_k| + share_k |a|, against which c_k is a difference
  const double* b_of(size_t k) const { return b.data() + k * width; }
  const double* c_of(size_t k) const { return c.data() + k * width; }
};

double inner(const Vector& x, const Vector& y);
double inner(const double* x, const double* y, size_t n);
void normalise(Vector& w);

// Two classes, Gini, as published; empty if nothing is gained.
Vector fixed_pq(const Shares& node, double epsilon, const Control* control);
Vector fixed_p_search_q(const Shares& node, double epsilon);

// Any criterion, from the Gini direction: the circle for two classes, the sphere of span(b_k) for more.
Vector search_circle(const Shares& node, const AnyCriterion& criterion);
Vector search_sphere(const Shares& node, const AnyCriterion& criterion, const Vector& gini);

}  // namespace detail

}  // namespace boscage::stochastic
