// What the bindings of growth share.
#pragma once

#include <string>

#include "bind/arrays.hpp"
#include "grow/grown.hpp"
#include "grow/growth.hpp"

namespace boscage::bind {

Order make_order(const std::string& name);
nb::dict to_dict(Grown tree, int64_t features);

}  // namespace boscage::bind
