// Work on a grown tree: joint refinement of its tests, linear models in its leaves, content hashes of rows.
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "bind/bound_predictor.hpp"
#include "bind/run.hpp"
#include "data/row_hashes.hpp"
#include "refine/leaf_models.hpp"
#include "refine/polish.hpp"

namespace boscage::bind {

namespace {

namespace rf = boscage::refine;

// Up to this many products a pass is over before a thread of its own would have started.
constexpr double kShortWork = 1e6;
// The deviation of a column is taken as at least this share of its range.
constexpr double kLeastShare = 0.1;

// Which rows of X to learn from.
struct BoundSample {
  In1<int64_t> rows;
  In1<int32_t> label;
  In1<double> weight;

  rf::Sample view(int64_t available, int64_t classes) const {
    if (label.size() != rows.size() || weight.size() != rows.size())
      throw std::invalid_argument("rows, label and weight must have the same length.");
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows.data()[i] < 0 || rows.data()[i] >= available)
        throw std::invalid_argument("rows: a number is out of range.");
      if (label.data()[i] < 0 || label.data()[i] >= classes)
        throw std::invalid_argument("label: a class is out of range.");
    }
    return {bind::view(rows), bind::view(label), bind::view(weight)};
  }
};

struct PolishCall {
  int64_t epochs = 1, batch = 1;
  double learning_rate = 0, l2 = 0, dropout = 0, first_slope = 1, last_slope = 1;
  uint64_t seed = 0;
  double time_limit = std::numeric_limits<double>::infinity();
  int threads = 1;
  nb::object progress = nb::none();
};

struct LeafModelCall {
  In1<int64_t> offsets, members;
  In1<double> weight, shares;
  double l2 = 0;
  int max_iter = 100;
  double tolerance = 1e-7;
  int threads = 1;
  nb::object progress = nb::none();
};

// Children of a tree to the left and to the right; tests and leaves of an objective.
using Children = std::pair<In1<int32_t>, In1<int32_t>>;
using Point = std::pair<In1<double>, In1<double>>;

// Tests whose terms are beyond 2^±60 are brought near 1: single precision holds no more.
constexpr int kModerate = 60;

int exponent_of(double x) { return x == 0 ? -100000 : std::ilogb(x); }

// a b 2^exponent, where a b alone may be no number.
double product(double a, double b, int exponent) {
  if (exponent == 0) return a * b;
  int p = 0, q = 0;
  const double x = std::frexp(a, &p), y = std::frexp(b, &q);
  return std::ldexp(x * y, p + q + exponent);
}

// The power of two by which a test is multiplied: its length means nothing, it is stretched before it is refined.
int moderate(const double* w, int64_t columns, double threshold, const rf::Standard& standard) {
  int top = exponent_of(threshold);
  for (int64_t j = 0; j < columns; ++j) {
    const auto column = static_cast<size_t>(j);
    const int size = std::max(exponent_of(standard.deviation[column]), exponent_of(standard.mean[column]));
    top = std::max(top, exponent_of(w[j]) + size);
  }
  return top < -10000 || std::abs(top) <= kModerate ? 0 : -top;
}

// The tests of a linear tree over standardised columns, the bias last.
rf::SoftTree soft_tree(const TreeArrays& tree, const rf::Standard& standard) {
  rf::SoftTree out;
  const auto nodes = static_cast<int64_t>(tree.feature.size());
  out.shape = rf::shape_of(tree.children_left.data(), tree.children_right.data(), nodes);
  const int64_t columns = tree.weights.columns;
  out.width = columns + 1;
  out.classes = tree.classes;
  for (size_t node = 0; node < tree.feature.size(); ++node) {
    if (tree.feature[node] == kLeaf) continue;
    if (tree.feature[node] != kLinear || tree.weights.is_sparse())
      throw std::invalid_argument("Only trees of linear tests with dense weights can be polished.");
    const double* w = tree.weights.dense.data() + tree.linear_row[node] * columns;
    const int exponent = moderate(w, columns, tree.threshold[node], standard);
    double bias = -std::ldexp(tree.threshold[node], exponent);
    for (int64_t j = 0; j < columns; ++j) {
      const auto column = static_cast<size_t>(j);
      out.theta.push_back(product(w[j], standard.deviation[column], exponent));
      bias += product(w[j], standard.mean[column], exponent);
    }
    out.theta.push_back(bias);
  }
  return out;
}

// Back to the units in which tests see rows; one row of weights for each inner node, in node order.
nb::dict to_dict(rf::Polished found, const rf::Standard& standard, size_t classes) {
  const size_t columns = standard.mean.size(), width = columns + 1, tests = found.theta.size() / width;
  std::vector<double> weights(tests * columns), threshold(tests);
  for (size_t v = 0; v < tests; ++v) {
    double limit = -found.theta[v * width + columns];
    for (size_t j = 0; j < columns; ++j) {
      weights[v * columns + j] = found.theta[v * width + j] * standard.inverse[j];
      limit += weights[v * columns + j] * standard.mean[j];
    }
    threshold[v] = limit;
  }
  const size_t leaves = found.leaf_value.size() / classes;
  nb::dict out;
  out["weights"] = give(std::move(weights), {tests, columns});
  out["threshold"] = give(std::move(threshold));
  out["leaf_value"] = give(std::move(found.leaf_value), {leaves, classes});
  out["leaf_sums"] = give(std::move(found.leaf_sums), {leaves, classes});
  out["losses"] = give(std::move(found.losses));
  out["timed_out"] = found.timed_out;
  return out;
}

template <class Rows>
void check_columns(const BoundPredictor& tree, const Rows& rows) {
  if (rows.columns != tree.core.columns())
    throw std::invalid_argument("X has a different number of columns than the tree.");
}

template <class T, class Rows>
nb::dict polish(const BoundPredictor& tree, const Rows& rows, const BoundSample& bound, const PolishCall& call) {
  const TreeArrays& arrays = tree.core.tree();
  check_columns(tree, rows);
  const rf::Sample sample = bound.view(rows.rows, arrays.classes);
  const rf::RowSource source = rf::mapped_rows(rows, arrays.map, arrays.n_categories, true);
  rf::Polished found;
  rf::Standard standard;
  const double work = static_cast<double>(sample.size()) * static_cast<double>(source.width) *
                      static_cast<double>((arrays.weights.rows + 1) * (call.epochs + 1));
  run(work < kShortWork, call.progress, [&](Control& control) {
    Pool pool(call.threads);
    standard = rf::make_standard(source, sample, kLeastShare, pool, control);
    rf::Polisher<T> polisher(source, standard, sample, soft_tree(arrays, standard), call.batch, pool, control);
    found = polisher.run({.epochs = call.epochs,
                          .learning_rate = call.learning_rate,
                          .l2 = call.l2,
                          .dropout = call.dropout,
                          .first_slope = call.first_slope,
                          .last_slope = call.last_slope,
                          .seed = call.seed,
                          .time_limit = call.time_limit});
  });
  return to_dict(std::move(found), standard, static_cast<size_t>(arrays.classes));
}

template <class T, class Rows>
nb::tuple leaf_models(const BoundPredictor& tree, const Rows& rows, const BoundSample& bound,
                      const LeafModelCall& call) {
  const TreeArrays& arrays = tree.core.tree();
  check_columns(tree, rows);
  const rf::Sample sample = bound.view(rows.rows, arrays.classes);
  const rf::Members members{view(call.offsets), view(call.members), view(call.weight)};
  const auto stored = static_cast<int64_t>(call.members.size());
  if (members.offsets.empty() || members.offsets.front() != 0 || members.offsets.back() != stored ||
      !std::is_sorted(members.offsets.begin(), members.offsets.end()) || call.weight.size() != call.members.size() ||
      static_cast<int64_t>(call.shares.size()) != members.leaves() * arrays.classes)
    throw std::invalid_argument("offsets, members, weight and shares do not fit together.");
  for (const int64_t row : members.rows)
    if (row < 0 || row >= sample.size()) throw std::invalid_argument("members: a number is out of range.");
  const rf::RowSource source = rf::mapped_rows(rows, arrays.map, arrays.n_categories, false);
  rf::LeafModelArrays found;
  const double work = static_cast<double>(stored * source.width) * static_cast<double>(arrays.classes * call.max_iter);
  run(work < kShortWork, call.progress, [&](Control& control) {
    Pool pool(call.threads);
    const rf::Standard standard = rf::make_standard(source, sample, kLeastShare, pool, control);
    found = rf::fit_leaf_models<T>(source, standard, sample, members, view(call.shares), arrays.classes,
                                   {call.l2, call.max_iter, call.tolerance}, pool, control);
  });
  const auto leaves = static_cast<size_t>(members.leaves()), k = static_cast<size_t>(arrays.classes);
  return nb::make_tuple(give(std::move(found.coef), {leaves, k, static_cast<size_t>(source.width)}),
                        give(std::move(found.intercept), {leaves, k}));
}

// The objective alone, for tests: rows as they are, theta over the columns with the bias last.
template <class T>
nb::tuple polish_objective(const Strided2<T>& X, const Children& children, const BoundSample& bound,
                           const PolishCall& call, const Point& point, int64_t classes) {
  const auto& [theta, logits] = point;
  const auto d = static_cast<size_t>(X.shape(1));
  const std::vector<int64_t> n_categories(d, 0);
  const rf::Standard standard{
      std::vector<double>(d, 0.0), std::vector<double>(d, 1.0), std::vector<double>(d, 1.0), {}, {}};
  const rf::RowSource source = rf::mapped_rows(dense_rows(X), RowMap{}, std::span(n_categories), true);
  const rf::Sample sample = bound.view(static_cast<int64_t>(X.shape(0)), classes);
  rf::SoftTree tree{
      rf::shape_of(children.first.data(), children.second.data(), static_cast<int64_t>(children.first.size())),
      static_cast<int64_t>(d) + 1,
      classes,
      {theta.data(), theta.data() + theta.size()},
      {logits.data(), logits.data() + logits.size()},
      call.first_slope};
  Control control;
  Pool pool(call.threads);
  Array<double> theta_slope, logit_slope;
  rf::Polisher<T> polisher(source, standard, sample, std::move(tree), call.batch, pool, control);
  const double value = polisher.value(call.l2, theta_slope, logit_slope);
  return nb::make_tuple(value, give(std::move(theta_slope)), give(std::move(logit_slope)));
}

template <class Rows>
nb::object hashes(const Rows& rows, const In1<int32_t>& label) {
  if (static_cast<int64_t>(label.size()) != rows.rows)
    throw std::invalid_argument("label must have one entry for each row.");
  return nb::cast(give(row_hashes(rows, view(label))));
}

template <class T, class Index>
void bind_sparse(nb::module_& module) {
  using D = In1<T>;
  using I = In1<Index>;
  const auto data = nb::arg("data").noconvert();
  const auto indices = nb::arg("indices").noconvert();
  const auto offsets = nb::arg("offsets").noconvert();
  module.def(
      "polish",
      [](const BoundPredictor& tree, D d, I i, I o, const BoundSample& sample, const PolishCall& call) {
        return polish<T>(tree, sparse_rows<T, Index>(d, i, o, tree.core.columns()), sample, call);
      },
      nb::arg("tree"), data, indices, offsets, nb::arg("sample"), nb::arg("call"));
  module.def(
      "fit_leaf_models",
      [](const BoundPredictor& tree, D d, I i, I o, const BoundSample& sample, const LeafModelCall& call) {
        return leaf_models<T>(tree, sparse_rows<T, Index>(d, i, o, tree.core.columns()), sample, call);
      },
      nb::arg("tree"), data, indices, offsets, nb::arg("sample"), nb::arg("call"));
  module.def(
      "row_hashes",
      [](D d, I i, I o, int64_t columns, In1<int32_t> label) {
        return hashes(sparse_rows<T, Index>(d, i, o, columns), label);
      },
      data, indices, offsets, nb::arg("columns"), nb::arg("label").noconvert());
}

template <class T>
void bind_dense(nb::module_& module) {
  const auto x = nb::arg("X").noconvert();
  module.def(
      "polish",
      [](const BoundPredictor& tree, Strided2<T> X, const BoundSample& sample, const PolishCall& call) {
        return polish<T>(tree, dense_rows(X), sample, call);
      },
      nb::arg("tree"), x, nb::arg("sample"), nb::arg("call"));
  module.def(
      "fit_leaf_models",
      [](const BoundPredictor& tree, Strided2<T> X, const BoundSample& sample, const LeafModelCall& call) {
        return leaf_models<T>(tree, dense_rows(X), sample, call);
      },
      nb::arg("tree"), x, nb::arg("sample"), nb::arg("call"));
  module.def(
      "row_hashes", [](Strided2<T> X, In1<int32_t> label) { return hashes(dense_rows(X), label); }, x,
      nb::arg("label").noconvert());
  module.def("polish_objective", &polish_objective<T>, x, nb::arg("children").noconvert(), nb::arg("sample"),
             nb::arg("call"), nb::arg("point").noconvert(), nb::arg("classes"));
}

}  // namespace

void bind_refine(nb::module_& module) {
  nb::class_<BoundSample>(module, "Sample", "Rows of X to learn from, their classes and weights.")
      .def(
          "__init__",
          [](BoundSample* self, In1<int64_t> rows, In1<int32_t> label, In1<double> weight) {
            new (self) BoundSample{std::move(rows), std::move(label), std::move(weight)};
          },
          nb::arg("rows").noconvert(), nb::arg("label").noconvert(), nb::arg("weight").noconvert());
  nb::class_<PolishCall>(module, "PolishCall", "Settings of a joint refinement.")
      .def(nb::init<>())
      .def_rw("epochs", &PolishCall::epochs)
      .def_rw("batch", &PolishCall::batch)
      .def_rw("learning_rate", &PolishCall::learning_rate)
      .def_rw("l2", &PolishCall::l2)
      .def_rw("dropout", &PolishCall::dropout)
      .def_rw("first_slope", &PolishCall::first_slope)
      .def_rw("last_slope", &PolishCall::last_slope)
      .def_rw("seed", &PolishCall::seed)
      .def_rw("time_limit", &PolishCall::time_limit)
      .def_rw("threads", &PolishCall::threads)
      .def_rw("progress", &PolishCall::progress, nb::for_setter(nb::arg("progress").none()));
  nb::class_<LeafModelCall>(module, "LeafModelCall", "Rows of each leaf, its constant shares, and settings.")
      .def(
          "__init__",
          [](LeafModelCall* self, In1<int64_t> offsets, In1<int64_t> members, In1<double> weight, In1<double> shares) {
            new (self) LeafModelCall{std::move(offsets), std::move(members), std::move(weight), std::move(shares)};
          },
          nb::arg("offsets").noconvert(), nb::arg("members").noconvert(), nb::arg("weight").noconvert(),
          nb::arg("shares").noconvert())
      .def_rw("l2", &LeafModelCall::l2)
      .def_rw("max_iter", &LeafModelCall::max_iter)
      .def_rw("threads", &LeafModelCall::threads)
      .def_rw("progress", &LeafModelCall::progress, nb::for_setter(nb::arg("progress").none()));
  bind_dense<double>(module);
  bind_dense<float>(module);
  bind_sparse<double, int32_t>(module);
  bind_sparse<float, int32_t>(module);
  bind_sparse<double, int64_t>(module);
  bind_sparse<float, int64_t>(module);
}

}  // namespace boscage::bind
