// A hyperplane on its way through one node: coefficients, the scores of the rows, the gain of its cut at 0.
//
// Every move is the best step along a line of hyperplanes, found exactly by the cutter.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "oblique/columns.hpp"
#include "rng.hpp"

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
  void start_at(std::span<const double> theta);

  // The best step along theta + step * change, where change adds `moves` to the scores.
  CutPlace look(std::span<const double> moves) const { return node_.find_step(scores_, moves, scratch_); }
  CutPlace look_at_column(size_t j) const { return look(j < columns_.columns() ? columns_.column(j, place_) : ones()); }
  void take(const CutPlace& place, std::span<const double> change);
  void take_column(const CutPlace& place, size_t j);
  size_t coefficients() const { return theta_.size(); }

 private:
  std::span<const double> ones() const;
  void rescore(double gain);

  const ScaledColumns& columns_;
  const NodeCutter& node_;
  CutScratch& scratch_;
  std::vector<double> theta_, scores_;
  mutable std::vector<double> ones_, place_;
  double gain_ = -1;
};

// The middle of the best interval of steps.
inline double step_of(const CutPlace& place) { return place.threshold(); }

}  // namespace boscage
