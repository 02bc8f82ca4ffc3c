#include "families/oblique/soft/two_levels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/dot.hpp"
#include "base/index.hpp"

namespace boscage {

namespace {

struct Halves {
  double right, left;
};

Halves expit(double z) {
  const double e = std::exp(-std::abs(z)), large = 1 / (1 + e), small = e * large;
  return z > 0 ? Halves{large, small} : Halves{small, large};
}

// ln s(z), whatever the size of z.
double log_expit(double z) { return std::min(z, 0.0) - std::log1p(std::exp(-std::abs(z))); }

}  // namespace

void TwoLevels::score(std::span<const double> theta) {
  const size_t size = columns_.columns() + 1;
  for (size_t t = 0; t < 3; ++t) columns_.score(theta.subspan(t * size, size), z_[t]);
}

std::span<const double> TwoLevels::gradient() {
  pull_rows();
  const size_t d = columns_.columns();
  std::vector<double> sums;
  gradient_.assign(3 * (d + 1), 0.0);
  for (size_t t = 0; t < 3; ++t) {
    double* part = gradient_.data() + t * (d + 1);
    columns_.project(pull_[t], sums);
    for (size_t j = 0; j < d; ++j) part[j] = sums[j] / node_.weight();
    for (const double pull : pull_[t]) part[d] += pull;
    part[d] /= node_.weight();
  }
  return gradient_;
}

double SoftLeaves::value(std::span<const double> theta) {
  score(theta);
  std::array<std::vector<double>, 4> sums;  // by class, or the weight and then the outputs
  for (auto& leaf : sums) leaf.assign(node_.total().size(), 0.0);
  for (size_t t = 0; t < 3; ++t) {
    right_[t].resize(z_[t].size());
    left_[t].resize(z_[t].size());
    for (size_t i = 0; i < z_[t].size(); ++i) {
      const Halves halves = expit(z_[t][i]);
      right_[t][i] = halves.right;
      left_[t][i] = halves.left;
    }
  }
  for (size_t i = 0; i < rows().size(); ++i) {
    const double reach[4] = {left_[0][i] * left_[1][i], left_[0][i] * right_[1][i], right_[0][i] * left_[2][i],
                             right_[0][i] * right_[2][i]};
    const auto [weight, label] = rows()[i];
    for (size_t leaf = 0; leaf < 4; ++leaf) {
      if (!node_.is_numbers()) {
        sums[leaf][label] += weight * reach[leaf];
        continue;
      }
      const auto values = node_.sums_of(i);
      for (size_t k = 0; k < values.size(); ++k) sums[leaf][k] += reach[leaf] * values[k];
    }
  }
  return node_.is_numbers() ? error(sums) : entropy(sums);
}

double SoftLeaves::entropy(const std::array<std::vector<double>, 4>& sums) {
  constexpr double kFloor = 1e-300;
  double total = 0;
  for (size_t leaf = 0; leaf < 4; ++leaf) {
    double all = 0;
    for (const double w : sums[leaf]) all += w;
    at_[leaf].resize(sums[leaf].size());
    for (size_t c = 0; c < sums[leaf].size(); ++c) {
      at_[leaf][c] = std::log2(std::max(all, kFloor) / std::max(sums[leaf][c], kFloor));
      total += sums[leaf][c] * at_[leaf][c];
    }
  }
  return total / node_.weight();
}

// The node's error less that between the leaves.
double SoftLeaves::error(const std::array<std::vector<double>, 4>& sums) {
  constexpr double kFloor = 1e-300;
  const SoftNumbers& numbers = *node_.soft_numbers();
  double explained = 0;
  for (size_t leaf = 0; leaf < 4; ++leaf) {
    const double weight = std::max(sums[leaf][0], kFloor);
    at_[leaf].resize(numbers.outputs());
    for (size_t j = 0; j < numbers.outputs(); ++j) {
      at_[leaf][j] = sums[leaf][j + 1] / weight;
      const double distance = at_[leaf][j] - numbers.mean[j];
      explained += weight * distance * distance;
    }
  }
  return 1 - explained / numbers.error;
}

double SoftLeaves::cost(size_t leaf, size_t row) const {
  if (!node_.is_numbers()) return at_[leaf][rows()[row].label];
  const SoftNumbers& numbers = *node_.soft_numbers();
  double squares = 0;
  for (size_t j = 0; j < numbers.outputs(); ++j) {
    const double distance = numbers.value(row, j) - at_[leaf][j];
    squares += distance * distance;
  }
  return squares * node_.weight() / numbers.error;
}

void SoftLeaves::pull_rows() {
  for (auto& pull : pull_) pull.resize(rows().size());
  for (size_t i = 0; i < rows().size(); ++i) {
    const double weight = rows()[i].weight;
    const double costs[4] = {cost(0, i), cost(1, i), cost(2, i), cost(3, i)};
    const double in_left = left_[1][i] * costs[0] + right_[1][i] * costs[1];
    const double in_right = left_[2][i] * costs[2] + right_[2][i] * costs[3];
    const double slope[3] = {right_[0][i] * left_[0][i], left_[0][i] * right_[1][i] * left_[1][i],
                             right_[0][i] * right_[2][i] * left_[2][i]};
    pull_[0][i] = weight * slope[0] * (in_right - in_left);
    pull_[1][i] = weight * slope[1] * (costs[1] - costs[0]);
    pull_[2][i] = weight * slope[2] * (costs[3] - costs[2]);
  }
}

double LabelledLeaves::value(std::span<const double> theta) {
  score(theta);
  share_.resize(rows().size());
  double total = 0;
  for (size_t i = 0; i < rows().size(); ++i) {
    const double to_left = log_expit(-z_[0][i]), to_right = log_expit(z_[0][i]);
    const std::array<double, 4> reach{to_left + log_expit(-z_[1][i]), to_left + log_expit(z_[1][i]),
                                      to_right + log_expit(-z_[2][i]), to_right + log_expit(z_[2][i])};
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    for (size_t leaf = 0; leaf < 4; ++leaf)
      if (leaf_class_[leaf] == rows()[i].label) top = std::max(top, reach[leaf]);
    for (size_t leaf = 0; leaf < 4; ++leaf) {
      share_[i][leaf] = leaf_class_[leaf] == rows()[i].label ? std::exp(reach[leaf] - top) : 0.0;
      sum += share_[i][leaf];
    }
    for (double& share : share_[i]) share /= sum;
    total -= rows()[i].weight * (top + std::log(sum));
  }
  return total / node_.weight();
}

void LabelledLeaves::pull_rows() {
  for (auto& pull : pull_) pull.resize(rows().size());
  for (size_t i = 0; i < rows().size(); ++i) {
    const auto& share = share_[i];
    const double weight = rows()[i].weight, to_left = share[0] + share[1], to_right = share[2] + share[3];
    pull_[0][i] = weight * (expit(z_[0][i]).right - to_right);
    pull_[1][i] = weight * (to_left * expit(z_[1][i]).right - share[1]);
    pull_[2][i] = weight * (to_right * expit(z_[2][i]).right - share[3]);
  }
}

}  // namespace boscage
