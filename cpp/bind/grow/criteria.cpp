#include "criteria/criteria.hpp"

#include <nanobind/stl/string.h>

#include "bind/arrays.hpp"

namespace boscage::bind {

namespace {

nb::ndarray<nb::numpy, double> criterion_total(const std::string& name, double parameter, In2<double> table,
                                               In2<double> weights) {
  const AnyCriterion any = make_criterion(name, parameter, {table.data(), table.size()});
  const size_t rows = weights.shape(0), k = weights.shape(1);
  std::vector<double> totals(rows);
  visit_classes(
      [&](const auto& criterion) {
        for (size_t i = 0; i < rows; ++i) totals[i] = criterion.total(weights.data() + i * k, static_cast<int>(k));
      },
      any);
  return give(std::move(totals));
}

nb::ndarray<nb::numpy, double> criterion_gain(const std::string& name, double parameter, In2<double> table,
                                              In2<double> right, In2<double> left, bool drop) {
  const AnyCriterion any = make_criterion(name, parameter, {table.data(), table.size()});
  const size_t rows = right.shape(0), k = right.shape(1);
  if (left.shape(0) != rows || left.shape(1) != k) throw std::invalid_argument("right and left differ in shape");
  std::vector<double> gains(rows);
  visit_classes(
      [&](const auto& criterion) {
        for (size_t i = 0; i < rows; ++i) {
          const double *r = right.data() + i * k, *l = left.data() + i * k;
          gains[i] = drop ? criterion.drop(r, l, static_cast<int>(k)) : criterion.gain(r, l, static_cast<int>(k));
        }
      },
      any);
  return give(std::move(gains));
}

}  // namespace

void bind_criteria(nb::module_& module) {
  module.def("criterion_total", &criterion_total, nb::arg("name"), nb::arg("parameter"), nb::arg("table").noconvert(),
             nb::arg("weights").noconvert());
  module.def("criterion_gain", &criterion_gain, nb::arg("name"), nb::arg("parameter"), nb::arg("table").noconvert(),
             nb::arg("right").noconvert(), nb::arg("left").noconvert(), nb::arg("drop") = false);
}

}  // namespace boscage::bind
