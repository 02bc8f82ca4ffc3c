// CO2: descent on a convex-concave bound of the loss of a hard split, in turn with the loss of its two sides.
#pragma once

#include <cstdint>

#include "families/oblique/columns.hpp"
#include "families/oblique/family.hpp"

namespace boscage {

struct Co2Options {
  PlaneStart start = PlaneStart::axis;
  double nu = 10;    // largest squared norm of the hyperplane, the bias included
  double eta = 0.3;  // length of a step
  int max_iter = 300;
  bool recut = true;
  uint64_t seed = 0;
};

class Co2 : public ObliqueFamily {
 public:
  Co2(const Co2Options& options, const Deadline& deadline) : options_(options), deadline_(deadline) {}
  void search(const ObliqueData& data, NodeOffers& offers, Pool* inner, const Control& control) const override;

 private:
  Co2Options options_;
  const Deadline& deadline_;
};

}  // namespace boscage
