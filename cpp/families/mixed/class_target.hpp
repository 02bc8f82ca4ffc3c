// A node whose rows have classes: its cuts, and what linear finders see of the classes.
//
// A target of NodeSearch. Any other has the same members (number_target.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "families/mixed/mixed.hpp"
#include "families/mixed/offer.hpp"
#include "numeric/lbfgs.hpp"

namespace boscage::mixed {

class ClassTarget {
 public:
  ClassTarget(const Data& data, const NodeRows& rows, const Node& node, std::span<const uint32_t> node_rows);

  // Is a gain better than another by more than rounding?
  bool is_better(double gain, double than) const { return cutter_.is_better(gain, than); }
  // Nothing gains more than a test that leaves nothing to tell apart.
  double most_gain() const;
  size_t sums() const { return cutter_.total().size(); }  // numbers in a sum
  double weight(uint32_t position) const { return cutter_.local()[position].weight; }

  // The best cut along scores; of whole numbers from `low` on, counted by value; of rows in order, of which the first
  // `present` have a value; of categories.
  CutPlace cut(std::span<const double> scores, CutScratch& scratch) const { return cutter_.find(scores, scratch); }
  CutPlace cut_whole(std::span<const double> values, double low, size_t count, AxisScratch& scratch) const;
  Cut cut_with_missing(std::span<const uint32_t> order, size_t present, AxisScratch& scratch) const;
  Cut cut_categories(std::span<const double> values, uint32_t categories, AxisScratch& scratch) const;

  // Draws what the finder of a direction is to see of the rows at s.positions, whose order may change. False: nothing.
  bool choose(Finder finder, const OfferDraws& draws, Scratch& s);
  // The direction in scaled columns from the raw tile: from a start by L-BFGS, and by ridge regression.
  bool wodt(std::span<const double> start, const LbfgsOptions& options, Scratch& s, const Control& control) const;
  bool ridge(Scratch& s) const;

 private:
  const Data& data_;
  NodeCutter cutter_;
  std::vector<WeightedRow> chosen_;  // rows of the direction, with its classes
  int classes_ = 0;                  // of the direction
};

}  // namespace boscage::mixed
