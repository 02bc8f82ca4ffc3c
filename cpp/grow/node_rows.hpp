// Which training rows are where while a hard tree grows in memory.
//
// Every node owns a segment of one array of row numbers; a split marks the rows that go left and the
// segment is divided, each side keeping its order. Targets and weights of the rows live here too.
// What rows add to sums lies on a grid, so sums are exact: any order gives the same bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/index.hpp"
#include "base/stable_array.hpp"
#include "criteria/criteria.hpp"
#include "data/target.hpp"
#include "grow/number_rows.hpp"
#include "grow/split.hpp"

namespace boscage {

struct Segment {
  int64_t begin = 0, end = -1;
  int64_t size() const { return end - begin; }
};

class NodeRows {
 public:
  NodeRows(const Target& target, const AnyCriterion& criterion) : NodeRows(target, criterion, all_rows(target)) {}

  // Only the rows listed, increasing.
  NodeRows(const Target& target, const AnyCriterion& criterion, std::vector<uint32_t> rows)
      : target_(target), rows_(std::move(rows)), goes_left_(to_size(target.rows())) {
    if (target.is_numbers()) numbers_.emplace(target, criterion, rows_);
    place(0, {0, size()});
    if (numbers_) grids_[0].here = numbers_->total().numbers->grid;
  }

  const Target& target() const { return target_; }
  const NumberRows* numbers() const { return numbers_ ? &*numbers_ : nullptr; }
  int32_t classes() const { return target_.classes; }
  int64_t size() const { return signed_size(rows_); }
  int32_t label(uint32_t row) const { return target_.label[row]; }
  double weight(uint32_t row) const { return target_.weight_of(row); }
  bool is_weighted() const { return !target_.weight.empty(); }

  const Segment& segment(int32_t node) const { return segments_[node]; }
  bool is_placed(int32_t node) const { return node < segments_.size() && segment(node).end >= 0; }
  std::span<const uint32_t> rows(int32_t node) const {
    return {rows_.data() + segment(node).begin, to_size(segment(node).size())};
  }
  // Rows of a node in increasing order of y, where ranks decide.
  std::span<const uint32_t> ordered(int32_t node) const {
    return numbers_->order().subspan(to_size(segment(node).begin), to_size(segment(node).size()));
  }
  uint8_t* goes_left() { return goes_left_.data(); }
  const uint8_t* goes_left() const { return goes_left_.data(); }

  // The two sides of a segment as marked by goes_left().
  std::pair<Side, Side> measure(int32_t node) {
    std::pair<Side, Side> sides;
    if (numbers_) {
      Grids& grids = grids_[node];
      sides = numbers_->measure(numbers_->has_ranks() ? ordered(node) : rows(node), goes_left_.data(), grids.here);
      grids.left = grid_of(sides.first);
      grids.right = grid_of(sides.second);
      return sides;
    }
    sides.first.sums.assign(to_size(classes()), 0.0);
    sides.second.sums.assign(to_size(classes()), 0.0);
    for (uint32_t row : rows(node)) {
      Side& side = goes_left_[row] ? sides.first : sides.second;
      ++side.rows;
      side.sums[to_size(label(row))] += weight(row);
    }
    return sides;
  }

  // All rows together: the root.
  Side total() const {
    if (numbers_) return numbers_->total();
    Side side;
    side.rows = size();
    side.sums.assign(to_size(classes()), 0.0);
    for (const uint32_t row : rows_) side.sums[to_size(target_.label[row])] += weight(row);
    return side;
  }

  // Makes room for node ids up to `count`; to be called before nodes are divided in parallel.
  void reserve_nodes(int64_t count) {
    segments_.extend(count);
    if (numbers_) grids_.extend(count);
  }

  // Divides a node's segment by its marks. Numbers are put on the grids of their new nodes.
  void divide(int32_t node, int32_t left, int32_t right, std::vector<uint32_t>& scratch) {
    const Segment whole = segment(node);
    const int64_t kept = whole.begin + divide_rows(rows_, whole, scratch);
    place(left, {whole.begin, kept});
    place(right, {kept, whole.end});
    if (!numbers_) return;
    if (!grids_[node].left) measure(node);
    if (numbers_->has_ranks()) divide_rows(numbers_->order(), whole, scratch);
    Grids grids = std::exchange(grids_[node], {});
    for (auto& [id, grid] : {std::pair(left, &grids.left), std::pair(right, &grids.right)}) {
      if (*grid != grids.here) numbers_->write(rows(id), **grid);
      if (numbers_->has_ranks()) numbers_->number(ordered(id));
      grids_[id].here = std::move(*grid);
    }
  }

 private:
  // Of a node of numbers that is not divided yet, and of its two sides once they are measured.
  struct Grids {
    std::shared_ptr<const NumberGrid> here, left, right;
  };

  static std::shared_ptr<const NumberGrid> grid_of(const Side& side) {
    return side.numbers ? side.numbers->grid : nullptr;
  }

  // Rows that go left first, both sides in their order; returns how many go left.
  int64_t divide_rows(std::span<uint32_t> all, Segment whole, std::vector<uint32_t>& scratch) {
    scratch.resize(to_size(whole.size()));
    auto kept = to_size(whole.begin);
    size_t moved = 0;
    for (auto i = to_size(whole.begin); i < to_size(whole.end); ++i) {
      const uint32_t row = all[i];
      const bool is_left = goes_left_[row] != 0;
      all[kept] = row;
      scratch[moved] = row;
      kept += is_left;
      moved += !is_left;
    }
    std::copy_n(scratch.begin(), moved, all.begin() + static_cast<std::ptrdiff_t>(kept));
    return static_cast<int64_t>(kept) - whole.begin;
  }

  static std::vector<uint32_t> all_rows(const Target& target) {
    std::vector<uint32_t> rows(to_size(target.rows()));
    std::iota(rows.begin(), rows.end(), 0U);
    return rows;
  }

  void place(int32_t node, Segment segment) {
    reserve_nodes(int64_t{node} + 1);
    segments_[node] = segment;
  }

  Target target_;
  std::optional<NumberRows> numbers_;
  std::vector<uint32_t> rows_;
  std::vector<uint8_t> goes_left_;
  StableArray<Segment> segments_;
  StableArray<Grids> grids_;  // by node, of numbers
};

}  // namespace boscage
