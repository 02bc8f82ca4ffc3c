// What the bindings of stochastic trees share: settings as Python passes them.
#pragma once

#include <string>

#include "arrays.hpp"
#include "grow.hpp"
#include "stochastic/memory.hpp"

namespace boscage::bind {

// Everything but the rows.
struct StochasticSettings {
  In1<int32_t> y;
  In1<double> weight;
  int32_t classes;
  stochastic::FrameSettings frame;
  stochastic::GrowSettings grow;
  AnyCriterion criterion;
  Order order;
  Limits limits;
  int threads;
};

stochastic::Scale make_scale(const std::string& name);

}  // namespace boscage::bind
