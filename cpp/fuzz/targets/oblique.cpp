// Every oblique family in memory: the same tree for any number of threads, and rows arrive where growth sent them.
#include <optional>

#include "families/oblique/co2.hpp"
#include "families/oblique/coordinate.hpp"
#include "families/oblique/family.hpp"
#include "families/oblique/householder.hpp"
#include "families/oblique/wodt.hpp"
#include "fuzz/arrays.hpp"
#include "fuzz/problem.hpp"
#include "fuzz/targets.hpp"

namespace boscage::fuzz {

namespace {

struct Family {
  Deadline deadline{1e10};
  ColumnScale scale = ColumnScale::standard;
  std::unique_ptr<ObliqueFamily> search;

  Family(Input& input, uint64_t seed) {
    const auto start = input.choose({PlaneStart::axis, PlaneStart::random});
    const auto few = static_cast<int>(input.between(1, 6));
    switch (input.byte() % 5) {
      case 0: {
        scale = input.choose({ColumnScale::standard, ColumnScale::range});
        WodtOptions options;
        options.scale = scale;
        options.l2 = input.choose({0.0, 1e-6, 1.0});
        options.n_init = few;
        options.recut = input.flag();
        options.sparsity_tolerance = input.choose({-1.0, 0.0, 0.1, 1.0});
        options.seed = seed;
        options.lbfgs.max_iter = static_cast<int>(input.between(1, 30));
        search = std::make_unique<Wodt>(options);
        break;
      }
      case 1:
        search = std::make_unique<Householder>(deadline);
        break;
      case 2:
        search = std::make_unique<Oc1>(
            Oc1Options{start, few, static_cast<int>(input.between(0, 3)), static_cast<int>(input.between(0, 2)), seed},
            deadline);
        break;
      case 3:
        search = std::make_unique<CartLc>(
            CartLcOptions{start, input.choose({0.0, 1e-3, 1.0}), input.choose({0.0, 0.2, 1.0}), seed}, deadline);
        break;
      default:
        search = std::make_unique<Co2>(Co2Options{start, input.choose({1e-6, 1.0, 1e6}),
                                                  input.choose({1e-3, 0.3, 10.0}), 10 * few, input.flag(), seed},
                                       deadline);
    }
  }
};

}  // namespace

int oblique(const uint8_t* data, size_t size) {
  Input input(data, size);
  const Family family(input, size);
  const bool lookahead = input.flag(), linear_only = input.flag();
  Shape shape;
  shape.most_rows = 48;
  shape.most_columns = 6;
  shape.may_have_categories = false;
  const Problem problem = draw_problem(input, shape);
  std::vector<double> fill;
  const auto grow = [&](int threads) {
    Pool pool(threads);
    Control control;
    NodeRows rows(problem.target(), problem.criterion);
    Scaling scaling = make_scaling(problem.any(), problem.weight, pool, control);
    if (family.scale == ColumnScale::range) scale_by_range(problem.any(), problem.weight, pool, control, scaling);
    ObliqueData given{problem.any(),  std::move(scaling), problem.target(), problem.criterion,
                      problem.limits, lookahead,          linear_only,      &family.deadline};
    Grower grower(rows.total(), problem.limits, problem.order);
    grow_oblique(grower, given, rows, *family.search, pool, control);
    fill = given.scaling.mean;
    return flatten(grower, problem.criterion);
  };
  const Grown tree = grow(1);
  check_tree(tree, problem, true);
  require(same(tree, grow(2)), "one tree for any number of threads");
  check_arrival(tree, problem, fill);
  return 0;
}

}  // namespace boscage::fuzz
