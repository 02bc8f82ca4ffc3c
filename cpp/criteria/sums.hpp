// What a node's sums hold: the kinds of target.
//
// Classes: one weight per class. Numbers: the weight, then for each output the sum of weight times value. Ranks: as
// numbers, but what decides is the order of the values, not the sums.
#pragma once

namespace boscage {

struct Classes {
  static double weight(const double* sums, int k) {
    double all = 0;
    for (int c = 0; c < k; ++c) all += sums[c];
    return all;
  }
};

struct Numbers {
  static double weight(const double* sums, int) { return sums[0]; }
};

struct Ranks : Numbers {};

}  // namespace boscage
