// What follows from a node's sums and test alone, whoever has the rows: how the rows are divided, which of the two
// sides is summed over rows, and the sums of the other.
//
// KnownSums: what is known of a node. Must not know where rows live or how passes are made.
#pragma once

#include <cstdint>
#include <vector>

#include "families/stochastic/frame.hpp"
#include "families/stochastic/sums.hpp"
#include "grow/growth.hpp"

namespace boscage::stochastic {

struct KnownSums {
  std::vector<double> sums;
  double summed_at = 0;  // weight where sums were last made directly
  int64_t count = 0;     // rows that can reach the node
};

// The test of a node and the smallest reach that counts on its sides; nothing is summed yet.
Division divide_by_test(const Grower& grower, int32_t parent, const Frame& frame);

// Chooses the sides to be summed: the lighter one, and the other too where a difference would lose its digits.
void choose_sides(const Grower& grower, int32_t parent, double summed_at, Division& division);

// Gives both children their sums, from those made in a pass and the parent's. Sides that were not summed come empty.
void share_sums(const Grower& grower, int32_t parent, const Division& division, const SumShape& shape,
                const KnownSums& from, KnownSums& left, KnownSums& right);

}  // namespace boscage::stochastic
