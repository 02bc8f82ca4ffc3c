#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/dot.hpp"
#include "base/rng.hpp"
#include "families/oblique/batches.hpp"
#include "families/oblique/column_scale.hpp"
#include "families/oblique/few_terms.hpp"
#include "families/oblique/soft/dense_entropy.hpp"
#include "families/oblique/soft/soft_entropy.hpp"
#include "families/oblique/soft/sparse_entropy.hpp"
#include "families/oblique/soft/two_levels.hpp"
#include "grow/cut.hpp"
#include "numeric/lbfgs.hpp"
#include "numeric/linear_algebra.hpp"
#include "predict/linear.hpp"
#include "tests/check.hpp"

using namespace boscage;

TEST("expit of eight lanes agrees with std::exp") {
  for (uint64_t round = 0; round < 500; ++round) {
    double z[8], right[8], left[8];
    for (uint64_t lane = 0; lane < 8; ++lane) z[lane] = 1300 * (uniform(1, round, lane) - 0.5);
    if (round % 2) z[0] = 0, z[1] = 1e-9, z[2] = -1e-300, z[3] = 36.7, z[4] = -1;
    expit_lanes(z, right, left);
    for (int lane = 0; lane < 8; ++lane) {
      const double e = std::exp(-std::abs(z[lane])), small = e / (1 + e), large = 1 / (1 + e);
      CHECK(std::abs(right[lane] - (z[lane] > 0 ? large : small)) <= 1e-14 * (z[lane] > 0 ? large : small));
      CHECK(std::abs(left[lane] - (z[lane] > 0 ? small : large)) <= 1e-14 * (z[lane] > 0 ? small : large));
    }
  }
}

TEST("scores are put in order, few and many, equal and of all sizes") {
  ScoreOrder order;
  for (const size_t n : {1UL, 2UL, 299UL, 300UL, 5000UL}) {
    for (const double size : {1.0, 1e300, 1e-300}) {
      std::vector<double> scores(n);
      for (size_t i = 0; i < n; ++i) scores[i] = size * std::round(50 * normal(2, n, i)) / (i % 3 ? 1.0 : 7.0);
      const auto found = order.sort_marked(scores);
      std::vector<uint32_t> sorted;
      for (size_t i = 0; i < n; ++i) {
        sorted.push_back(found[i] & kRowMask);
        CHECK((found[i] != sorted[i]) == (i > 0 && scores[sorted[i]] != scores[sorted[i - 1]]));
      }
      CHECK(std::is_sorted(sorted.begin(), sorted.end(), [&](auto a, auto b) { return scores[a] < scores[b]; }));
      std::vector<uint32_t> positions(sorted.begin(), sorted.end());
      std::sort(positions.begin(), positions.end());
      for (uint32_t i = 0; i < n; ++i) CHECK(positions[i] == i);
    }
  }
}

namespace {

// Classes of rows, as growth borrows them.
struct ClassList {
  std::vector<int32_t> label;
  std::vector<double> weight;

  Target target(int32_t classes) const {
    Target out;
    out.label = label;
    out.classes = classes;
    out.weight = weight;
    return out;
  }
};

// Rows on their way through a hyperplane: some never cross it, some do together.
struct Line {
  std::vector<double> start, change;
  ClassList classes;
  std::vector<uint32_t> rows;

  Line(size_t n, uint64_t seed, bool equal_weights) {
    for (size_t i = 0; i < n; ++i) {
      const double x = normal(seed, 1, i);
      start.push_back(seed % 3 == 0 ? std::round(4 * x) : x);
      change.push_back(i % 17 == 0 ? 0.0 : (seed % 3 == 0 ? std::round(3 * normal(seed, 2, i)) : normal(seed, 2, i)));
      const double noise = normal(seed, 3, i);
      classes.weight.push_back(equal_weights ? 1.0 : static_cast<double>(1 + i % 4));
      classes.label.push_back(start[i] + 0.3 * change[i] + noise > 0 ? 0 : 1 + static_cast<int32_t>(i % 2));
      rows.push_back(static_cast<uint32_t>(i));
    }
  }

  // What the cut at a step is worth, by moving every row.
  double gain_at(const NodeCutter& node, double step) const {
    std::vector<double> scores(start);
    for (size_t i = 0; i < scores.size(); ++i) scores[i] += step * change[i];
    MeasuredTest measured;
    return node.measure(scores, 0.0, measured) ? measured.gain : -1;
  }
};

}  // namespace

TEST("the best step is the best of all, and bounds leave out no better one") {
  const std::vector<AnyCriterion> criteria{Gini{}, Entropy{}, Sqrt{}, Separation{}};
  CutScratch scratch;
  for (uint64_t seed = 0; seed < 24; ++seed) {
    const Line line(seed % 2 ? 900 : 120, seed, seed % 4 < 2);
    Limits limits;
    limits.min_samples_leaf = 1 + static_cast<int64_t>(seed % 5) * 10;
    const NodeCutter node(line.rows, line.classes.target(3), criteria[seed % criteria.size()], limits);
    const CutPlace best = node.find_step(line.start, line.change, -1, scratch);
    CHECK(best.is_valid() && best.low < best.high);
    CHECK(std::abs(best.gain - line.gain_at(node, best.threshold())) <= 1e-9 * node.potential());
    for (size_t i = 0; i < line.start.size(); ++i) {  // just behind the step at which any row crosses
      const double step = -line.start[i] / line.change[i];
      if (std::isfinite(step)) CHECK(line.gain_at(node, step + 1e-9) <= best.gain + 1e-9 * node.potential());
    }
    for (const double share : {0.0, 0.5, 0.9, 0.999}) {
      const CutPlace found = node.find_step(line.start, line.change, share * best.gain, scratch);
      CHECK(found.low == best.low && found.high == best.high &&
            std::abs(found.gain - best.gain) <= 1e-12 * node.potential());
    }
    const CutPlace none = node.find_step(line.start, line.change, best.gain * (1 + 1e-9), scratch);
    CHECK(!none.is_valid() || none.gain <= best.gain * (1 + 1e-9));
  }
}

TEST("wide dot products have the bits of the plain one") {
  for (const size_t size : {1UL, 7UL, 8UL, 201UL}) {
    std::vector<double> a, b;
    for (size_t i = 0; i < 3 * size; ++i) a.push_back(normal(21, size, i)), b.push_back(normal(22, size, i));
    const auto n = static_cast<int64_t>(size);
    CHECK(wide_dot(a.data(), b.data(), n) == dot(a.data(), b.data(), n));
    const std::vector<uint32_t> rows{2, 0};
    double out[2];
    dot_rows(a.data(), b.data(), n, n, rows, out);
    for (size_t i = 0; i < 2; ++i) CHECK(out[i] == dot(a.data(), b.data() + rows[i] * size, n));
  }
}

TEST("L-BFGS finds the bottom of a crooked valley") {
  LbfgsOptions options;
  options.max_iter = 500;
  options.tolerance = 0;
  const std::vector<double> start{-1.2, 1.0};
  Lbfgs optimiser(start, options);
  while (optimiser.need() != Lbfgs::Need::done) {
    const double x = optimiser.point()[0], y = optimiser.point()[1], off = y - x * x;
    if (optimiser.need() == Lbfgs::Need::value) {
      optimiser.tell_value(100 * off * off + (1 - x) * (1 - x));
    } else {
      optimiser.tell_gradient(std::vector<double>{-400 * x * off - 2 * (1 - x), 200 * off});
    }
  }
  CHECK(optimiser.best_value() < 1e-8);
  CHECK(optimiser.iterations() < 100);
}

TEST("a search for eigenvectors ends when it is told") {
  int asked = 0;
  symmetric_eigen({2, 1, 0, 1, 2, 1, 0, 1, 2}, 3, [&] { return ++asked == 2; });
  CHECK(asked == 2);
}

TEST("eigenvectors of a symmetric matrix") {
  const size_t d = 60;
  std::vector<double> matrix(d * d);
  for (size_t p = 0; p < d; ++p)
    for (size_t q = 0; q <= p; ++q) matrix[p * d + q] = matrix[q * d + p] = normal(3, p, q);
  const Eigen eigen = symmetric_eigen(matrix, d, [] { return false; });
  for (size_t k = 0; k < d; ++k) {
    const double* v = &eigen.vectors[k * d];
    for (size_t p = 0; p < d; ++p) {
      double product = 0;
      for (size_t q = 0; q < d; ++q) product += matrix[p * d + q] * v[q];
      CHECK(std::abs(product - eigen.values[k] * v[p]) < 1e-9);
    }
    CHECK(k == 0 || eigen.values[k] <= eigen.values[k - 1]);
  }
}

namespace {

// Rows of which about half of the entries are 0, dense and sparse, with labels and weights.
struct Sample {
  static constexpr size_t n = 150, d = 11;
  std::vector<double> dense, entries;
  std::vector<int32_t> indices, offsets{0};
  ClassList classes;
  std::vector<WeightedRow> local;
  std::vector<uint32_t> rows, columns;

  Sample() {
    for (size_t i = 0; i < n; ++i) {
      rows.push_back(static_cast<uint32_t>(i));
      classes.weight.push_back(1.0 + static_cast<double>(i % 3));
      classes.label.push_back(static_cast<int32_t>(i * 7 % 4));
      local.push_back({classes.weight[i], static_cast<uint32_t>(classes.label[i])});
      for (size_t j = 0; j < d; ++j) {
        const double x = uniform(5, i, j) < 0.5 ? 0.0 : normal(6, i, j) + static_cast<double>(j);
        dense.push_back(x);
        if (x == 0) continue;
        entries.push_back(x);
        indices.push_back(static_cast<int32_t>(j));
      }
      offsets.push_back(static_cast<int32_t>(entries.size()));
    }
    for (uint32_t j = 0; j < d; ++j) columns.push_back(j);
  }

  Matrix<double> matrix() const { return {dense.data(), n, d, d, 1}; }
  SparseRows<double, int32_t> sparse() const {
    return {entries.data(), indices.data(), offsets.data(), n, d, static_cast<int64_t>(entries.size())};
  }
  ObliqueData data(const AnyRows& X, Pool& pool, const Control& control) const {
    return {X, make_scaling(X, classes.weight, pool, control), classes.target(4), Entropy{}, Limits{}};
  }
};

bool is_near(double a, double b, double tolerance) { return std::abs(a - b) <= tolerance * (1 + std::abs(b)); }

// The gradient against differences of the value.
template <class Objective>
void check_gradient(Objective& objective, std::vector<double> theta) {
  objective.value(theta);
  const auto found = objective.gradient();
  const std::vector<double> gradient(found.begin(), found.end());
  for (size_t j = 0; j < theta.size(); ++j) {
    const double step = 1e-6, at = theta[j];
    theta[j] = at + step;
    const double above = objective.value(theta);
    theta[j] = at - step;
    const double below = objective.value(theta);
    theta[j] = at;
    CHECK(is_near((above - below) / (2 * step), gradient[j], 1e-6));
  }
}

}  // namespace

TEST("sparse rows have the scaling, value and gradient of dense ones") {
  const Sample node;
  Pool pool(1);
  const Control control;
  const ObliqueData dense = node.data(node.matrix(), pool, control), sparse = node.data(node.sparse(), pool, control);
  for (size_t j = 0; j < Sample::d; ++j) {
    CHECK(is_near(sparse.scaling.mean[j], dense.scaling.mean[j], 1e-12));
    CHECK(is_near(sparse.scaling.deviation[j], dense.scaling.deviation[j], 1e-12));
  }
  CHECK(varying_columns(dense, node.rows, control) == varying_columns(sparse, node.rows, control));
  const std::vector<uint32_t> columns{1, 4, 5, 9};
  const Tile<double> tile(node.matrix(), dense.scaling, node.rows, columns, nullptr);
  SoftEntropy<double> plain(tile, node.local, 4, 0.1, nullptr, control);
  SparseEntropy thin(node.sparse(), sparse.scaling, node.rows, columns, node.local, 4, 0.1, control);
  std::vector<double> theta;
  for (size_t j = 0; j <= columns.size(); ++j) theta.push_back(normal(7, 0, j));
  CHECK(is_near(thin.value(theta), plain.value(theta), 1e-12));
  const auto a = thin.gradient(), b = plain.gradient();
  for (size_t j = 0; j < theta.size(); ++j) CHECK(is_near(a[j], b[j], 1e-11));
  check_gradient(thin, theta);
}

TEST("columns scaled by their range lie in [-1, 1], from sparse rows as from dense ones") {
  const Sample node;
  Pool pool(1);
  const Control control;
  ObliqueData dense = node.data(node.matrix(), pool, control), sparse = node.data(node.sparse(), pool, control);
  const std::vector<double> mean = dense.scaling.mean;
  scale_by_range(dense.X, {}, pool, control, dense.scaling);
  scale_by_range(sparse.X, {}, pool, control, sparse.scaling);
  CHECK(dense.scaling.mean == mean);
  for (size_t j = 0; j < Sample::d; ++j) {
    CHECK(dense.scaling.inverse[j] == sparse.scaling.inverse[j]);
    if (!(dense.scaling.inverse[j] > 0)) continue;
    CHECK(dense.scaling.centre[j] == sparse.scaling.centre[j]);
    double low = 2, high = -2;
    for (size_t i = 0; i < Sample::n; ++i) {
      const double value = dense.scaling.scaled(node.dense[i * Sample::d + j], j);
      low = std::fmin(low, value);
      high = std::fmax(high, value);
    }
    CHECK(is_near(low, -1, 1e-15) && is_near(high, 1, 1e-15));
  }
  const std::vector<uint32_t> columns{1, 4, 5, 9};
  const Tile<double> tile(node.matrix(), dense.scaling, node.rows, columns, nullptr);
  SoftEntropy<double> plain(tile, node.local, 4, 0.1, nullptr, control);
  SparseEntropy thin(node.sparse(), sparse.scaling, node.rows, columns, node.local, 4, 0.1, control);
  const std::vector<double> theta{0.3, -1.2, 0.7, 0.1, 0.4};
  CHECK(is_near(thin.value(theta), plain.value(theta), 1e-12));
  check_gradient(thin, theta);
}

TEST("a large node in single precision agrees with double precision, in any layout") {
  constexpr int64_t n = 5003, d = 21;  // neither a multiple of eight; two blocks
  std::vector<double> by_row, by_column(n * d);
  std::vector<uint32_t> rows, columns;
  std::vector<WeightedRow> weighted;
  for (int64_t i = 0; i < n; ++i) {
    rows.push_back(static_cast<uint32_t>(n - 1 - i));
    weighted.push_back({1.0 + static_cast<double>(i % 3), static_cast<uint32_t>(i * 7 % 4)});
    for (int64_t j = 0; j < d; ++j) by_row.push_back(i % 50 == 3 && j == 2 ? std::nan("") : normal(31, i, j));
  }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < d; ++j) by_column[static_cast<size_t>(j * n + i)] = by_row[static_cast<size_t>(i * d + j)];
  const std::vector<float> singles(by_row.begin(), by_row.end());
  for (uint32_t j = 0; j < d; ++j) columns.push_back(j);
  const Scaling scaling{std::vector<double>(d, 0.25), std::vector<double>(d, 2.0), std::vector<double>(d, 0.5)};
  std::vector<double> theta;
  for (size_t j = 0; j <= d; ++j) theta.push_back(normal(32, 0, j));
  const Control control;
  const Matrix<double> X{by_row.data(), n, d, d, 1}, Y{by_column.data(), n, d, 1, n};
  const Matrix<float> Z{singles.data(), n, d, d, 1};
  const Tile<double> tile(X, scaling, rows, columns, nullptr);
  SoftEntropy<double> full(tile, weighted, 4, 0.1, nullptr, control);
  const double value = full.value(theta);
  const auto found = full.gradient();
  const auto check = [&](const auto& matrix) {
    CHECK(is_large_tile(n, d, 4));
    DenseEntropy single(matrix, scaling, rows, columns, weighted, 4, 0.1, nullptr, control);
    for (int reading = 0; reading < 3; ++reading) {  // from the first row to the last, back, and again
      CHECK(is_near(single.value(theta), value, 1e-8));
      const auto gradient = single.gradient();
      for (size_t j = 0; j < theta.size(); ++j) CHECK(std::abs(gradient[j] - found[j]) < 1e-7);
    }
  };
  check(X);
  check(Y);
  check(Z);
}

TEST("columns of sparse rows are those of dense ones") {
  const Sample node;
  Pool pool(1);
  const Control control;
  const ObliqueData dense_data = node.data(node.matrix(), pool, control),
                    sparse_data = node.data(node.sparse(), pool, control);
  const ScaledColumns dense(dense_data, node.rows), thin(sparse_data, node.rows);
  std::vector<double> theta, pull, a, b;
  for (size_t j = 0; j <= Sample::d; ++j) theta.push_back(normal(11, 0, j));
  for (size_t i = 0; i < Sample::n; ++i) pull.push_back(normal(12, 0, i));
  for (size_t j = 0; j < Sample::d; ++j) {
    const auto x = dense.column(j, a), z = thin.column(j, b);
    for (size_t i = 0; i < Sample::n; ++i) CHECK(is_near(x[i], z[i], 1e-12));
  }
  dense.score(theta, a);
  thin.score(theta, b);
  for (size_t i = 0; i < Sample::n; ++i) CHECK(is_near(a[i], b[i], 1e-12));
  dense.project(pull, a);
  thin.project(pull, b);
  for (size_t j = 0; j < Sample::d; ++j) CHECK(is_near(a[j], b[j], 1e-11));
  CHECK(dense.has_distinct_rows(Sample::n) && thin.has_distinct_rows(Sample::n));
  CHECK(!dense.has_distinct_rows(Sample::n + 1) && !thin.has_distinct_rows(Sample::n + 1));
}

TEST("a cut that X's type cannot hold leaves the other columns") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> X{1, 0, nan, 1, 1, 0, nan, 1};
  const std::vector<uint32_t> rows{0, 1, 2, 3};
  const ClassList classes{{0, 1, 0, 1}, {}};
  const ObliqueData data{Matrix<float>{X.data(), 4, 2, 2, 1},
                         {{1 - 1e-9, 0.5}, {1, 1}, {1, 1}},  // no float lies between the first mean and 1
                         classes.target(2),
                         Gini{},
                         Limits{}};
  const Control control;
  NodeOffers offers(data, rows, 1, control);
  CHECK(offers.offer_axis() > 0 && offers.best().test.feature == 1);
}

TEST("of columns that part the classes equally well the clearest is taken") {
  const std::vector<uint32_t> rows{0, 1, 2, 3};
  const ClassList classes{{0, 0, 1, 1}, {}};
  const auto taken = [&](const std::vector<double>& X) {
    const ObliqueData data{
        Matrix<double>{X.data(), 4, 2, 2, 1}, {{0, 0}, {1, 100}, {1, 0.01}}, classes.target(2), Gini{}, Limits{}};
    const Control control;
    NodeOffers offers(data, rows, 1, control);
    offers.offer_axis();
    return offers.best().test.feature;
  };
  CHECK(taken({0, 0, 1, 10, 2, 190, 3, 200}) == 1);   // 1.8 deviations wide, the first column's gap is 1
  CHECK(taken({0, 0, 1, 100, 2, 110, 3, 120}) == 0);  // wide in the user's units alone
  CHECK(taken({0, 0, 1, 100, 2, 200, 3, 300}) == 0);  // the first of equal ones
  CHECK(taken({0, 190, 1, 0, 2, 200, 3, 201}) == 0);  // worse where it is wide
}

TEST("the search of one column looks up between columns") {
  const Sample node;
  Pool pool(1);
  Control control;
  for (const AnyRows& X : {AnyRows(node.matrix()), AnyRows(node.sparse())}) {
    const ObliqueData data = node.data(X, pool, Control());
    NodeOffers offers(data, node.rows, 1, control);
    control.stop();
    bool stopped = false;
    try {
      offers.offer_axis();
    } catch (const Interrupted&) {
      stopped = true;
    }
    CHECK(stopped);
  }
}

TEST("gradients of two levels") {
  const Sample node;
  Pool pool(1);
  const Control control;
  const ObliqueData data = node.data(node.matrix(), pool, control);
  const ScaledColumns columns(data, node.rows);
  const NodeCutter cutter(node.rows, data.target, data.criterion, data.limits);
  std::vector<double> theta;
  for (size_t j = 0; j < 3 * (Sample::d + 1); ++j) theta.push_back(normal(8, 0, j));
  SoftLeaves soft(columns, cutter);
  check_gradient(soft, theta);
  LabelledLeaves labelled(columns, cutter, {0, 1, 2, 3});
  check_gradient(labelled, theta);
  for (double& value : theta) value *= 1e4;  // no overflow, no log of 0
  CHECK(std::isfinite(soft.value(theta)) && std::isfinite(labelled.value(theta)));
}

TEST("many rows walk where each alone would") {
  constexpr int64_t width = 19, rows = 37;
  std::vector<LinearNode> nodes(7);
  std::vector<double> weights, X;
  for (uint64_t j = 0; j < 2 * width; ++j) weights.push_back(normal(9, 0, j));
  for (uint64_t j = 0; j < rows * width; ++j) X.push_back(normal(10, 0, j));
  nodes[0] = {0.1, 0, {1, 2}};
  nodes[1] = {-0.3, ~4, {3, 4}};
  nodes[2] = {0.2, 1, {5, 6}};
  std::vector<const double*> views;
  for (int64_t i = 0; i < rows; ++i) views.push_back(X.data() + i * width);
  std::vector<int32_t> leaves(rows);
  walk_linear(nodes, weights.data(), width, views.data(), rows, leaves.data());
  for (size_t i = 0; i < rows; ++i) {
    int32_t at = 0;
    while (nodes[static_cast<size_t>(at)].child[0] >= 0) {
      const LinearNode& node = nodes[static_cast<size_t>(at)];
      const double score =
          node.test >= 0 ? dot(weights.data() + node.test * width, views[i], width) : views[i][~node.test];
      at = node.child[score > node.threshold];
    }
    CHECK(leaves[i] == at);
  }
  CHECK(is_finite_row(X.data(), width));
  X[17] = std::nan("");
  CHECK(!is_finite_row(X.data(), width) && is_finite_row(X.data() + width, width));
  X[17] = 0, X[3] = -INFINITY;
  CHECK(!is_finite_row(X.data(), width));
}

namespace {

struct OvalRows {
  static constexpr int64_t rows = 5000, columns = 3;
  std::vector<double> X, weight;
  std::vector<int32_t> y;
  std::vector<double> class_weights{0, 0};

  OvalRows() {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) X.push_back(normal(11, i, j));
      const double* x = X.data() + i * columns;
      y.push_back(x[0] * x[0] + x[1] * x[1] > 1.4);
      weight.push_back(1 + static_cast<double>(i % 3));
      class_weights[static_cast<size_t>(y.back())] += weight.back();
    }
  }
  LabelledRows<double> view() const { return {{X.data(), rows, columns, columns, 1}, y, weight}; }
};

}  // namespace

TEST("a tree grown from sums holds what its tests send to its leaves, in any company") {
  const OvalRows oval;
  std::vector<std::vector<double>> thresholds;
  for (const bool remembers : {false, true}) {
    DescentFrame frame{{std::vector<double>(3, 0.0), std::vector<double>(3, 1.0), std::vector<double>(3, 1.0)},
                       std::vector<double>(3, -6.0),
                       std::vector<double>(3, 6.0),
                       Gini{},
                       {9, -1, 5, 0, 0},
                       {}};
    ObliqueBatchGrowth growth(frame, {oval.rows, oval.class_weights}, Order::best_first);
    std::vector<int32_t> places(remembers ? oval.rows : 0, 0);
    Pool pool(2);
    int64_t passes = 0;
    while (const auto pass = growth.ask(remembers ? 1 << 20 : 1)) {
      ObliqueBlocks<double> blocks(*pass);
      std::vector<double> sums(pass->size(), 0.0);
      blocks.add(oval.view(), 0, oval.rows, remembers ? places.data() : nullptr, sums.data());
      growth.tell(sums, pool);
      CHECK(++passes < 20000);
    }
    const Grower& grower = growth.grower();
    CHECK(grower.splits() == 9);
    std::vector<int64_t> counts(to_size(grower.size()), 0);
    for (int64_t i = 0; i < oval.rows; ++i) {
      int32_t at = 0;
      while (grower.node(at).left >= 0 && grower.node(grower.node(at).left).number >= 0) {
        const Test& test = grower.test(at);
        const bool right = dot(test.weights.data(), oval.X.data() + i * 3, 3) > test.threshold;
        at = right ? grower.node(at).right : grower.node(at).left;
      }
      ++counts[static_cast<size_t>(at)];
    }
    std::vector<double> mine;
    for (const int32_t id : grower.committed()) {
      const bool is_leaf = grower.node(id).left < 0 || grower.node(grower.node(id).left).number < 0;
      if (is_leaf) CHECK(counts[static_cast<size_t>(id)] == grower.node(id).rows);
      mine.push_back(is_leaf ? 0 : grower.test(id).threshold);
    }
    thresholds.push_back(mine);
  }
  CHECK(thresholds[0] == thresholds[1]);
}

namespace {

// The square of A theta - b and its minimum in some columns, by Gauss-Seidel. The bias plays no part.
struct Squares {
  std::vector<std::vector<double>> rows;
  std::vector<double> b;

  double value(const std::vector<double>& theta) const {
    double sum = 0;
    for (size_t i = 0; i < rows.size(); ++i) sum += residual(theta, i) * residual(theta, i);
    return sum;
  }
  double residual(const std::vector<double>& theta, size_t i) const {
    double sum = -b[i];
    for (size_t j = 0; j < theta.size(); ++j) sum += rows[i][j] * theta[j];
    return sum;
  }
  double slope(const std::vector<double>& theta, size_t j) const {
    double sum = 0;
    for (size_t i = 0; i < rows.size(); ++i) sum += 2 * residual(theta, i) * rows[i][j];
    return sum;
  }
  void fit(Terms& terms) const {
    std::vector<double> theta = spread(terms);
    for (int round = 0; round < 200; ++round)
      for (const uint32_t j : terms.columns) {
        double square = 0;
        for (const auto& row : rows) square += row[j] * row[j];
        theta[j] -= slope(theta, j) / (2 * square);
      }
    for (size_t i = 0; i < terms.columns.size(); ++i) terms.theta[i] = theta[terms.columns[i]];
    terms.value = value(theta);
  }
  std::vector<double> spread(const Terms& terms) const {
    std::vector<double> theta(rows.front().size(), 0.0);
    for (size_t i = 0; i < terms.columns.size(); ++i) theta[terms.columns[i]] = terms.theta[i];
    return theta;
  }
};

}  // namespace

TEST("the search for few terms comes to the best of all subsets, or near it") {
  constexpr uint32_t kColumns = 9, kRows = 40;
  const std::vector<uint32_t> all{0, 1, 2, 3, 4, 5, 6, 7, 8};
  int best_found = 0;
  for (uint64_t round = 0; round < 20; ++round) {
    Squares squares;
    for (uint64_t i = 0; i < kRows; ++i) {
      std::vector<double> row(kColumns);
      for (uint64_t j = 0; j < kColumns; ++j)
        row[j] = normal(11, round, i * kColumns + j) + 0.5 * normal(12, round, i);  // columns that go together
      squares.b.push_back(row[1] - 2 * row[4] + row[7] + 0.6 * row[8] + normal(13, round, i));
      squares.rows.push_back(std::move(row));
    }
    const FewTermsSteps steps{[&](Terms& terms) { squares.fit(terms); },
                              [&](const Terms& at) {
                                std::vector<double> slopes;
                                for (uint32_t j = 0; j < kColumns; ++j)
                                  slopes.push_back(squares.slope(squares.spread(at), j));
                                return slopes;
                              }};
    Terms full{all, std::vector<double>(kColumns + 1, 0.0)}, cut;
    squares.fit(full);
    double best = std::numeric_limits<double>::infinity();
    for (uint32_t i = 0; i < kColumns; ++i)
      for (uint32_t j = i + 1; j < kColumns; ++j)
        for (uint32_t k = j + 1; k < kColumns; ++k) {
          Terms terms{{i, j, k}, {0, 0, 0, 0}};
          squares.fit(terms);
          best = std::min(best, terms.value);
        }
    const Terms found = search_few_terms(all, full, {{4}, {1.0, 0.0}}, 3, steps);
    CHECK(found.columns.size() == 3);
    CHECK(std::is_sorted(found.columns.begin(), found.columns.end()));
    CHECK(found.value >= best * (1 - 1e-9));
    CHECK(found.value <= best * 1.1);
    best_found += found.value <= best * (1 + 1e-9);
  }
  CHECK(best_found >= 18);
}
