// Trees of numbers in memory: the same tree for any number of threads, predictions in the range of y, and prediction
// sends rows where growth did. Models of linear leaves are finite.
#include "families/axis/axis.hpp"
#include "families/oblique/coordinate.hpp"
#include "families/oblique/family.hpp"
#include "fuzz/arrays.hpp"
#include "fuzz/problem.hpp"
#include "fuzz/targets.hpp"
#include "refine/ridge_leaves.hpp"

namespace boscage::fuzz {

namespace {

Limits limits_of(const Problem& problem, const Side& root) {
  Limits limits = problem.limits;
  limits.min_drop = in_units(problem.criterion, limits.min_drop, -root.numbers->grid->exponent);
  return limits;
}

template <class Grow>
void check_growth(const Problem& problem, const Grow& grow, const std::vector<double>& fill) {
  const Grown tree = grow(1);
  check_tree(tree, problem, true);
  require(same(tree, grow(2)), "one tree for any number of threads");
  check_arrival(tree, problem, fill);
}

void grow_axis(Input& input, size_t size) {
  const int64_t max_features = input.between(-1, 5), together = input.between(1, 4);
  const auto max_bins = input.choose<int64_t>({0, 0, 2, 3, 7, 255, 300});
  Shape shape;
  shape.is_numbers = true;
  const Problem problem = draw_problem(input, shape);
  const auto grow = [&](int threads) {
    Pool pool(threads);
    Control control;
    NodeRows rows(problem.target(), problem.criterion);
    const Limits limits = limits_of(problem, rows.total());
    AxisSearch search(problem.any(), problem.n_categories, problem.is_sparse ? 0 : max_bins, rows, problem.criterion,
                      limits, pool, control, {std::min(max_features, problem.columns), size});
    Grower grower(rows.total(), limits, problem.order, together);
    grow_in_memory(grower, search, pool, control);
    return flatten(grower, problem.criterion);
  };
  check_growth(problem, grow, {});
}

void grow_linear(Input& input, size_t size) {
  const Deadline deadline{1e10};
  const auto start = input.choose({PlaneStart::axis, PlaneStart::random});
  const auto few = static_cast<int>(input.between(1, 4));
  std::unique_ptr<ObliqueFamily> family;
  if (input.flag())
    family = std::make_unique<Oc1>(Oc1Options{start, few, 2, 1, size}, deadline);
  else
    family = std::make_unique<CartLc>(CartLcOptions{start, input.choose({0.0, 1e-3, 1.0}), 0.2, size}, deadline);
  const bool lookahead = false, linear_only = input.flag();  // estimators refuse to look ahead by numbers
  Shape shape;
  shape.is_numbers = true;
  shape.may_have_categories = shape.may_have_ranks = false;
  shape.most_outputs = 1;
  shape.most_rows = 48;
  shape.most_columns = 6;
  const Problem problem = draw_problem(input, shape);
  std::vector<double> fill;
  const auto grow = [&](int threads) {
    Pool pool(threads);
    Control control;
    NodeRows rows(problem.target(), problem.criterion);
    ObliqueData given{problem.any(),
                      make_scaling(problem.any(), problem.weight, pool, control),
                      problem.target(),
                      problem.criterion,
                      limits_of(problem, rows.total()),
                      lookahead,
                      linear_only,
                      &deadline,
                      rows.numbers()};
    Grower grower(rows.total(), given.limits, problem.order);
    grow_oblique(grower, given, rows, *family, pool, control);
    fill = given.scaling.mean;
    return flatten(grower, problem.criterion);
  };
  const Grown first = grow(1);  // fill is known from here on
  check_growth(problem, grow, fill);
}

// Standardised rows and numbers of size 1, as linear leaves get them.
void grow_ridge(Input& input) {
  namespace rf = boscage::refine;
  rf::NumberRows rows;
  rows.rows = input.between(1, 60);
  rows.columns = input.between(1, 6);
  rows.outputs = input.between(1, 2);
  rf::RidgeSettings settings;
  settings.l2 = input.choose({-1.0, 0.0, 1e-6, 1.0, 1e9});
  settings.min_weight = input.choose({0.0, 1.0, 10.0});
  settings.min_rows = input.between(1, 4);
  settings.max_depth = input.between(-1, 5);
  settings.heaviest_first = input.flag();
  const auto n = static_cast<size_t>(rows.rows), d = static_cast<size_t>(rows.columns),
             m = static_cast<size_t>(rows.outputs);
  const auto draw = [&](double most) { return std::clamp(input.number<double>(false), -most, most); };
  std::vector<double> z(n * d), y(n * m), weight = draw_weights(input, rows.rows);
  weight.resize(n, 1.0);
  for (double& value : z) value = draw(1e8);
  for (double& value : y) value = draw(8.0);
  rows.z = z.data(), rows.y = y.data(), rows.weight = weight.data();
  const auto grow = [&](int threads) {
    Pool pool(threads);
    Control control;
    return rf::grow_ridge_tree(rows, settings, pool, control);
  };
  const rf::RidgeTree tree = grow(1), other = grow(2);
  require(tree.feature == other.feature && tree.edge == other.edge && same_bits(tree.coef, other.coef) &&
              same_bits(tree.intercept, other.intercept),
          "one tree for any number of threads");
  for (const auto* found : {&tree.coef, &tree.intercept, &tree.value, &tree.impurity, &tree.low, &tree.high})
    for (const double value : *found) require(std::isfinite(value), "linear leaves are finite");
}

}  // namespace

int numbers(const uint8_t* data, size_t size) {
  Input input(data, size);
  switch (input.byte() % 4) {
    case 0:
      grow_ridge(input);
      break;
    case 1:
      grow_linear(input, size);
      break;
    default:
      grow_axis(input, size);
  }
  return 0;
}

}  // namespace boscage::fuzz
