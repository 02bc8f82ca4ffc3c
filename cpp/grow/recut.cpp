#include "grow/recut.hpp"

#include <cmath>
#include <stdexcept>

namespace boscage {

ProposalGrower::ProposalGrower(const Target& target, const AnyCriterion& criterion, const Limits& limits, Order order)
    : rows_(target, criterion), criterion_(criterion), limits_(limits), grower_(rows_.total(), limits, order) {
  if (target.is_numbers()) throw std::invalid_argument("proposals from outside are measured for classes only.");
}

bool ProposalGrower::measure(std::span<const uint32_t> rows, std::span<const double> scores, const Offer& offer,
                             Measured& out) {
  const NodeCutter cutter(rows, rows_.target(), criterion_, limits_);
  double threshold = offer.threshold;
  if (std::isnan(threshold)) {
    const CutPlace place = cutter.find(scores, cut_scratch_);
    if (!place.is_valid()) return false;
    threshold = place.threshold();
  }
  MeasuredTest measured;
  if (!cutter.measure(scores, threshold, measured)) return false;
  measured.test.feature = kLinear;
  measured.test.threshold = threshold;
  measured.test.weights.assign(offer.weights.begin(), offer.weights.end());
  std::vector<uint32_t> left_rows;
  for (size_t i = 0; i < rows.size(); ++i)
    if (!(scores[i] > threshold)) left_rows.push_back(rows[i]);
  out.proposal.tests.push_back(std::move(measured));
  out.left_rows.push_back(std::move(left_rows));
  return true;
}

double ProposalGrower::offer(int32_t node, std::span<const Offer> tests) {
  Measured measured;
  const auto node_rows = rows(node);
  if (!measure(node_rows, tests[0].scores, tests[0], measured)) return -1;
  if (tests.size() == 3) {
    const double threshold = measured.proposal.tests[0].test.threshold;
    for (const bool is_right : {false, true}) {
      const Offer& child = tests[is_right ? 2 : 1];
      std::vector<uint32_t> side;
      std::vector<double> scores;
      for (size_t i = 0; i < node_rows.size(); ++i) {
        if ((tests[0].scores[i] > threshold) != is_right) continue;
        side.push_back(node_rows[i]);
        scores.push_back(child.scores[i]);
      }
      if (!measure(side, scores, child, measured)) return -1;
    }
  }
  const double gain = measured.proposal.priority();
  Candidates& known = candidates_[node];
  Measured& rival = tests.size() == 3 ? known.triple : known.single;
  if (rival.proposal.tests.empty() || gain > rival.proposal.priority()) rival = std::move(measured);
  return gain;
}

void ProposalGrower::tell(int32_t node) {
  Candidates& known = candidates_[node];
  Proposal proposal = known.triple.proposal, single = known.single.proposal;
  if (proposal.tests.empty() || single.priority() >= proposal.priority()) {
    proposal = std::move(single);
  } else {
    proposal.single = std::move(single.tests);
  }
  grower_.tell(node, std::move(proposal));
}

const std::vector<uint32_t>& ProposalGrower::left_rows(int32_t node) const {
  const auto known = candidates_.find(node);
  if (known == candidates_.end()) {  // a child whose test came with its parent's
    const Node& child = grower_.node(node);
    return candidates_.at(child.parent).triple.left_rows[child.is_right ? 2 : 1];
  }
  const bool is_triple = grower_.node(node).tests == 3;
  return (is_triple ? known->second.triple : known->second.single).left_rows[0];
}

std::span<const uint32_t> ProposalGrower::rows(int32_t node) {
  if (rows_.is_placed(node)) return rows_.rows(node);
  const Node& child = grower_.node(node);
  const Node& parent = grower_.node(child.parent);
  for (const uint32_t row : rows(child.parent)) rows_.goes_left()[row] = 0;
  for (const uint32_t row : left_rows(child.parent)) rows_.goes_left()[row] = 1;
  rows_.divide(child.parent, parent.left, parent.right, scratch_);
  return rows_.rows(node);
}

}  // namespace boscage
