#include "families/oblique/batches.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/index.hpp"

namespace boscage {

ObliqueBatchGrowth::ObliqueBatchGrowth(DescentFrame frame, Side root, Order order)
    : frame_(std::move(frame)), root_(std::move(root)), order_(order) {}

std::optional<ObliquePass> ObliqueBatchGrowth::ask(int64_t most_numbers) {
  if (!is_current_) unknown_ = replay(root_, frame_.limits, order_);
  is_current_ = true;
  if (unknown_.empty()) return std::nullopt;
  asked_.clear();
  ObliquePass pass;
  pass.scaling = frame_.scaling;
  pass.numbers = frame_.numbers;
  std::vector<int32_t> leaves;
  size_t begin = 0;
  for (const int32_t node : unknown_) {
    const int32_t place = place_of(node);
    auto& descent = places_[to_size(place)].descent;
    if (descent == nullptr) descent = std::make_unique<NodeDescent>(frame_, grower_->node(node));
    const size_t tasks = pass.tasks.size();
    descent->ask(static_cast<int32_t>(pass.leaves.size()), pass.tasks);
    pass.leaves.push_back(descent->leaf());
    pass.leaves.back().place = place;
    size_t end = begin;
    for (size_t task = tasks; task < pass.tasks.size(); ++task) end += pass.size(pass.tasks[task]);
    if (!asked_.empty() && end > to_size(std::max<int64_t>(most_numbers, 0))) {
      pass.tasks.resize(tasks);  // this node and the others wait for another pass
      pass.leaves.pop_back();
      break;
    }
    asked_.push_back({place, begin, end});
    leaves.push_back(node);
    begin = end;
  }
  add_route(leaves, pass);
  return pass;
}

// The tests on the way to these nodes of the tree.
void ObliqueBatchGrowth::add_route(const std::vector<int32_t>& leaves, ObliquePass& pass) {
  std::vector<int32_t> nodes;
  std::vector<int32_t> link(to_size(grower_->size()), kNowhere);
  for (size_t i = 0; i < leaves.size(); ++i) {
    link[to_size(leaves[i])] = link_to_leaf(static_cast<int32_t>(i));
    for (int32_t at = grower_->node(leaves[i]).parent; at >= 0 && link[to_size(at)] == kNowhere;
         at = grower_->node(at).parent) {
      link[to_size(at)] = 0;
      nodes.push_back(at);
    }
  }
  std::sort(nodes.begin(), nodes.end());
  for (size_t i = 0; i < nodes.size(); ++i) link[to_size(nodes[i])] = static_cast<int32_t>(i);
  for (const int32_t id : nodes) {
    const Node& node = grower_->node(id);
    const Test& test = grower_->test(id);
    pass.steps.push_back(
        {test.weights, test.threshold, {link[to_size(node.left)], link[to_size(node.right)]}, place_of(id)});
  }
}

void ObliqueBatchGrowth::tell(std::span<const double> sums, Pool& pool) {
  if (asked_.empty() || sums.size() != asked_.back().end)
    throw std::invalid_argument("sums do not fit what was asked for.");
  pool.parallel_for(signed_size(asked_), [&](int64_t i, int) {
    const Asked& asked = asked_[to_size(i)];
    ObliquePlace& place = places_[to_size(asked.place)];
    place.descent->tell(sums.subspan(asked.begin, asked.end - asked.begin));
    if (!place.descent->is_done()) return;
    place.proposal = place.descent->take();
    place.is_solved = true;
    place.descent.reset();
  });
  for (const Asked& asked : asked_) {
    if (!places_[to_size(asked.place)].is_solved) continue;
    is_current_ = false;
    ++searched_;
  }
  asked_.clear();
}

}  // namespace boscage
