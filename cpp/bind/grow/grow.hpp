// What the bindings of growth share.
#pragma once

#include "bind/arrays.hpp"
#include "grow/grown.hpp"
#include "grow/growth.hpp"

namespace boscage::bind {

// What every growth takes besides rows and target.
struct GrowthSpec {
  AnyCriterion criterion;
  Order order;
  Limits limits;
  uint64_t seed;
  int threads;
  nb::object progress;
};

nb::dict to_dict(Grown tree, int64_t features);

}  // namespace boscage::bind
