// A hyperplane on its way through one node: coefficients, the scores of the rows, the gain of its cut at 0.
//
// Every move is the best step along a line of hyperplanes, found exactly by the cutter.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.hpp"
#include "families/oblique/columns.hpp"

namespace boscage {

class Plane {
 public:
  Plane(const ScaledColumns& columns, const NodeCutter& node, CutScratch& scratch)
      : columns_(columns), node_(node), scratch_(scratch), theta_(columns.columns() + 1, 0.0) {}

  const std::vector<double>& theta() const { return theta_; }  // the bias last
  double gain() const { return gain_; }

  // The test of one column that an axis search found, in scaled columns.
  void start_at(const Test& test, const Scaling& scaling);
  // A random direction; like every start it is moved to its best threshold.
  void start_at_random(uint64_t seed, uint64_t path, uint64_t draw);

  // The best step along theta + step * change, where change adds `moves` to the scores, if one gains more than `beat`.
  CutPlace look(std::span<const double> moves, double beat) const {
    return node_.find_step(scores_, moves, beat, scratch_);
  }
  CutPlace look_at_column(size_t j, double beat) const { return look(column(j), beat); }
  void take(const CutPlace& place, std::span<const double> change, std::span<const double> moves);
  void take_column(const CutPlace& place, size_t j);
  // The scores afresh: those of many steps have many roundings.
  void rescore() { columns_.score(theta_, scores_); }
  size_t coefficients() const { return theta_.size(); }

 private:
  std::span<const double> column(size_t j) const;  // of ones, for the bias
  void find_threshold();
  void move(const CutPlace& place, std::span<const double> moves);

  const ScaledColumns& columns_;
  const NodeCutter& node_;
  CutScratch& scratch_;
  std::vector<double> theta_, scores_;
  mutable std::vector<double> ones_, place_;
  double gain_ = -1;
};

}  // namespace boscage
