#include "families/oblique/householder.hpp"

#include <cmath>

#include "base/dot.hpp"
#include "base/index.hpp"
#include "base/rng.hpp"
#include "numeric/linear_algebra.hpp"

namespace boscage {

namespace {

// Columns are scaled: less variance than this is rounding.
constexpr size_t kMostJacobi = 40;  // columns up to which all eigenvectors are found
constexpr double kNoVariance = 1e-20;
// From this many columns the covariance is never written down.
constexpr size_t kManyColumns = 1000;
constexpr int kMostPowers = 100;

// The leading direction of a class by powers of its covariance, each by two passes over the rows.
std::vector<double> leading_by_passes(const ScaledColumns& columns, std::span<const WeightedRow> rows, uint32_t label,
                                      const Control& control) {
  const size_t d = columns.columns();
  std::vector<double> pull(rows.size()), mean, v(d + 1), next, scores;
  double all = 0;
  for (size_t i = 0; i < rows.size(); ++i) all += pull[i] = rows[i].label == label ? rows[i].weight : 0.0;
  columns.project(pull, mean);
  for (double& value : mean) value /= all;
  for (size_t j = 0; j < d; ++j) v[j] = 1.0 / std::sqrt(static_cast<double>(d)) * (1 + 1e-3 * uniform(1, 0, j));
  double value = 0;
  for (int power = 0; power < kMostPowers; ++power) {
    control.check();
    v[d] = -dot(v.data(), mean.data(), static_cast<int64_t>(d));
    columns.score(v, scores);
    double sum = 0;
    for (size_t i = 0; i < rows.size(); ++i)
      sum += pull[i] = rows[i].label == label ? rows[i].weight * scores[i] / all : 0.0;
    columns.project(pull, next);
    for (size_t j = 0; j < d; ++j) next[j] -= sum * mean[j];
    const double now = std::sqrt(dot(next.data(), next.data(), static_cast<int64_t>(d)));
    if (!(now > kNoVariance)) return {};
    for (size_t j = 0; j < d; ++j) v[j] = next[j] / now;
    if (std::abs(now - value) <= 1e-6 * now) break;
    value = now;
  }
  v.resize(d);
  return v;
}

// The same by the covariance itself.
std::vector<double> leading_by_covariance(const ScaledColumns& columns, std::span<const WeightedRow> rows,
                                          uint32_t label, const Control& control) {
  const size_t d = columns.columns();
  std::vector<size_t> members;
  double all = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].label != label) continue;
    members.push_back(i);
    all += rows[i].weight;
  }
  const size_t n = members.size();
  if (n == 0) return {};  // weights far apart: no row is above the mean of numbers
  std::vector<double> centred(d * n), weighted(n), covariance(d * d), place;
  for (size_t j = 0; j < d; ++j) {
    control.check();
    const auto x = columns.column(j, place);
    double mean = 0;
    for (size_t k = 0; k < n; ++k) mean += rows[members[k]].weight * x[members[k]];
    mean /= all;
    for (size_t k = 0; k < n; ++k) centred[j * n + k] = x[members[k]] - mean;
  }
  for (size_t p = 0; p < d; ++p) {
    control.check();
    for (size_t k = 0; k < n; ++k) weighted[k] = rows[members[k]].weight * centred[p * n + k];
    for (size_t q = p; q < d; ++q)
      covariance[p * d + q] = covariance[q * d + p] =
          dot(weighted.data(), &centred[q * n], static_cast<int64_t>(n)) / all;
  }
  double trace = 0;
  for (size_t j = 0; j < d; ++j) trace += covariance[j * d + j];
  if (!(trace > kNoVariance)) return {};
  const IsOver is_over = [&] {
    control.check();
    return false;
  };
  Eigen leading =
      d <= kMostJacobi ? symmetric_eigen(std::move(covariance), d, is_over) : leading_eigen(covariance, d, 1, is_over);
  leading.vectors.resize(d);
  make_largest_positive(leading.vectors.data(), d);
  return std::move(leading.vectors);
}

// The unit vector u of the reflection x - 2 u (u.x) that takes a class's leading direction to the first axis; empty
// if the rows of the class are one point.
std::vector<double> reflection(const ScaledColumns& columns, std::span<const WeightedRow> rows, uint32_t label,
                               const Control& control) {
  const size_t d = columns.columns();
  auto u = d < kManyColumns ? leading_by_covariance(columns, rows, label, control)
                            : leading_by_passes(columns, rows, label, control);
  if (u.empty()) return u;
  u[0] += u[0] < 0 ? -1.0 : 1.0;
  const double length = std::sqrt(dot(u.data(), u.data(), static_cast<int64_t>(d)));
  for (double& x : u) x /= length;
  return u;
}

// Rows below and above the node's mean of an output take the place of two classes where numbers are predicted.
std::vector<WeightedRow> halves(const NumberRows& numbers, std::span<const uint32_t> rows, size_t output) {
  double weight = 0, sum = 0;
  for (const uint32_t row : rows) {
    weight += numbers.weight(row);
    sum += numbers.product(row, output);
  }
  std::vector<WeightedRow> out(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    out[i].weight = numbers.weight(rows[i]);
    out[i].label = numbers.product(rows[i], output) * weight > sum * out[i].weight ? 1 : 0;
  }
  return out;
}

}  // namespace

void Householder::search(const ObliqueData& data, NodeOffers& offers, Pool* inner, const Control& control) const {
  offers.offer_axis();
  if (!offers.has_test()) return;  // all rows are one point, or no side is large enough
  const ScaledColumns columns(data, offers.rows());
  const size_t d = columns.columns();
  std::vector<CutScratch> scratch(inner ? to_size(inner->threads()) : 1);
  std::vector<std::vector<double>> scores(scratch.size()), places(scratch.size());
  std::vector<double> best_direction(d), along, projections;
  double best_gain = offers.best_gain();
  bool found = false;
  const bool is_numbers = data.numbers != nullptr;
  std::vector<WeightedRow> split;
  const size_t count = is_numbers ? 2 * data.numbers->outputs() : to_size(offers.node().classes());
  for (size_t group = 0; group < count && !deadline_.is_over(); ++group) {
    if (is_numbers && group % 2 == 0) split = halves(*data.numbers, offers.rows(), group / 2);
    const std::span<const WeightedRow> groups = is_numbers ? split : offers.node().local();
    auto u = reflection(columns, groups, static_cast<uint32_t>(is_numbers ? group % 2 : group), control);
    if (u.empty()) continue;
    u.push_back(0.0);
    columns.score(u, projections);
    std::vector<double> gains(d, -1.0);
    const auto cut = [&](size_t j, size_t thread) {
      control.check();
      if (deadline_.is_over()) return;
      auto& score = scores[thread];
      score.resize(columns.rows());
      const double* x = columns.column(j, places[thread]).data();
      for (size_t i = 0; i < score.size(); ++i) score[i] = x[i] - 2 * u[j] * projections[i];
      gains[j] = offers.node().find(score, scratch[thread]).gain;
    };
    if (inner == nullptr) {
      for (size_t j = 0; j < d; ++j) cut(j, 0);
    } else {
      inner->parallel_for(static_cast<int64_t>(d), [&](int64_t j, int thread) { cut(to_size(j), to_size(thread)); });
    }
    for (size_t best = 0; best < d; ++best) {
      if (!offers.node().is_better(gains[best], best_gain)) continue;
      found = true;
      best_gain = gains[best];
      for (size_t j = 0; j < d; ++j) best_direction[j] = (j == best ? 1.0 : 0.0) - 2 * u[best] * u[j];
    }
  }
  if (found) offers.offer(best_direction, kFindThreshold);
}

}  // namespace boscage
