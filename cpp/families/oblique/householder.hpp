// HHCART: reflect the rows so that a class's longest axis becomes a coordinate axis, then cut along coordinates.
#pragma once

#include "families/oblique/columns.hpp"
#include "families/oblique/family.hpp"

namespace boscage {

class Householder : public ObliqueFamily {
 public:
  explicit Householder(const Deadline& deadline) : deadline_(deadline) {}
  bool shares_node() const override { return true; }
  void search(const ObliqueData& data, NodeOffers& offers, Pool* inner, const Control& control) const override;

 private:
  const Deadline& deadline_;
};

}  // namespace boscage
