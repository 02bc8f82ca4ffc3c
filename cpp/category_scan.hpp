// Category sets at a node: categories are put in an order by class, then cut like numbers.
//
// Two classes: ordered by the share of one class, where some cut is the best of all subsets for every concave
// criterion. More classes: ordered by each class's share in turn (the heaviest classes first, kMaxOrders of
// them), which is a heuristic. Missing values are one more category, so their side is learned.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "axis.hpp"

namespace boscage {

template <class Criterion, class Rows>
struct CategoryScan {
  static constexpr size_t kMaxOrders = 16;

  const Criterion& criterion;
  const Rows& rows;
  const NodeView& view;
  AxisScratch& scratch;

  Cut search(const Column& column, std::span<const uint32_t> node_rows) const {
    count(column, node_rows);
    return counted(column.bins);
  }

  // The best set where class weights and rows by category are known: scratch.sums and scratch.counts, missing last.
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
    for (const size_t c : leading_classes()) {
      sort_by_share(present, c, k);
      const Best best = scan_groups(criterion, groups, present, view, Start{}, scratch.scan);
      if (best.gain > cut.gain) keep(cut, categories, best, present);
    }
    return cut;
  }

 private:
  void count(const Column& column, std::span<const uint32_t> node_rows) const {
    const size_t k = view.total.size();
    scratch.sums.assign((column.bins + size_t{1}) * k, 0.0);
    scratch.counts.assign(column.bins + size_t{1}, 0);
    for (size_t i = 0; i < node_rows.size(); ++i) {
      const uint32_t category = column.bin(node_rows[i]);
      ++scratch.counts[category];
      scratch.sums[category * k + scratch.labels[i]] += rows.weight(node_rows[i]);
    }
  }

  // With two classes one order is enough: the other is its mirror image.
  std::vector<size_t> leading_classes() const {
    std::vector<size_t> classes(view.total.size());
    std::iota(classes.begin(), classes.end(), size_t{0});
    if (classes.size() == 2) return {1};
    std::stable_sort(classes.begin(), classes.end(), [&](size_t a, size_t b) { return view.total[a] > view.total[b]; });
    if (classes.size() > kMaxOrders) classes.resize(kMaxOrders);
    return classes;
  }

  void sort_by_share(std::vector<uint32_t>& present, size_t c, size_t k) const {
    auto& share = scratch.share;
    share.assign(scratch.counts.size(), 0.0);
    for (const uint32_t category : present) {
      double sum = 0;
      for (size_t j = 0; j < k; ++j) sum += scratch.sums[category * k + j];
      share[category] = scratch.sums[category * k + c] / sum;
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
    const size_t k = view.total.size();
    for (int64_t i = 0; i < best.position; ++i) {
      const uint32_t category = sequence[static_cast<size_t>(i)];
      for (size_t j = 0; j < k; ++j) left += scratch.sums[category * k + j];
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
    for (int64_t i = 0; i < best.position; ++i) put(sequence[static_cast<size_t>(i)]);
  }
};

}  // namespace boscage
