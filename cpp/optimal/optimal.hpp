// Entry to the search: user arrays and limits in, a tree with its certificate out.
//
// Settings: what may be spent. Snapshot: what a waiting caller may look at. Result: flat arrays of the
// tree (children, feature, threshold), the leaf of every row, and what is proven about it.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/array.hpp"
#include "base/parallel.hpp"
#include "optimal/node.hpp"
#include "optimal/problem.hpp"

namespace boscage::optimal {

enum class Status { optimal, time_limit, memory_limit, max_explored, interrupted, heuristic };

struct Settings {
  int max_depth = 4;
  double alpha = 0.001;
  bool exact = true;                     // false: look-ahead only
  double time_limit = 60.0;              // seconds; infinite: none
  int64_t memory_limit = INT64_MAX / 2;  // bytes
  int threads = 1;
  int64_t max_explored = Stopper::kNoLimit;  // states; the same result on every machine, on one thread
  bool keep_on_interrupt = true;             // false: solve() throws Interrupted
};

struct Snapshot {
  std::atomic<double> objective{1.0}, lower_bound{0.0};
};

// A tree to start from, tests as thresholds; empty: none.
struct WarmStart {
  Array<int32_t> left, right, feature;
  Array<double> threshold;
};

struct Result {
  Array<int32_t> left, right, feature;
  Array<double> threshold;
  Array<int32_t> leaf;                        // of every row given
  double objective = 1.0, lower_bound = 0.0;  // error share + alpha * leaves
  Status status = Status::optimal;
  int64_t explored = 0;
  int64_t peak_bytes = 0;
  int64_t work = 0;   // row places swept
  double waited = 0;  // thread seconds without anything to do
};

// Dense rows without missing values; every class has a row of positive weight.
Result solve(const DataTable& table, const Target& target, const Settings& settings, const WarmStart& warm_start,
             Control& control, Snapshot& snapshot);

}  // namespace boscage::optimal
