#include <cmath>
#include <limits>
#include <vector>

#include "base/rng.hpp"
#include "data/row_hashes.hpp"
#include "refine/leaf_models.hpp"
#include "refine/polish.hpp"
#include "refine/product.hpp"
#include "tests/check.hpp"

using namespace boscage;
using namespace boscage::refine;

namespace {

std::vector<double> draws(size_t size, uint64_t stream) {
  std::vector<double> out(size);
  for (size_t i = 0; i < size; ++i) out[i] = normal(1, stream, i);
  return out;
}

// Rows of two classes divided by a plane, three columns.
struct Problem {
  int64_t n;
  std::vector<double> X;
  std::vector<int64_t> rows, n_categories{0, 0, 0};
  std::vector<int32_t> label;
  std::vector<double> weight;
  Matrix<double> matrix;

  explicit Problem(int64_t size) : n(size), X(draws(static_cast<size_t>(3 * size), 7)) {
    matrix = {X.data(), n, 3, 3, 1};
    for (int64_t i = 0; i < n; ++i) {
      rows.push_back(i);
      label.push_back(matrix(i, 0) + matrix(i, 1) > 0 ? 1 : 0);
      weight.push_back(1 + uniform(2, 3, i));
    }
  }
  Sample sample() const { return {rows, label, weight}; }
  RowSource source() const { return mapped_rows(matrix, RowMap{}, std::span(n_categories), true); }
};

}  // namespace

TEST("the product is the plain sum of terms, for any number of rows and panels") {
  for (const int64_t rows : {1, 2, 5, 6, 13}) {
    const int64_t depth = 9, panels = 3, columns = panels * kLane<double>;
    const auto left = draws(static_cast<size_t>(rows * depth), 1),
               right = draws(static_cast<size_t>(depth * columns), 2);
    std::vector<double> out(static_cast<size_t>(rows * columns));
    multiply(left.data(), depth, right.data(), depth, panels, out.data(), columns, 0, rows);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < depth; ++k)
          sum += left[static_cast<size_t>(i * depth + k)] *
                 right[static_cast<size_t>((j / kLane<double>)*depth * kLane<double> + k * kLane<double> +
                                           j % kLane<double>)];
        CHECK(out[static_cast<size_t>(i * columns + j)] == sum);
      }
    }
  }
}

TEST("the logistic function of vectors is that of the library") {
  double worst = 0, worst_float = 0;
  for (int i = -4000; i <= 4000; ++i) {
    const double z = i * 0.01, expected = 1 / (1 + std::exp(-z));
    double x[8], y[8];
    float f[16], g[16];
    for (double& value : x) value = z;
    for (float& value : f) value = static_cast<float>(z);
    store(y, expit<double>(load(x)));
    store(g, expit<float>(load(f)));
    worst = std::max(worst, std::abs(y[3] - expected) / expected);
    worst_float = std::max(worst_float, std::abs(static_cast<double>(g[9]) - expected) / expected);
  }
  CHECK(worst < 1e-14);
  CHECK(worst_float < 5e-6);
}

TEST("standardising leaves constant columns alone") {
  Problem problem(500);
  for (int64_t i = 0; i < problem.n; ++i) problem.X[static_cast<size_t>(3 * i + 2)] = 4.5;
  Pool pool(2);
  const Standard standard = make_standard(problem.source(), problem.sample(), 0, pool, Control());
  CHECK(standard.inverse[2] == 0 && standard.deviation[2] == 0);
  CHECK(std::abs(standard.mean[2] - 4.5) < 1e-12);
  CHECK(std::abs(standard.deviation[0] * standard.inverse[0] - 1) < 1e-12);
}

TEST("polishing turns a bad plane into a good one, with the same bits for any number of threads") {
  const Problem problem(700);
  std::vector<double> before;
  for (const int threads : {1, 3}) {
    Pool pool(threads);
    Control control;
    const RowSource source = problem.source();
    const Sample sample = problem.sample();
    const Standard standard = make_standard(source, sample, 0, pool, control);
    SoftTree tree;
    tree.shape = {{~0}, {~1}, 2};
    tree.width = 4;
    tree.classes = 2;
    tree.theta = {1, 0, 0, 0.3};
    Polisher<double> polisher(source, standard, sample, tree, 64, pool, control);
    const Polished found = polisher.run({.epochs = 60, .learning_rate = 0.05, .l2 = 1e-4, .seed = 5});
    CHECK(!found.timed_out && found.losses.size() == 60);
    CHECK(found.losses.back() < 0.25 && found.losses.back() < found.losses.front());
    CHECK(found.theta[0] > 0 && std::abs(found.theta[1] / found.theta[0] - 1) < 0.3);
    CHECK(found.leaf_value[1] < 0.2 && found.leaf_value[3] > 0.8);
    double total = 0;
    for (const double w : problem.weight) total += w;
    for (const double w : found.leaf_sums) total -= w;
    CHECK(std::abs(total) < 1e-9);
    CHECK(control.done() == 60);
    if (before.empty()) before = found.theta;
    CHECK(found.theta == before);
  }
}

TEST("a stopped control ends polishing") {
  const Problem problem(200);
  Pool pool(1);
  Control control;
  const RowSource source = problem.source();
  const Sample sample = problem.sample();
  const Standard standard = make_standard(source, sample, 0, pool, control);
  Polisher<float> polisher(source, standard, sample, {{{~0}, {~1}, 2}, 4, 2, {1, 0, 0, 0}, {}, 1}, 64, pool, control);
  control.stop();
  bool stopped = false;
  try {
    polisher.run({});
  } catch (const Interrupted&) {
    stopped = true;
  }
  CHECK(stopped);
}

TEST("a leaf model finds the plane and leaves a pure leaf at its shares") {
  const Problem problem(400);
  Pool pool(2);
  Control control;
  const RowSource source = problem.source();
  const Sample sample = problem.sample();
  const Standard standard = make_standard(source, sample, 0, pool, control);
  std::vector<int64_t> offsets{0, 0, 0}, members;
  for (int64_t i = 0; i < problem.n; ++i) members.push_back(i);
  offsets[1] = offsets[2] = problem.n;
  for (int64_t i = 0; i < problem.n; ++i)  // the second leaf: rows of class 1 alone
    if (problem.label[static_cast<size_t>(i)] == 1) members.push_back(i);
  offsets[2] = static_cast<int64_t>(members.size());
  const std::vector<double> weight(members.size(), 1.0), shares{0.5, 0.5, 0.0, 1.0};
  const LeafModelArrays found =
      fit_leaf_models<double>(source, standard, sample, {offsets, members, weight}, shares, 2, {}, pool, control);
  CHECK(found.coef[3] > 1 && std::abs(found.coef[3] / found.coef[4] - 1) < 0.2);
  CHECK(std::abs(found.coef[3] + found.coef[0]) < 1e-4);  // two classes: opposite models
  for (size_t j = 6; j < 12; ++j) CHECK(found.coef[j] == 0);
  CHECK(found.intercept[2] == -1000 && found.intercept[3] == 0);
}

TEST("hashes tell rows apart and do not tell zeros or kinds of NaN apart") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> X{0.0, 1.0, -0.0, 1.0, 1.0, 0.0, nan, 1.0, -nan, 1.0};
  const std::vector<int32_t> label(5, 0), other(5, 1);
  const Matrix<double> matrix{X.data(), 5, 2, 2, 1};
  const auto hash = row_hashes(matrix, label), by_label = row_hashes(matrix, other);
  CHECK(hash[0] == hash[1] && hash[0] != hash[2] && hash[3] == hash[4] && hash[3] != hash[0]);
  CHECK(hash[0] != by_label[0]);
}
