// Growing the trees of forests in memory: arrays and settings in, the flat tree out.
#include "families/mixed/mixed.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

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

mixed::Finder make_finder(const std::string& name) {
  if (name == "wodt") return mixed::Finder::wodt;
  if (name == "ridge") return mixed::Finder::ridge;
  if (name == "axis") return mixed::Finder::axis;
  throw std::invalid_argument("unknown finder: " + name);
}

nb::dict grow_mixed(const Table& X, const Target& target, const GrowthSpec& spec, const mixed::Options& options,
                    const In1<int64_t>& n_categories, const Codes& codes) {
  if (static_cast<int64_t>(X.count) != target.rows()) throw std::invalid_argument("X and y differ in length.");
  mixed::Data data{X.rows,
                   view(n_categories),
                   {view(codes.first), view(codes.second)},
                   {},
                   {},
                   {},
                   target.classes,
                   spec.criterion,
                   spec.limits,
                   options};
  Limits limits = spec.limits;
  if (is_of_numbers(data.criterion) != target.is_numbers())
    throw std::invalid_argument("the criterion is not one of this target");
  Grown tree;
  run(X.numbers <= kShortWork, spec.progress, [&](Control& control) {
    std::vector<uint32_t> used;
    data.weighted.resize(X.count);
    for (uint32_t row = 0; row < data.weighted.size(); ++row) {
      data.weighted[row] = {target.weight_of(row), target.is_numbers() ? 0 : static_cast<uint32_t>(target.label[row])};
      if (data.weighted[row].weight > 0) used.push_back(row);
    }
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
  nb::class_<mixed::Options>(module, "MixedOptions", "What the nodes of a tree of a forest are offered.")
      .def(
          "__init__",
          [](mixed::Options* self, double axis_share, const std::vector<std::string>& finders, int64_t axis_columns,
             int64_t linear_columns, double l2, double super_classes, int max_iter, int64_t max_rows, uint64_t seed) {
            mixed::Options options{axis_share, {},       axis_columns, linear_columns, l2, super_classes,
                                   max_iter,   max_rows, seed};
            for (const std::string& name : finders) options.finders.push_back(make_finder(name));
            new (self) mixed::Options(std::move(options));
          },
          nb::arg("axis_share"), nb::arg("finders"), nb::arg("axis_columns"), nb::arg("linear_columns"), nb::arg("l2"),
          nb::arg("super_classes"), nb::arg("max_iter"), nb::arg("max_rows"), nb::arg("seed"));
  module.def("grow_mixed", &grow_mixed, nb::arg("X"), nb::arg("target"), nb::arg("spec"), nb::arg("options"),
             nb::arg("n_categories").noconvert(), nb::arg("codes").noconvert());
}

}  // namespace boscage::bind
