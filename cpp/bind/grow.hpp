// What the bindings of growth share.
#pragma once

#include <string>

#include "arrays.hpp"
#include "grown.hpp"
#include "growth.hpp"

namespace boscage::bind {

Order make_order(const std::string& name);
nb::dict to_dict(Grown tree, int32_t classes, int64_t features);

}  // namespace boscage::bind
