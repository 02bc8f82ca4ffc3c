#include <cmath>
#include <cstdint>
#include <vector>

#include "base/rng.hpp"
#include "families/stochastic/batches.hpp"
#include "tests/check.hpp"

using namespace boscage;
using namespace boscage::stochastic;

namespace {

struct Data {
  std::vector<float> x;
  std::vector<int32_t> label;
  std::vector<double> weight;
  int64_t rows, columns;

  Data(int64_t n, int64_t d) : rows(n), columns(d) {
    for (int64_t i = 0; i < n * d; ++i) x.push_back(static_cast<float>(uniform(1, 2, i) - 0.5));
    for (int64_t i = 0; i < n; ++i) {
      label.push_back(static_cast<int32_t>(3 * uniform(3, 4, i)));
      weight.push_back(0.25 + uniform(5, 6, i));
    }
  }
  TrainingRows<Matrix<float>> view() const { return {{x.data(), rows, columns, columns, 1}, label, weight, 3}; }
};

}  // namespace

TEST("a route gives the bits of dividing one node after the other, for any number of columns") {
  for (const int64_t d : {1, 3, 7, 8, 9, 16, 20, 23}) {
    const Data data(1000, d);
    const auto rows = data.view();
    Frame frame = assemble(d, {Scale::unit, true, 1.0}, {}, {}, false);
    const SumShape shape{3, d};
    Route route;
    for (int i = 0; i < 2; ++i) {  // the root, and its right side
      RouteStep step;
      for (int64_t j = 0; j <= d; ++j) step.weights.push_back((uniform(7, i, j) - 0.5) / std::sqrt(d + 1.0));
      step.division.test = FoldedTest(frame, step.weights);
      step.division.sum_left = step.division.sum_right = step.is_wanted = i == 1;
      step.right = i == 0 ? 1 : -1;
      route.steps.push_back(step);
    }
    RouteSums<float> adder(route, frame, shape);
    std::vector<double> found(route.size(shape), 0.0);
    adder.add(rows, 0, data.rows, 0, found.data());

    frame.norm.resize(static_cast<size_t>(data.rows));
    measure_norms(frame, rows.X, 0, data.rows, 0, frame.norm.data());
    std::vector<double> reach(static_cast<size_t>(data.rows)), sums(2 * shape.size(), 0.0);
    NodeBlock root, right;
    root.count = right.count = data.rows;
    root.right = reach.data();
    divide_block(rows, frame, std::span<const Division>(&route.steps[0].division, 1), std::span<NodeBlock>(&root, 1));
    right.reach = reach.data();
    right.left_sums = sums.data();
    right.right_sums = sums.data() + shape.size();
    divide_block(rows, frame, std::span<const Division>(&route.steps[1].division, 1), std::span<NodeBlock>(&right, 1));
    for (size_t i = 0; i < sums.size(); ++i) CHECK(found[i] == sums[i]);
    CHECK(found[sums.size()] == static_cast<double>(right.counts[0]));
    CHECK(found[sums.size() + 1] == static_cast<double>(right.counts[1]));
  }
}

TEST("a run of blocks that begins anywhere reduces to parts that lie on the binary tree") {
  for (int64_t first = 0; first < 9; ++first) {
    PairwiseSum sum(first);
    for (int64_t i = 0; i < 21; ++i) sum.push({1.0});
    int64_t at = first;
    for (const auto& part : sum.parts()) {
      CHECK(part.index << part.level == at);
      CHECK(part.sums[0] == static_cast<double>(int64_t{1} << part.level));
      at += int64_t{1} << part.level;
    }
    CHECK(at == first + 21);
    CHECK(sum.parts().size() <= 10);
  }
}
