// Tests proposed from outside, for hard trees in memory: the engine cuts, measures and keeps the best.
//
// A family offers one direction, or three (root, left child, right child), as the scores of the node's rows;
// the best threshold along a direction is found by the same scan as for a column. Knows nothing of where
// directions come from.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "criteria/criteria.hpp"
#include "grow/cut.hpp"
#include "grow/growth.hpp"
#include "grow/node_rows.hpp"
#include "grow/scan.hpp"

namespace boscage {

struct Offer {
  std::span<const double> weights;  // the linear test
  std::span<const double> scores;   // w.x of every row of the node, in the order of NodeRows::rows
  double threshold;                 // NaN: to be found
};

class ProposalGrower {
 public:
  ProposalGrower(const Target& target, const AnyCriterion& criterion, const Limits& limits, Order order);

  std::vector<Request> ask() { return grower_.ask(); }
  // The rows of a node that has been asked for.
  std::span<const uint32_t> rows(int32_t node);
  const Grower& grower() const { return grower_; }

  // Measures an offer of one or three tests and keeps it if it beats the node's others.
  // Returns its gain per split, or -1 if a side would be empty or break a limit.
  double offer(int32_t node, std::span<const Offer> tests);
  // Ends the offers for a node: the best of them becomes its proposal.
  void tell(int32_t node);

 private:
  struct Measured {
    Proposal proposal;
    std::vector<std::vector<uint32_t>> left_rows;  // of each test
  };
  struct Candidates {
    Measured triple, single;
  };

  bool measure(std::span<const uint32_t> rows, std::span<const double> scores, const Offer& offer, Measured& out);
  const std::vector<uint32_t>& left_rows(int32_t node) const;

  NodeRows rows_;
  AnyCriterion criterion_;
  Limits limits_;
  Grower grower_;
  std::map<int32_t, Candidates> candidates_;
  std::vector<uint32_t> scratch_;
  CutScratch cut_scratch_;
};

}  // namespace boscage
