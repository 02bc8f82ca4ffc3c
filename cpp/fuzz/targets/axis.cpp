// Axis trees in memory: the same tree for any number of threads, and prediction sends rows where growth did.
#include "families/axis/axis.hpp"

#include "fuzz/arrays.hpp"
#include "fuzz/problem.hpp"
#include "fuzz/targets.hpp"
#include "grow/prune.hpp"

namespace boscage::fuzz {

int axis(const uint8_t* data, size_t size) {
  Input input(data, size);
  const int64_t max_features = input.between(-1, 5), together = input.between(1, 4);
  const auto max_bins = input.choose<int64_t>({0, 0, 2, 3, 7, 255, 300});
  const Problem problem = draw_problem(input, {});
  const auto grow = [&](int threads) {
    Pool pool(threads);
    Control control;
    NodeRows rows(problem.target(), problem.criterion);
    AxisSearch search(problem.any(), problem.n_categories, problem.is_sparse ? 0 : max_bins, rows, problem.criterion,
                      problem.limits, pool, control, {std::min(max_features, problem.columns), size});
    Grower grower(rows.total(), problem.limits, problem.order, together);
    grow_in_memory(grower, search, pool, control);
    return flatten(grower, problem.criterion);
  };
  const Grown tree = grow(1);
  check_tree(tree, problem, true);
  require(same(tree, grow(2)), "one tree for any number of threads");
  check_arrival(tree, problem);
  return 0;
}

}  // namespace boscage::fuzz
