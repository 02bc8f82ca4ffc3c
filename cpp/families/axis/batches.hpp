// Growing an axis tree from histograms of binned columns: what a pass must count, and what it tells.
//
// Bins: the edges of every column. A histogram holds, for each bin of each column (the last one for missing values),
// the weight of every class, or of numbers the weight, weight times value of each output and what reports need; then
// for each bin the number of rows. All these lie on grids, so sums are exact in any order. Of numbers the range in each
// bin is known too. All leaves that could still be split are asked for together. Must not know where rows come from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "criteria/criteria.hpp"
#include "data/column_sample.hpp"
#include "data/target.hpp"
#include "families/axis/axis.hpp"
#include "grow/pass_growth.hpp"

namespace boscage {

struct Bins {
  std::vector<int64_t> start;       // first place of each column, then the number of places
  std::vector<double> first, last;  // smallest and largest value of each bin, by place
  std::vector<uint8_t> exact;       // by column: every distinct value has a bin
  std::vector<uint8_t> category;    // by column: bins are categories, without an order
  bool is_float = false;            // type of X

  int64_t columns() const { return signed_size(start) - 1; }
  int64_t bins(int64_t column) const { return start[to_size(column) + 1] - start[to_size(column)] - 1; }
};

// A test on the way to the wanted nodes, and where its sides lead: another step, a histogram, or nowhere.
struct BinStep {
  int32_t feature = 0;
  int64_t position = 0;  // bins that go left
  bool missing_left = false;
  std::vector<uint8_t> categories;  // bit set of those that go left; empty for numbers
  int32_t step[2] = {-1, -1}, histogram[2] = {-1, -1};
};

// What a pass counts, and for which nodes.
struct BinRoute {
  std::vector<BinStep> steps;
  std::vector<std::shared_ptr<const NumberGrid>> grids;  // by histogram, of numbers
};

struct Histograms {
  std::vector<double> sums;
  std::vector<double> extremes;  // of numbers, by place: smallest of each output, then smallest negated one
};

// Sums in a place of a histogram.
inline int32_t sums_of(const Target& target) { return target.is_numbers() ? target.outputs + 2 : target.classes; }

struct AxisPlace : KnownPlace {
  std::vector<double> histogram, extremes;
  int64_t position = 0;                 // bins that its test sends left
  bool needs_sums[2] = {false, false};  // sides on grids of their own, on which nothing has been counted yet
};

class AxisBatchGrowth : public PassGrowth<AxisPlace> {
 public:
  // classes: their number, 0 for numbers, of which the range is given.
  AxisBatchGrowth(Bins bins, int32_t classes, const NumberRange& range, AnyCriterion criterion, Limits limits,
                  Order order, ColumnSample sample = {});

  // The next pass, with at most this many numbers unless one node needs more; no steps: the root's histogram is
  // wanted. Nothing when the tree is done.
  std::optional<BinRoute> ask(int64_t most_numbers);
  void tell(std::span<const double> histograms, std::span<const double> extremes);
  int64_t histogram_size() const { return bins_.start.back() * (sums_ + 1); }

 private:
  struct Division {
    int32_t node, counted;  // the child that is counted
  };

  bool is_numbers() const { return outputs_ > 0; }
  void solve(AxisPlace& place, const Node& node);
  Cut search(const AxisPlace& place, const Node& node);
  template <class Criterion, class Rows>
  Cut search_with(const Criterion& criterion, const Rows& rows, const AxisPlace& place, const Node& node);
  // The bins of a column for which chosen(bin) holds.
  template <class Chosen>
  Side side(const AxisPlace& place, int32_t column, const Chosen& chosen, std::shared_ptr<const NumberGrid> grid) const;
  void set_sides(AxisPlace& place, const Node& node, const Cut& cut, MeasuredTest& measured);
  double threshold(const Cut& cut) const;
  void choose_counted(int32_t id, const std::vector<int32_t>& unknown, BinStep& step,
                      std::vector<std::shared_ptr<const NumberGrid>>& grids);
  void take(int32_t counted, std::span<const double> sums, std::span<const double> extremes);

  Bins bins_;
  int32_t sums_;    // in a place of a histogram
  size_t outputs_;  // 0 for classes
  bool has_whole_weights_;
  std::shared_ptr<const NumberGrid> root_grid_;  // null for classes
  AnyCriterion criterion_;
  Limits limits_;
  Order order_;
  ColumnSample sample_;
  std::vector<int32_t> columns_;  // all of them
  std::optional<Side> root_;
  std::vector<Division> divisions_;
  AxisScratch scratch_;
};

}  // namespace boscage
