#include "bind/grow/criteria.hpp"

#include <nanobind/stl/string.h>

#include "bind/arrays.hpp"

namespace boscage::bind {

namespace {

nb::ndarray<nb::numpy, double> criterion_total(const Criterion& criterion, In2<double> weights) {
  const size_t rows = weights.shape(0), k = weights.shape(1);
  std::vector<double> totals(rows);
  visit_classes(
      [&](const auto& one) {
        for (size_t i = 0; i < rows; ++i) totals[i] = one.total(weights.data() + i * k, static_cast<int>(k));
      },
      criterion.any);
  return give(std::move(totals));
}

nb::ndarray<nb::numpy, double> criterion_gain(const Criterion& criterion, In2<double> right, In2<double> left,
                                              bool drop) {
  const size_t rows = right.shape(0), k = right.shape(1);
  if (left.shape(0) != rows || left.shape(1) != k) throw std::invalid_argument("right and left differ in shape");
  std::vector<double> gains(rows);
  visit_classes(
      [&](const auto& one) {
        for (size_t i = 0; i < rows; ++i) {
          const double *r = right.data() + i * k, *l = left.data() + i * k;
          gains[i] = drop ? one.drop(r, l, static_cast<int>(k)) : one.gain(r, l, static_cast<int>(k));
        }
      },
      criterion.any);
  return give(std::move(gains));
}

}  // namespace

void bind_criteria(nb::module_& module) {
  nb::class_<Criterion>(module, "Criterion", "A criterion by its name, parameter and table of values.")
      .def(
          "__init__",
          [](Criterion* self, const std::string& name, double parameter, const In1<double>& table) {
            new (self) Criterion{make_criterion(name, parameter, view(table))};
          },
          nb::arg("name"), nb::arg("parameter"), nb::arg("table").noconvert());
  module.def("criterion_total", &criterion_total, nb::arg("criterion"), nb::arg("weights").noconvert());
  module.def("criterion_gain", &criterion_gain, nb::arg("criterion"), nb::arg("right").noconvert(),
             nb::arg("left").noconvert(), nb::arg("drop") = false);
}

}  // namespace boscage::bind
