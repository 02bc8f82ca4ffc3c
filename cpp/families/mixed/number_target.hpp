// A node whose rows have numbers to predict: its cuts, and what linear finders see of the numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "families/mixed/mixed.hpp"
#include "families/mixed/offer.hpp"
#include "numeric/lbfgs.hpp"

namespace boscage::mixed {

// The same members as ClassTarget. Criteria that are functions of sums only.
class NumberTarget {
 public:
  NumberTarget(const Data& data, const NodeRows& rows, const Node& node, std::span<const uint32_t> node_rows);

  bool is_better(double gain, double than) const { return gain > than + near_; }
  double most_gain() const { return potential_; }
  size_t sums() const { return outputs_ + 1; }
  double weight(uint32_t position) const { return local_[position * sums()]; }

  CutPlace cut(std::span<const double> scores, CutScratch& scratch) const;
  CutPlace cut_whole(std::span<const double> values, double low, size_t count, AxisScratch& scratch) const;
  Cut cut_with_missing(std::span<const uint32_t> order, size_t present, AxisScratch& scratch) const;
  Cut cut_categories(std::span<const double> values, uint32_t categories, AxisScratch& scratch) const;

  bool choose(Finder finder, const OfferDraws& draws, Scratch& s);
  bool wodt(std::span<const double> start, const LbfgsOptions& options, Scratch& s, const Control& control) const;
  bool ridge(Scratch& s) const;

 private:
  // visit(criterion, rows) with rows of one output or of several.
  template <class Visit>
  auto with_rows(const Visit& visit) const;

  const Data& data_;
  size_t outputs_;
  std::vector<double> local_;  // of each row the weight, then weight times value of each output
  double potential_ = 0, near_ = 0;
  NodeView view_;
  std::vector<double> numbers_;  // of the rows of the direction, by output
  std::vector<double> factor_;   // of each output in the number that ridge regression sees
  double chosen_weight_ = 0;
};

}  // namespace boscage::mixed
