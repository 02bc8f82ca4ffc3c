#include <nanobind/nanobind.h>

#include "base/rng.hpp"

namespace nb = nanobind;

namespace boscage::bind {
void bind_batches(nb::module_&);
void bind_bins(nb::module_&);
void bind_criteria(nb::module_&);
void bind_forest(nb::module_&);
void bind_grow(nb::module_&);
void bind_joint_leaves(nb::module_&);
void bind_online(nb::module_&);
void bind_predict(nb::module_&);
void bind_propose(nb::module_&);
void bind_optimal(nb::module_&);
void bind_mixed(nb::module_&);
void bind_oblique(nb::module_&);
void bind_oblique_batches(nb::module_&);
void bind_refine(nb::module_&);
void bind_ridge(nb::module_&);
void bind_shared_lock(nb::module_&);
void bind_stochastic(nb::module_&);
}  // namespace boscage::bind

NB_MODULE(_core, module) {
  // A daemon thread that runs at exit, as in a web server, keeps its models; they are not leaks to tell users about.
  nb::set_leak_warnings(false);
  module.doc() = "The compiled half of boscage. Private: no promise of stability.";
  module.def("uniform", &boscage::uniform<uint64_t, uint64_t>, nb::arg("seed"), nb::arg("stream"), nb::arg("draw"));
  boscage::bind::bind_criteria(module);
  boscage::bind::bind_forest(module);
  boscage::bind::bind_grow(module);
  boscage::bind::bind_joint_leaves(module);
  boscage::bind::bind_online(module);
  boscage::bind::bind_predict(module);
  boscage::bind::bind_propose(module);
  boscage::bind::bind_optimal(module);
  boscage::bind::bind_mixed(module);
  boscage::bind::bind_oblique(module);
  boscage::bind::bind_refine(module);
  boscage::bind::bind_ridge(module);
  boscage::bind::bind_shared_lock(module);
  boscage::bind::bind_stochastic(module);
  boscage::bind::bind_batches(module);
  boscage::bind::bind_oblique_batches(module);
  boscage::bind::bind_bins(module);
}
