// Pairwise reduction by block number: the shape of the sum depends on the number of blocks alone.
//
// Works like a binary counter: blocks 0 and 1 are added, 2 and 3, then those two, and so on. Who computed a block,
// and when, is not known here.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace boscage::stochastic {

class PairwiseSum {
 public:
  // Blocks come in order of their numbers, from 0.
  void push(std::vector<double> block) {
    for (int64_t bits = count_++; (bits & 1) != 0; bits >>= 1) {
      add(parts_.back(), block);
      block = std::move(parts_.back());
      parts_.pop_back();
    }
    parts_.push_back(std::move(block));
  }

  std::vector<double> total() {
    while (parts_.size() > 1) {
      std::vector<double> last = std::move(parts_.back());
      parts_.pop_back();
      add(parts_.back(), last);
    }
    return parts_.empty() ? std::vector<double>{} : std::move(parts_.front());
  }

 private:
  static void add(std::vector<double>& to, const std::vector<double>& from) {
    for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
  }

  std::vector<std::vector<double>> parts_;
  int64_t count_ = 0;
};

}  // namespace boscage::stochastic
