#include <nanobind/nanobind.h>

#include "rng.hpp"

namespace nb = nanobind;

namespace boscage::bind {
void bind_grow(nb::module_& module);
}

NB_MODULE(_core, module) {
  module.doc() = "The compiled half of boscage. Private: no promise of stability.";
  module.def("uniform", &boscage::uniform, nb::arg("seed"), nb::arg("stream"), nb::arg("draw"));
  boscage::bind::bind_grow(module);
}
