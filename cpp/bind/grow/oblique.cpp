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
  GrowthSpec spec;
  bool lookahead, linear_only;
  double time_limit;
};

nb::dict grow(const Table& X, const Problem& problem, const ObliqueFamily& family, const Deadline* deadline,
              ColumnScale scale = ColumnScale::standard) {
  const Target& target = problem.target;
  const GrowthSpec& spec = problem.spec;
  if (is_of_numbers(spec.criterion) != target.is_numbers())
    throw std::invalid_argument("the criterion is not one of this target");
  check_rows(X, target);
  Grown tree;
  Scaling scaling;
  int64_t columns = 0;
  run(X.numbers <= kShortWork, spec.progress, [&](Control& control) {
    Pool pool(spec.threads);
    NodeRows rows(target, spec.criterion);
    scaling = make_scaling(X.rows, target.weight, pool, control);
    if (scale == ColumnScale::range) scale_by_range(X.rows, target.weight, pool, control, scaling);
    ObliqueData data{
        X.rows,   std::move(scaling), target, spec.criterion, spec.limits, problem.lookahead, problem.linear_only,
        deadline, rows.numbers()};
    const Side root = rows.total();
    if (root.numbers)
      data.limits.min_drop = in_units(spec.criterion, data.limits.min_drop, -root.numbers->grid->exponent);
    Grower grower(root, data.limits, spec.order);
    grow_oblique(grower, data, rows, family, pool, control);
    tree = flatten(grower, spec.criterion);
    columns = data.columns();
    scaling = std::move(data.scaling);
  });
  nb::dict out = to_dict(std::move(tree), columns);
  out["mean"] = give(std::move(scaling.mean));
  out["deviation"] = give(std::move(scaling.deviation));
  return out;
}

template <class Family, class Options>
nb::dict grow_timed(const Table& X, const Problem& problem, const Options& options) {
  const Deadline deadline(problem.time_limit);
  nb::dict out = grow(X, problem, Family(options, deadline), &deadline);
  out["timed_out"] = deadline.was_over();
  return out;
}

nb::dict grow_wodt(const Table& X, const Problem& problem, const WodtOptions& options) {
  return grow(X, problem, Wodt(options), nullptr, options.scale);
}

PlaneStart make_start(const std::string& name) { return name == "axis" ? PlaneStart::axis : PlaneStart::random; }

nb::dict grow_householder(const Table& X, const Problem& problem) {
  const Deadline deadline(problem.time_limit);
  nb::dict out = grow(X, problem, Householder(deadline), &deadline);
  out["timed_out"] = deadline.was_over();
  return out;
}

nb::dict grow_oc1(const Table& X, const Problem& problem, const std::string& init, int restarts, int jumps, int order) {
  return grow_timed<Oc1>(X, problem, Oc1Options{make_start(init), restarts, jumps, order, problem.spec.seed});
}

nb::dict grow_cart_lc(const Table& X, const Problem& problem, const std::string& init, double tolerance,
                      double elimination) {
  return grow_timed<CartLc>(X, problem, CartLcOptions{make_start(init), tolerance, elimination, problem.spec.seed});
}

nb::dict grow_co2(const Table& X, const Problem& problem, const Co2Options& options) {
  return grow_timed<Co2>(X, problem, options);
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
  SoftNumbers numbers(to_size(target.outputs));
  for (uint32_t i = 0; i < rows.size(); ++i) {
    rows[i] = i;
    weighted[i] = {target.weight_of(i), target.is_numbers() ? 0U : static_cast<uint32_t>(target.label[i])};
    numbers.add_row(target.weight_of(i));
    for (size_t j = 0; j < numbers.outputs(); ++j)
      numbers.add(target.weight_of(i), j, target.number[i * numbers.outputs() + j]);
  }
  numbers.finish();
  Pool pool(threads);
  Control control;
  Pool* inner = threads > 1 ? &pool : nullptr;
  std::vector<uint32_t> columns(d);
  for (uint32_t j = 0; j < d; ++j) columns[j] = j;
  DenseEntropy objective(matrix, identity, rows, columns, weighted,
                         target.is_numbers() ? 2 * target.outputs : target.classes, l2, inner, control,
                         target.is_numbers() ? &numbers : nullptr);
  const double value = objective.value(view(theta));
  const auto gradient = objective.gradient();
  return nb::make_tuple(value, give(std::vector<double>(gradient.begin(), gradient.end())));
}

void bind_options(nb::module_& module) {
  nb::class_<LbfgsOptions>(module, "LbfgsOptions", "When a descent ends.")
      .def(nb::init<>())
      .def_rw("max_iter", &LbfgsOptions::max_iter)
      .def_rw("tolerance", &LbfgsOptions::tolerance);
  nb::class_<WodtOptions>(module, "WodtOptions", "How weighted oblique tests are searched.")
      .def(
          "__init__",
          [](WodtOptions* self, const std::string& scale, uint64_t seed) {
            new (self) WodtOptions{};
            self->scale = column_scale(scale);
            self->seed = seed;
          },
          nb::arg("scale"), nb::arg("seed"))
      .def_rw("l2", &WodtOptions::l2)
      .def_rw("n_init", &WodtOptions::n_init)
      .def_rw("recut", &WodtOptions::recut)
      .def_rw("sparsity_tolerance", &WodtOptions::sparsity_tolerance)
      .def_rw("max_terms", &WodtOptions::max_terms)
      .def_rw("lbfgs", &WodtOptions::lbfgs);
  nb::class_<Co2Options>(module, "Co2Options", "How tests of CO2 are searched.")
      .def(
          "__init__",
          [](Co2Options* self, const std::string& init, uint64_t seed) {
            new (self) Co2Options{};
            self->start = make_start(init);
            self->seed = seed;
          },
          nb::arg("init"), nb::arg("seed"))
      .def_rw("nu", &Co2Options::nu)
      .def_rw("eta", &Co2Options::eta)
      .def_rw("max_iter", &Co2Options::max_iter)
      .def_rw("recut", &Co2Options::recut);
}

}  // namespace

void bind_oblique(nb::module_& module) {
  nb::class_<Problem>(module, "ObliqueProblem", "Target, criterion and limits of a tree to be grown.")
      .def(
          "__init__",
          [](Problem* self, const Target& target, const GrowthSpec& spec, bool lookahead, bool linear_only,
             double time_limit) { new (self) Problem{target, spec, lookahead, linear_only, time_limit}; },
          nb::arg("target"), nb::arg("spec"), nb::arg("lookahead"), nb::arg("linear_only"), nb::arg("time_limit"),
          nb::keep_alive<1, 2>());
  bind_options(module);
  const auto define = [&]<class T>(T) {
    module.def("soft_objective", &soft_objective<T>, nb::arg("X").noconvert(), nb::arg("target"), nb::arg("l2"),
               nb::arg("theta").noconvert(), nb::arg("threads"));
  };
  define(float{});
  define(double{});
  module.def("grow_wodt", &grow_wodt, nb::arg("X"), nb::arg("problem"), nb::arg("options"));
  module.def("grow_householder", &grow_householder, nb::arg("X"), nb::arg("problem"));
  module.def("grow_oc1", &grow_oc1, nb::arg("X"), nb::arg("problem"), nb::arg("init"), nb::arg("restarts"),
             nb::arg("jumps"), nb::arg("order"));
  module.def("grow_cart_lc", &grow_cart_lc, nb::arg("X"), nb::arg("problem"), nb::arg("init"), nb::arg("tolerance"),
             nb::arg("elimination"));
  module.def("grow_co2", &grow_co2, nb::arg("X"), nb::arg("problem"), nb::arg("options"));
}

}  // namespace boscage::bind
