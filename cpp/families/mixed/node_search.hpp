// The search of one node: offers of the finders, and the best of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "families/mixed/class_target.hpp"
#include "families/mixed/number_target.hpp"
#include "families/mixed/offer.hpp"

namespace boscage::mixed {

// What a search has found.
struct Found {
  double gain = -1;  // below 0: nothing
  uint64_t offer = 0;
  Test test;
  std::vector<uint8_t> goes_left;  // by row of the node
  bool saw_missing = false;        // of an axis test; if not, missing values go with the heavier side

  bool is_test() const { return gain >= 0; }
};

// Target: ClassTarget or NumberTarget.
template <class Target>
class NodeSearch {
 public:
  // `columns`: those that are not known to be constant in the node.
  NodeSearch(const Data& data, const NodeRows& rows, const Node& node, std::span<const uint32_t> node_rows,
             std::span<const int32_t> columns, Scratch& scratch, const Control& control)
      : data_(data),
        rows_(node_rows),
        columns_(columns),
        s_(scratch),
        control_(control),
        target_(data, rows, node, node_rows),
        draws_{data.options.seed, node.path} {
    s_.known.assign(static_cast<size_t>(data.columns()), kUnknown);
  }

  void run();
  const Found& best() const { return best_; }
  // Columns found to be constant, in order.
  std::vector<int32_t> constant() const;

 private:
  enum Known : uint8_t { kUnknown, kVaries, kConstant };

  void offer_axis();
  bool cut_numbers(int32_t column, const ValueFacts& facts);
  bool cut_with_missing(int32_t column);
  bool cut_categories(int32_t column);
  CutPlace find_place(const ValueFacts& facts);
  void keep_axis(double gain, int32_t column, double threshold, bool has_missing, bool missing_left);
  bool is_better_axis(double gain, int32_t column) const;
  double threshold_between(double low, double high) const;

  void offer_linear(Finder finder);
  bool find_direction(Finder finder);
  void draw_columns(int64_t wanted);
  int64_t column_count(Finder finder) const;
  void choose_rows();
  bool read_tile();
  bool find_wodt();
  bool make_weights();
  void score_rows();

  bool is_better(double gain) const { return !best_.is_test() || target_.is_better(gain, best_.gain); }
  // Does the best test leave nothing to tell apart?
  bool is_perfect() const { return best_.is_test() && !target_.is_better(target_.most_gain(), best_.gain); }
  void begin_best(double gain, int32_t feature);

  const Data& data_;
  std::span<const uint32_t> rows_;
  std::span<const int32_t> columns_;
  Scratch& s_;
  const Control& control_;
  Target target_;
  OfferDraws draws_;
  Found best_;
  int64_t first_in_lane_[9] = {};  // of the columns of the tile
};

}  // namespace boscage::mixed
