// Thresholds of one numeric column at a node: sorted columns are scanned in order of value, binned and sparse ones
// are counted by value, and missing rows are tried on both sides. Knows nothing of other columns or of the tree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "axis.hpp"

namespace boscage {

template <class Criterion, class Rows>
struct ColumnScan {
  const Criterion& criterion;
  const Rows& rows;
  const NodeView& view;
  AxisScratch& scratch;

  Cut sorted(const Column& column, std::span<const uint32_t> order) const {
    size_t present = order.size();
    if (column.has_missing)
      while (present > 0 && column.is_missing[order[present - 1] & kRowMask]) --present;
    return scan_order(order, present);
  }

  // Missing rows are tried on the right first, then on the left; the right keeps a tie, as in scikit-learn.
  Cut scan_order(std::span<const uint32_t> order, size_t present) const {
    Cut cut;
    const auto values = order.first(present);
    const bool one_value = std::none_of(values.begin() + (present > 0), values.end(),
                                        [](uint32_t entry) { return (entry & kNewValue) != 0; });
    if (one_value && (present == 0 || present == order.size())) {
      cut.is_constant = true;
      return cut;
    }
    const Best right = scan_sorted(criterion, rows, values, view, Start{}, scratch.scan);
    cut.gain = right.gain;
    cut.position = right.position;
    if (present == order.size() || one_value) return cut;
    missing_start(order.subspan(present));
    const Best left = scan_sorted(criterion, rows, values, view,
                                  Start{scratch.start, static_cast<int64_t>(order.size() - present)}, scratch.scan);
    if (left.gain > cut.gain) {
      cut.gain = left.gain;
      cut.position = left.position;
      cut.missing_left = true;
    }
    return cut;
  }

  void missing_start(std::span<const uint32_t> missing) const {
    scratch.start.assign(view.total.size(), 0.0);
    for (uint32_t entry : missing) {
      const uint32_t row = entry & kRowMask;
      scratch.start[view.local[rows.label(row)]] += rows.weight(row);
    }
  }

  // Few rows are sorted by bin, many are counted.
  Cut binned(const Column& column, std::span<const uint32_t> node_rows) const {
    if (node_rows.size() * 8 < static_cast<size_t>(column.bins) * view.total.size()) return few_rows(column, node_rows);
    if (column.small.empty()) {
      count(column.large.data(), column.bins, node_rows);
    } else {
      count(column.small.data(), column.bins, node_rows);
    }
    return counted(column.bins);
  }

  template <class Bin>
  void count(const Bin* bins, uint32_t n_bins, std::span<const uint32_t> node_rows) const {
    const size_t k = view.total.size();
    scratch.sums.assign((n_bins + size_t{1}) * k, 0.0);
    scratch.counts.assign(n_bins + size_t{1}, 0);
    for (size_t i = 0; i < node_rows.size(); ++i) {
      const size_t bin = bins[node_rows[i]];
      ++scratch.counts[bin];
      scratch.sums[bin * k + scratch.labels[i]] += rows.weight(node_rows[i]);
    }
  }

  // Groups of rows in order of value, then the missing ones, as counted in the scratch.
  Cut counted(size_t bins) const {
    Cut cut;
    const size_t k = view.total.size();
    const int64_t missing = scratch.counts[bins];
    const auto used = std::count_if(scratch.counts.begin(), scratch.counts.end(), [](int64_t c) { return c > 0; });
    if (used <= 1) {
      cut.is_constant = true;
      return cut;
    }
    const Groups groups{std::span(scratch.sums).first(bins * k), std::span(scratch.counts).first(bins)};
    const Best right = scan_groups(criterion, groups, {}, view, Start{}, scratch.scan);
    cut.gain = right.gain;
    cut.position = right.position;
    if (missing > 0) {
      scratch.start.assign(scratch.sums.end() - static_cast<std::ptrdiff_t>(k), scratch.sums.end());
      const Best left = scan_groups(criterion, groups, {}, view, Start{scratch.start, missing}, scratch.scan);
      if (left.gain > cut.gain) {
        cut.gain = left.gain;
        cut.position = left.position;
        cut.missing_left = true;
      }
    }
    if (cut.gain >= 0) {
      auto next = static_cast<size_t>(cut.position);
      while (next < bins && scratch.counts[next] == 0) ++next;
      cut.next_bin = static_cast<int64_t>(next);
    }
    return cut;
  }

  // Entries of a sparse column; the other rows of the node are zeros, whose class weights are what is left of the
  // total.
  Cut sparse(const SparseSlice& slice, std::span<const uint32_t> entries) const {
    const size_t k = view.total.size();
    auto &sums = scratch.sums, &left = scratch.share;
    sums.clear();
    scratch.counts.clear();
    left.assign(view.total.begin(), view.total.end());
    const auto open_group = [&] {
      sums.resize(sums.size() + k, 0.0);
      scratch.counts.push_back(0);
    };
    const auto add = [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        if (entries[i] & kNewValue) open_group();
        const uint32_t row = entries[i] & kRowMask;
        const size_t c = view.local[rows.label(row)];
        ++scratch.counts.back();
        sums[sums.size() - k + c] += rows.weight(row);
        left[c] -= rows.weight(row);
      }
    };
    add(0, slice.negative);
    const size_t zero = scratch.counts.size();
    open_group();
    add(slice.negative, slice.present());
    const size_t groups = scratch.counts.size();
    open_group();
    for (size_t i = slice.present(); i < entries.size(); ++i) {
      const uint32_t row = entries[i] & kRowMask;
      const size_t c = view.local[rows.label(row)];
      ++scratch.counts.back();
      sums[groups * k + c] += rows.weight(row);
      left[c] -= rows.weight(row);
    }
    scratch.counts[zero] = view.rows - static_cast<int64_t>(entries.size());
    std::copy(left.begin(), left.end(), sums.begin() + static_cast<std::ptrdiff_t>(zero * k));
    Cut cut = counted(groups);
    if (cut.gain < 0) return cut;
    const auto last = static_cast<size_t>(cut.position);  // from groups to entries that go left
    cut.zeros_left = zero < last;
    cut.position = 0;
    for (size_t group = 0; group < last; ++group) cut.position += group == zero ? 0 : scratch.counts[group];
    return cut;
  }

  Cut few_rows(const Column& column, std::span<const uint32_t> node_rows) const {
    const size_t n = node_rows.size();
    scratch.keys.resize(n);
    for (size_t i = 0; i < n; ++i)
      scratch.keys[i] = static_cast<uint64_t>(column.bin(node_rows[i])) << 32 | node_rows[i];
    std::sort(scratch.keys.begin(), scratch.keys.end());
    scratch.order.resize(n);
    size_t present = 0;
    for (size_t i = 0; i < n; ++i) {
      const uint64_t bin = scratch.keys[i] >> 32;
      const bool starts = i == 0 || bin != scratch.keys[i - 1] >> 32;
      present += bin < column.bins;
      scratch.order[i] = static_cast<uint32_t>(scratch.keys[i]) | (starts ? kNewValue : 0U);
    }
    Cut cut = scan_order(scratch.order, present);
    if (cut.gain >= 0) {
      const auto at = static_cast<size_t>(cut.position);
      cut.next_bin = at < present ? static_cast<int64_t>(scratch.keys[at] >> 32) : column.bins;
      cut.position = static_cast<int64_t>(scratch.keys[at - 1] >> 32) + 1;
    }
    return cut;
  }
};

}  // namespace boscage
