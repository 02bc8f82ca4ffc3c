#include <nanobind/nanobind.h>

#include "rng.hpp"

namespace nb = nanobind;

NB_MODULE(_core, module) {
  module.doc() = "The compiled half of boscage. Private: no promise of stability.";
  module.def("uniform", &boscage::uniform, nb::arg("seed"), nb::arg("stream"), nb::arg("draw"));
}
