// What every oblique family shares: the data, one node of it, and the engine's side of a search.
//
// A family finds directions in scaled columns and offers them; NodeOffers folds the scaling back, scores the rows
// with the dot product of prediction, cuts, measures and keeps the best. It knows no family.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "families/oblique/scaling.hpp"
#include "grow/cut.hpp"
#include "grow/node_rows.hpp"

namespace boscage {

// When slow families must come to an end; after it they answer with what is cheap.
class Deadline {
 public:
  explicit Deadline(double seconds)
      : end_(seconds < 1e9 ? Clock::now() + std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6))
                           : Clock::time_point::max()) {}
  bool is_over() const {
    if (end_ == Clock::time_point::max() || Clock::now() < end_) return false;
    was_over_.store(true, std::memory_order_relaxed);
    return true;
  }
  bool was_over() const { return was_over_.load(std::memory_order_relaxed); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point end_;
  mutable std::atomic<bool> was_over_{false};
};

struct ObliqueData {
  AnyRows X;
  Scaling scaling;
  Target target;
  AnyCriterion criterion;
  Limits limits;
  bool lookahead = false;    // try two levels at once where a single test gains little
  bool linear_only = false;  // even tests of a single column are stored as linear ones
  const Deadline* deadline = nullptr;
  const NumberRows* numbers = nullptr;  // in place of classes

  NodeCutter cutter(std::span<const uint32_t> rows) const {
    return numbers != nullptr ? NodeCutter(rows, *numbers, criterion, limits)
                              : NodeCutter(rows, target, criterion, limits);
  }
  size_t rows() const {
    return std::visit([](const auto& matrix) { return to_size(matrix.rows); }, X);
  }
  int64_t columns() const {
    return std::visit([](const auto& matrix) { return matrix.columns; }, X);
  }
};

// Where a search begins: at the best test of one column, or anywhere.
enum class PlaneStart { axis, random };

constexpr double kFindThreshold = std::numeric_limits<double>::quiet_NaN();

class NodeOffers {
 public:
  NodeOffers(const ObliqueData& data, std::span<const uint32_t> rows, uint64_t path, const Control& control);

  const NodeCutter& node() const { return cutter_; }
  std::span<const uint32_t> rows() const { return rows_; }
  uint64_t path() const { return path_; }

  // theta: weights of the scaled columns; right if theta.x + bias > 0. A bias of kFindThreshold leaves the threshold
  // to the criterion. Returns the gain, or -1 if no valid cut.
  double offer(std::span<const double> theta, double bias);
  // In place of the best if it gains at least `least`; false if not.
  bool offer_instead(std::span<const double> theta, double bias, double least);
  // The best test of a single column.
  double offer_axis();
  bool has_test() const { return !best_.empty(); }
  double best_gain() const { return best_.empty() ? -1 : best_.front().gain; }
  const MeasuredTest& best() const { return best_.front(); }

  Proposal take();
  // Marks the rows that go left by the best test.
  void mark(uint8_t* goes_left) const;

  CutScratch scratch;

 private:
  void score(std::span<const double> weights, std::vector<double>& scores) const;
  bool measure(std::span<const double> theta, double bias, MeasuredTest& measured);
  void read_column(int64_t column, std::vector<double>& values) const;
  void keep(MeasuredTest measured);

  const ObliqueData& data_;
  std::span<const uint32_t> rows_;
  uint64_t path_;
  const Control& control_;
  NodeCutter cutter_;
  std::vector<MeasuredTest> best_;  // none or one
  std::vector<uint8_t> best_left_;
  std::vector<double> scores_, weights_;
};

// Columns that differ among these rows, in order; no test needs the others.
std::vector<uint32_t> varying_columns(const ObliqueData& data, std::span<const uint32_t> rows, const Control& control);

// Does the row go left?
bool goes_left(const ObliqueData& data, const Test& test, uint32_t row, std::vector<double>& buffer);

// A family: directions for one node. Searches of different nodes run at the same time.
class ObliqueFamily {
 public:
  virtual ~ObliqueFamily() = default;
  // Can one node's search use several threads?
  virtual bool shares_node() const { return false; }
  virtual void search(const ObliqueData& data, NodeOffers& offers, Pool* inner, const Control& control) const = 0;
};

// The whole loop in memory. `rows` divides as the tree grows.
void grow_oblique(Grower& grower, const ObliqueData& data, NodeRows& rows, const ObliqueFamily& family, Pool& pool,
                  Control& control);

}  // namespace boscage
