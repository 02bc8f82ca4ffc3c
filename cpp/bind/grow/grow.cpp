// Growing in memory: arrays and settings in, the flat tree out.
#include "bind/grow/grow.hpp"

#include <nanobind/stl/string.h>

#include "bind/arrays.hpp"
#include "bind/grow/table.hpp"
#include "bind/grow/target.hpp"
#include "bind/run.hpp"
#include "families/axis/axis.hpp"

namespace boscage::bind {

Order make_order(const std::string& name) {
  if (name == "best_first") return Order::best_first;
  if (name == "heaviest_first") return Order::heaviest_first;
  if (name == "depth_first") return Order::depth_first;
  throw std::invalid_argument("unknown growth: " + name);
}

nb::dict to_dict(Grown tree, int64_t features) {
  nb::dict out;
  const size_t n = tree.rows.size(), k = tree.value.size() / n;
  const size_t linear = features > 0 ? tree.weights.size() / static_cast<size_t>(features) : 0;
  out["children_left"] = give(std::move(tree.children_left));
  out["children_right"] = give(std::move(tree.children_right));
  out["feature"] = give(std::move(tree.feature));
  out["threshold"] = give(std::move(tree.threshold));
  out["missing_go_to_left"] = give(std::move(tree.missing_go_to_left));
  out["category_offset"] = give(std::move(tree.category_offset));
  out["category_bits"] = give(std::move(tree.category_bits));
  out["linear_row"] = give(std::move(tree.linear_row));
  out["weights"] = give(std::move(tree.weights), {linear, static_cast<size_t>(features)});
  out["value"] = give(std::move(tree.value), {n, k});
  out["rows"] = give(std::move(tree.rows));
  out["weight"] = give(std::move(tree.weight));
  out["impurity"] = give(std::move(tree.impurity));
  return out;
}

namespace {

// Up to this many numbers a fit is over before a thread of its own would have started.
constexpr size_t kShortWork = 1 << 15;

nb::dict grow_axis(const Table& X, const Target& target, const In1<int64_t>& n_categories, int64_t max_bins,
                   int64_t max_features, uint64_t seed, const std::string& criterion_name, double criterion_parameter,
                   const In1<double>& criterion_table, const std::string& order, Limits limits, int threads,
                   nb::object progress) {
  const AnyCriterion criterion = make_criterion(criterion_name, criterion_parameter, view(criterion_table));
  const Order growth = make_order(order);
  if (static_cast<int64_t>(X.count) != target.rows()) throw std::invalid_argument("X and y differ in length.");
  if (is_of_numbers(criterion) != target.is_numbers())
    throw std::invalid_argument("the criterion is not one of this target");
  Grown tree;
  run(X.numbers <= kShortWork && X.count <= kShortWork, progress, [&](Control& control) {
    Pool pool(threads);
    NodeRows rows(target, criterion);
    const Side root = rows.total();
    if (root.numbers) limits.min_drop = in_units(criterion, limits.min_drop, -root.numbers->grid->exponent);
    AxisSearch search(X.rows, view(n_categories), max_bins, rows, criterion, limits, pool, control,
                      {max_features, seed});
    Grower grower(root, limits, growth);
    grow_in_memory(grower, search, pool, control);
    tree = flatten(grower, criterion);
  });
  return to_dict(std::move(tree), X.columns());
}

void bind_target(nb::module_& module) {
  nb::class_<Target>(module, "Target", "Classes or numbers to predict, and weights; borrowed, never copied.")
      .def(
          "__init__",
          [](Target* self, const In1<int32_t>& y, const In1<double>& weight, int32_t classes) {
            new (self) Target(class_target(y, weight, classes));
          },
          nb::arg("y").noconvert(), nb::arg("weight").noconvert(), nb::arg("classes"), nb::keep_alive<1, 2>(),
          nb::keep_alive<1, 3>())
      .def(
          "__init__",
          [](Target* self, const In2<double>& y, const In1<double>& weight) {
            new (self) Target(number_target(y, weight));
          },
          nb::arg("y").noconvert(), nb::arg("weight").noconvert(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());
}

void bind_table(nb::module_& module) {
  nb::class_<Table> table(module, "Table", "Rows to grow a tree on, dense or CSR; borrowed, never copied.");
  const auto define_dense = [&]<class T>(T) {
    table.def(
        "__init__", [](Table* self, const Strided2<T>& X) { new (self) Table(dense_table(X)); },
        nb::arg("X").noconvert(), nb::keep_alive<1, 2>());
  };
  define_dense(float{});
  define_dense(double{});
  const auto define_sparse = [&]<class T, class Index>(T, Index) {
    table.def(
        "__init__",
        [](Table* self, const In1<T>& entries, const In1<Index>& indices, const In1<Index>& offsets, int64_t columns) {
          new (self) Table(sparse_table(entries, indices, offsets, columns));
        },
        nb::arg("entries").noconvert(), nb::arg("indices").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("columns"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>());
  };
  define_sparse(float{}, int32_t{});
  define_sparse(float{}, int64_t{});
  define_sparse(double{}, int32_t{});
  define_sparse(double{}, int64_t{});
}

}  // namespace

void bind_grow(nb::module_& module) {
  nb::class_<Limits>(module, "Limits", "When growth stops; -1 splits or depth: no limit.")
      .def(
          "__init__",
          [](Limits* self, int64_t max_splits, int64_t max_depth, int64_t min_samples_leaf, int64_t min_samples_split,
             double min_weight_leaf, double min_drop) {
            new (self) Limits{max_splits, max_depth, min_samples_leaf, min_weight_leaf, min_drop, min_samples_split};
          },
          nb::arg("max_splits") = -1, nb::arg("max_depth") = -1, nb::arg("min_samples_leaf") = 1,
          nb::arg("min_samples_split") = 2, nb::arg("min_weight_leaf") = 0.0, nb::arg("min_drop") = 0.0);
  bind_table(module);
  bind_target(module);
  module.def("grow_axis", &grow_axis, nb::arg("X"), nb::arg("target"), nb::arg("n_categories").noconvert(),
             nb::arg("max_bins"), nb::arg("max_features"), nb::arg("seed"), nb::arg("criterion_name"),
             nb::arg("criterion_parameter"), nb::arg("criterion_table").noconvert(), nb::arg("order"),
             nb::arg("limits"), nb::arg("threads"), nb::arg("progress").none());
}

}  // namespace boscage::bind
