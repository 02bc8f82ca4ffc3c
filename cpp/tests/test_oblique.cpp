#include <algorithm>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "cut.hpp"
#include "oblique/eigen.hpp"
#include "oblique/lbfgs.hpp"
#include "oblique/soft_entropy.hpp"
#include "rng.hpp"

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
      const auto sorted = order.sort(scores);
      CHECK(std::is_sorted(sorted.begin(), sorted.end(), [&](auto a, auto b) { return scores[a] < scores[b]; }));
      std::vector<uint32_t> positions(sorted.begin(), sorted.end());
      std::sort(positions.begin(), positions.end());
      for (uint32_t i = 0; i < n; ++i) CHECK(positions[i] == i);
    }
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

TEST("eigenvectors of a symmetric matrix") {
  const size_t d = 60;
  std::vector<double> matrix(d * d);
  for (size_t p = 0; p < d; ++p)
    for (size_t q = 0; q <= p; ++q) matrix[p * d + q] = matrix[q * d + p] = normal(3, p, q);
  const Eigen eigen = eigen_of(matrix, d);
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
