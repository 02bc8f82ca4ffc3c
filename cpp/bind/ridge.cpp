// Ridge regressions in the leaves of trees of numbers, for Python.
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/index.hpp"
#include "bind/arrays.hpp"
#include "bind/run.hpp"
#include "refine/ridge_leaves.hpp"
#include "refine/soft_fit.hpp"

namespace boscage::bind {

namespace {

namespace rf = boscage::refine;

constexpr double kShortWork = 1e6;

// Children of a tree to the left and to the right.
using Children = std::pair<In1<int32_t>, In1<int32_t>>;

template <class T>
std::span<const T> flat(const In2<T>& array) {
  return {array.data(), array.size()};
}

// Standardised rows, numbers to predict and weights; the arrays are borrowed.
struct Rows {
  Rows(In2<double> z, In2<double> numbers, In1<double> weights)
      : Z(std::move(z)), y(std::move(numbers)), weight(std::move(weights)) {
    if (Z.shape(0) != y.shape(0) || weight.size() != y.shape(0) || y.shape(1) < 1)
      throw std::invalid_argument("Z, y and weight must have the same number of rows.");
    if (Z.shape(0) > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
      throw std::invalid_argument("linear leaves take at most 2147483647 rows.");
  }

  In2<double> Z, y;
  In1<double> weight;

  rf::NumberRows native() const {
    return {signed_size(weight), static_cast<int64_t>(Z.shape(1)), static_cast<int64_t>(y.shape(1)), Z.data(), y.data(),
            weight.data()};
  }
};

nb::dict tree_dict(rf::RidgeTree tree, const rf::NumberRows& rows) {
  const size_t n = tree.feature.size(), m = static_cast<size_t>(rows.outputs), d = static_cast<size_t>(rows.columns);
  nb::dict out;
  out["children_left"] = give(std::move(tree.children_left));
  out["children_right"] = give(std::move(tree.children_right));
  out["feature"] = give(std::move(tree.feature));
  out["edge"] = give(std::move(tree.edge));
  out["rows"] = give(std::move(tree.rows));
  out["weight"] = give(std::move(tree.weight));
  out["impurity"] = give(std::move(tree.impurity));
  out["cost"] = give(std::move(tree.cost));
  out["value"] = give(std::move(tree.value), {n, m});
  out["low"] = give(std::move(tree.low), {n, m});
  out["high"] = give(std::move(tree.high), {n, m});
  out["coef"] = give(std::move(tree.coef), {n, m, d});
  out["intercept"] = give(std::move(tree.intercept), {n, m});
  return out;
}

bool is_short(const rf::NumberRows& rows) {
  return static_cast<double>(rows.rows) * static_cast<double>(rows.columns * rows.columns + 1) < kShortWork;
}

nb::dict grow(const Rows& all, const rf::RidgeSettings& settings, int threads, nb::object progress) {
  const rf::NumberRows rows = all.native();
  rf::RidgeTree tree;
  run(is_short(rows), progress, [&](Control& control) {
    Pool pool(threads);
    tree = rf::grow_ridge_tree(rows, settings, pool, control);
  });
  return tree_dict(std::move(tree), rows);
}

nb::dict follow(const Rows& all, const Children& children, const In1<int64_t>& leaf, const rf::RidgeSettings& settings,
                int threads, nb::object progress) {
  const rf::NumberRows rows = all.native();
  rf::RidgeTree tree;
  run(is_short(rows), progress, [&](Control& control) {
    Pool pool(threads);
    tree =
        rf::follow_ridge_tree(rows, view(children.first), view(children.second), view(leaf), settings, pool, control);
  });
  return tree_dict(std::move(tree), rows);
}

// Which leaves each row reaches, as a CSR matrix, and what the model of a leaf sees; the arrays are borrowed.
struct Reached {
  In1<int64_t> offsets;
  In1<int32_t> leaf;
  In1<double> reach;
  In2<int32_t> columns;
  In2<double> centre, spread;

  rf::JointLeaves native(const rf::NumberRows& rows) const {
    const rf::JointLeaves leaves{view(offsets),
                                 view(leaf),
                                 view(reach),
                                 static_cast<int64_t>(columns.shape(0)),
                                 static_cast<int64_t>(columns.shape(1)),
                                 flat(columns),
                                 flat(centre),
                                 flat(spread)};
    const auto below = [](int64_t end) { return [end](int64_t i) { return i >= 0 && i < end; }; };
    if (signed_size(offsets) != rows.rows + 1 || reach.size() != leaf.size() || leaves.offsets.front() != 0 ||
        leaves.offsets.back() != signed_size(leaf) || !std::ranges::is_sorted(leaves.offsets) ||
        !std::ranges::all_of(leaves.leaf, below(leaves.leaves)) || centre.size() != columns.size() ||
        spread.size() != columns.size() || !std::ranges::all_of(leaves.columns, below(rows.columns)))
      throw std::invalid_argument("the leaves of the rows do not fit together.");
    return leaves;
  }
};

nb::tuple joint(const Rows& all, const Reached& reached, int threads) {
  const rf::NumberRows rows = all.native();
  const rf::JointLeaves leaves = reached.native(rows);
  rf::JointSums sums;
  run(is_short(rows), nb::none(), [&](Control& control) {
    Pool pool(threads);
    sums = rf::joint_sums(rows, leaves, pool, control);
  });
  const auto size = to_size(leaves.leaves * (leaves.per_leaf + 1));
  return nb::make_tuple(give(std::move(sums.gram), {size, size}),
                        give(std::move(sums.right), {static_cast<size_t>(rows.outputs), size}));
}

nb::object solve(const In2<double>& gram, const In2<double>& right, double l2) {
  const size_t size = gram.shape(0);
  if (gram.shape(1) != size || right.shape(1) != size)
    throw std::invalid_argument("gram and right do not fit together.");
  Array<double> factor(gram.data(), gram.data() + gram.size()), x(right.data(), right.data() + right.size());
  bool is_good = false;
  run(size < 200, nb::none(), [&](Control& control) {
    is_good = rf::solve_ridge(factor, static_cast<int64_t>(size), l2, x, static_cast<int64_t>(right.shape(0)), control);
  });
  if (!is_good) return nb::none();
  return nb::cast(give(std::move(x), {right.shape(0), size}));
}

// A soft tree as it is handed over; the arrays are borrowed.
struct Start {
  Children children;
  In2<double> tests;
  In1<double> unit;
  In2<double> models, centre, spread;

  rf::SoftStart native() const {
    return {view(children.first), view(children.second), flat(tests), view(unit),
            flat(models),         flat(centre),          flat(spread)};
  }
};

nb::dict fit_soft(const Rows& rows, const Start& start, const rf::SoftSettings& settings, int threads,
                  nb::object progress) {
  rf::SoftFit found;
  run(false, progress, [&](Control& control) {
    Pool pool(threads);
    found = rf::fit_soft_tree(rows.native(), start.native(), settings, pool, control);
  });
  nb::dict out;
  out["tests"] = give(std::move(found.tests), {start.tests.shape(0), start.tests.shape(1)});
  out["models"] = give(std::move(found.models), {start.models.shape(0), start.models.shape(1)});
  out["losses"] = give(std::move(found.losses));
  return out;
}

nb::tuple slopes(const Rows& rows, const Start& start, const rf::SoftSettings& settings, const In2<double>& tests,
                 const In2<double>& models) {
  Control control;
  Pool pool(1);
  rf::SoftSlopes found =
      rf::soft_slopes(rows.native(), start.native(), settings, flat(tests), flat(models), pool, control);
  return nb::make_tuple(found.loss, give(std::move(found.tests), {tests.shape(0), tests.shape(1)}),
                        give(std::move(found.models), {models.shape(0), models.shape(1)}));
}

}  // namespace

void bind_ridge(nb::module_& module) {
  nb::class_<rf::RidgeSettings>(module, "RidgeSettings", "Settings of ridge regressions in the nodes of a tree.")
      .def(nb::init<>())
      .def_rw("l2", &rf::RidgeSettings::l2)
      .def_rw("split_l2", &rf::RidgeSettings::split_l2)
      .def_rw("df_price", &rf::RidgeSettings::df_price)
      .def_rw("split_columns", &rf::RidgeSettings::split_columns)
      .def_rw("cuts", &rf::RidgeSettings::cuts)
      .def_rw("max_leaves", &rf::RidgeSettings::max_leaves)
      .def_rw("max_depth", &rf::RidgeSettings::max_depth)
      .def_rw("min_rows", &rf::RidgeSettings::min_rows)
      .def_rw("min_rows_split", &rf::RidgeSettings::min_rows_split)
      .def_rw("min_weight", &rf::RidgeSettings::min_weight)
      .def_rw("min_gain", &rf::RidgeSettings::min_gain)
      .def_rw("heaviest_first", &rf::RidgeSettings::heaviest_first);
  nb::class_<Rows>(module, "NumberRows", "Standardised rows, numbers to predict and weights; borrowed.")
      .def(nb::init<In2<double>, In2<double>, In1<double>>(), nb::arg("Z").noconvert(), nb::arg("y").noconvert(),
           nb::arg("weight").noconvert());
  nb::class_<Reached>(module, "ReachedLeaves",
                      "Leaves that each row reaches, as a CSR matrix; columns of their models.")
      .def(
          "__init__",
          [](Reached* self, In1<int64_t> offsets, In1<int32_t> leaf, In1<double> reach, In2<int32_t> columns,
             In2<double> centre,
             In2<double> spread) { new (self) Reached{offsets, leaf, reach, columns, centre, spread}; },
          nb::arg("offsets").noconvert(), nb::arg("leaf").noconvert(), nb::arg("reach").noconvert(),
          nb::arg("columns").noconvert(), nb::arg("centre").noconvert(), nb::arg("spread").noconvert());
  module.def("grow_ridge_tree", &grow, nb::arg("rows"), nb::arg("settings"), nb::arg("threads"),
             nb::arg("progress").none());
  module.def("follow_ridge_tree", &follow, nb::arg("rows"), nb::arg("children").noconvert(),
             nb::arg("leaf_of_row").noconvert(), nb::arg("settings"), nb::arg("threads"), nb::arg("progress").none());
  module.def("joint_ridge_sums", &joint, nb::arg("rows"), nb::arg("leaves"), nb::arg("threads"));
  nb::class_<rf::SoftSettings>(module, "SoftSettings", "Settings of the joint refinement of a soft tree of numbers.")
      .def(nb::init<>())
      .def_rw("model_l2", &rf::SoftSettings::model_l2)
      .def_rw("test_l2", &rf::SoftSettings::test_l2)
      .def_rw("steps", &rf::SoftSettings::steps)
      .def_rw("slopes", &rf::SoftSettings::slopes);
  nb::class_<Start>(module, "SoftStart", "A soft tree of numbers where its refinement begins.")
      .def(nb::init<Children, In2<double>, In1<double>, In2<double>, In2<double>, In2<double>>(),
           nb::arg("children").noconvert(), nb::arg("tests").noconvert(), nb::arg("unit").noconvert(),
           nb::arg("models").noconvert(), nb::arg("centre").noconvert(), nb::arg("spread").noconvert());
  module.def("fit_soft_tree", &fit_soft, nb::arg("rows"), nb::arg("start"), nb::arg("settings"), nb::arg("threads"),
             nb::arg("progress").none());
  module.def("soft_slopes", &slopes, nb::arg("rows"), nb::arg("start"), nb::arg("settings"),
             nb::arg("tests").noconvert(), nb::arg("models").noconvert());
  module.def("solve_ridge", &solve, nb::arg("gram").noconvert(), nb::arg("right").noconvert(), nb::arg("l2"));
}

}  // namespace boscage::bind
