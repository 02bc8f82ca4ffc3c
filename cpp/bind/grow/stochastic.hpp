// What the bindings of stochastic trees share: settings as Python passes them.
#pragma once

#include <memory>
#include <string>

#include "bind/arrays.hpp"
#include "bind/grow/grow.hpp"
#include "bind/grow/target.hpp"
#include "families/stochastic/memory.hpp"

namespace boscage::bind {

// Everything but the rows.
struct StochasticSettings {
  Target target;
  std::shared_ptr<const NumberFacts> numbers;  // null for classes
  stochastic::FrameSettings frame;
  stochastic::GrowSettings grow;
  GrowthSpec spec;
};

stochastic::Scale make_scale(const std::string& name);
// Range and units of numbers; null for classes.
std::shared_ptr<const NumberFacts> number_facts(const NumberRange& range, const AnyCriterion& criterion);
// Values of numbers in these units; none for classes.
std::vector<double> values_of(const Target& target, const NumberFacts* numbers);

}  // namespace boscage::bind
