// Growing in memory: arrays and settings in, the flat tree out.
#include "grow.hpp"

#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "axis.hpp"
#include "run.hpp"

namespace boscage::bind {

Order make_order(const std::string& name) {
  if (name == "best_first") return Order::best_first;
  if (name == "heaviest_first") return Order::heaviest_first;
  if (name == "depth_first") return Order::depth_first;
  throw std::invalid_argument("unknown growth: " + name);
}

nb::dict to_dict(Grown tree, int32_t classes, int64_t features) {
  nb::dict out;
  const size_t n = tree.rows.size(), k = static_cast<size_t>(classes);
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
  out["class_weights"] = give(std::move(tree.class_weights), {n, k});
  out["rows"] = give(std::move(tree.rows));
  out["weight"] = give(std::move(tree.weight));
  out["impurity"] = give(std::move(tree.impurity));
  return out;
}

namespace {

// Up to this many numbers a fit is over before a thread of its own would have started.
constexpr size_t kShortWork = 1 << 17;

template <class T>
nb::dict grow_axis(const Strided2<T>& X, const In1<int32_t>& y, const In1<double>& weight, int32_t classes,
                   const In1<int64_t>& n_categories, int64_t max_bins, const std::string& criterion_name,
                   double criterion_parameter, const In1<double>& criterion_table, const std::string& order,
                   int64_t max_splits, int64_t max_depth, int64_t min_samples_leaf, double min_weight_leaf,
                   double min_drop, int threads, nb::object progress) {
  const Matrix<T> matrix{X.data(), static_cast<int64_t>(X.shape(0)), static_cast<int64_t>(X.shape(1)), X.stride(0),
                         X.stride(1)};
  const AnyCriterion criterion = make_criterion(criterion_name, criterion_parameter, view(criterion_table));
  const Limits limits{max_splits, max_depth, min_samples_leaf, min_weight_leaf, min_drop};
  const Order growth = make_order(order);
  Grown tree;
  run(X.size() <= kShortWork, progress, [&](Control& control) {
    Pool pool(threads);
    NodeRows rows(view(y), view(weight), classes);
    AxisSearch search(matrix, view(n_categories), max_bins, rows, view(weight), criterion, limits, pool, control);
    Grower grower(rows.total(), limits, growth);
    grow_in_memory(grower, search, pool, control);
    tree = flatten(grower, criterion);
  });
  return to_dict(std::move(tree), classes, matrix.columns);
}

}  // namespace

void bind_grow(nb::module_& module) {
  const auto define = [&](auto function) {
    module.def("grow_axis", function, nb::arg("X").noconvert(), nb::arg("y").noconvert(), nb::arg("weight").noconvert(),
               nb::arg("classes"), nb::arg("n_categories").noconvert(), nb::arg("max_bins"), nb::arg("criterion_name"),
               nb::arg("criterion_parameter"), nb::arg("criterion_table").noconvert(), nb::arg("order"),
               nb::arg("max_splits"), nb::arg("max_depth"), nb::arg("min_samples_leaf"), nb::arg("min_weight_leaf"),
               nb::arg("min_drop"), nb::arg("threads"), nb::arg("progress").none());
  };
  define(&grow_axis<float>);
  define(&grow_axis<double>);
}

}  // namespace boscage::bind
