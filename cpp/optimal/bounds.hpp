// Lower bounds for every cut of one column at one node.
//
// bound[0][i] bounds the optimum of the rows left of cut i, bound[1][i] of those right of it, one level
// down. Two rules tie neighbours together: a larger set never costs less, and never more than the added
// weight on top. Every raise is carried outwards by both, so the arrays are always closed under them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/array.hpp"

namespace boscage::optimal {

struct ColumnBounds {
  Array<int32_t> rank;      // of the cuts, rising: left if rank <= this
  Array<int64_t> position;  // rows on the left
  Array<int64_t> weight;    // left weight, value units
  Array<int64_t> bound[2];

  int64_t size() const { return rank.size(); }
  int64_t sum(int64_t i) const { return bound[0][i] + bound[1][i]; }
  int64_t bytes() const { return size() * 36; }

  void raise(int side, int64_t i, int64_t value) {
    auto& b = bound[side];
    if (b[i] >= value) return;
    b[i] = value;
    const int64_t up = side == 0 ? 1 : -1;  // towards larger sets
    for (int64_t k = i + up; k >= 0 && k < size() && b[k] < value; k += up) b[k] = value;
    for (int64_t k = i - up; k >= 0 && k < size(); k -= up) {
      const int64_t least = value - (side == 0 ? weight[i] - weight[k] : weight[k] - weight[i]);
      if (b[k] >= least) break;
      b[k] = least;
    }
  }

  // Makes raw bounds obey both rules.
  void close() {
    const int64_t n = size();
    for (int64_t k = 1; k < n; ++k) {
      bound[0][k] = std::max(bound[0][k], bound[0][k - 1]);
      bound[1][k] = std::max(bound[1][k], bound[1][k - 1] - (weight[k] - weight[k - 1]));
    }
    for (int64_t k = n - 2; k >= 0; --k) {
      bound[1][k] = std::max(bound[1][k], bound[1][k + 1]);
      bound[0][k] = std::max(bound[0][k], bound[0][k + 1] - (weight[k + 1] - weight[k]));
    }
  }

  // From the same column at a node whose rows are a subset of ours: its sets lie inside ours.
  void inherit_from_smaller(const ColumnBounds& other) {
    int64_t before = -1;  // last cut of other with rank <= ours
    for (int64_t i = 0; i < size(); ++i) {
      while (before + 1 < other.size() && other.rank[before + 1] <= rank[i]) ++before;
      if (before >= 0) bound[0][i] = std::max(bound[0][i], other.bound[0][before]);
      const bool equal = before >= 0 && other.rank[before] == rank[i];
      const int64_t after = equal ? before : before + 1;
      if (after < other.size()) bound[1][i] = std::max(bound[1][i], other.bound[1][after]);
    }
  }

  // From a node whose rows contain ours, so that all our cuts are among its cuts.
  void inherit_from_larger(const ColumnBounds& other, int64_t total, int64_t other_total) {
    int64_t at = 0;
    for (int64_t i = 0; i < size(); ++i) {
      while (at < other.size() && other.rank[at] < rank[i]) ++at;
      if (at == other.size() || other.rank[at] != rank[i]) continue;
      bound[0][i] = std::max(bound[0][i], other.bound[0][at] - (other.weight[at] - weight[i]));
      const int64_t lost = (other_total - other.weight[at]) - (total - weight[i]);
      bound[1][i] = std::max(bound[1][i], other.bound[1][at] - lost);
    }
  }
};

}  // namespace boscage::optimal
