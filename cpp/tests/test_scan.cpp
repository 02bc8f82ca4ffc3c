// Scans of cuts against a slow one that adds up both sides of every cut anew.
#include <cmath>
#include <numeric>

#include "base/rng.hpp"
#include "families/axis/column_scan.hpp"
#include "tests/check.hpp"

using namespace boscage;

namespace {

// Rows in an order in which some have the value of the one before; the last `missing` have none.
struct Problem {
  std::vector<uint32_t> order;
  std::vector<WeightedRow> weighted;
  std::vector<SmallRow> counted;
  std::vector<uint8_t> label;
  std::vector<double> number;
  size_t missing;
};

Problem make_problem(uint64_t seed, size_t rows, double unit) {
  Problem p;
  p.missing = draw_bits(seed, 1, 0) % 3 == 0 ? draw_bits(seed, 1, 1) % rows : 0;
  p.order.resize(rows);
  std::iota(p.order.begin(), p.order.end(), 0U);
  const uint64_t values = 1 + draw_bits(seed, 2, 0) % 8, slope = draw_bits(seed, 2, 1) % 3;
  for (size_t i = 0; i < rows; ++i) {
    std::swap(p.order[i], p.order[i + draw_bits(seed, 3, i) % (rows - i)]);
    const auto label = static_cast<uint8_t>(uniform(seed, 4, i) < 0.5 + (slope * i > rows ? 0.3 : 0.0));
    const auto count = static_cast<uint16_t>(1 + draw_bits(seed, 5, i) % 4);
    p.label.push_back(label);
    p.counted.push_back({count, label});
    p.weighted.push_back({count * unit, label});
    p.number.push_back(std::nearbyint(1024 * uniform(seed, 6, i)) - 512);
  }
  for (size_t i = 1; i < rows; ++i)
    if (draw_bits(seed, 7, i) % values == 0) p.order[i] |= kNewValue;
  return p;
}

template <class Rows>
std::vector<double> sums_of(const Rows& rows, std::span<const uint32_t> entries, std::span<const uint32_t> local) {
  std::vector<double> sums(2, 0.0);
  for (const uint32_t entry : entries) rows.add(entry & kRowMask, local, sums.data());
  return sums;
}

template <class Criterion, class Rows>
Best slow_scan(const Criterion& criterion, const Rows& rows, std::span<const uint32_t> order, size_t present,
               bool missing_left, const NodeView& node) {
  Best best;
  const size_t start = missing_left ? order.size() - present : 0;
  for (size_t i = 1; i <= present; ++i) {
    const bool is_end = i == present;
    if (is_end ? missing_left || present == order.size() : (order[i] & kNewValue) == 0) continue;
    auto left = sums_of(rows, order.first(i), node.local);
    const auto of_missing = sums_of(rows, order.subspan(present), node.local);
    if (missing_left) left[0] += of_missing[0], left[1] += of_missing[1];
    const double right[2] = {node.total[0] - left[0], node.total[1] - left[1]};
    const double weight = Rows::Target::weight(left.data(), 2);
    const auto count = static_cast<int64_t>(i + start);
    if (count < node.min_samples_leaf || node.rows - count < node.min_samples_leaf) continue;
    if (weight < node.min_weight_leaf || weight > node.weight - node.min_weight_leaf) continue;
    best.offer<Criterion>(criterion.gain(right, left.data(), 2), node.noise, static_cast<int64_t>(i));
  }
  return best;
}

template <class Criterion, class Rows>
void compare(const Criterion& criterion, const Rows& rows, const Problem& p, uint64_t seed) {
  const std::vector<uint32_t> local{0, 1};
  NodeView node;
  node.local = local;
  const auto total = sums_of(rows, p.order, local);
  node.total = total;
  node.rows = signed_size(p.order);
  node.weight = Rows::Target::weight(total.data(), 2);
  node.min_samples_leaf = 1 + static_cast<int64_t>(draw_bits(seed, 8, 0) % 2 * (draw_bits(seed, 8, 1) % 100));
  node.min_weight_leaf = draw_bits(seed, 8, 2) % 2 ? 0.3 * uniform(seed, 8, 3) * node.weight : 0.0;
  const size_t present = p.order.size() - p.missing;
  AxisScratch scratch;
  const ColumnScan<Criterion, Rows> scan{criterion, rows, node, scratch};
  for (const bool missing_left : {false, true}) {
    if (missing_left && p.missing == 0) continue;
    const Best best = scan.scan_values(p.order, present, missing_left);
    const Best wanted = slow_scan(criterion, rows, p.order, present, missing_left, node);
    CHECK(best.position == wanted.position);
    CHECK(best.gain == wanted.gain);
  }
}

}  // namespace

TEST("the best cut has the place and the gain of a slow scan") {
  for (uint64_t seed = 0; seed < 600; ++seed) {
    const size_t rows = 1 + draw_bits(seed, 0, 0) % (seed % 3 == 0 ? 12 : 400);
    // Weights far from 1, some of which Gini takes by another way.
    const double unit = std::ldexp(1.0, seed % 5 == 1 ? -240 : seed % 5 == 2 ? -232 : seed % 5 == 3 ? 231 : 0);
    const Problem p = make_problem(seed, rows, unit);
    compare(Gini{}, UnitRows<uint8_t>(p.label.data()), p, seed);
    compare(Gini{}, SmallRows(p.counted.data()), p, seed);
    compare(Gini{}, WeightedRows(p.weighted.data()), p, seed);
    compare(Entropy{}, WeightedRows(p.weighted.data()), p, seed);
    compare(SquaredError{}, UnitValues{p.number.data()}, p, seed);
    std::vector<double> pairs;
    for (size_t i = 0; i < rows; ++i) pairs.insert(pairs.end(), {double(p.counted[i].weight), 3 * p.number[i]});
    compare(SquaredError{}, WeightedValues{pairs.data()}, p, seed);
  }
}

TEST("few bins, counted in copies, have the sums of each row") {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const size_t rows = 1 + draw_bits(seed, 0, 0) % 200;
    const auto bins = static_cast<uint32_t>(1 + draw_bits(seed, 0, 1) % 20);
    const Problem p = make_problem(seed, rows, 1.0);
    std::vector<uint8_t> bin;
    for (size_t i = 0; i < rows; ++i) bin.push_back(static_cast<uint8_t>(draw_bits(seed, 9, i) % (bins + 1)));
    std::vector<uint32_t> all(rows);
    std::iota(all.begin(), all.end(), 0U);
    const std::vector<double> total(2, 0.0);
    const std::vector<uint32_t> local{0, 1};
    NodeView node;
    node.total = total;
    node.local = local;
    AxisScratch scratch;
    const auto check = [&](const auto& criterion, const auto& row_sums) {
      using Scan = ColumnScan<std::decay_t<decltype(criterion)>, std::decay_t<decltype(row_sums)>>;
      Scan{criterion, row_sums, node, scratch}.count(bin.data(), bins, all);
      std::vector<double> sums(2 * (bins + size_t{1}), 0.0);
      std::vector<int64_t> counts(bins + size_t{1}, 0);
      for (uint32_t row = 0; row < rows; ++row) {
        row_sums.add(row, local, sums.data() + 2 * size_t{bin[row]});
        ++counts[bin[row]];
      }
      CHECK(scratch.sums == sums);
      CHECK(scratch.counts == counts);
    };
    for (size_t i = 0; i < rows; ++i) scratch.labels.push_back(p.label[i]);
    check(Gini{}, SmallRows(p.counted.data()));
    check(SquaredError{}, UnitValues{p.number.data()});
  }
}
