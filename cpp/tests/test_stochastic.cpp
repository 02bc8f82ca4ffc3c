#include <algorithm>
#include <cmath>
#include <vector>

#include "base/rng.hpp"
#include "families/stochastic/lookahead.hpp"
#include "families/stochastic/memory.hpp"
#include "numeric/pairwise_sum.hpp"
#include "tests/check.hpp"

using namespace boscage;
using namespace boscage::stochastic;
namespace vectors = boscage::stochastic::detail;

namespace {

// Weighted rows in the unit ball; the class leans on the first column.
struct Example {
  int64_t n, d;
  std::vector<double> X, weight;
  std::vector<int32_t> label;

  explicit Example(int64_t rows, int64_t columns, int32_t classes = 2) : n(rows), d(columns) {
    for (int64_t i = 0; i < n; ++i) {
      double square = 0;
      for (int64_t j = 0; j < d; ++j) {
        X.push_back(normal(1, i, j));
        square += X.back() * X.back();
      }
      for (int64_t j = 0; j < d; ++j) X[static_cast<size_t>(i * d + j)] /= 1.01 * std::sqrt(square);
      const double score = X[static_cast<size_t>(i * d)] + uniform(2, i, 0);
      label.push_back(std::min(classes - 1, static_cast<int32_t>(std::max(0.0, score * classes))));
      weight.push_back(0.5 + uniform(3, i, 0));
    }
  }

  TrainingRows<Matrix<double>> rows(int32_t classes = 2) const {
    return {{X.data(), n, d, d, 1}, label, weight, classes};
  }
};

Frame plain_frame(int64_t columns) {
  Frame frame;
  frame.columns = columns;
  return frame;
}

NodeBlock all_rows(int64_t n) {
  NodeBlock block;
  block.count = n;
  return block;
}

NodeSums sums_of(const Example& example, int32_t classes) {
  const SumShape shape{classes, example.d};
  std::vector<double> sums(shape.size(), 0.0);
  const Frame frame = plain_frame(example.d);
  add_block(example.rows(classes), frame, all_rows(example.n), sums.data());
  return finish(sums, shape, frame);
}

double gain_of(const NodeSums& sums, const Vector& w, const AnyCriterion& criterion) {
  const auto found = measure(sums, w, 1, criterion, 0.0);
  return found.empty() ? 0.0 : found.front().gain;
}

bool near(double x, double y, double tolerance) { return std::abs(x - y) <= tolerance * std::max(1.0, std::abs(y)); }

}  // namespace

TEST("sums of a block are those of a plain loop, for widths around the eight lanes") {
  for (const int64_t d : {1, 3, 7, 8, 9, 16, 20, 300}) {
    const Example example(37, d);
    const NodeSums sums = sums_of(example, 2);
    Vector expected(static_cast<size_t>(2 * d), 0.0), weight(2, 0.0);
    for (int64_t i = 0; i < example.n; ++i) {
      const auto k = example.label[static_cast<size_t>(i)];
      weight[static_cast<size_t>(k)] += example.weight[static_cast<size_t>(i)];
      for (int64_t j = 0; j < d; ++j)
        expected[static_cast<size_t>(k * d + j)] +=
            example.weight[static_cast<size_t>(i)] * example.X[static_cast<size_t>(i * d + j)];
    }
    for (size_t i = 0; i < expected.size(); ++i) CHECK(near(sums.sum[i], expected[i], 1e-13));
    for (size_t k = 0; k < 2; ++k) CHECK(near(sums.weight[k], weight[k], 1e-13));
  }
}

TEST("a division gives each row its two reaches, whatever rows it stands with") {
  const Example example(100, 20);
  const Frame frame = plain_frame(20);
  Division division;
  division.test.theta.assign(20, 0.2);
  division.test.offset = 0.1;
  division.sum_right = true;
  const SumShape shape{2, 20};
  std::vector<double> left(100), right(100), sums(shape.size(), 0.0), again(shape.size(), 0.0);
  NodeBlock block = all_rows(100);
  block.left = left.data();
  block.right = right.data();
  block.right_sums = sums.data();
  divide_block(example.rows(), frame, std::span<const Division>(&division, 1), std::span<NodeBlock>(&block, 1));
  CHECK(block.counts[0] == 100 && block.counts[1] == 100);
  for (int64_t i = 0; i < 100; ++i) {
    double score = 0.1;
    for (int64_t j = 0; j < 20; ++j) score += 0.2 * example.X[static_cast<size_t>(i * 20 + j)];
    CHECK(near(right[static_cast<size_t>(i)], (1 + score) / 2, 1e-14));
    CHECK(near(left[static_cast<size_t>(i)] + right[static_cast<size_t>(i)], 1.0, 1e-14));
  }
  // In pieces: the same bits.
  for (int64_t begin = 0; begin < 100; begin += 13) {
    NodeBlock part;
    part.begin = begin;
    part.count = std::min<int64_t>(13, 100 - begin);
    double alone[13];
    part.right = alone;
    part.right_sums = again.data();
    divide_block(example.rows(), frame, std::span<const Division>(&division, 1), std::span<NodeBlock>(&part, 1));
    for (int64_t i = 0; i < part.count; ++i) CHECK(alone[i] == right[static_cast<size_t>(begin + i)]);
  }
  CHECK(sums == again);
}

TEST("rows that are listed, and rows that cannot be reached, change no bit of the others") {
  const Example example(64, 9);
  const Frame frame = plain_frame(9);
  std::vector<uint32_t> rows;
  std::vector<double> listed, spread(64, 0.0);
  for (uint32_t i = 0; i < 64; i += 3) {
    rows.push_back(i);
    listed.push_back(0.25 + 0.01 * i);
    spread[i] = listed.back();
  }
  const SumShape shape{2, 9};
  std::vector<double> one(shape.size(), 0.0), other(shape.size(), 0.0);
  NodeBlock by_list, by_zero = all_rows(64);
  by_list.rows = rows.data();
  by_list.count = static_cast<int64_t>(rows.size());
  by_list.reach = listed.data();
  by_zero.reach = spread.data();
  add_block(example.rows(), frame, by_list, one.data());
  add_block(example.rows(), frame, by_zero, other.data());
  CHECK(one == other);
}

TEST("reduction in pairs depends on the number of blocks alone") {
  for (const int blocks : {1, 2, 3, 7, 8}) {
    PairwiseSum sum;
    for (int i = 0; i < blocks; ++i) sum.push({static_cast<double>(i), 1.0});
    const auto total = sum.total();
    CHECK(total[0] == blocks * (blocks - 1) / 2 && total[1] == blocks);
  }
}

TEST("the other child is the difference, and classes that vanish are gone") {
  const SumShape shape{2, 1};
  const std::vector<double> parent{4, 4, 1, 2, 2, 5}, child{1, 1, 3, 2 - 1e-13, 2, 4};
  const auto other = other_child(parent, child, shape);
  CHECK(other[0] == 3 && other[2] == -2);
  CHECK(other[3] == 0 && other[4] == 0 && other[5] == 0);
}

TEST("the closed form is never beaten by random tests") {
  for (const int32_t classes : {2, 3, 5}) {
    const Example example(200, 6, classes);
    const NodeSums sums = sums_of(example, classes);
    const AnyCriterion gini = Gini{};
    const double best = gain_of(sums, solve(sums, gini, {}), gini);
    CHECK(best > 0);
    for (uint64_t i = 0; i < 2000; ++i) {
      Vector w(6);
      for (uint64_t j = 0; j < 6; ++j) w[j] = normal(7, i, j);
      vectors::normalise(w);
      CHECK(gain_of(sums, w, gini) <= best * (1 + 1e-12));
    }
  }
}

TEST("other criteria find at least what the Gini direction gains") {
  const Example example(150, 5, 3);
  const NodeSums sums = sums_of(example, 3);
  const Vector gini = solve(sums, Gini{}, {});
  for (const AnyCriterion& criterion : {AnyCriterion(Entropy{}), AnyCriterion(Sqrt{})}) {
    const Vector w = solve(sums, criterion, {});
    CHECK(near(vectors::inner(w, w), 1.0, 1e-12));
    CHECK(gain_of(sums, w, criterion) >= gain_of(sums, gini, criterion) * (1 - 1e-12));
  }
}

TEST("direct sums are asked for where differences lose their digits, and agree where they do not") {
  const Example example(300, 4);
  const NodeSums sums = sums_of(example, 2);
  CHECK(!needs_direct_sums(sums));
  std::vector<double> centred(2 * 4 + 1, 0.0);
  const auto mean = mean_row(sums);
  add_centred(example.rows(), plain_frame(4), all_rows(300), mean.data(), centred.data());
  const NodeSums direct = with_centred(sums, centred);
  CHECK(near(direct.spread, 1 - vectors::inner(mean, mean), 1e-13));
  const Vector w = solve(sums, Gini{}, {}), v = solve(direct, Gini{}, {});
  for (size_t j = 0; j < w.size(); ++j) CHECK(near(v[j], w[j], 1e-12));
  NodeSums alike = sums;  // all rows near e_1
  for (size_t k = 0; k < 2; ++k)
    for (size_t j = 0; j < 4; ++j)
      alike.sum[4 * k + j] = alike.weight[k] * ((j == 0 ? 1 : 0) + 1e-8 * sums.sum[4 * k + j]);
  CHECK(needs_direct_sums(alike));
}

// The weights of all tests of a tree, in the order of its nodes.
Vector tests_of(const Example& example, int threads, GrowSettings settings, int64_t splits) {
  Control control;
  Pool pool(threads);
  const Frame frame =
      make_frame(example.rows(), {}, column_ranges(example.rows().X, {}, pool, control), {}, pool, control);
  const AnyCriterion gini = Gini{};
  MemoryGrowth<Matrix<double>> growth(example.rows(), frame, gini, settings, nullptr, pool, control);
  Limits limits;
  limits.max_splits = splits;
  const Grower grower = growth.grow(limits, Order::best_first);
  CHECK(grower.splits() == splits);
  Vector all;
  for (const int32_t id : grower.committed())
    if (grower.node(id).left >= 0 && grower.node(grower.node(id).left).number >= 0)
      all.insert(all.end(), grower.test(id).weights.begin(), grower.test(id).weights.end());
  return all;
}

TEST("any number of threads grows the same tree") {
  const Example example(9000, 5);
  CHECK(tests_of(example, 1, {}, 9) == tests_of(example, 3, {}, 9));
}

TEST("reach numbers that are forgotten and made again change no bit") {
  const Example example(9000, 5);
  const Vector all = tests_of(example, 2, {}, 60);
  for (const int64_t leaves : {0, 1, 3, 20}) {
    GrowSettings settings;
    settings.most_reach = leaves * example.n;
    CHECK(tests_of(example, 2, settings, 60) == all);
  }
}

TEST("the look-ahead finds the two planes of XOR") {
  const Example example(4000, 4);
  TrainingRows<Matrix<double>> rows = example.rows();
  std::vector<int32_t> label;
  for (int64_t i = 0; i < example.n; ++i) label.push_back(rows.X(i, 0) * rows.X(i, 1) > 0 ? 1 : 0);
  rows.label = label;
  Control control;
  Pool pool(1);
  const Frame frame = plain_frame(4);
  const AnyCriterion gini = Gini{};
  GrowSettings settings;
  settings.lookahead = true;
  MemoryGrowth<Matrix<double>> growth(rows, frame, gini, settings, nullptr, pool, control);
  Limits limits;
  limits.max_splits = 7;
  const Grower grower = growth.grow(limits, Order::best_first);
  CHECK(grower.splits() == 3);  // and nothing below it
  const Vector u = grower.test(0).weights, v = grower.test(grower.node(0).right).weights;
  CHECK(std::abs(u[0] * v[1]) > 0.95 || std::abs(u[1] * v[0]) > 0.95);
  const Vector opposite = grower.test(grower.node(0).left).weights;
  for (size_t j = 0; j < v.size(); ++j) CHECK(opposite[j] == -v[j]);
}
