// What the searches that improve a hyperplane (OC1, CART-LC, CO2) have in common: their first plane, and what is
// offered where there is no time for them.
#pragma once

#include <cstdint>

#include "families/oblique/family.hpp"
#include "families/oblique/plane.hpp"

namespace boscage {

class PlaneSearch {
 public:
  PlaneSearch(const ObliqueData& data, NodeOffers& offers, PlaneStart start, uint64_t seed, const Deadline& deadline)
      : data_(data), offers_(offers), from_axis_(start == PlaneStart::axis), seed_(seed), deadline_(deadline) {}

  // False: there is no plane to improve, or no time for it; then the best test of one column has been offered.
  bool begin() {
    const bool is_late = deadline_.is_over();
    if (from_axis_ || is_late) offers_.offer_axis();
    if (offers_.has_test()) axis_ = offers_.best().test;
    return offers_.has_test() ? !is_late : !from_axis_;
  }

  // The first plane is the test of one column, if that is the start; the others are random.
  void place(Plane& plane, uint64_t number) const {
    if (from_axis_ && number == 0) {
      plane.start_at(axis_, data_.scaling);
    } else {
      plane.start_at_random(seed_, offers_.path(), number);
    }
  }

  void end() {
    if (!offers_.has_test() || (!from_axis_ && deadline_.is_over())) offers_.offer_axis();
  }

 private:
  const ObliqueData& data_;
  NodeOffers& offers_;
  bool from_axis_;
  uint64_t seed_;
  const Deadline& deadline_;
  Test axis_;
};

}  // namespace boscage
