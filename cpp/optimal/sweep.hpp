// The inner loop of the search: the best stumps on both sides of sixteen cuts of one column at once.
//
// A sweep fixes a column and kLanes cut ranks. It runs through the rows of every column in sorted order
// and keeps, per cut (lane) and side, the best stump over all columns. All sums are integers, so every
// instruction set gives the same result; the widest one the machine has is chosen once, at run time.
#pragma once

#include <cstdint>

#include "base/array.hpp"

namespace boscage::optimal {

constexpr int kLanes = 16;

// What a lane compares and adds for one row.
template <class T>
struct Item {
  T key;     // rank in the column being cut: left if key <= cut
  T weight;  // two classes: signed, class 1 positive
};

// Rows [previous end, end) share a class; stumps may be read off after them if `cut`.
struct Run {
  uint32_t end;
  int32_t label;
  bool cut;
};

// Two classes. `order` holds [columns][rows] local row numbers; kCutHere marks rows after which a
// stump may cut. dense[k] != 0: after every row.
constexpr uint32_t kCutHere = 1U << 31;

template <class T>
struct BinarySweep {
  const Item<T>* items;
  const uint32_t* order;
  const uint8_t* dense;
  int64_t rows;
  int columns;
  T cut[kLanes];
  // Extremes of the signed prefix sums over all columns and cuts, the empty prefix included.
  T low[2][kLanes], high[2][kLanes];
  T left[kLanes];  // signed weight left of the cuts
};

// More classes. total[side][class * kLanes + lane]; correct[side] = largest weight a stump gets right.
template <class T>
struct ClassSweep {
  const Item<T>* items;
  const uint32_t* order;
  const Run* runs;            // all columns, one after the other
  const uint32_t* run_start;  // [columns + 1]
  int64_t rows;
  int columns, classes;
  T cut[kLanes];
  const T* total[2];
  T* rest[2];  // work space of the same size as total
  T correct[2][kLanes];
};

template <class T>
struct SweepKernels {
  const char* name;  // of the instruction set
  void (*binary)(BinarySweep<T>&);
  void (*classes)(ClassSweep<T>&);
};

// All that this machine can run, the widest last; sweep_kernels() is that one.
template <class T>
Array<SweepKernels<T>> runnable_sweep_kernels();

template <class T>
const SweepKernels<T>& sweep_kernels();

}  // namespace boscage::optimal
