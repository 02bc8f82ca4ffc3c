// Growing oblique trees in memory: arrays and a family's settings in, the flat tree out.
#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "grow.hpp"
#include "oblique/co2.hpp"
#include "oblique/coordinate.hpp"
#include "oblique/dense_entropy.hpp"
#include "oblique/family.hpp"
#include "oblique/householder.hpp"
#include "oblique/lbfgs.hpp"
#include "oblique/wodt.hpp"
#include "run.hpp"

namespace boscage::bind {

namespace {

// Up to this many numbers a fit is over before a thread of its own would have started.
constexpr size_t kShortWork = 1 << 11;

// What every family's function takes.
struct Problem {
  In1<int32_t> y;
  In1<double> weight;
  int32_t classes;
  AnyCriterion criterion;
  Order order;
  Limits limits;
  bool lookahead, linear_only;
  int threads;
};

// The user's rows, borrowed: the arrays must outlive it.
struct Table {
  AnyRows rows;
  size_t count;
  size_t numbers;  // stored
};

template <class T>
Table dense_table(const Strided2<T>& X) {
  return {
      Matrix<T>{X.data(), static_cast<int64_t>(X.shape(0)), static_cast<int64_t>(X.shape(1)), X.stride(0), X.stride(1)},
      X.shape(0), X.size()};
}

template <class T, class Index>
Table sparse_table(const In1<T>& entries, const In1<Index>& indices, const In1<Index>& offsets, int64_t columns) {
  if (offsets.size() == 0 || indices.size() != entries.size())
    throw std::invalid_argument("X: the CSR matrix is broken.");
  const size_t count = offsets.size() - 1;
  const SparseRows<T, Index> rows{entries.data(), indices.data(),
                                  offsets.data(), static_cast<int64_t>(count),
                                  columns,        static_cast<int64_t>(entries.size())};
  return {rows, count, entries.size()};
}

nb::dict grow(const Table& X, const Problem& problem, const ObliqueFamily& family, const Deadline* deadline,
              const nb::object& progress, ColumnScale scale = ColumnScale::standard) {
  if (X.count != problem.y.size()) throw std::invalid_argument("X and y must have the same number of rows.");
  Grown tree;
  Scaling scaling;
  int64_t columns = 0;
  run(X.numbers <= kShortWork, progress, [&](Control& control) {
    Pool pool(problem.threads);
    NodeRows rows(view(problem.y), view(problem.weight), problem.classes);
    scaling = make_scaling(X.rows, view(problem.weight), pool, control);
    if (scale == ColumnScale::range) scale_by_range(X.rows, view(problem.weight), control, scaling);
    ObliqueData data{X.rows,
                     std::move(scaling),
                     {},
                     problem.classes,
                     problem.criterion,
                     problem.limits,
                     problem.lookahead,
                     problem.linear_only,
                     deadline};
    data.weighted.resize(problem.y.size());
    for (uint32_t row = 0; row < data.weighted.size(); ++row)
      data.weighted[row] = {rows.weight(row), static_cast<uint32_t>(rows.label(row))};
    Grower grower(rows.total(), problem.limits, problem.order);
    grow_oblique(grower, data, rows, family, pool, control);
    tree = flatten(grower, problem.criterion);
    columns = data.columns();
    scaling = std::move(data.scaling);
  });
  nb::dict out = to_dict(std::move(tree), problem.classes, columns);
  out["mean"] = give(std::move(scaling.mean));
  out["deviation"] = give(std::move(scaling.deviation));
  return out;
}

nb::dict grow_timed(const Table& X, const Problem& problem, const ObliqueFamily& family, const Deadline& deadline,
                    const nb::object& progress) {
  nb::dict out = grow(X, problem, family, &deadline, progress);
  out["timed_out"] = deadline.was_over();
  return out;
}

nb::dict grow_wodt(const Table& X, const Problem& problem, const std::string& scale, double l2, int n_init,
                   int max_iter, double tolerance, bool recut, double sparsity_tolerance, uint64_t seed,
                   const nb::object& progress) {
  WodtOptions options{column_scale(scale), l2, n_init, recut, sparsity_tolerance, seed, {}};
  options.lbfgs.max_iter = max_iter;
  options.lbfgs.tolerance = tolerance;
  return grow(X, problem, Wodt(options), nullptr, progress, options.scale);
}

PlaneStart make_start(const std::string& name) { return name == "axis" ? PlaneStart::axis : PlaneStart::random; }

nb::dict grow_householder(const Table& X, const Problem& problem, double time_limit, const nb::object& progress) {
  const Deadline deadline(time_limit);
  return grow_timed(X, problem, Householder(deadline), deadline, progress);
}

nb::dict grow_oc1(const Table& X, const Problem& problem, const std::string& init, int restarts, int jumps, int order,
                  uint64_t seed, double time_limit, const nb::object& progress) {
  const Deadline deadline(time_limit);
  return grow_timed(X, problem, Oc1({make_start(init), restarts, jumps, order, seed}, deadline), deadline, progress);
}

nb::dict grow_cart_lc(const Table& X, const Problem& problem, const std::string& init, double tolerance,
                      double elimination, uint64_t seed, double time_limit, const nb::object& progress) {
  const Deadline deadline(time_limit);
  return grow_timed(X, problem, CartLc({make_start(init), tolerance, elimination, seed}, deadline), deadline, progress);
}

nb::dict grow_co2(const Table& X, const Problem& problem, const std::string& init, double nu, double eta, int max_iter,
                  bool recut, uint64_t seed, double time_limit, const nb::object& progress) {
  const Deadline deadline(time_limit);
  return grow_timed(X, problem, Co2({make_start(init), nu, eta, max_iter, recut, seed}, deadline), deadline, progress);
}

// The objective alone, for tests: value and gradient at theta on rows that are scaled already.
template <class T>
nb::tuple soft_entropy(const Strided2<T>& X, const In1<int32_t>& y, const In1<double>& weight, int classes, double l2,
                       const In1<double>& theta, int threads) {
  const Matrix<T> matrix{X.data(), static_cast<int64_t>(X.shape(0)), static_cast<int64_t>(X.shape(1)), X.stride(0),
                         X.stride(1)};
  const size_t d = X.shape(1);
  const Scaling identity{std::vector<double>(d, 0.0), std::vector<double>(d, 1.0), std::vector<double>(d, 1.0)};
  std::vector<uint32_t> rows(X.shape(0));
  std::vector<WeightedRow> weighted(X.shape(0));
  for (uint32_t i = 0; i < rows.size(); ++i) {
    rows[i] = i;
    weighted[i] = {weight.data()[i], static_cast<uint32_t>(y.data()[i])};
  }
  Pool pool(threads);
  Control control;
  Pool* inner = threads > 1 ? &pool : nullptr;
  std::vector<uint32_t> columns(d);
  for (uint32_t j = 0; j < d; ++j) columns[j] = j;
  DenseEntropy objective(matrix, identity, rows, columns, weighted, classes, l2, inner, control);
  const double value = objective.value(view(theta));
  const auto gradient = objective.gradient();
  return nb::make_tuple(value, give(std::vector<double>(gradient.begin(), gradient.end())));
}

}  // namespace

void bind_oblique(nb::module_& module) {
  nb::class_<Problem>(module, "ObliqueProblem", "Labels, weights, criterion and limits of a tree to be grown.")
      .def(
          "__init__",
          [](Problem* self, In1<int32_t> y, In1<double> weight, int32_t classes, const std::string& name,
             double parameter, const In1<double>& table, const std::string& order, int64_t max_splits,
             int64_t max_depth, int64_t min_samples_leaf, double min_weight_leaf, double min_drop, bool lookahead,
             bool linear_only, int threads) {
            new (self) Problem{std::move(y),
                               std::move(weight),
                               classes,
                               make_criterion(name, parameter, view(table)),
                               make_order(order),
                               {max_splits, max_depth, min_samples_leaf, min_weight_leaf, min_drop},
                               lookahead,
                               linear_only,
                               threads};
          },
          nb::arg("y").noconvert(), nb::arg("weight").noconvert(), nb::arg("classes"), nb::arg("criterion_name"),
          nb::arg("criterion_parameter"), nb::arg("criterion_table").noconvert(), nb::arg("order"),
          nb::arg("max_splits"), nb::arg("max_depth"), nb::arg("min_samples_leaf"), nb::arg("min_weight_leaf"),
          nb::arg("min_drop"), nb::arg("lookahead"), nb::arg("linear_only"), nb::arg("threads"));
  nb::class_<Table> table(module, "ObliqueRows", "Rows to grow a tree on, dense or CSR; borrowed, never copied.");
  const auto define_dense = [&]<class T>(T) {
    table.def(
        "__init__", [](Table* self, const Strided2<T>& X) { new (self) Table(dense_table(X)); },
        nb::arg("X").noconvert(), nb::keep_alive<1, 2>());
    module.def("soft_entropy", &soft_entropy<T>, nb::arg("X").noconvert(), nb::arg("y").noconvert(),
               nb::arg("weight").noconvert(), nb::arg("classes"), nb::arg("l2"), nb::arg("theta").noconvert(),
               nb::arg("threads"));
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
  module.def("grow_wodt", &grow_wodt, nb::arg("X"), nb::arg("problem"), nb::arg("scale"), nb::arg("l2"),
             nb::arg("n_init"), nb::arg("max_iter"), nb::arg("tolerance"), nb::arg("recut"),
             nb::arg("sparsity_tolerance"), nb::arg("seed"), nb::arg("progress").none());
  module.def("grow_householder", &grow_householder, nb::arg("X"), nb::arg("problem"), nb::arg("time_limit"),
             nb::arg("progress").none());
  module.def("grow_oc1", &grow_oc1, nb::arg("X"), nb::arg("problem"), nb::arg("init"), nb::arg("restarts"),
             nb::arg("jumps"), nb::arg("order"), nb::arg("seed"), nb::arg("time_limit"), nb::arg("progress").none());
  module.def("grow_cart_lc", &grow_cart_lc, nb::arg("X"), nb::arg("problem"), nb::arg("init"), nb::arg("tolerance"),
             nb::arg("elimination"), nb::arg("seed"), nb::arg("time_limit"), nb::arg("progress").none());
  module.def("grow_co2", &grow_co2, nb::arg("X"), nb::arg("problem"), nb::arg("init"), nb::arg("nu"), nb::arg("eta"),
             nb::arg("max_iter"), nb::arg("recut"), nb::arg("seed"), nb::arg("time_limit"), nb::arg("progress").none());
}

}  // namespace boscage::bind
