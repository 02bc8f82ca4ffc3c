// The three steps every executor shares: sums of a block for the nodes being divided, reduce, finish.
//
// Sums are flat: for each class, or channel of numbers, the weight, the weight times reciprocal norm, then the columns.
// They are linear in the rows, so blocks add up and a node minus one child is the other child. The batch and memory
// executors call the same functions on the same blocks and get the same bytes. Must not know how tests are found or
// leaves ordered.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "families/stochastic/frame.hpp"
#include "families/stochastic/solve.hpp"

namespace boscage::stochastic {

// Rows that reach a node with less than this times the node's share of the total weight are dropped from it.
constexpr double kNegligible = 1e-9;

struct SumShape {
  int32_t classes = 0;
  int64_t columns = 0;
  std::shared_ptr<const NumberFacts> numbers = nullptr;  // range and units of numbers; null for classes

  int64_t stride() const { return columns + 2; }
  int32_t outputs() const { return numbers ? static_cast<int32_t>(numbers->outputs.size()) : 1; }
  int32_t channels() const { return numbers ? number_channels(outputs()) : classes; }
  int32_t decided() const { return numbers ? 2 * outputs() : classes; }  // channels that tests are chosen by
  size_t size() const { return to_size(channels() * stride()); }
};

// The whole of a node, from its flat sums.
Side whole_side(std::span<const double> sums, const SumShape& shape, int64_t rows);

// A test as it is applied to raw rows: score = norm_i (theta.x + offset), clipped to [-1, 1].
struct FoldedTest {
  std::vector<double> theta;
  double offset = 0;

  FoldedTest() = default;
  FoldedTest(const Frame& frame, std::span<const double> w);
};

// What is done to the rows of a node: each side gets its reach, and the sides asked for are summed.
// A side's reach below its cut becomes 0.
struct Division {
  FoldedTest test;
  double cut_left = 0, cut_right = 0;
  bool sum_left = false, sum_right = false;
};

// The rows of one node inside one block.
struct NodeBlock {
  const uint32_t* rows = nullptr;  // row numbers in increasing order; null: begin, begin + 1, …
  int64_t begin = 0, count = 0;
  const double* reach = nullptr;             // in; null: 1
  double *left = nullptr, *right = nullptr;  // out; null if nobody will ask; left may be `reach` itself
  double *left_sums = nullptr, *right_sums = nullptr;
  int64_t counts[2] = {0, 0};  // out: rows that can go left and right
};

// Adds up the rows of a block: the root's sums, or those of any node given its reach.
template <class Rows>
void add_block(const TrainingRows<Rows>& rows, const Frame& frame, const NodeBlock& block, double* sums);

// Divides the rows of several nodes in one block. Each node's result is the same as if it were alone.
template <class Rows>
void divide_block(const TrainingRows<Rows>& rows, const Frame& frame, std::span<const Division> divisions,
                  std::span<NodeBlock> nodes);

// Adds weight times z zᵀ of the block's rows by channel (channels x width x width, lower triangles).
template <class Rows>
void add_moments(const TrainingRows<Rows>& rows, const Frame& frame, const NodeBlock& block, double* moments);

// Adds weight times (z - mean) of the block's rows by class, or channel (width numbers for each), then weight times
// (1 - |z|² + |z - mean|²), whose sum is the weight times 1 - |mean|².
template <class Rows>
void add_centred(const TrainingRows<Rows>& rows, const Frame& frame, const NodeBlock& block, const double* mean,
                 double* sums);

// Writes z of a row (width numbers).
template <class Rows>
void see_row(const TrainingRows<Rows>& rows, const Frame& frame, int64_t row, double* z);

// The mean row of a node, and its sums completed by the reduced result of add_centred.
std::vector<double> mean_row(const NodeSums& sums);
NodeSums with_centred(NodeSums sums, std::vector<double> centred);

// Reduced sums as the solver takes them.
NodeSums finish(const std::vector<double>& sums, const SumShape& shape, const Frame& frame);

// parent - child, classes that vanish set to zero.
std::vector<double> other_child(const std::vector<double>& parent, const std::vector<double>& child,
                                const SumShape& shape);

template <class Rows>
constexpr bool rows_are_sparse = !requires(const Rows& rows) { rows.column_stride; };

}  // namespace boscage::stochastic
