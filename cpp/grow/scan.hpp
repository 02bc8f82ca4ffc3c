// The one inner loop of hard splits: rows in order of a number, running sums, and the best place to cut. Axis tests
// scan sorted or binned columns, oblique ones their sorted projections.
//
// Rows say what a row adds to the sums: to the weight of its class (classes absent from the node are left out: a
// NodeView counts only those present), or its weight and weight times value. Both lie on grids made on input, so
// right = total - left is exact. Of two sums second() is the last one; first() makes the other of it and the weight.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "criteria/sums.hpp"
#include "data/columns.hpp"

namespace boscage {

// Rows that all count 1; Label is the smallest type that holds the classes, to stay in cache.
// What rows of classes have in common.
template <class Rows>
struct ClassRows {
  using Target = Classes;
  // Of two classes, numbered 0 and 1; a branch would be guessed wrong half of the time.
  double second(uint32_t row, std::span<const uint32_t> local, double w) const {
    return std::bit_cast<double>(std::bit_cast<uint64_t>(w) & -uint64_t{local[rows().label(row)]});
  }
  static double first(double weight, double second) { return weight - second; }
  void add(uint32_t row, std::span<const uint32_t> local, double* sums) const {
    sums[local[rows().label(row)]] += rows().weight(row);
  }
  void take(uint32_t row, std::span<const uint32_t> local, double* sums) const {
    sums[local[rows().label(row)]] -= rows().weight(row);
  }

 private:
  const Rows& rows() const { return static_cast<const Rows&>(*this); }
};

template <class Label>
struct UnitRows : ClassRows<UnitRows<Label>> {
  explicit UnitRows(const Label* all) : labels(all) {}
  const Label* labels;
  uint32_t label(uint32_t row) const { return labels[row]; }
  static constexpr double weight(uint32_t) { return 1.0; }
};

// Class and weight side by side: one cache line per row visited.
struct WeightedRow {
  double weight;
  uint32_t label;
};

// The same where all weights and classes are small whole numbers, as in a bootstrap: more rows stay in cache.
struct SmallRow {
  static constexpr double kMost = 65535;
  uint16_t weight, label;
};

template <class Row>
struct RowsWith : ClassRows<RowsWith<Row>> {
  explicit RowsWith(const Row* rows) : all(rows) {}
  const Row* all;
  uint32_t label(uint32_t row) const { return all[row].label; }
  double weight(uint32_t row) const { return all[row].weight; }
};

using WeightedRows = RowsWith<WeightedRow>;
using SmallRows = RowsWith<SmallRow>;

// Rows of numbers as NumberRows keeps them. Outputs: 1, or 0 for any number of them.
template <bool is_unit, size_t outputs>
struct ValueRows {
  using Target = Numbers;
  const double* data;
  size_t count = outputs;

  size_t stride() const { return is_unit ? 1 : (outputs == 0 ? count : outputs) + 1; }
  double weight(uint32_t row) const { return is_unit ? 1.0 : data[row * stride()]; }
  double second(uint32_t row, std::span<const uint32_t>, double) const { return data[row * stride() + !is_unit]; }
  static double first(double weight, double) { return weight; }
  void add(uint32_t row, std::span<const uint32_t>, double* sums) const { change<1>(row, sums); }
  void take(uint32_t row, std::span<const uint32_t>, double* sums) const { change<-1>(row, sums); }

 private:
  template <int sign>
  void change(uint32_t row, double* sums) const {
    const double* mine = data + row * stride();
    if constexpr (is_unit) {
      sums[0] += sign;
      sums[1] += sign * mine[0];
    } else {
      const size_t size = stride();
      for (size_t j = 0; j < size; ++j) sums[j] += sign * mine[j];
    }
  }
};

using UnitValues = ValueRows<true, 1>;
using WeightedValues = ValueRows<false, 1>;
using ManyValues = ValueRows<false, 0>;

// A node as a scan sees it.
struct NodeView {
  std::span<const uint32_t> local;  // class -> its number among the classes present
  std::span<const double> total;    // of classes: weight of each one present
  double weight = 0;
  int64_t rows = 0;
  int64_t min_samples_leaf = 1;
  double min_weight_leaf = 0;
  double noise = 0;  // a gain up to this counts as 0

  int size() const { return static_cast<int>(total.size()); }  // numbers in a sum
};

// The best cut so far: `position` things go left, whatever the scan counts. Gains must grow strictly, so the
// first of equal cuts stays; a cut without gain is kept as the last choice.
struct Best {
  double gain = -1;
  int64_t position = -1;

  // A criterion may say by a gain below 0 that a cut is not valid.
  template <class Criterion>
  void offer(double offered, double noise, int64_t at) {
    if constexpr (requires { Criterion::may_refuse; })
      if (Criterion::may_refuse && offered < 0) return;
    const double value = offered > noise ? offered : 0.0;
    if (value > gain) {
      gain = value;
      position = at;
    }
  }
};

// Sums and number of the missing rows when they are put on the left.
struct Start {
  std::span<const double> left;  // sums; empty: nothing
  int64_t rows = 0;
};

namespace detail {

// Cuts between so many neighbouring rows are looked at side by side.
constexpr int64_t kCutsAtOnce = 64;

// Gains of cuts with these sums on the left, and how many are above `best`: a loop that compilers make wide.
template <class Rows, class Criterion>
int64_t pair_gains(const Criterion& criterion, std::span<const double> total, const double* weight,
                   const double* second, int64_t count, double best, double* gains) {
  const double all_first = total[0], all_second = total[1];
  int64_t above = 0;
  for (int64_t j = 0; j < count; ++j) {
    const double first = Rows::first(weight[j], second[j]);
    const double gain = criterion.pair_gain(all_first - first, all_second - second[j], first, second[j]);
    gains[j] = gain;
    above += gain > best ? int64_t{1} : int64_t{0};
  }
  return above;
}

// Both sides have two sums.
template <class Criterion, class Rows>
Best scan_two(const Criterion& criterion, const Rows& rows, std::span<const uint32_t> order, const NodeView& node,
              const Start& start) {
  Best best;
  const auto present = signed_size(order);
  const int64_t low = std::max<int64_t>(1, node.min_samples_leaf - start.rows);
  const int64_t high = node.rows - node.min_samples_leaf - start.rows;
  const double heaviest_left = node.weight - node.min_weight_leaf;
  double weight = start.left.empty() ? 0.0 : Rows::Target::weight(start.left.data(), 2);
  double second = start.left.empty() ? 0.0 : start.left[1];
  const auto gain_at = [&](double w, double s) {
    const double left[2] = {Rows::first(w, s), s}, right[2] = {node.total[0] - left[0], node.total[1] - s};
    return criterion.gain(right, left, 2);
  };
  const auto is_allowed = [&](double w) { return !(w < node.min_weight_leaf || w > heaviest_left); };
  double weights[kCutsAtOnce], seconds[kCutsAtOnce], gains[kCutsAtOnce];
  for (int64_t begin = 0; begin < present; begin += kCutsAtOnce) {
    const uint32_t* block = order.data() + begin;
    const int64_t count = std::min(kCutsAtOnce, present - begin);
    for (int64_t j = 0; j < count; ++j) {
      const uint32_t row = block[j] & kRowMask;
      weights[j] = weight, seconds[j] = second;
      const double w = rows.weight(row);
      weight += w;
      second += rows.second(row, node.local, w);
    }
    const int64_t from = std::max<int64_t>(0, low - begin), to = std::min(count, high + 1 - begin);
    if (from >= to) continue;
    bool has_gains = false;
    if constexpr (requires { criterion.has_pair_gain(0.0, 0.0); }) {
      const double lightest = std::min(weights[from], node.weight - weights[to - 1]);
      has_gains = best.gain >= 0 && criterion.has_pair_gain(lightest, node.weight);
      if (has_gains && pair_gains<Rows>(criterion, node.total, weights, seconds, count, best.gain, gains) == 0)
        continue;
    }
    for (int64_t j = from; j < to; ++j)
      if ((block[j] & kNewValue) && is_allowed(weights[j]))
        best.offer<Criterion>(has_gains ? gains[j] : gain_at(weights[j], seconds[j]), node.noise, begin + j);
  }
  // The missing rows alone on the right.
  if (start.rows == 0 && present < node.rows && present >= low && present <= high && is_allowed(weight))
    best.offer<Criterion>(gain_at(weight, second), node.noise, present);
  return best;
}

template <class Criterion, class Rows>
Best scan_many(const Criterion& criterion, const Rows& rows, std::span<const uint32_t> order, const NodeView& node,
               const Start& start, std::vector<double>& scratch) {
  Best best;
  const int k = node.size();
  scratch.assign(2 * to_size(k), 0.0);
  double *left = scratch.data(), *right = left + k;
  std::copy(start.left.begin(), start.left.end(), left);
  for (int c = 0; c < k; ++c) right[c] = node.total[to_size(c)] - left[c];
  const auto present = signed_size(order);
  const int64_t low = std::max<int64_t>(1, node.min_samples_leaf - start.rows);
  const int64_t high = node.rows - node.min_samples_leaf - start.rows;
  const double heaviest_left = node.weight - node.min_weight_leaf;
  double weight = Rows::Target::weight(left, k);
  const auto consider = [&](int64_t i) {
    if (i < low || i > high || weight < node.min_weight_leaf || weight > heaviest_left) return;
    best.offer<Criterion>(criterion.gain(right, left, k), node.noise, i);
  };
  for (int64_t i = 0; i < present; ++i) {
    const uint32_t entry = order[to_size(i)], row = entry & kRowMask;
    if (entry & kNewValue) consider(i);
    weight += rows.weight(row);
    rows.add(row, node.local, left);
    rows.take(row, node.local, right);
  }
  if (start.rows == 0 && present < node.rows) consider(present);
  return best;
}

}  // namespace detail

// Best cut of rows in increasing order (top bit: new value). Position = rows of `order` that go left.
template <class Criterion, class Rows>
Best scan_sorted(const Criterion& criterion, const Rows& rows, std::span<const uint32_t> order, const NodeView& node,
                 const Start& start, std::vector<double>& scratch) {
  if (node.size() == 2) return detail::scan_two(criterion, rows, order, node, start);
  return detail::scan_many(criterion, rows, order, node, start, scratch);
}

// Sums and rows of consecutive groups of rows (bins, or categories in some order).
struct Groups {
  std::span<const double> sums;     // groups x numbers in a sum
  std::span<const int64_t> counts;  // rows in each group
};

// Best cut between groups taken in the order `sequence` (empty: as numbered); empty groups are passed over.
// Position = entries of the sequence that go left, ending in a group with rows.
template <class Criterion>
Best scan_groups(const Criterion& criterion, const Groups& groups, std::span<const uint32_t> sequence,
                 const NodeView& node, const Start& start, std::vector<double>& scratch) {
  Best best;
  const int k = node.size();
  scratch.assign(2 * to_size(k), 0.0);
  double *left = scratch.data(), *right = left + k;
  std::copy(start.left.begin(), start.left.end(), left);
  for (int c = 0; c < k; ++c) right[c] = node.total[to_size(c)] - left[c];
  double weight = Criterion::Target::weight(left, k);
  int64_t rows = start.rows;
  const double heaviest_left = node.weight - node.min_weight_leaf;
  const auto last = static_cast<int64_t>(sequence.empty() ? groups.counts.size() : sequence.size());
  for (int64_t i = 0; i < last; ++i) {
    const size_t group = sequence.empty() ? to_size(i) : sequence[to_size(i)];
    if (groups.counts[group] == 0) continue;
    const double* added = groups.sums.data() + group * to_size(k);
    rows += groups.counts[group];
    for (int c = 0; c < k; ++c) {
      left[c] += added[c];
      right[c] -= added[c];
    }
    weight += Criterion::Target::weight(added, k);
    if (rows >= node.rows) break;
    if (rows < node.min_samples_leaf || node.rows - rows < node.min_samples_leaf || weight < node.min_weight_leaf ||
        weight > heaviest_left)
      continue;
    best.offer<Criterion>(criterion.gain(right, left, k), node.noise, i + 1);
  }
  return best;
}

}  // namespace boscage
