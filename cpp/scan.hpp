// The one inner loop of hard splits: rows in order of a number, a running sum of class weights, and the
// best place to cut. Axis tests scan sorted or binned columns, oblique ones their sorted projections.
//
// Classes absent from the node are left out (a NodeView counts only those present), and weights lie on the
// grid made at the door, so right = total - left is exact.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "columns.hpp"

namespace boscage {

// Rows that all count 1; Label is the smallest type that holds the classes, to stay in cache.
template <class Label>
struct UnitRows {
  const Label* labels;
  uint32_t label(uint32_t row) const { return labels[row]; }
  static constexpr double weight(uint32_t) { return 1.0; }
  static constexpr bool kUnit = true;
};

// Class and weight side by side: one cache line per row visited.
struct WeightedRow {
  double weight;
  uint32_t label;
};

struct WeightedRows {
  const WeightedRow* rows;
  uint32_t label(uint32_t row) const { return rows[row].label; }
  double weight(uint32_t row) const { return rows[row].weight; }
  static constexpr bool kUnit = false;
};

// A node as a scan sees it.
struct NodeView {
  std::span<const uint32_t> local;  // class -> its number among the classes present
  std::span<const double> total;    // weight of each class present
  double weight = 0;
  int64_t rows = 0;
  int64_t min_samples_leaf = 1;
  double min_weight_leaf = 0;
  double noise = 0;  // a gain up to this counts as 0

  int classes() const { return static_cast<int>(total.size()); }
};

// The best cut so far: `position` things go left, whatever the scan counts. Gains must grow strictly, so the
// first of equal cuts stays; a cut without gain is kept as the last choice.
struct Best {
  double gain = -1;
  int64_t position = -1;

  void offer(double offered, double noise, int64_t at) {
    const double value = offered > noise ? offered : 0.0;
    if (value > gain) {
      gain = value;
      position = at;
    }
  }
};

// Weight and number of the missing rows when they are put on the left.
struct Start {
  std::span<const double> left;  // by local class; empty: nothing
  int64_t rows = 0;
};

namespace detail {

template <class Criterion, class Rows>
Best scan_two(const Criterion& criterion, const Rows& rows, std::span<const uint32_t> order, const NodeView& node,
              const Start& start) {
  Best best;
  double left[2] = {0, 0}, right[2];
  if (!start.left.empty()) left[0] = start.left[0], left[1] = start.left[1];
  const auto present = static_cast<int64_t>(order.size());
  const int64_t low = std::max<int64_t>(1, node.min_samples_leaf - start.rows);
  const int64_t high = node.rows - node.min_samples_leaf - start.rows;
  const double heaviest_left = node.weight - node.min_weight_leaf;
  double weight = left[0] + left[1], second = left[1];
  const auto consider = [&](int64_t i) {
    if (i < low || i > high || weight < node.min_weight_leaf || weight > heaviest_left) return;
    left[0] = weight - second, left[1] = second;
    right[0] = node.total[0] - left[0], right[1] = node.total[1] - second;
    best.offer(criterion.gain(right, left, 2), node.noise, i);
  };
  for (int64_t i = 0; i < present; ++i) {
    const uint32_t entry = order[static_cast<size_t>(i)], row = entry & kRowMask;
    if (entry & kNewValue) consider(i);
    const double w = rows.weight(row);
    weight += w;
    second += node.local[rows.label(row)] ? w : 0.0;
  }
  if (start.rows == 0 && present < node.rows) consider(present);  // the missing rows alone on the right
  return best;
}

template <class Criterion, class Rows>
Best scan_many(const Criterion& criterion, const Rows& rows, std::span<const uint32_t> order, const NodeView& node,
               const Start& start, std::vector<double>& scratch) {
  Best best;
  const int k = node.classes();
  scratch.assign(2 * static_cast<size_t>(k), 0.0);
  double *left = scratch.data(), *right = left + k;
  std::copy(start.left.begin(), start.left.end(), left);
  for (int c = 0; c < k; ++c) right[c] = node.total[static_cast<size_t>(c)] - left[c];
  const auto present = static_cast<int64_t>(order.size());
  const int64_t low = std::max<int64_t>(1, node.min_samples_leaf - start.rows);
  const int64_t high = node.rows - node.min_samples_leaf - start.rows;
  const double heaviest_left = node.weight - node.min_weight_leaf;
  double weight = 0;
  for (int c = 0; c < k; ++c) weight += left[c];
  const auto consider = [&](int64_t i) {
    if (i < low || i > high || weight < node.min_weight_leaf || weight > heaviest_left) return;
    best.offer(criterion.gain(right, left, k), node.noise, i);
  };
  for (int64_t i = 0; i < present; ++i) {
    const uint32_t entry = order[static_cast<size_t>(i)], row = entry & kRowMask;
    if (entry & kNewValue) consider(i);
    const double w = rows.weight(row);
    const uint32_t c = node.local[rows.label(row)];
    weight += w;
    left[c] += w;
    right[c] -= w;
  }
  if (start.rows == 0 && present < node.rows) consider(present);
  return best;
}

}  // namespace detail

// Best cut of rows in increasing order (top bit: new value). Position = rows of `order` that go left.
template <class Criterion, class Rows>
Best scan_sorted(const Criterion& criterion, const Rows& rows, std::span<const uint32_t> order, const NodeView& node,
                 const Start& start, std::vector<double>& scratch) {
  if (node.classes() == 2) return detail::scan_two(criterion, rows, order, node, start);
  return detail::scan_many(criterion, rows, order, node, start, scratch);
}

// Class weights and rows of consecutive groups of rows (bins, or categories in some order).
struct Groups {
  std::span<const double> weights;  // groups x classes present
  std::span<const int64_t> counts;  // rows in each group
};

// Best cut between groups taken in the order `sequence` (empty: as numbered); empty groups are passed over.
// Position = entries of the sequence that go left, ending in a group with rows.
template <class Criterion>
Best scan_groups(const Criterion& criterion, const Groups& groups, std::span<const uint32_t> sequence,
                 const NodeView& node, const Start& start, std::vector<double>& scratch) {
  Best best;
  const int k = node.classes();
  scratch.assign(2 * static_cast<size_t>(k), 0.0);
  double *left = scratch.data(), *right = left + k;
  std::copy(start.left.begin(), start.left.end(), left);
  for (int c = 0; c < k; ++c) right[c] = node.total[static_cast<size_t>(c)] - left[c];
  double weight = 0;
  for (int c = 0; c < k; ++c) weight += left[c];
  int64_t rows = start.rows;
  const double heaviest_left = node.weight - node.min_weight_leaf;
  const auto last = static_cast<int64_t>(sequence.empty() ? groups.counts.size() : sequence.size());
  for (int64_t i = 0; i < last; ++i) {
    const size_t group = sequence.empty() ? static_cast<size_t>(i) : sequence[static_cast<size_t>(i)];
    if (groups.counts[group] == 0) continue;
    const double* added = groups.weights.data() + group * static_cast<size_t>(k);
    rows += groups.counts[group];
    for (int c = 0; c < k; ++c) {
      left[c] += added[c];
      right[c] -= added[c];
      weight += added[c];
    }
    if (rows >= node.rows) break;
    if (rows < node.min_samples_leaf || node.rows - rows < node.min_samples_leaf || weight < node.min_weight_leaf ||
        weight > heaviest_left)
      continue;
    best.offer(criterion.gain(right, left, k), node.noise, i + 1);
  }
  return best;
}

}  // namespace boscage
