// Growing in memory: arrays and settings in, the flat tree out.
#include "bind/grow/grow.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <ranges>

#include "base/index.hpp"
#include "bind/arrays.hpp"
#include "bind/grow/criteria.hpp"
#include "bind/grow/table.hpp"
#include "bind/grow/target.hpp"
#include "bind/run.hpp"
#include "families/axis/axis.hpp"

namespace boscage::bind {

nb::dict to_dict(Grown tree, int64_t features) {
  nb::dict out;
  const size_t n = tree.rows.size(), k = tree.value.size() / n;
  const size_t linear = features > 0 ? tree.weights.size() / to_size(features) : 0;
  out["children_left"] = give(std::move(tree.children_left));
  out["children_right"] = give(std::move(tree.children_right));
  out["feature"] = give(std::move(tree.feature));
  out["threshold"] = give(std::move(tree.threshold));
  out["missing_go_to_left"] = give(std::move(tree.missing_go_to_left));
  out["category_offset"] = give(std::move(tree.category_offset));
  out["category_bits"] = give(std::move(tree.category_bits));
  out["linear_row"] = give(std::move(tree.linear_row));
  out["weights"] = give(std::move(tree.weights), {linear, to_size(features)});
  out["value"] = give(std::move(tree.value), {n, k});
  out["rows"] = give(std::move(tree.rows));
  out["weight"] = give(std::move(tree.weight));
  out["impurity"] = give(std::move(tree.impurity));
  return out;
}

namespace {

// Up to this many numbers a fit is over before a thread of its own would have started.
constexpr size_t kShortWork = 1 << 15;

// The rows that have weight: a row of weight 0 is not there.
struct RowsWithWeight {
  explicit RowsWithWeight(const Target& all) : target(all) {
    const auto has_weight = [&](uint32_t row) { return all.weight_of(row) > 0; };
    const auto every = std::views::iota(0U, static_cast<uint32_t>(all.rows()));
    const auto count = std::ranges::count_if(every, has_weight);
    if (count == all.rows()) return;
    row_of.resize(to_size(count));
    std::ranges::copy_if(every, row_of.begin(), has_weight);
    const auto outputs = to_size(all.outputs);
    weight.reserve(row_of.size());
    all.is_numbers() ? number.reserve(row_of.size() * outputs) : label.reserve(row_of.size());
    for (const uint32_t row : row_of) {
      weight.push_back(all.weight[row]);
      if (all.is_numbers()) {
        number.insert(number.end(), all.number.begin() + static_cast<std::ptrdiff_t>(row * outputs),
                      all.number.begin() + static_cast<std::ptrdiff_t>((row + 1) * outputs));
      } else {
        label.push_back(all.label[row]);
      }
    }
    if (std::all_of(weight.begin(), weight.end(), [](double w) { return w == 1; })) weight.clear();
    target.label = label;
    target.number = number;
    target.weight = weight;
  }
  RowsWithWeight(const RowsWithWeight&) = delete;
  RowsWithWeight& operator=(const RowsWithWeight&) = delete;

  Target target;
  std::vector<uint32_t> row_of;  // empty: all rows
  std::vector<int32_t> label;
  std::vector<double> number, weight;
};

nb::dict grow_axis(const Table& X, const Target& target, const GrowthSpec& spec, const In1<int64_t>& n_categories,
                   int64_t max_bins, int64_t max_features) {
  const AnyCriterion& criterion = spec.criterion;
  Limits limits = spec.limits;
  check_rows(X, target);
  if (is_of_numbers(criterion) != target.is_numbers())
    throw std::invalid_argument("the criterion is not one of this target");
  Grown tree;
  run(X.numbers <= kShortWork && X.count <= kShortWork, spec.progress, [&](Control& control) {
    Pool pool(spec.threads);
    const RowsWithWeight own(target);
    NodeRows rows(own.target, criterion);
    const Side root = rows.total();
    if (root.numbers) limits.min_drop = in_units(criterion, limits.min_drop, -root.numbers->grid->exponent);
    AxisSearch search(X.data, view(n_categories), max_bins, rows, criterion, limits, pool, control,
                      {max_features, spec.seed}, own.row_of);
    Grower grower(root, limits, spec.order);
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
  nb::class_<Table> table(
      module, "Table", "Rows to grow trees on, dense or CSR; borrowed, never copied. Shared: columns are made once.");
  const auto define_dense = [&]<class T>(T) {
    table.def(
        "__init__",
        [](Table* self, const Strided2<T>& X, bool shared) { new (self) Table(dense_rows(X), X.size(), shared); },
        nb::arg("X").noconvert(), nb::arg("shared") = false, nb::keep_alive<1, 2>());
  };
  define_dense(float{});
  define_dense(double{});
  const auto define_sparse = [&]<class T, class Index>(T, Index) {
    table.def(
        "__init__",
        [](Table* self, const In1<T>& entries, const In1<Index>& indices, const In1<Index>& offsets, int64_t columns,
           bool shared) {
          new (self) Table(sparse_rows<T, Index>(entries, indices, offsets, columns), entries.size(), shared);
        },
        nb::arg("entries").noconvert(), nb::arg("indices").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("columns"), nb::arg("shared") = false, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
        nb::keep_alive<1, 4>());
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
  nb::class_<GrowthSpec>(module, "GrowthSpec", "What every growth takes besides rows and target.")
      .def(
          "__init__",
          [](GrowthSpec* self, const Criterion& criterion, const std::string& order, const Limits& limits,
             uint64_t seed, int threads, nb::object progress) {
            new (self) GrowthSpec{criterion.any, order_of(order), limits, seed, threads, std::move(progress)};
          },
          nb::arg("criterion"), nb::arg("order"), nb::arg("limits"), nb::arg("seed"), nb::arg("threads"),
          nb::arg("progress").none());
  bind_table(module);
  bind_target(module);
  module.def("grow_axis", &grow_axis, nb::arg("X"), nb::arg("target"), nb::arg("spec"),
             nb::arg("n_categories").noconvert(), nb::arg("max_bins"), nb::arg("max_features"));
}

}  // namespace boscage::bind
