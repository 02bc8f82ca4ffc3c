// The search of one node from sums alone: L-BFGS from random starts, then the best cut along each direction.
//
// NodeDescent asks for tasks of a pass and is told their sums; all its starts go on side by side. A cut is found in
// three questions: where the weight lies along the direction, the classes in bins of about equal weight, and in bins of
// equal width between the neighbours of the best edge. Children get exactly the rows that the test sends them. Must not
// know where rows come from.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "criteria/criteria.hpp"
#include "families/oblique/column_scale.hpp"
#include "families/oblique/pass.hpp"
#include "grow/cut.hpp"
#include "grow/growth.hpp"
#include "grow/scan.hpp"
#include "numeric/lbfgs.hpp"

namespace boscage {

struct DescentOptions {
  ColumnScale scale = ColumnScale::standard;
  double l2 = 0;
  int n_init = 1;
  bool recut = true;
  int64_t bins = 256;
  uint64_t seed = 0;
  LbfgsOptions lbfgs;
};

// What all nodes share.
struct DescentFrame {
  Scaling scaling;
  std::vector<double> low, high;  // range of every column
  AnyCriterion criterion;
  Limits limits;
  DescentOptions options;
  std::shared_ptr<const NumberFacts> numbers = nullptr;  // range and units of all numbers; nothing for classes

  size_t columns() const { return low.size(); }
};

class NodeDescent {
 public:
  NodeDescent(const DescentFrame& frame, const Node& node);

  bool is_numbers() const { return frame_.numbers != nullptr; }
  bool is_done() const { return phase_ == Phase::done; }
  // The node as a pass sees it, but for its place.
  ObliqueLeaf leaf() const;
  // Appends what must be known next.
  void ask(int32_t leaf, std::vector<ObliqueTask>& tasks) const;
  // The sums of these tasks, one after the other.
  void tell(std::span<const double> sums);
  Proposal take();

 private:
  enum class Phase { spread, starts, done };
  enum class Step { descend, half, mass, cut, zoom, done };
  struct Start {
    Lbfgs optimiser;
    Step step = Step::descend;
    ObliqueTask count{};       // of the steps after the descent
    double low = 0, high = 0;  // projections lie between, as far as is known
    int cuts = 0;
    MeasuredTest best{};
    bool has_test = false;
  };

  bool find_columns(std::span<const double> spread);
  void begin_starts();
  void begin_start();
  void settle();
  void tell_sides(Start& start, const double* sums);
  void begin_cut(Start& start);
  void find_mass(Start& start);
  void cut_evenly(Start& start, std::span<const double> mass);
  void zoom(Start& start, double low, double high);
  void wait_for(Start& start, Wanted wanted, std::vector<double> edges, Step step);
  void tell_half(Start& start, const double* sums);
  void tell_cut(Start& start, const double* sums);
  bool measure(Start& start, const double* sums, size_t left_bins, double threshold);
  void sum_sides(const Start& start, const double* sums, size_t left_bins, MeasuredTest& measured) const;
  bool is_mixed(const Start& start, const double* sums, size_t bin) const;
  std::vector<double> spread_out(std::span<const double> theta) const;
  size_t answer_size(const Start& start) const;

  const DescentFrame& frame_;
  Phase phase_ = Phase::spread;
  uint64_t path_;
  double weight_, potential_ = 0;
  int64_t rows_;
  size_t all_classes_;
  std::vector<int32_t> present_;
  std::vector<double> total_;    // weight of each class present; of numbers the weight and the sum of each output
  SoftNumbers soft_;             // of numbers: means and error of the node
  std::vector<size_t> columns_;  // those that vary here
  std::vector<Start> starts_;
  std::vector<double> factor_, gradient_, scratch_;
};

}  // namespace boscage
