// Leaves of a forest fitted together, for Python.
#include "refine/joint_leaves.hpp"

#include <algorithm>
#include <stdexcept>

#include "bind/arrays.hpp"
#include "bind/run.hpp"

namespace boscage::bind {

namespace {

namespace rf = boscage::refine;

constexpr double kShortWork = 1e5;

// Rows by their leaves, with classes or numbers; the arrays are borrowed.
struct BoundForestRows {
  In2<int32_t> leaf;
  In1<int32_t> first, label;
  In2<double> y;
  In1<double> weight;
  In2<double> start;

  rf::ForestRows native(std::span<const double> base) const {
    const rf::ForestRows rows{{leaf.data(), leaf.size()},  view(first),  view(label),
                              {y.data(), y.size()},        view(weight), base,
                              {start.data(), start.size()}};
    const size_t trees = leaf.shape(0), n = leaf.shape(1), k = base.size();
    const bool is_classes = label.size() == n && y.size() == 0;
    if (n == 0 || k == 0 || weight.size() != n || first.size() != trees + 1 ||
        !(is_classes || (label.size() == 0 && y.size() == n * k)))
      throw std::invalid_argument("leaf, first, label, y, weight and base do not fit together.");
    if (start.size() != static_cast<size_t>(rows.first.back()) * k) throw std::invalid_argument("start: wrong size.");
    if (first.data()[0] != 0 || !std::is_sorted(rows.first.begin(), rows.first.end()))
      throw std::invalid_argument("first: numbers of leaves must rise from 0.");
    for (size_t t = 0; t < trees; ++t)
      for (size_t i = 0; i < n; ++i)
        if (leaf.data()[t * n + i] < rows.first[t] || leaf.data()[t * n + i] >= rows.first[t + 1])
          throw std::invalid_argument("leaf: a number is out of range.");
    if (std::ranges::any_of(rows.label, [&](int32_t c) { return c < 0 || c >= static_cast<int32_t>(k); }))
      throw std::invalid_argument("label: a class is out of range.");
    return rows;
  }
};

nb::ndarray<nb::numpy, double> fit(const BoundForestRows& bound, const In1<double>& base, double l2, int max_iter,
                                   int threads, nb::object progress) {
  const rf::ForestRows rows = bound.native(view(base));
  const auto leaves = static_cast<size_t>(rows.leaves()), outputs = static_cast<size_t>(rows.outputs());
  std::vector<double> found;
  run(static_cast<double>(rows.leaf.size() * outputs) < kShortWork, progress, [&](Control& control) {
    Pool pool(threads);
    found = rf::fit_joint_leaves(rows, {l2, max_iter}, pool, control);
  });
  return give(std::move(found), {leaves, outputs});
}

}  // namespace

void bind_joint_leaves(nb::module_& module) {
  nb::class_<BoundForestRows>(module, "ForestRows", "Rows by their leaves in each tree, with classes or numbers.")
      .def(
          "__init__",
          [](BoundForestRows* self, In2<int32_t> leaf, In1<int32_t> first, In1<int32_t> label, In2<double> y,
             In1<double> weight, In2<double> start) {
            new (self) BoundForestRows{std::move(leaf), std::move(first),  std::move(label),
                                       std::move(y),    std::move(weight), std::move(start)};
          },
          nb::arg("leaf").noconvert(), nb::arg("first").noconvert(), nb::arg("label").noconvert(),
          nb::arg("y").noconvert(), nb::arg("weight").noconvert(), nb::arg("start").noconvert());
  module.def("fit_joint_leaves", &fit, nb::arg("rows"), nb::arg("base").noconvert(), nb::arg("l2"), nb::arg("max_iter"),
             nb::arg("threads"), nb::arg("progress").none());
}

}  // namespace boscage::bind
