// Growing the trees of forests in memory: arrays and settings in, the flat tree out.
#include "families/mixed/mixed.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <ranges>

#include "bind/arrays.hpp"
#include "bind/grow/grow.hpp"
#include "bind/grow/table.hpp"
#include "bind/grow/target.hpp"
#include "bind/run.hpp"

namespace boscage::bind {

namespace {

// Up to this many numbers a tree is grown before a thread of its own would have started.
constexpr size_t kShortWork = 1 << 12;

// Where the codes of each column begin, and the codes.
using Codes = std::pair<In1<int64_t>, In1<double>>;

nb::dict grow_mixed(const Table& X, const Target& target, const GrowthSpec& spec, const mixed::Options& options,
                    const In1<int64_t>& n_categories, const Codes& codes) {
  check_rows(X, target);
  mixed::Data data{
      X.rows, view(n_categories), {view(codes.first), view(codes.second)}, {}, {}, target, spec.criterion, spec.limits,
      options};
  Limits limits = spec.limits;
  if (is_of_numbers(data.criterion) != target.is_numbers())
    throw std::invalid_argument("the criterion is not one of this target");
  Grown tree;
  run(X.numbers <= kShortWork, spec.progress, [&](Control& control) {
    const auto counts = [&](uint32_t row) { return target.weight_of(row) > 0; };
    const auto all = std::views::iota(0U, static_cast<uint32_t>(X.count));
    std::vector<uint32_t> used(to_size(std::ranges::count_if(all, counts)));
    std::ranges::copy_if(all, used.begin(), counts);
    if (used.empty()) throw std::invalid_argument("no row has weight.");
    Pool pool(spec.threads);
    mixed::fill_columns(data, used, control);
    NodeRows rows(target, data.criterion, std::move(used));
    const Side root = rows.total();
    if (root.numbers) limits.min_drop = in_units(data.criterion, limits.min_drop, -root.numbers->grid->exponent);
    Grower grower(root, limits, spec.order);
    mixed::grow(grower, data, rows, pool, control);
    tree = flatten(grower, data.criterion);
  });
  auto columns = std::move(tree.weight_columns);
  auto offsets = std::move(tree.weight_offsets);
  auto weights = std::move(tree.weights);
  tree.weights.clear();
  nb::dict out = to_dict(std::move(tree), X.columns());
  if (offsets.empty()) offsets.push_back(0);
  out["weights"] = give(std::move(weights));
  out["weight_columns"] = give(std::move(columns));
  out["weight_offsets"] = give(std::move(offsets));
  out["mean"] = give(std::move(data.fill));
  out["deviation"] = give(std::move(data.spread));
  return out;
}

}  // namespace

void bind_mixed(nb::module_& module) {
  nb::enum_<mixed::Finder>(module, "Finder", "Who makes an offer to a node.")
      .value("wodt", mixed::Finder::wodt)
      .value("ridge", mixed::Finder::ridge)
      .value("axis", mixed::Finder::axis);
  nb::class_<mixed::Options>(module, "MixedOptions", "What the nodes of a tree of a forest are offered.")
      .def(nb::init<>())
      .def_rw("axis_share", &mixed::Options::axis_share)
      .def_rw("finders", &mixed::Options::finders)
      .def_rw("axis_columns", &mixed::Options::axis_columns)
      .def_rw("linear_columns", &mixed::Options::linear_columns)
      .def_rw("l2", &mixed::Options::l2)
      .def_rw("super_classes", &mixed::Options::super_classes)
      .def_rw("max_iter", &mixed::Options::max_iter)
      .def_rw("max_rows", &mixed::Options::max_rows)
      .def_rw("seed", &mixed::Options::seed);
  module.def("grow_mixed", &grow_mixed, nb::arg("X"), nb::arg("target"), nb::arg("spec"), nb::arg("options"),
             nb::arg("n_categories").noconvert(), nb::arg("codes").noconvert());
}

}  // namespace boscage::bind
