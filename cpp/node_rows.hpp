// Which training rows are where while a hard tree grows in memory.
//
// Every node owns a segment of one array of row numbers; a split marks the rows that go left and the
// segment is divided, each side keeping its order. Classes and weights of the rows live here too.
// Weights lie on the grid made at the door, so sums of them are exact: any order gives the same bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "split.hpp"

namespace boscage {

struct Segment {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

class NodeRows {
 public:
  // weight may be empty: every row counts 1.
  NodeRows(std::span<const int32_t> label, std::span<const double> weight, int32_t classes)
      : label_(label), weight_(weight), classes_(classes), rows_(label.size()), goes_left_(label.size()) {
    std::iota(rows_.begin(), rows_.end(), 0U);
    place(0, {0, static_cast<int64_t>(label.size())});
  }

  int32_t classes() const { return classes_; }
  int64_t size() const { return static_cast<int64_t>(rows_.size()); }
  int32_t label(uint32_t row) const { return label_[row]; }
  double weight(uint32_t row) const { return weight_.empty() ? 1.0 : weight_[row]; }
  bool is_weighted() const { return !weight_.empty(); }

  const Segment& segment(int32_t node) const { return segments_[static_cast<size_t>(node)]; }
  bool is_placed(int32_t node) const { return static_cast<size_t>(node) < segments_.size() && segment(node).end >= 0; }
  std::span<const uint32_t> rows(int32_t node) const {
    return {rows_.data() + segment(node).begin, static_cast<size_t>(segment(node).size())};
  }
  uint8_t* goes_left() { return goes_left_.data(); }
  const uint8_t* goes_left() const { return goes_left_.data(); }

  // The two sides of a segment as marked by goes_left().
  std::pair<Side, Side> measure(int32_t node) const {
    std::pair<Side, Side> sides;
    sides.first.class_weights.assign(static_cast<size_t>(classes_), 0.0);
    sides.second.class_weights.assign(static_cast<size_t>(classes_), 0.0);
    for (uint32_t row : rows(node)) {
      Side& side = goes_left_[row] ? sides.first : sides.second;
      ++side.rows;
      side.class_weights[static_cast<size_t>(label_[row])] += weight(row);
    }
    return sides;
  }

  // All rows together: the root.
  Side total() const {
    Side side;
    side.rows = size();
    side.class_weights.assign(static_cast<size_t>(classes_), 0.0);
    for (size_t row = 0; row < label_.size(); ++row)
      side.class_weights[static_cast<size_t>(label_[row])] += weight(static_cast<uint32_t>(row));
    return side;
  }

  // Makes room for node ids up to `count`; to be called before nodes are divided in parallel.
  void reserve_nodes(size_t count) {
    if (segments_.size() < count) segments_.resize(count, Segment{0, -1});
  }

  // Divides a node's segment by its marks.
  void divide(int32_t node, int32_t left, int32_t right, std::vector<uint32_t>& scratch) {
    const Segment whole = segment(node);
    scratch.resize(static_cast<size_t>(whole.size()));
    int64_t kept = whole.begin;
    size_t moved = 0;
    for (int64_t i = whole.begin; i < whole.end; ++i) {
      const uint32_t row = rows_[static_cast<size_t>(i)];
      const bool is_left = goes_left_[row] != 0;
      rows_[static_cast<size_t>(kept)] = row;
      scratch[moved] = row;
      kept += is_left;
      moved += !is_left;
    }
    std::copy_n(scratch.begin(), moved, rows_.begin() + kept);
    place(left, {whole.begin, kept});
    place(right, {kept, whole.end});
  }

 private:
  void place(int32_t node, Segment segment) {
    reserve_nodes(static_cast<size_t>(node) + 1);
    segments_[static_cast<size_t>(node)] = segment;
  }

  std::span<const int32_t> label_;
  std::span<const double> weight_;
  int32_t classes_;
  std::vector<uint32_t> rows_;
  std::vector<uint8_t> goes_left_;
  std::vector<Segment> segments_;
};

}  // namespace boscage
