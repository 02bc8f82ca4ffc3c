// How often each row counts in a tree of a forest: pure functions of (seed, row), with streams of their own.
//
// Any range of the rows can be had without the others, from a plan whose size does not grow with the range: the rows of
// a forest need not be in memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/array.hpp"
#include "base/rng.hpp"

namespace boscage {

constexpr uint64_t kBagStream = 0;  // nodes have the streams from 1 on
constexpr int64_t kBagBlock = 4096;

// Rows begin .. end - 1 of so many.
struct BagRange {
  int64_t rows, begin, end;
};

inline void check_bag(int64_t rows, int64_t draws) {
  if (rows < 1 || draws < 1) throw std::invalid_argument("rows and draws must be at least 1.");
}

inline void check_range(const BagRange& range) {
  if (range.begin < 0 || range.begin > range.end || range.end > range.rows)
    throw std::invalid_argument("the range is not one of the rows.");
}

// Each of the draws picks one of the rows; how many picked one of each block of rows.
inline Array<int64_t> draws_by_block(uint64_t seed, int64_t rows, int64_t draws) {
  check_bag(rows, draws);
  Array<int64_t> count((rows + kBagBlock - 1) / kBagBlock, 0);
  for (int64_t i = 0; i < draws; ++i) {
    const double place = uniform(seed, kBagStream, i) * static_cast<double>(rows);
    ++count[std::min(static_cast<int64_t>(place) / kBagBlock, count.size() - 1)];
  }
  return count;
}

// How often each row of a range was picked; the draws of a block pick its rows in streams of their own.
inline Array<double> draw_with_replacement(uint64_t seed, Span<const int64_t> by_block, const BagRange& range) {
  check_range(range);
  if (by_block.size() != (range.rows + kBagBlock - 1) / kBagBlock)
    throw std::invalid_argument("by_block needs a number for each block of rows.");
  Array<double> count(range.end - range.begin, 0.0);
  const uint64_t own = mix(seed ^ 0x62616773626c6b73ULL);
  for (int64_t block = range.begin / kBagBlock; block * kBagBlock < range.end; ++block) {
    const int64_t first = block * kBagBlock, size = std::min(kBagBlock, range.rows - first);
    for (int64_t i = 0; i < by_block[block]; ++i) {
      const double place = uniform(own, block, i) * static_cast<double>(size);
      const int64_t row = first + std::min(static_cast<int64_t>(place), size - 1);
      if (row >= range.begin && row < range.end) ++count[row - range.begin];
    }
  }
  return count;
}

using BagKey = std::pair<uint64_t, int64_t>;

inline BagKey bag_key(uint64_t seed, int64_t row) { return {draw_bits(seed, kBagStream, row), row}; }

// The key that so many rows lie below.
inline BagKey draws_limit(uint64_t seed, int64_t rows, int64_t draws) {
  check_bag(rows, draws);
  if (draws >= rows) return {std::numeric_limits<uint64_t>::max(), rows};
  Array<BagKey> keys(rows);
  for (int64_t row = 0; row < rows; ++row) keys[row] = bag_key(seed, row);
  std::nth_element(keys.begin(), keys.begin() + draws, keys.end());
  return keys[draws];
}

// 1 for the rows of a range that lie below the limit, 0 for the others.
inline Array<double> draw_without_replacement(uint64_t seed, const BagKey& limit, const BagRange& range) {
  check_range(range);
  Array<double> count(range.end - range.begin);
  for (int64_t row = range.begin; row < range.end; ++row)
    count[row - range.begin] = bag_key(seed, row) < limit ? 1.0 : 0.0;
  return count;
}

// Independent exponential weights of mean 1 for the rows of a range: the Bayesian bootstrap.
inline Array<double> draw_exponential(uint64_t seed, const BagRange& range) {
  check_range(range);
  Array<double> weight(range.end - range.begin);
  for (int64_t row = range.begin; row < range.end; ++row)
    weight[row - range.begin] = -std::log(1.0 - uniform(seed, kBagStream, row));
  return weight;
}

}  // namespace boscage
