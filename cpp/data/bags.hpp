// How often each row counts in a tree of a forest: pure functions of (seed, row), with a stream of their own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/rng.hpp"

namespace boscage {

constexpr uint64_t kBagStream = 0;  // nodes have the streams from 1 on

inline void check_bag(int64_t rows, int64_t draws) {
  if (rows < 1 || draws < 1) throw std::invalid_argument("rows and draws must be at least 1.");
}

// Each of the draws picks one of the rows; how often each was picked.
inline std::vector<double> draw_with_replacement(uint64_t seed, int64_t rows, int64_t draws) {
  check_bag(rows, draws);
  std::vector<double> count(static_cast<size_t>(rows), 0.0);
  for (int64_t i = 0; i < draws; ++i) {
    const double place = uniform(seed, kBagStream, static_cast<uint64_t>(i)) * static_cast<double>(rows);
    ++count[std::min(static_cast<size_t>(place), count.size() - 1)];
  }
  return count;
}

// 1 for so many different rows, 0 for the others.
inline std::vector<double> draw_without_replacement(uint64_t seed, int64_t rows, int64_t draws) {
  check_bag(rows, draws);
  if (draws >= rows) return std::vector<double>(static_cast<size_t>(rows), 1.0);
  std::vector<std::pair<uint64_t, int64_t>> keys(static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row)
    keys[static_cast<size_t>(row)] = {draw_bits(seed, kBagStream, static_cast<uint64_t>(row)), row};
  std::nth_element(keys.begin(), keys.begin() + draws, keys.end());
  std::vector<double> count(static_cast<size_t>(rows), 0.0);
  for (int64_t i = 0; i < draws; ++i) count[static_cast<size_t>(keys[static_cast<size_t>(i)].second)] = 1.0;
  return count;
}

// Independent exponential weights of mean 1: the Bayesian bootstrap.
inline std::vector<double> draw_exponential(uint64_t seed, int64_t rows) {
  check_bag(rows, 1);
  std::vector<double> weight(static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row)
    weight[static_cast<size_t>(row)] = -std::log(1.0 - uniform(seed, kBagStream, static_cast<uint64_t>(row)));
  return weight;
}

}  // namespace boscage
