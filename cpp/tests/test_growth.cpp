#include <cmath>
#include <limits>
#include <numeric>

#include "base/rng.hpp"
#include "families/axis/axis.hpp"
#include "grow/grown.hpp"
#include "grow/prune.hpp"
#include "grow/recut.hpp"
#include "tests/check.hpp"

using namespace boscage;

namespace {

Target labels(const std::vector<int32_t>& y, int32_t classes) {
  Target target;
  target.label = y;
  target.classes = classes;
  return target;
}

struct Problem {
  std::vector<double> X;
  std::vector<int32_t> y;
  std::vector<double> weight;
  std::vector<int64_t> n_categories;
  int64_t rows, columns;
  int32_t classes;

  Matrix<double> matrix() const { return {X.data(), rows, columns, columns, 1}; }
  Target target() const {
    Target found = labels(y, classes);
    found.weight = weight;
    return found;
  }
};

// The last column is categorical; the first has few values; some values are missing.
Problem make_problem(uint64_t seed, int64_t rows, int64_t columns, int32_t classes, bool weighted) {
  Problem p{{}, {}, {}, std::vector<int64_t>(static_cast<size_t>(columns), 0), rows, columns, classes};
  p.n_categories.back() = 11;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const auto draw = static_cast<uint64_t>(i * columns + j);
      double value = normal(seed, 1, draw);
      if (j == 0) value = std::floor(3 * value);
      if (j == columns - 1) value = std::floor(11 * uniform(seed, 2, draw));
      p.X.push_back(uniform(seed, 3, draw) < 0.05 ? std::nan("") : value);
    }
    p.y.push_back(static_cast<int32_t>(draw_bits(seed, 4, i) % classes));
    if (weighted) p.weight.push_back(1.0 + static_cast<double>(draw_bits(seed, 5, i) % 7));
  }
  return p;
}

Grown grow(const Problem& p, const AnyCriterion& criterion, Limits limits, Order order, int threads,
           int64_t max_bins = 0, int64_t together = 1) {
  Pool pool(threads);
  Control control;
  NodeRows rows(p.target(), criterion);
  AxisSearch search(p.matrix(), p.n_categories, max_bins, rows, criterion, limits, pool, control);
  Grower grower(rows.total(), limits, order, together);
  grow_in_memory(grower, search, pool, control);
  return flatten(grower, criterion);
}

// Follows the tests of a finished tree from the root.
int32_t leaf_of(const Grown& tree, const Problem& p, int64_t row) {
  int32_t node = 0;
  while (tree.children_left[static_cast<size_t>(node)] >= 0) {
    const auto i = static_cast<size_t>(node);
    const double value = p.X[static_cast<size_t>(row * p.columns + tree.feature[i])];
    bool left = value <= tree.threshold[i];
    if (tree.category_offset[i] >= 0 && !std::isnan(value)) {
      const auto category = static_cast<size_t>(value);
      left = (tree.category_bits[static_cast<size_t>(tree.category_offset[i]) + category / 8] >> (category % 8)) & 1;
    }
    if (std::isnan(value)) left = tree.missing_go_to_left[i] != 0;
    node = left ? tree.children_left[i] : tree.children_right[i];
  }
  return node;
}

bool same(const Grown& a, const Grown& b) {
  return a.children_left == b.children_left && a.feature == b.feature && a.threshold == b.threshold &&
         a.value == b.value && a.category_bits == b.category_bits && a.impurity == b.impurity &&
         a.missing_go_to_left == b.missing_go_to_left && a.rows == b.rows;
}

}  // namespace

TEST("rows counted in leaves are the rows that walk there") {
  for (const bool weighted : {false, true}) {
    const Problem p = make_problem(3, 700, 5, 4, weighted);
    for (const Order order : {Order::best_first, Order::heaviest_first, Order::depth_first}) {
      const Grown tree = grow(p, Gini{}, {}, order, 1);
      std::vector<int64_t> count(tree.rows.size(), 0);
      for (int64_t row = 0; row < p.rows; ++row) ++count[static_cast<size_t>(leaf_of(tree, p, row))];
      for (size_t i = 0; i < count.size(); ++i)
        if (tree.children_left[i] < 0) CHECK(count[i] == tree.rows[i]);
      CHECK(tree.rows[0] == p.rows);
    }
  }
}

TEST("threads and criteria: the same bytes for any number of threads") {
  const Problem p = make_problem(5, 4000, 6, 3, true);
  const std::vector<AnyCriterion> criteria{Gini{}, Entropy{}, Sqrt{}, ModifiedGini{2}, Separation{}};
  for (const auto& criterion : criteria) {
    const Grown one = grow(p, criterion, {}, Order::best_first, 1);
    for (const int threads : {2, 5}) CHECK(same(one, grow(p, criterion, {}, Order::best_first, threads)));
  }
}

TEST("a budget of leaves gives the beginning of the whole tree") {
  const Problem p = make_problem(7, 500, 4, 2, false);
  const Grown whole = grow(p, Gini{}, {}, Order::best_first, 1);
  Limits limits;
  limits.max_splits = 9;
  const Grown part = grow(p, Gini{}, limits, Order::best_first, 2);
  CHECK(part.rows.size() == 19);
  for (size_t i = 0; i < part.rows.size(); ++i) {
    CHECK(part.rows[i] == whole.rows[i]);
    if (part.children_left[i] >= 0) CHECK(part.threshold[i] == whole.threshold[i]);
  }
}

TEST("looking ahead saves questions and changes no tree") {
  const Problem p = make_problem(7, 900, 4, 3, true);
  for (const Order order : {Order::best_first, Order::heaviest_first, Order::depth_first}) {
    for (const int64_t splits : {1, 2, 3, 8, 30, 1000}) {
      Limits limits;
      limits.max_splits = splits;
      const Grown one = grow(p, Gini{}, limits, order, 1);
      for (const int64_t together : {2, 8, 50}) CHECK(same(one, grow(p, Gini{}, limits, order, 2, 0, together)));
    }
  }
  Limits limits;
  limits.max_splits = 40;
  std::vector<int> questions;
  for (const int64_t together : {1, 8}) {
    Grower grower({1 << 20, {1.0, 2.0}}, limits, Order::best_first, together);
    questions.push_back(0);
    for (auto requests = grower.ask(); !requests.empty(); requests = grower.ask()) {
      ++questions.back();
      for (const Request& request : requests) {
        const Node& node = grower.node(request.node);
        const double a = node.sums[0], b = node.sums[1];
        MeasuredTest half;
        half.left = {node.rows / 2, {0.25 * a, 0.5 * b}};
        half.right = {node.rows / 2, {0.75 * a, 0.5 * b}};
        half.drop = node.weight;
        Proposal proposal;
        proposal.tests.push_back(std::move(half));
        grower.tell(request.node, std::move(proposal));
      }
    }
    CHECK(grower.splits() == 40);
  }
  CHECK(questions[0] == 40);
  CHECK(questions[1] < 15);
}

TEST("bins, one row, one class, no columns that vary") {
  const Problem p = make_problem(9, 300, 4, 3, false);
  CHECK(grow(p, Gini{}, {}, Order::best_first, 1, 8).rows.size() > 3);
  const Problem single = make_problem(1, 1, 2, 2, false);
  CHECK(grow(single, Gini{}, {}, Order::best_first, 2).rows.size() == 1);
  Problem constant = make_problem(2, 50, 2, 2, false);
  std::fill(constant.X.begin(), constant.X.end(), 1.0);
  CHECK(grow(constant, Entropy{}, {}, Order::best_first, 1).rows.size() == 1);
  Problem pure = make_problem(2, 50, 2, 1, false);
  CHECK(grow(pure, Entropy{}, {}, Order::best_first, 1).rows.size() == 1);
}

TEST("a stopped control ends the growth") {
  const Problem p = make_problem(9, 2000, 4, 3, false);
  Pool pool(2);
  Control control;
  NodeRows rows(p.target(), Gini{});
  AxisSearch search(p.matrix(), p.n_categories, 0, rows, Gini{}, {}, pool, control);
  Grower grower(rows.total(), {}, Order::best_first);
  control.stop();
  bool stopped = false;
  try {
    grow_in_memory(grower, search, pool, control);
  } catch (const Interrupted&) {
    stopped = true;
  }
  CHECK(stopped);
}

TEST("offers: the engine finds the threshold, triples commit three splits") {
  std::vector<int32_t> y;
  std::vector<double> first, second;
  for (uint64_t i = 0; i < 200; ++i) {
    first.push_back(normal(1, 1, i));
    second.push_back(normal(1, 2, i));
    y.push_back((first.back() > 0) != (second.back() > 0));
  }
  Limits limits;
  limits.max_splits = 3;
  const std::vector<double> e1{1, 0}, e2{0, 1};
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  ProposalGrower grower(labels(y, 2), Gini{}, limits, Order::best_first);
  const auto requests = grower.ask();
  CHECK(requests.size() == 1 && requests[0].may_triple);
  const std::vector<Offer> single{{e1, first, unknown}};
  const std::vector<Offer> triple{{e1, first, 0.0}, {e2, second, unknown}, {e2, second, unknown}};
  CHECK(grower.offer(0, single) >= 0);
  CHECK(grower.offer(0, triple) > grower.offer(0, single));
  grower.tell(0);
  CHECK(grower.ask().empty());
  const Grown tree = flatten(grower.grower(), Gini{});
  CHECK(tree.rows.size() == 7);
  for (const size_t leaf : {3, 4, 5, 6}) CHECK(tree.impurity[leaf] == 0);
  const std::vector<Offer> empty{{e1, first, 100.0}};
  ProposalGrower other(labels(y, 2), Gini{}, limits, Order::best_first);
  other.ask();
  CHECK(other.offer(0, empty) == -1);
}

TEST("pruning cuts the weakest link and never goes back") {
  //        0 (.5)
  //    1 (.1)   2 (.3)
  //            3 (0)  4 (.25)
  const std::vector<int32_t> left{1, -1, 3, -1, -1}, right{2, -1, 4, -1, -1};
  const std::vector<double> risk{0.5, 0.1, 0.3, 0.0, 0.25};
  const PruningPath path = pruning_path(left, right, risk);
  CHECK(std::abs(path.collapse[2] - 0.05) < 1e-12);
  CHECK(std::abs(path.collapse[0] - 0.1) < 1e-12);
  CHECK(std::isinf(path.collapse[1]) && std::isinf(path.collapse[4]));
  CHECK(path.leaves.back() == 1);
  CHECK(std::is_sorted(path.alphas.begin(), path.alphas.end()));
}
