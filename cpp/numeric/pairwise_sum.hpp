// Sums that do not depend on threads, batches or clusters: over blocks of 4096 rows of the global row order, the blocks
// added pairwise by number.
//
// Blocks 0 and 1 are added, 2 and 3, then those two, and so on, like a binary counter: the shape of the sum depends on
// the number of blocks alone. add_pairwise does it for blocks that lie in one array, PairwiseSum for blocks that come
// one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/index.hpp"
#include "base/parallel.hpp"

namespace boscage {

constexpr int64_t kBlockRows = 4096;

constexpr int64_t block_count(int64_t rows) { return (rows + kBlockRows - 1) / kBlockRows; }

// Adds the `width` numbers of each block into those of block 0, neighbours first.
template <class Numbers>
void add_pairwise(Numbers& parts, int64_t blocks, int64_t width) {
  for (int64_t step = 1; step < blocks; step *= 2) {
    for (int64_t block = 0; block + step < blocks; block += 2 * step) {
      double* sum = parts.data() + block * width;
      const double* other = parts.data() + (block + step) * width;
      for (int64_t i = 0; i < width; ++i) sum[i] += other[i];
    }
  }
}

// task(block) for every block, on the pool if there is one.
template <class Task>
void for_blocks(int64_t blocks, Pool* pool, const Task& task) {
  if (pool == nullptr || blocks < 2) {
    for (int64_t block = 0; block < blocks; ++block) task(block);
  } else {
    pool->parallel_for(blocks, [&](int64_t block, int) { task(block); });
  }
}

// A part is the sum of the 2^level blocks from index * 2^level on; neighbouring parts of equal size become one when the
// left one's index is even. Any run of blocks can be reduced by itself first.
class PairwiseSum {
 public:
  struct Part {
    int32_t level = 0;
    int64_t index = 0;
    std::vector<double> sums;
  };

  explicit PairwiseSum(int64_t first_block = 0) : next_(first_block) {}

  // Blocks come in order of their numbers, from the first.
  void push(std::vector<double> block) {
    parts_.push_back({0, next_++, std::move(block)});
    while (parts_.size() > 1) {
      Part &left = parts_[parts_.size() - 2], &right = parts_.back();
      if (left.level != right.level || (right.index & 1) == 0) return;
      add(left.sums, right.sums);
      left = {left.level + 1, left.index / 2, std::move(left.sums)};
      parts_.pop_back();
    }
  }

  // What has not found its neighbour, by block number.
  const std::vector<Part>& parts() const { return parts_; }

  // The sum of all blocks, of which the first had number 0.
  std::vector<double> total() {
    while (parts_.size() > 1) {
      const std::vector<double> last = std::move(parts_.back().sums);
      parts_.pop_back();
      add(parts_.back().sums, last);
    }
    return parts_.empty() ? std::vector<double>{} : std::move(parts_.front().sums);
  }

 private:
  static void add(std::vector<double>& to, const std::vector<double>& from) {
    for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
  }

  std::vector<Part> parts_;
  int64_t next_ = 0;
};

// Blocks of so many numbers that are summed before they are reduced: many, for threads to share, while their sums are
// small.
inline int64_t blocks_at_once(int threads, size_t numbers) {
  return std::max<int64_t>(4 * threads, std::min<int64_t>(64, (1 << 18) / static_cast<int64_t>(numbers + 1)));
}

// Sums over the blocks of some rows, reduced as far as they are neighbours: add(begin, end, thread, sums) of a block.
template <class Add>
PairwiseSum sum_rows(int64_t rows, int64_t first_block, size_t size, Pool& pool, const Control& control, Add add) {
  const int64_t blocks = block_count(rows), round = blocks_at_once(pool.threads(), size);
  PairwiseSum sum(first_block);
  for (int64_t first = 0; first < blocks; first += round) {
    std::vector<std::vector<double>> slots(to_size(std::min(round, blocks - first)));
    pool.parallel_for(signed_size(slots), [&](int64_t slot, int thread) {
      control.check();
      auto& mine = slots[to_size(slot)];
      mine.assign(size, 0.0);
      const int64_t begin = (first + slot) * kBlockRows;
      add(begin, std::min(begin + kBlockRows, rows), thread, mine.data());
    });
    for (auto& slot : slots) sum.push(std::move(slot));
  }
  return sum;
}

}  // namespace boscage
