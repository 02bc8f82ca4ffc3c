// Growing oblique trees in memory: arrays and a family's settings in, the flat tree out.
#include <nanobind/stl/string.h>

#include "bind/arrays.hpp"
#include "bind/grow/grow.hpp"
#include "bind/grow/table.hpp"
#include "bind/grow/target.hpp"
#include "bind/run.hpp"
#include "families/oblique/co2.hpp"
#include "families/oblique/coordinate.hpp"
#include "families/oblique/family.hpp"
#include "families/oblique/householder.hpp"
#include "families/oblique/soft/dense_entropy.hpp"
#include "families/oblique/wodt.hpp"
#include "numeric/lbfgs.hpp"

namespace boscage::bind {

namespace {

// Up to this many numbers a fit is over before a thread of its own would have started.
constexpr size_t kShortWork = 1 << 11;

// What every family's function takes.
struct Problem {
  Target target;
  AnyCriterion criterion;
  Order order;
  Limits limits;
  bool lookahead, linear_only;
  int threads;
};

nb::dict grow(const Table& X, const Problem& problem, const ObliqueFamily& family, const Deadline* deadline,
              const nb::object& progress, ColumnScale scale = ColumnScale::standard) {
  const Target& target = problem.target;
  if (is_of_numbers(problem.criterion) != target.is_numbers() || target.outputs > 1)
    throw std::invalid_argument("the criterion is not one of this target");
  if (static_cast<int64_t>(X.count) != target.rows()) throw std::invalid_argument("X and y differ in length.");
  Grown tree;
  Scaling scaling;
  int64_t columns = 0;
  run(X.numbers <= kShortWork, progress, [&](Control& control) {
    Pool pool(problem.threads);
    NodeRows rows(target, problem.criterion);
    scaling = make_scaling(X.rows, target.weight, pool, control);
    if (scale == ColumnScale::range) scale_by_range(X.rows, target.weight, control, scaling);
    ObliqueData data{X.rows,
                     std::move(scaling),
                     {},
                     target.classes,
                     problem.criterion,
                     problem.limits,
                     problem.lookahead,
                     problem.linear_only,
                     deadline,
                     rows.numbers()};
    const Side root = rows.total();
    if (root.numbers) {
      data.limits.min_drop = in_units(problem.criterion, data.limits.min_drop, -root.numbers->grid->exponent);
    } else {
      data.weighted.resize(X.count);
      for (uint32_t row = 0; row < data.weighted.size(); ++row)
        data.weighted[row] = {rows.weight(row), static_cast<uint32_t>(rows.label(row))};
    }
    Grower grower(root, data.limits, problem.order);
    grow_oblique(grower, data, rows, family, pool, control);
    tree = flatten(grower, problem.criterion);
    columns = data.columns();
    scaling = std::move(data.scaling);
  });
  nb::dict out = to_dict(std::move(tree), columns);
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
                   int max_iter, double tolerance, bool recut, double sparsity_tolerance, int64_t max_terms,
                   uint64_t seed, const nb::object& progress) {
  WodtOptions options{column_scale(scale), l2, n_init, recut, sparsity_tolerance, max_terms, seed, {}};
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

// The objective alone, for tests: value and gradient at theta on rows that are scaled already. Numbers lie from -1
// to 1.
template <class T>
nb::tuple soft_objective(const Strided2<T>& X, const Target& target, double l2, const In1<double>& theta, int threads) {
  const Matrix<T> matrix{X.data(), static_cast<int64_t>(X.shape(0)), static_cast<int64_t>(X.shape(1)), X.stride(0),
                         X.stride(1)};
  const size_t d = X.shape(1);
  const Scaling identity{std::vector<double>(d, 0.0), std::vector<double>(d, 1.0), std::vector<double>(d, 1.0)};
  std::vector<uint32_t> rows(X.shape(0));
  std::vector<WeightedRow> weighted(X.shape(0));
  SoftNumbers numbers;
  for (uint32_t i = 0; i < rows.size(); ++i) {
    rows[i] = i;
    weighted[i] = {target.weight_of(i), target.is_numbers() ? 0U : static_cast<uint32_t>(target.label[i])};
    if (target.is_numbers()) numbers.add(target.weight_of(i), target.number[i]);
  }
  numbers.finish();
  Pool pool(threads);
  Control control;
  Pool* inner = threads > 1 ? &pool : nullptr;
  std::vector<uint32_t> columns(d);
  for (uint32_t j = 0; j < d; ++j) columns[j] = j;
  DenseEntropy objective(matrix, identity, rows, columns, weighted, target.is_numbers() ? 2 : target.classes, l2, inner,
                         control, target.is_numbers() ? &numbers : nullptr);
  const double value = objective.value(view(theta));
  const auto gradient = objective.gradient();
  return nb::make_tuple(value, give(std::vector<double>(gradient.begin(), gradient.end())));
}

}  // namespace

void bind_oblique(nb::module_& module) {
  nb::class_<Problem>(module, "ObliqueProblem", "Target, criterion and limits of a tree to be grown.")
      .def(
          "__init__",
          [](Problem* self, const Target& target, const std::string& name, double parameter, const In1<double>& table,
             const std::string& order, const Limits& limits, bool lookahead, bool linear_only, int threads) {
            new (self) Problem{
                target, make_criterion(name, parameter, view(table)), make_order(order), limits, lookahead, linear_only,
                threads};
          },
          nb::arg("target"), nb::arg("criterion_name"), nb::arg("criterion_parameter"),
          nb::arg("criterion_table").noconvert(), nb::arg("order"), nb::arg("limits"), nb::arg("lookahead"),
          nb::arg("linear_only"), nb::arg("threads"), nb::keep_alive<1, 2>());
  const auto define = [&]<class T>(T) {
    module.def("soft_objective", &soft_objective<T>, nb::arg("X").noconvert(), nb::arg("target"), nb::arg("l2"),
               nb::arg("theta").noconvert(), nb::arg("threads"));
  };
  define(float{});
  define(double{});
  module.def("grow_wodt", &grow_wodt, nb::arg("X"), nb::arg("problem"), nb::arg("scale"), nb::arg("l2"),
             nb::arg("n_init"), nb::arg("max_iter"), nb::arg("tolerance"), nb::arg("recut"),
             nb::arg("sparsity_tolerance"), nb::arg("max_terms"), nb::arg("seed"), nb::arg("progress").none());
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
