// Classes or numbers to predict, with the weights of the rows, as growth in memory borrows them.
#pragma once

#include <stdexcept>

#include "bind/arrays.hpp"
#include "data/target.hpp"

namespace boscage::bind {

inline Target class_target(const In1<int32_t>& y, const In1<double>& weight, int32_t classes) {
  Target target;
  target.label = view(y);
  target.classes = classes;
  target.weight = view(weight);
  if (weight.size() != 0 && weight.size() != y.size()) throw std::invalid_argument("y and weight differ in length.");
  return target;
}

inline Target number_target(const In2<double>& y, const In1<double>& weight) {
  Target target;
  target.number = {y.data(), y.size()};
  target.outputs = static_cast<int32_t>(y.shape(1));
  target.weight = view(weight);
  if (y.size() == 0) throw std::invalid_argument("y has no numbers.");
  if (weight.size() != 0 && weight.size() != y.shape(0)) throw std::invalid_argument("y and weight differ in length.");
  return target;
}

}  // namespace boscage::bind
