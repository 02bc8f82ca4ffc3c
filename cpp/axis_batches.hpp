// Growing an axis tree from histograms of binned columns: what a pass must count, and what it tells.
//
// Bins: the edges of every column. A histogram holds, for each bin of each column (the last one for missing values),
// the weight of every class, then for each bin the number of rows. Weights lie on a grid, so these sums are exact in
// any order. All leaves that could still be split are asked for together. Must not know where rows come from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "axis.hpp"
#include "column_sample.hpp"
#include "criteria.hpp"
#include "pass_growth.hpp"

namespace boscage {

struct Bins {
  std::vector<int64_t> start;       // first place of each column, then the number of places
  std::vector<double> first, last;  // smallest and largest value of each bin, by place
  std::vector<uint8_t> exact;       // by column: every distinct value has a bin
  std::vector<uint8_t> category;    // by column: bins are categories, without an order
  bool is_float = false;            // type of X

  int64_t columns() const { return static_cast<int64_t>(start.size()) - 1; }
  int64_t bins(int64_t column) const {
    return start[static_cast<size_t>(column) + 1] - start[static_cast<size_t>(column)] - 1;
  }
};

// A test on the way to the wanted nodes, and where its sides lead: another step, a histogram, or nowhere.
struct BinStep {
  int32_t feature = 0;
  int64_t position = 0;  // bins that go left
  bool missing_left = false;
  std::vector<uint8_t> categories;  // bit set of those that go left; empty for numbers
  int32_t step[2] = {-1, -1}, histogram[2] = {-1, -1};
};

struct AxisPlace : KnownPlace {
  std::vector<double> histogram;
  int64_t position = 0;  // bins that its test sends left
};

class AxisBatchGrowth : public PassGrowth<AxisPlace> {
 public:
  AxisBatchGrowth(Bins bins, int32_t classes, AnyCriterion criterion, Limits limits, Order order,
                  ColumnSample sample = {});

  // The next pass, with at most this many numbers unless one node needs more; no steps: the root's histogram is
  // wanted. Nothing when the tree is done.
  std::optional<std::vector<BinStep>> ask(int64_t most_numbers);
  void tell(std::span<const double> histograms);
  int64_t histogram_size() const { return bins_.start.back() * (classes_ + 1); }

 private:
  struct Division {
    int32_t node, counted;  // the child that is counted
  };

  void solve(AxisPlace& place, const Node& node);
  std::pair<Side, Side> sides(const std::vector<double>& histogram, const Cut& cut) const;
  double threshold(const Cut& cut) const;

  Bins bins_;
  int32_t classes_;
  AnyCriterion criterion_;
  Limits limits_;
  Order order_;
  ColumnSample sample_;
  std::vector<int32_t> columns_;  // all of them
  Side root_;
  std::vector<Division> divisions_;
  AxisScratch scratch_;
};

}  // namespace boscage
