// The best cut of one node's rows along any number attached to them, and what a given cut is worth.
//
// NodeCutter: the rows of a node with their classes and weights, made ready once for many cuts. Scores come from
// outside (a column, a projection); growth and the family that found a direction are not known here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "criteria/criteria.hpp"
#include "criteria/running_gain.hpp"
#include "data/target.hpp"
#include "grow/growth.hpp"
#include "grow/number_rows.hpp"
#include "grow/scan.hpp"

namespace boscage {

// Where to cut: between the neighbouring scores low and high, `position` rows on the left.
struct CutPlace {
  double gain = -1;  // below 0: no valid cut
  double low = 0, high = 0;
  int64_t position = 0;

  bool is_valid() const { return gain >= 0; }
  // A threshold with low <= t < high.
  double threshold() const;
};

// Positions of scores in increasing order (equal scores in any order).
class ScoreOrder {
 public:
  std::span<const uint32_t> sort(std::span<const double> scores);
  // The same, with kNewValue at those whose score is not that of the one before.
  std::span<const uint32_t> sort_marked(std::span<const double> scores);

 private:
  struct Entry {
    uint64_t key;
    uint32_t position;
  };
  // Of many scores the leading half of the key: memory for the rows of a root is what a growing tree needs most of.
  struct Prefix {
    uint32_t key, position;
  };
  void sort_few(std::span<const double> scores);
  void sort_by_digits(std::span<const double> scores);

  std::vector<Entry> few_;
  std::vector<Prefix> entries_, other_;
  std::vector<uint32_t> counts_, order_;
};

// Buffers of one thread, reused from cut to cut.
struct CutScratch {
  ScoreOrder order;
  std::vector<double> sums;
  // Of find_step: the rows that cross the hyperplane and at which step, their bins, and what moves in each bin.
  std::vector<uint32_t> moving, entries;
  std::vector<double> crossing, chosen, moved;
  std::vector<uint16_t> bin;
  std::vector<int64_t> moved_rows;
  std::vector<uint8_t> likely;
};

// Numbers of a node as a soft search sees them: each output between two classes, at -1 and 1 in the units of the node.
struct SoftNumbers {
  std::vector<std::vector<double>> share;  // by output: of each row, in the second class
  std::vector<double> mean;                // of the node, by output
  double all = 0, error = 0;               // of the node: weight, weight times squared error

  explicit SoftNumbers(size_t outputs = 0) : share(outputs), mean(outputs, 0.0) {}

  size_t outputs() const { return share.size(); }
  double value(size_t row, size_t j) const { return 2 * share[j][row] - 1; }
  // Of a row, after `add_row`; after the last row `finish`.
  void add_row(double weight) { all += weight; }
  void add(double weight, size_t j, double v) {
    share[j].push_back((1 + v) / 2);
    mean[j] += weight * v;
    error += weight * v * v;
  }
  void finish() {
    for (double& value : mean) {
      value /= all;
      error -= all * value * value;
    }
    error = std::max(error, 1e-300);
  }
  // What a row has of numbers that belong to the classes, two for each output.
  double along(const std::vector<double>& factor, size_t row) const {
    double sum = 0;
    for (size_t j = 0; j < share.size(); ++j)
      sum += factor[2 * j] + share[j][row] * (factor[2 * j + 1] - factor[2 * j]);
    return sum;
  }
};

class NodeCutter {
 public:
  // Of classes.
  NodeCutter(std::span<const uint32_t> rows, const Target& target, const AnyCriterion& criterion, const Limits& limits);
  // Of numbers that are chosen by sums.
  NodeCutter(std::span<const uint32_t> rows, const NumberRows& numbers, const AnyCriterion& criterion,
             const Limits& limits);
  NodeCutter(const NodeCutter&) = delete;  // the view points into the object
  NodeCutter& operator=(const NodeCutter&) = delete;

  int64_t rows() const { return signed_size(local_); }
  int classes() const { return static_cast<int>(total_.size()); }
  // Class (numbered among those present) and weight of each row, in the order of `rows`.
  std::span<const WeightedRow> local() const { return local_; }
  bool is_numbers() const { return !values_.empty(); }
  // Of a row of numbers its weight, then weight times value of each output.
  std::span<const double> sums_of(size_t i) const { return {values_.data() + i * total_.size(), total_.size()}; }
  const SoftNumbers* soft_numbers() const { return is_numbers() ? &soft_ : nullptr; }
  std::span<const double> total() const { return total_; }
  double weight() const { return view_.weight; }
  double potential() const { return potential_; }
  const EntropyTerms& terms() const { return terms_; }
  const NodeView& view() const { return view_; }  // classes are those of local()
  const AnyCriterion& criterion() const { return criterion_; }
  // Does a cut with this much on the left keep the limits?
  bool allows(int64_t left_rows, double left_weight) const;
  // A gain of running sums; 0 if it could be rounding.
  double above_noise(double gain) const { return gain > near_ ? gain : 0.0; }
  // Is a place that was found better than another by more than rounding? The first of equal ones stays.
  bool is_better(double gain, double than) const { return gain > than + near_; }

  CutPlace find(std::span<const double> scores, CutScratch& scratch) const;
  // Both sides of "right if score > threshold", with gain and drop; false if a side breaks a limit.
  bool measure(std::span<const double> scores, double threshold, MeasuredTest& out) const;
  // The best step along a line of hyperplanes: row i is on the right where start_i + step * change_i > 0. If no step is
  // worth more than `beat`, any other or none (find all by beat < 0).
  CutPlace find_step(std::span<const double> start, std::span<const double> change, double beat,
                     CutScratch& scratch) const;

 private:
  template <class C>
  Best scan(const C& criterion, std::span<const uint32_t> entries, CutScratch& scratch) const;

  void set_view(const Limits& limits);
  bool measure_numbers(std::span<const double> scores, double threshold, MeasuredTest& out) const;

  std::vector<WeightedRow> local_;
  std::vector<double> values_;  // of numbers: sums_of each row
  SoftNumbers soft_;
  std::vector<uint32_t> present_, identity_;
  std::vector<double> total_;
  size_t all_classes_;
  AnyCriterion criterion_;
  Limits limits_;
  double potential_ = 0;
  double near_ = 0;  // gains of running sums that differ by less count as equal
  EntropyTerms terms_;
  NodeView view_;
};

}  // namespace boscage
