// Category sets at a node: categories are put in an order by class or by mean, then cut like numbers.
//
// Two classes: ordered by the share of one class, where some cut is the best of all subsets for every concave
// criterion; one number: by its mean, likewise. More classes: ordered by each class's share in turn (the heaviest
// classes first, kMaxOrders of them), several numbers by each one's mean, which is a heuristic. Missing values are one
// more category, so their side is learned.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include "base/index.hpp"
#include "families/axis/axis.hpp"
#include "families/axis/column_scan.hpp"

namespace boscage {

template <class Criterion, class Rows>
struct CategoryScan {
  static constexpr size_t kMaxOrders = 16;

  const Criterion& criterion;
  const Rows& rows;
  const NodeView& view;
  AxisScratch& scratch;

  // `ordered`: the same rows in increasing order of y, where ranks decide.
  Cut search(const Column& column, std::span<const uint32_t> node_rows, std::span<const uint32_t> ordered) const {
    if constexpr (std::is_same_v<typename Rows::Target, Ranks>) {
      return by_quantile(column, ordered);
    } else {
      ColumnScan<Criterion, Rows>{criterion, rows, view, scratch}.count(column, node_rows);
      return counted(column.bins);
    }
  }

  // The best set where sums and rows by category are known: scratch.sums and scratch.counts, missing last.
  Cut counted(uint32_t categories) const {
    Cut cut;
    auto& present = scratch.sequence;
    present.clear();
    for (uint32_t category = 0; category <= categories; ++category)
      if (scratch.counts[category] > 0) present.push_back(category);
    if (present.size() <= 1) {
      cut.is_constant = true;
      return cut;
    }
    const size_t k = view.total.size();
    const Groups groups{scratch.sums, scratch.counts};
    for (const size_t c : leading_sums()) {
      sort_by_share(present, c, k);
      const Best best = scan_groups(criterion, groups, present, view, Start{}, scratch.scan);
      if (best.gain > cut.gain) keep(cut, categories, best, present);
    }
    return cut;
  }

 private:
  // Categories in the order of their own quantiles: a heuristic. Each stands for a value of a sorted column.
  Cut by_quantile(const Column& column, std::span<const uint32_t> ordered) const {
    const size_t categories = column.bins;
    auto &weights = scratch.sums, &up_to = scratch.start, &quantile = scratch.share;
    weights.assign(categories + 1, 0.0);
    up_to.assign(categories + 1, 0.0);
    quantile.assign(categories + 1, 0.0);
    scratch.counts.assign(categories + 1, 0);
    for (const uint32_t row : ordered) {
      weights[column.bin(row)] += rows.weight(row);
      ++scratch.counts[column.bin(row)];
    }
    for (const uint32_t row : ordered) {
      const uint32_t category = column.bin(row);
      const double wanted = criterion.q * weights[category];
      if (up_to[category] < wanted) quantile[category] = rows.node->value[rows.rank[row]];
      up_to[category] += rows.weight(row);
    }
    std::vector<uint32_t> present;
    for (uint32_t category = 0; category <= categories; ++category)
      if (scratch.counts[category] > 0) present.push_back(category);
    std::stable_sort(present.begin(), present.end(), [&](uint32_t a, uint32_t b) { return quantile[a] < quantile[b]; });
    std::vector<size_t> next(categories + 1, 0);
    size_t before = 0;
    for (const uint32_t category : present) {
      next[category] = before;
      before += to_size(scratch.counts[category]);
    }
    auto& order = scratch.order;
    order.resize(ordered.size());
    std::vector<uint8_t> is_begun(categories + 1, 0);
    for (const uint32_t row : ordered) {
      const uint32_t category = column.bin(row);
      order[next[category]++] = row | (is_begun[category] ? 0U : kNewValue);
      is_begun[category] = 1;
    }
    Cut cut = ColumnScan<Criterion, Rows>{criterion, rows, view, scratch}.scan_order(order, order.size());
    if (cut.gain < 0) return cut;
    Best best{cut.gain, 0};
    for (int64_t left = 0; left < cut.position; ++best.position)
      left += scratch.counts[present[to_size(best.position)]];
    keep(cut, column.bins, best, present);
    return cut;
  }

  // The sums to order by. With two classes one order is enough: the other is its mirror image.
  std::vector<size_t> leading_sums() const {
    std::vector<size_t> classes(view.total.size());
    std::iota(classes.begin(), classes.end(), size_t{0});
    if (classes.size() == 2) return {1};
    if constexpr (std::is_same_v<typename Criterion::Target, Numbers>) {
      classes.erase(classes.begin());
      if (classes.size() > kMaxOrders) classes.resize(kMaxOrders);
      return classes;
    }
    std::stable_sort(classes.begin(), classes.end(), [&](size_t a, size_t b) { return view.total[a] > view.total[b]; });
    if (classes.size() > kMaxOrders) classes.resize(kMaxOrders);
    return classes;
  }

  double weight(uint32_t category) const {
    if constexpr (std::is_same_v<typename Rows::Target, Ranks>) return scratch.sums[category];
    const size_t k = view.total.size();
    return Criterion::Target::weight(scratch.sums.data() + category * k, static_cast<int>(k));
  }

  void sort_by_share(std::vector<uint32_t>& present, size_t c, size_t k) const {
    auto& share = scratch.share;
    share.assign(scratch.counts.size(), 0.0);
    for (const uint32_t category : present) {
      share[category] = scratch.sums[category * k + c] / weight(category);
    }
    std::sort(present.begin(), present.end(),
              [&](uint32_t a, uint32_t b) { return share[a] != share[b] ? share[a] < share[b] : a < b; });
  }

  // Categories without rows here go where missing values go: with the heavier side unless some were missing.
  void keep(Cut& cut, uint32_t categories, const Best& best, std::span<const uint32_t> sequence) const {
    cut.gain = best.gain;
    cut.position = best.position;
    double left = 0;
    bool missing_left = false;
    for (int64_t i = 0; i < best.position; ++i) {
      const uint32_t category = sequence[to_size(i)];
      left += weight(category);
      missing_left |= category == categories;
    }
    cut.missing_left = scratch.counts[categories] > 0 ? missing_left : left > view.weight - left;
    cut.categories.assign((categories + 7) / 8, 0);
    const auto put = [&](uint32_t category) {
      if (category < categories) cut.categories[category / 8] |= static_cast<uint8_t>(1U << (category % 8));
    };
    if (cut.missing_left)
      for (uint32_t category = 0; category < categories; ++category)
        if (scratch.counts[category] == 0) put(category);
    for (int64_t i = 0; i < best.position; ++i) put(sequence[to_size(i)]);
  }
};

}  // namespace boscage
