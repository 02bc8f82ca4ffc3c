// OC1 and CART-LC: hyperplanes improved one coefficient at a time, each step the best one along its line.
#pragma once

#include <cstdint>

#include "families/oblique/columns.hpp"
#include "families/oblique/family.hpp"

namespace boscage {

struct Oc1Options {
  PlaneStart start = PlaneStart::axis;
  int restarts = 20;
  int jumps = 5;
  int order = 0;  // of the coefficients: 0 one after the other, 1 the best first, 2 at random
  uint64_t seed = 0;
};

class Oc1 : public ObliqueFamily {
 public:
  Oc1(const Oc1Options& options, const Deadline& deadline) : options_(options), deadline_(deadline) {}
  void search(const ObliqueData& data, NodeOffers& offers, Pool* inner, const Control& control) const override;

 private:
  Oc1Options options_;
  const Deadline& deadline_;
};

struct CartLcOptions {
  PlaneStart start = PlaneStart::axis;
  double tolerance = 1e-3;   // of the potential: the least a cycle over the columns must gain
  double elimination = 0.2;  // a column goes if that costs less than this share of what the best column's going costs
  uint64_t seed = 0;
};

class CartLc : public ObliqueFamily {
 public:
  CartLc(const CartLcOptions& options, const Deadline& deadline) : options_(options), deadline_(deadline) {}
  void search(const ObliqueData& data, NodeOffers& offers, Pool* inner, const Control& control) const override;

 private:
  CartLcOptions options_;
  const Deadline& deadline_;
};

}  // namespace boscage
