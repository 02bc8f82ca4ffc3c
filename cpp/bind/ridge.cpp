// Ridge regressions in the leaves of trees of numbers, for Python.
#include <limits>
#include <stdexcept>

#include "bind/arrays.hpp"
#include "bind/run.hpp"
#include "refine/ridge_leaves.hpp"
#include "refine/soft_fit.hpp"

namespace boscage::bind {

namespace {

namespace rf = boscage::refine;

constexpr double kShortWork = 1e6;

rf::NumberRows rows_of(const In2<double>& Z, const In2<double>& y, const In1<double>& weight) {
  if (Z.shape(0) != y.shape(0) || weight.size() != y.shape(0) || y.shape(1) < 1)
    throw std::invalid_argument("Z, y and weight must have the same number of rows.");
  if (Z.shape(0) > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
    throw std::invalid_argument("linear leaves take at most 2147483647 rows.");
  return {static_cast<int64_t>(Z.shape(0)),
          static_cast<int64_t>(Z.shape(1)),
          static_cast<int64_t>(y.shape(1)),
          Z.data(),
          y.data(),
          weight.data()};
}

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

nb::dict grow(const In2<double>& Z, const In2<double>& y, const In1<double>& weight, const In2<uint8_t>& codes,
              const In1<int32_t>& edges, const rf::RidgeSettings& settings, int threads, nb::object progress) {
  const rf::NumberRows rows = rows_of(Z, y, weight);
  if (codes.shape(0) != Z.shape(1) || codes.shape(1) != Z.shape(0) || edges.size() != Z.shape(1))
    throw std::invalid_argument("codes must be columns x rows, with edges for each column.");
  for (size_t j = 0; j < edges.size(); ++j) {
    if (edges.data()[j] < 0 || edges.data()[j] > 255) throw std::invalid_argument("edges must lie between 0 and 255.");
    for (size_t i = 0; i < codes.shape(1); ++i)
      if (codes.data()[j * codes.shape(1) + i] > edges.data()[j]) throw std::invalid_argument("codes: out of range.");
  }
  rf::RidgeTree tree;
  run(is_short(rows), progress, [&](Control& control) {
    Pool pool(threads);
    tree = rf::grow_ridge_tree(rows, {{codes.data(), codes.size()}, view(edges)}, settings, pool, control);
  });
  return tree_dict(std::move(tree), rows);
}

nb::dict follow(const In2<double>& Z, const In2<double>& y, const In1<double>& weight, const In1<int32_t>& left,
                const In1<int32_t>& right, const In1<int64_t>& leaf, const rf::RidgeSettings& settings, int threads,
                nb::object progress) {
  const rf::NumberRows rows = rows_of(Z, y, weight);
  rf::RidgeTree tree;
  run(is_short(rows), progress, [&](Control& control) {
    Pool pool(threads);
    tree = rf::follow_ridge_tree(rows, view(left), view(right), view(leaf), settings, pool, control);
  });
  return tree_dict(std::move(tree), rows);
}

nb::tuple joint(const In2<double>& Z, const In2<double>& y, const In1<double>& weight, const In1<int64_t>& offsets,
                const In1<int32_t>& leaf, const In1<double>& reach, const In2<int32_t>& columns,
                const In2<double>& centre, const In2<double>& spread, int threads) {
  const rf::NumberRows rows = rows_of(Z, y, weight);
  const auto entries = static_cast<int64_t>(leaf.size());
  bool good = offsets.size() == Z.shape(0) + 1 && reach.size() == leaf.size() && offsets.data()[0] == 0 &&
              offsets.data()[offsets.size() - 1] == entries && centre.size() == columns.size() &&
              spread.size() == columns.size();
  for (size_t i = 1; good && i < offsets.size(); ++i) good = offsets.data()[i - 1] <= offsets.data()[i];
  const auto leaves = static_cast<int64_t>(columns.shape(0)), per_leaf = static_cast<int64_t>(columns.shape(1));
  for (size_t i = 0; good && i < leaf.size(); ++i) good = leaf.data()[i] >= 0 && leaf.data()[i] < leaves;
  for (size_t i = 0; good && i < columns.size(); ++i) good = columns.data()[i] >= 0 && columns.data()[i] < rows.columns;
  if (!good) throw std::invalid_argument("the leaves of the rows do not fit together.");
  rf::JointSums sums;
  run(is_short(rows), nb::none(), [&](Control& control) {
    Pool pool(threads);
    sums = rf::joint_sums(rows,
                          {view(offsets),
                           view(leaf),
                           view(reach),
                           leaves,
                           per_leaf,
                           {columns.data(), columns.size()},
                           {centre.data(), centre.size()},
                           {spread.data(), spread.size()}},
                          pool, control);
  });
  const auto size = static_cast<size_t>(leaves * (per_leaf + 1));
  return nb::make_tuple(give(std::move(sums.gram), {size, size}),
                        give(std::move(sums.right), {static_cast<size_t>(rows.outputs), size}));
}

nb::object solve(const In2<double>& gram, const In2<double>& right, double l2) {
  const size_t size = gram.shape(0);
  if (gram.shape(1) != size || right.shape(1) != size)
    throw std::invalid_argument("gram and right do not fit together.");
  std::vector<double> factor(gram.data(), gram.data() + gram.size()), x(right.data(), right.data() + right.size());
  bool is_good = false;
  run(size < 200, nb::none(), [&](Control& control) {
    is_good = rf::solve_ridge(factor, static_cast<int64_t>(size), l2, x, static_cast<int64_t>(right.shape(0)), control);
  });
  if (!is_good) return nb::none();
  return nb::cast(give(std::move(x), {right.shape(0), size}));
}

std::span<const double> flat(const In2<double>& array) { return {array.data(), array.size()}; }

// A soft tree as it is handed over; the arrays are borrowed.
struct Start {
  In1<int32_t> left, right;
  In2<double> tests;
  In1<double> unit;
  In2<double> models, centre, spread;

  rf::SoftStart native() const {
    return {view(left), view(right), flat(tests), view(unit), flat(models), flat(centre), flat(spread)};
  }
};

nb::dict fit_soft(const In2<double>& Z, const In2<double>& y, const In1<double>& weight, const Start& start,
                  const rf::SoftSettings& settings, int threads, nb::object progress) {
  const rf::NumberRows rows = rows_of(Z, y, weight);
  rf::SoftFit found;
  run(false, progress, [&](Control& control) {
    Pool pool(threads);
    found = rf::fit_soft_tree(rows, start.native(), settings, pool, control);
  });
  nb::dict out;
  out["tests"] = give(std::move(found.tests), {start.tests.shape(0), start.tests.shape(1)});
  out["models"] = give(std::move(found.models), {start.models.shape(0), start.models.shape(1)});
  out["losses"] = give(std::move(found.losses));
  return out;
}

nb::tuple slopes(const In2<double>& Z, const In2<double>& y, const In1<double>& weight, const Start& start,
                 const rf::SoftSettings& settings, const In2<double>& tests, const In2<double>& models) {
  const rf::NumberRows rows = rows_of(Z, y, weight);
  Control control;
  Pool pool(1);
  rf::SoftSlopes found = rf::soft_slopes(rows, start.native(), settings, flat(tests), flat(models), pool, control);
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
  const auto z = nb::arg("Z").noconvert();
  const auto y = nb::arg("y").noconvert();
  const auto weight = nb::arg("weight").noconvert();
  module.def("grow_ridge_tree", &grow, z, y, weight, nb::arg("codes").noconvert(), nb::arg("edges").noconvert(),
             nb::arg("settings"), nb::arg("threads"), nb::arg("progress").none());
  module.def("follow_ridge_tree", &follow, z, y, weight, nb::arg("children_left").noconvert(),
             nb::arg("children_right").noconvert(), nb::arg("leaf_of_row").noconvert(), nb::arg("settings"),
             nb::arg("threads"), nb::arg("progress").none());
  module.def("joint_ridge_sums", &joint, z, y, weight, nb::arg("offsets").noconvert(), nb::arg("leaf").noconvert(),
             nb::arg("reach").noconvert(), nb::arg("columns").noconvert(), nb::arg("centre").noconvert(),
             nb::arg("spread").noconvert(), nb::arg("threads"));
  nb::class_<rf::SoftSettings>(module, "SoftSettings", "Settings of the joint refinement of a soft tree of numbers.")
      .def(nb::init<>())
      .def_rw("model_l2", &rf::SoftSettings::model_l2)
      .def_rw("test_l2", &rf::SoftSettings::test_l2)
      .def_rw("steps", &rf::SoftSettings::steps)
      .def_rw("slopes", &rf::SoftSettings::slopes);
  nb::class_<Start>(module, "SoftStart", "A soft tree of numbers where its refinement begins.")
      .def(nb::init<In1<int32_t>, In1<int32_t>, In2<double>, In1<double>, In2<double>, In2<double>, In2<double>>(),
           nb::arg("children_left").noconvert(), nb::arg("children_right").noconvert(), nb::arg("tests").noconvert(),
           nb::arg("unit").noconvert(), nb::arg("models").noconvert(), nb::arg("centre").noconvert(),
           nb::arg("spread").noconvert());
  module.def("fit_soft_tree", &fit_soft, z, y, weight, nb::arg("start"), nb::arg("settings"), nb::arg("threads"),
             nb::arg("progress").none());
  module.def("soft_slopes", &slopes, z, y, weight, nb::arg("start"), nb::arg("settings"), nb::arg("tests").noconvert(),
             nb::arg("models").noconvert());
  module.def("solve_ridge", &solve, nb::arg("gram").noconvert(), nb::arg("right").noconvert(), nb::arg("l2"));
}

}  // namespace boscage::bind
