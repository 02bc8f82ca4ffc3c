// A random sample of columns at a node, for searches that look at a few of them.
//
// The order of the columns is a function of the seed, the node's path from the root and the columns' numbers alone: it
// depends neither on threads nor on the order of growth, and leaving out a column does not move the others. So columns
// known to be constant can be left out beforehand or passed over later, with the same result.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/array.hpp"
#include "base/rng.hpp"

namespace boscage {

struct ColumnSample {
  int64_t max_features = 0;  // 0: all columns
  uint64_t seed = 0;
};

// Columns in random order, taken one after the other. Taking m of n costs O(n + m log n).
class RandomColumns {
 public:
  RandomColumns(uint64_t seed, uint64_t path, Span<const int32_t> columns) {
    constexpr uint64_t stream_of_columns = 0x636f6c756d6e73ULL;  // apart from other draws of the node
    const uint64_t own = mix(seed ^ stream_of_columns);
    heap_.reserve(columns.size());
    for (int64_t i = 0; i < columns.size(); ++i)
      heap_.push_back({draw_bits(own, path, columns[i]), static_cast<uint32_t>(i)});
    std::make_heap(heap_.begin(), heap_.end());
  }

  bool empty() const { return heap_.empty(); }

  // The position of the next column in the list.
  uint32_t next() {
    std::pop_heap(heap_.begin(), heap_.end());
    const uint32_t position = heap_.back().position;
    heap_.pop_back();
    return position;
  }

 private:
  struct Keyed {
    uint64_t key;
    uint32_t position;
    bool operator<(const Keyed& other) const {  // std heap: the smallest key first
      return key != other.key ? key > other.key : position > other.position;
    }
  };
  Array<Keyed> heap_;
};

// What a search has seen of some columns: how many are not constant in the node, and whether one has a valid cut.
struct SeenColumns {
  int64_t varying = 0;
  bool has_cut = false;

  void add(const SeenColumns& other) {
    varying += other.varying;
    has_cut |= other.has_cut;
  }
};

// Searches max_features columns that are not constant, and goes on until one of them has a valid cut.
// search(positions in the list, increasing) -> SeenColumns.
template <class Search>
void search_sample(const ColumnSample& sample, uint64_t path, Span<const int32_t> columns, const Search& search) {
  RandomColumns order(sample.seed, path, columns);
  int64_t wanted = sample.max_features;
  bool has_cut = false;
  Array<uint32_t> positions;
  while (!order.empty() && (wanted > 0 || !has_cut)) {
    positions.clear();
    do positions.push_back(order.next());
    while (!order.empty() && positions.size() < wanted);
    std::sort(positions.begin(), positions.end());
    const SeenColumns seen = search(Span<const uint32_t>(positions));
    wanted -= seen.varying;
    has_cut |= seen.has_cut;
  }
}

}  // namespace boscage
