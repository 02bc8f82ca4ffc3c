// A criterion as Python holds it.
#pragma once

#include "criteria/criteria.hpp"

namespace boscage::bind {

struct Criterion {
  AnyCriterion any;
};

}  // namespace boscage::bind
