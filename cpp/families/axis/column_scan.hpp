// Thresholds of one numeric column at a node: sorted columns are scanned in order of value, binned and sparse ones
// are counted by value, and missing rows are tried on both sides. Knows nothing of other columns or of the tree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>
#include <vector>

#include "base/index.hpp"
#include "families/axis/axis.hpp"

namespace boscage {

template <class Criterion, class Rows>
struct ColumnScan {
  static constexpr bool kRanks = std::is_same_v<typename Rows::Target, Ranks>;
  static constexpr size_t kFewBins = 16;

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
    const Best right = scan_values(order, present, false);
    cut.gain = right.gain;
    cut.position = right.position;
    if (present == order.size() || one_value) return cut;
    const Best left = scan_values(order, present, true);
    if (left.gain > cut.gain) {
      cut.gain = left.gain;
      cut.position = left.position;
      cut.missing_left = true;
    }
    return cut;
  }

  Best scan_values(std::span<const uint32_t> order, size_t present, bool missing_left) const {
    if constexpr (kRanks) {
      return sweep_sorted(criterion, rows, order, present, missing_left, view, scratch.scan);
    } else {
      if (!missing_left) return scan_sorted(criterion, rows, order.first(present), view, Start{}, scratch.scan);
      missing_start(order.subspan(present));
      const Start start{scratch.start, static_cast<int64_t>(order.size() - present)};
      return scan_sorted(criterion, rows, order.first(present), view, start, scratch.scan);
    }
  }

  void missing_start(std::span<const uint32_t> missing) const {
    scratch.start.assign(view.total.size(), 0.0);
    for (const uint32_t entry : missing) rows.add(entry & kRowMask, view.local, scratch.start.data());
  }

  // Few rows are sorted by bin, many are counted.
  Cut binned(const Column& column, std::span<const uint32_t> node_rows) const {
    if constexpr (kRanks) {
      return few_rows(column, node_rows);
    } else {
      if (node_rows.size() * 8 < to_size(column.bins) * view.total.size()) return few_rows(column, node_rows);
      count(column, node_rows);
      return counted(column.bins);
    }
  }

  // Sums and rows by bin, or by category; the last ones are those of missing values. An addition to a number that was
  // just written waits for it, so where bins are few neighbouring rows go to copies in turn: sums are exact in any
  // order.
  template <class Bin>
  void count(const Bin* bins, uint32_t n_bins, std::span<const uint32_t> node_rows) const {
    const size_t k = view.total.size(), size = n_bins + size_t{1};
    const size_t copies = size <= kFewBins && node_rows.size() >= 4 * kFewBins ? 4 : 1;
    scratch.sums.assign(size * k * copies, 0.0);
    scratch.counts.assign(size * copies, 0);
    for (size_t i = 0; i < node_rows.size(); ++i) {
      const size_t bin = bins[node_rows[i]] + size * (i & (copies - 1));
      ++scratch.counts[bin];
      if constexpr (std::is_same_v<Rows, UnitValues>) {
        scratch.sums[bin * k + 1] += rows.data[node_rows[i]];
      } else if constexpr (std::is_same_v<typename Rows::Target, Classes>) {
        scratch.sums[bin * k + scratch.labels[i]] += rows.weight(node_rows[i]);
      } else {
        rows.add(node_rows[i], {}, scratch.sums.data() + bin * k);
      }
    }
    if constexpr (std::is_same_v<Rows, UnitValues>)
      for (size_t bin = 0; bin < size * copies; ++bin) scratch.sums[bin * k] = static_cast<double>(scratch.counts[bin]);
    add_copies(scratch.sums, size * k);
    add_copies(scratch.counts, size);
  }
  template <class Number>
  static void add_copies(std::vector<Number>& numbers, size_t size) {
    for (size_t copy = size; copy < numbers.size(); copy += size)
      for (size_t j = 0; j < size; ++j) numbers[j] += numbers[copy + j];
    numbers.resize(size);
  }
  void count(const Column& column, std::span<const uint32_t> node_rows) const {
    column.small.empty() ? count(column.large.data(), column.bins, node_rows)
                         : count(column.small.data(), column.bins, node_rows);
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
      auto next = to_size(cut.position);
      while (next < bins && scratch.counts[next] == 0) ++next;
      cut.next_bin = static_cast<int64_t>(next);
    }
    return cut;
  }

  // Entries of a sparse column; the other rows of the node are zeros, whose sums are what is left of the total.
  Cut sparse(const SparseSlice& slice, std::span<const uint32_t> entries, std::span<const uint32_t> node_rows) const {
    if constexpr (kRanks) {
      return sparse_order(slice, entries, node_rows);
    } else {
      return sparse_sums(slice, entries);
    }
  }

  // The rows in order, the zeros in their place.
  Cut sparse_order(const SparseSlice& slice, std::span<const uint32_t> entries,
                   std::span<const uint32_t> node_rows) const {
    auto &stored = scratch.sequence, &order = scratch.order;
    stored.clear();
    for (const uint32_t entry : entries) stored.push_back(entry & kRowMask);
    std::sort(stored.begin(), stored.end());
    order.assign(entries.begin(), entries.begin() + slice.negative);
    std::set_difference(node_rows.begin(), node_rows.end(), stored.begin(), stored.end(), std::back_inserter(order));
    const size_t zeros = order.size() - slice.negative;
    if (zeros > 0) order[slice.negative] |= kNewValue;
    order.insert(order.end(), entries.begin() + slice.negative, entries.end());
    Cut cut = scan_order(order, slice.present() + zeros);
    if (cut.gain < 0) return cut;
    cut.zeros_left = zeros > 0 && cut.position > static_cast<int64_t>(slice.negative);
    if (cut.zeros_left) cut.position -= static_cast<int64_t>(zeros);
    return cut;
  }

  Cut sparse_sums(const SparseSlice& slice, std::span<const uint32_t> entries) const {
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
        ++scratch.counts.back();
        rows.add(entries[i] & kRowMask, view.local, sums.data() + sums.size() - k);
        rows.take(entries[i] & kRowMask, view.local, left.data());
      }
    };
    add(0, slice.negative);
    const size_t zero = scratch.counts.size();
    open_group();
    add(slice.negative, slice.present());
    const size_t groups = scratch.counts.size();
    open_group();
    for (size_t i = slice.present(); i < entries.size(); ++i) {
      ++scratch.counts.back();
      rows.add(entries[i] & kRowMask, view.local, sums.data() + groups * k);
      rows.take(entries[i] & kRowMask, view.local, left.data());
    }
    scratch.counts[zero] = view.rows - signed_size(entries);
    std::copy(left.begin(), left.end(), sums.begin() + static_cast<std::ptrdiff_t>(zero * k));
    Cut cut = counted(groups);
    if (cut.gain < 0) return cut;
    const auto last = to_size(cut.position);  // from groups to entries that go left
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
      const auto at = to_size(cut.position);
      cut.next_bin = at < present ? static_cast<int64_t>(scratch.keys[at] >> 32) : column.bins;
      cut.position = static_cast<int64_t>(scratch.keys[at - 1] >> 32) + 1;
    }
    return cut;
  }
};

}  // namespace boscage
