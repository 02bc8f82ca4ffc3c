// Sums that do not depend on threads: rows in blocks of 4096, blocks added pairwise by number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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

}  // namespace boscage
