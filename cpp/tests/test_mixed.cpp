#include <cmath>
#include <limits>
#include <vector>

#include "base/dot.hpp"
#include "base/lanes.hpp"
#include "base/rng.hpp"
#include "families/mixed/soft_squares.hpp"
#include "families/mixed/tile_kernel.hpp"
#include "tests/check.hpp"

using namespace boscage;

namespace {

// Rows in groups of eight, as a tile has them; the last group is filled up with weight 0.
struct Rows {
  int64_t rows, columns, groups;
  LineVector<double> values, share;

  Rows(int64_t n, int64_t m, uint64_t seed) : rows(n), columns(m), groups((n + 7) / 8) {
    values.assign(static_cast<size_t>(groups * 8 * m), 0.0);
    share.assign(static_cast<size_t>(groups * 8), 0.0);
    double all_weights = 0;
    for (int64_t i = 0; i < n; ++i) {
      share[static_cast<size_t>(i)] = 0.5 + uniform(seed, 1, i);
      all_weights += share[static_cast<size_t>(i)];
      for (int64_t j = 0; j < m; ++j) at(i, j) = normal(seed, 2, i * m + j);
    }
    for (double& value : share) value /= all_weights;
  }

  double& at(int64_t i, int64_t j) { return values[static_cast<size_t>((i / 8 * columns + j) * 8 + i % 8)]; }
  mixed::TileView view() const { return {values.data(), groups, columns}; }
};

}  // namespace

TEST("the gradient of the soft squared error agrees with differences") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rows data(5 + static_cast<int64_t>(seed) * 3, 1 + static_cast<int64_t>(seed) % 5, seed);
    const size_t outputs = 1 + seed % 3, size = data.share.size();
    std::vector<double> numbers(outputs * size, 0.0);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = normal(seed, 3, i);
    mixed::SoftSquares objective(data.view(), data.share.data(), numbers, outputs, 20.0, 0.3);
    std::vector<double> theta(static_cast<size_t>(data.columns) + 1);
    for (size_t j = 0; j < theta.size(); ++j) theta[j] = normal(seed, 4, j);
    objective.value(theta);
    const auto found = objective.gradient();
    const std::vector<double> gradient(found.begin(), found.end());
    for (size_t j = 0; j < theta.size(); ++j) {
      constexpr double step = 1e-6;
      std::vector<double> low(theta), high(theta);
      low[j] -= step;
      high[j] += step;
      const double slope = (objective.value(high) - objective.value(low)) / (2 * step);
      CHECK(std::abs(slope - gradient[j]) < 1e-7);
    }
  }
}

TEST("scores of a tile have the bits of the dot product") {
  // Columns of all rows, of which the tile has some: those of lane 0 first.
  constexpr int64_t all_columns = 29;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    std::vector<int64_t> columns, first{0};
    for (int64_t lane = 0; lane < 8; ++lane) {
      for (int64_t j = lane; j < all_columns; j += 8)
        if (uniform(seed, 5, j) < 0.6) columns.push_back(j);
      first.push_back(static_cast<int64_t>(columns.size()));
    }
    Rows data(37, static_cast<int64_t>(columns.size()), seed);
    std::vector<double> weights(columns.size()), scores(data.share.size());
    for (size_t j = 0; j < weights.size(); ++j) weights[j] = normal(seed, 6, j);
    mixed::score_tile(data.view(), weights.data(), first.data(), scores.data());
    for (int64_t i = 0; i < data.rows; ++i) {
      std::vector<double> x(all_columns, 0.0), w(all_columns, 0.0);
      for (size_t j = 0; j < columns.size(); ++j) {
        x[static_cast<size_t>(columns[j])] = data.at(i, static_cast<int64_t>(j));
        w[static_cast<size_t>(columns[j])] = weights[j];
      }
      CHECK(scores[static_cast<size_t>(i)] == dot(w.data(), x.data(), all_columns));
    }
  }
}

TEST("facts of a column's numbers") {
  const double missing = std::numeric_limits<double>::quiet_NaN();
  for (const size_t n : {1UL, 7UL, 8UL, 9UL, 40UL}) {
    std::vector<double> values(n, 3.0);
    CHECK(!mixed::facts_of(values).varies && mixed::facts_of(values).is_whole);
    values[n - 1] = -2.0;
    mixed::ValueFacts facts = mixed::facts_of(values);
    CHECK(facts.varies == (n > 1) && facts.low == -2.0 && facts.high == (n > 1 ? 3.0 : -2.0) && facts.is_whole);
    values[n - 1] = 2.5;
    CHECK(!mixed::facts_of(values).is_whole);
    values[n - 1] = 1e300;
    CHECK(!mixed::facts_of(values).is_whole);
    values[n - 1] = missing;
    facts = mixed::facts_of(values);
    CHECK(facts.has_missing && facts.varies == (n > 1));
  }
}
