// Leaves of a forest fitted together: finite values, the same for any number of threads, and a loss not above the one
// at the start.
#include <cmath>

#include "fuzz/problem.hpp"
#include "fuzz/targets.hpp"
#include "refine/joint_leaves.hpp"

namespace boscage::fuzz {

namespace {

struct Drawn {
  std::vector<int32_t> leaf, first{0}, label;
  std::vector<double> y, weight, base, start;
  double l2 = 1;
  int max_iter = 1000;

  refine::ForestRows view() const { return {leaf, first, label, y, weight, base, start}; }
};

// As estimators pass them on: the total weight near 1, numbers at most 1 in size, scores at most about 800.
Drawn draw(Input& input) {
  Drawn found;
  const int64_t rows = input.between(1, 40), trees = input.between(1, 6), outputs = input.between(1, 4);
  const bool is_numbers = input.flag();
  found.l2 = input.choose({1.0, 10.0, 1e-3, 1e-30, 1e-300, 1e30, 1e300});
  found.max_iter = input.choose({1000, 5, 1, 0});
  for (int64_t t = 0; t < trees; ++t)
    found.first.push_back(found.first.back() + static_cast<int32_t>(input.byte() % 8 + 1));
  for (size_t t = 0; t < to_size(trees); ++t)
    for (int64_t i = 0; i < rows; ++i)
      found.leaf.push_back(found.first[t] + input.byte() % (found.first[t + 1] - found.first[t]));
  found.weight = draw_weights(input, rows);
  found.weight.resize(to_size(rows), 1.0);
  const auto small = [&](double most) { return std::clamp(input.number<double>(false), -most, most); };
  for (int64_t i = 0; i < rows; ++i) {
    if (!is_numbers) found.label.push_back(static_cast<int32_t>(input.byte() % outputs));
    for (int64_t c = 0; c < outputs && is_numbers; ++c) found.y.push_back(small(1.0));
  }
  const double most = is_numbers ? 1.0 : 800.0;
  for (int64_t c = 0; c < outputs; ++c) found.base.push_back(small(most));
  while (found.start.size() < to_size(found.first.back() * outputs))
    found.start.push_back(small(most) / static_cast<double>(trees));
  return found;
}

double loss(const Drawn& drawn, const std::vector<double>& values) {
  const refine::ForestRows rows = drawn.view();
  const size_t k = drawn.base.size();
  double sum = 0;
  for (size_t i = 0; i < drawn.weight.size(); ++i) {
    std::vector<double> z = drawn.base;
    for (size_t t = 0; t < to_size(rows.trees()); ++t)
      for (size_t c = 0; c < k; ++c) z[c] += values[to_size(drawn.leaf[t * drawn.weight.size() + i]) * k + c];
    double row = 0;
    if (drawn.label.empty()) {
      for (size_t c = 0; c < k; ++c) row += std::pow(z[c] - drawn.y[i * k + c], 2) / 2;
    } else {
      const double top = *std::max_element(z.begin(), z.end());
      for (const double value : z) row += std::exp(value - top);
      row = top + std::log(row) - z[to_size(drawn.label[i])];
    }
    sum += drawn.weight[i] * row;
  }
  for (size_t j = 0; j < values.size(); ++j) {
    const double away = values[j] - drawn.start[j];
    if (away != 0) sum += drawn.l2 / 2 * away * away;
  }
  return sum;
}

}  // namespace

int joint(const uint8_t* data, size_t size) {
  Input input(data, size);
  const Drawn drawn = draw(input);
  const auto fit = [&](int threads) {
    Pool pool(threads);
    Control control;
    return refine::fit_joint_leaves(drawn.view(), {drawn.l2, drawn.max_iter}, pool, control);
  };
  const std::vector<double> found = fit(1);
  for (const double value : found) require(std::isfinite(value), "values of leaves are finite");
  require(same_bits(found, fit(2)), "one fit for any number of threads");
  const double before = loss(drawn, drawn.start), after = loss(drawn, found);
  require(after <= before * (1 + 1e-9), "a fit does not raise the loss");
  return 0;
}

}  // namespace boscage::fuzz
