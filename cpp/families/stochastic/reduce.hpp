// Pairwise reduction by block number: the shape of the sum depends on the number of blocks alone.
//
// Blocks 0 and 1 are added, 2 and 3, then those two, and so on, like a binary counter. A part is the sum of the 2^level
// blocks from index * 2^level on; neighbouring parts of equal size become one when the left one's index is even. Any
// run of blocks can be reduced by itself first: who computed a block, and when, is not known here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace boscage::stochastic {

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

}  // namespace boscage::stochastic
