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
  constexpr double kFloor = 1e-300;
  score(theta);
  const auto classes = to_size(node_.classes());
  std::array<std::vector<double>, 4> sums;
  for (auto& leaf : sums) leaf.assign(classes, 0.0);
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
    const auto [weight, label] = rows()[i];
    const double to_left = weight * left_[0][i], to_right = weight * right_[0][i];
    sums[0][label] += to_left * left_[1][i];
    sums[1][label] += to_left * right_[1][i];
    sums[2][label] += to_right * left_[2][i];
    sums[3][label] += to_right * right_[2][i];
  }
  double total = 0;
  for (size_t leaf = 0; leaf < 4; ++leaf) {
    double all = 0;
    for (const double w : sums[leaf]) all += w;
    bits_[leaf].resize(classes);
    for (size_t c = 0; c < classes; ++c) {
      bits_[leaf][c] = std::log2(std::max(all, kFloor) / std::max(sums[leaf][c], kFloor));
      total += sums[leaf][c] * bits_[leaf][c];
    }
  }
  return total / node_.weight();
}

void SoftLeaves::pull_rows() {
  for (auto& pull : pull_) pull.resize(rows().size());
  for (size_t i = 0; i < rows().size(); ++i) {
    const auto [weight, label] = rows()[i];
    const double in_left = left_[1][i] * bits_[0][label] + right_[1][i] * bits_[1][label];
    const double in_right = left_[2][i] * bits_[2][label] + right_[2][i] * bits_[3][label];
    const double slope[3] = {right_[0][i] * left_[0][i], left_[0][i] * right_[1][i] * left_[1][i],
                             right_[0][i] * right_[2][i] * left_[2][i]};
    pull_[0][i] = weight * slope[0] * (in_right - in_left);
    pull_[1][i] = weight * slope[1] * (bits_[1][label] - bits_[0][label]);
    pull_[2][i] = weight * slope[2] * (bits_[3][label] - bits_[2][label]);
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
