#include "families/stochastic/memory.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/index.hpp"
#include "families/stochastic/lookahead.hpp"
#include "numeric/pairwise_sum.hpp"

namespace boscage::stochastic {

namespace {

// GrowSettings::most_reach where it is not set. Beyond it reach numbers are made again when needed.
constexpr int64_t kKeptReach = int64_t{1} << 26;
// Leaves that are divided in one pass where their number is limited: the row is read once for all of them.
constexpr int64_t kTogether = 8;
// A product must explain so many times what a linear function does, or a single test is taken.
constexpr double kProductOverLinear = 4;
// Below a product that has been split by, another one must explain so many times as much.
constexpr double kProductOverProduct = 1.5;

}  // namespace

// One node on its way through a pass.
template <class Rows>
struct MemoryGrowth<Rows>::Pass {
  int32_t parent = -1, left = -1, right = -1;
  Division division;
  Reach left_reach, right_reach;
  bool keep_left = false, keep_right = false;
  PairwiseSum left_sum, right_sum;
  int64_t left_count = 0, right_count = 0;
};

template <class Rows>
MemoryGrowth<Rows>::MemoryGrowth(const TrainingRows<Rows>& rows, const Frame& frame, const AnyCriterion& criterion,
                                 const GrowSettings& settings, std::shared_ptr<const NumberFacts> numbers, Pool& pool,
                                 Control& control)
    : rows_(rows),
      frame_(frame),
      criterion_(criterion),
      settings_(settings),
      pool_(pool),
      control_(control),
      shape_{rows.classes, rows.X.columns, std::move(numbers)},
      budget_(settings.most_reach >= 0 ? settings.most_reach : std::max(kKeptReach, 2 * rows.size() * rows.X.columns)) {
  settings_.solve.control = &control_;
}

template <class Rows>
auto MemoryGrowth<Rows>::state(int32_t id) -> NodeState& {
  if (states_.size() <= to_size(id)) states_.resize(to_size(id) + 1);
  return states_[to_size(id)];
}

// The rows of a node that lie in a block.
template <class Rows>
NodeBlock MemoryGrowth<Rows>::block_of(const NodeState& node, int64_t block) const {
  const int64_t begin = block * kBlockRows, end = std::min(begin + kBlockRows, rows_.size());
  NodeBlock part;
  int64_t first = begin;
  if (node.rows.empty()) {
    part.begin = begin;
    part.count = end - begin;
  } else {
    const auto low = std::lower_bound(node.rows.begin(), node.rows.end(), static_cast<uint32_t>(begin));
    const auto high = std::lower_bound(low, node.rows.end(), static_cast<uint32_t>(end));
    first = low - node.rows.begin();
    part.rows = node.rows.data() + first;
    part.count = high - low;
  }
  if (node.reach) part.reach = node.reach.data() + first;
  return part;
}

// add(block's rows, its sums) over all blocks in parallel, reduced by block number.
template <class Rows>
template <class Add>
std::vector<double> MemoryGrowth<Rows>::sum_over(const NodeState& node, size_t size, Add add) {
  return sum_rows(rows_.size(), 0, size, pool_, control_,
                  [&](int64_t begin, int64_t, int, double* sums) { add(block_of(node, begin / kBlockRows), sums); })
      .total();
}

template <class Rows>
bool MemoryGrowth<Rows>::keeps_reach(const Grower& grower, int32_t id) const {
  if (!grower.is_open(id)) return false;
  const int64_t deepest = grower.limits().max_depth;
  return settings_.lookahead || deepest < 0 || grower.node(id).depth + 2 <= deepest;
}

template <class Rows>
void MemoryGrowth<Rows>::forget_reach(NodeState& node) {
  kept_ -= node.reach.size();
  node.reach = Reach();
  node.rows = {};
  node.has_reach = false;
}

// Makes room for so many reach numbers: those of the leaves that will be split last are forgotten, and made again if
// these leaves are split after all. False if the leaves that are left need all the room.
template <class Rows>
bool MemoryGrowth<Rows>::make_room(Grower& grower, int64_t wanted) {
  while (kept_ + wanted > budget_) {
    int32_t last = -1;
    for (size_t i = 0; i < states_.size(); ++i) {
      const auto id = static_cast<int32_t>(i);
      const Node& node = grower.node(id);
      if (!states_[i].reach || !node.answered || node.left >= 0) continue;
      if (last < 0 || priority(node, order_) < priority(grower.node(last), order_)) last = id;
    }
    if (last < 0) return false;
    grower.stop_looking_ahead();  // a leaf that is divided in vain would cost more now than a pass
    forget_reach(state(last));
  }
  return true;
}

// Chooses the sides to be summed and finds room for the reach numbers.
template <class Rows>
void MemoryGrowth<Rows>::start_pass(Grower& grower, Pass& pass) {
  const Node& node = grower.node(pass.parent);
  NodeState& parent = state(pass.parent);
  pass.left = node.left;
  pass.right = node.right;
  pass.division = divide_by_test(grower, pass.parent, frame_);
  choose_sides(grower, pass.parent, parent.summed_at, pass.division);
  pass.keep_left = keeps_reach(grower, node.left);
  pass.keep_right = keeps_reach(grower, node.right);
  const int64_t stored = parent.rows.empty() ? rows_.size() : signed_size(parent.rows);
  if (!make_room(grower, stored)) pass.keep_left = pass.keep_right = false;
  if (pass.keep_right) {
    pass.right_reach = Reach(stored);
    kept_ += stored;
  }
  if (pass.keep_left) {  // the parent's numbers are not needed any more: written over
    if (!parent.reach) {
      pass.left_reach = Reach(stored);
      kept_ += stored;
    }
  }
}

// Drops rows that cannot reach the node once they are the larger half.
template <class Rows>
void MemoryGrowth<Rows>::settle(NodeState& node) {
  const int64_t stored = node.reach.size();
  if (2 * node.count > stored || node.count == 0) return;
  std::vector<uint32_t> rows;
  Reach reach(node.count);
  rows.reserve(to_size(node.count));
  for (int64_t i = 0; i < stored; ++i) {
    if (node.reach.data()[i] == 0) continue;
    reach.data()[rows.size()] = node.reach.data()[i];
    rows.push_back(node.rows.empty() ? static_cast<uint32_t>(i) : node.rows[to_size(i)]);
  }
  kept_ -= stored - node.count;
  node.rows = std::move(rows);
  node.reach = std::move(reach);
}

template <class Rows>
void MemoryGrowth<Rows>::finish_pass(const Grower& grower, Pass& pass) {
  state(std::max(pass.left, pass.right));
  NodeState &parent = state(pass.parent), &left = state(pass.left), &right = state(pass.right);
  if (pass.division.sum_left) left.sums = pass.left_sum.total();
  if (pass.division.sum_right) right.sums = pass.right_sum.total();
  share_sums(grower, pass.parent, pass.division, shape_, parent, left, right);
  left.count = pass.left_count;
  right.count = pass.right_count;
  left.has_reach = pass.keep_left;
  right.has_reach = pass.keep_right;
  if (pass.keep_right) {
    right.rows = parent.rows;
    right.reach = std::move(pass.right_reach);
  }
  if (pass.keep_left) {
    left.rows = std::move(parent.rows);
    left.reach = pass.left_reach ? std::move(pass.left_reach) : std::move(parent.reach);
  } else {
    kept_ -= parent.reach.size();
  }
  parent = NodeState{};
  if (pass.keep_left) settle(left);
  if (pass.keep_right) settle(right);
}

// The reach of a node whose numbers were not kept, by the tests on its path: the same products in the same order.
template <class Rows>
void MemoryGrowth<Rows>::rebuild(const Grower& grower, int32_t id) {
  std::vector<int32_t> path;
  for (int32_t at = id; at >= 0; at = grower.node(at).parent) path.push_back(at);
  std::vector<Division> divisions;
  for (size_t i = path.size(); i-- > 1;) divisions.push_back(divide_by_test(grower, path[i], frame_));
  NodeState& node = state(id);
  node.rows.clear();
  node.reach = Reach(rows_.size());
  std::fill_n(node.reach.data(), rows_.size(), 1.0);
  kept_ += rows_.size();
  pool_.parallel_for(block_count(rows_.size()), [&](int64_t block, int) {
    control_.check();
    for (size_t i = 0; i < divisions.size(); ++i) {
      NodeBlock part = block_of(node, block);
      double* reach = node.reach.data() + block * kBlockRows;
      (grower.node(path[path.size() - 2 - i]).is_right ? part.right : part.left) = reach;
      divide_block(rows_, frame_, std::span<const Division>(&divisions[i], 1), std::span<NodeBlock>(&part, 1));
    }
  });
  node.has_reach = true;
}

// The answers of one block: sums and counts of each node's sides.
template <class Rows>
struct MemoryGrowth<Rows>::Slot {
  std::vector<std::vector<double>> left, right;
  std::vector<NodeBlock> nodes;
};

template <class Rows>
void MemoryGrowth<Rows>::answer_block(std::span<Pass> passes, std::span<const Division> divisions, int64_t block,
                                      Slot& slot) {
  slot.left.resize(passes.size());
  slot.right.resize(passes.size());
  slot.nodes.resize(passes.size());
  for (size_t i = 0; i < passes.size(); ++i) {
    Pass& pass = passes[i];
    NodeState& parent = states_[to_size(pass.parent)];
    NodeBlock& node = slot.nodes[i];
    node = block_of(parent, block);
    const int64_t first = node.rows != nullptr ? node.rows - parent.rows.data() : node.begin;
    if (pass.keep_left) node.left = (pass.left_reach ? pass.left_reach : parent.reach).data() + first;
    if (pass.keep_right) node.right = pass.right_reach.data() + first;
    if (pass.division.sum_left) {
      slot.left[i].assign(shape_.size(), 0.0);
      node.left_sums = slot.left[i].data();
    }
    if (pass.division.sum_right) {
      slot.right[i].assign(shape_.size(), 0.0);
      node.right_sums = slot.right[i].data();
    }
  }
  divide_block(rows_, frame_, divisions, std::span<NodeBlock>(slot.nodes));
}

template <class Rows>
void MemoryGrowth<Rows>::divide_some(Grower& grower, std::span<const int32_t> parents) {
  std::vector<Pass> passes(parents.size());
  std::vector<Division> divisions;
  for (size_t i = 0; i < parents.size(); ++i) {
    if (!state(parents[i]).has_reach) rebuild(grower, parents[i]);
    passes[i].parent = parents[i];
    start_pass(grower, passes[i]);
    divisions.push_back(passes[i].division);
  }
  const int64_t blocks = block_count(rows_.size()),
                round = blocks_at_once(pool_.threads(), parents.size() * shape_.size());
  for (int64_t first = 0; first < blocks; first += round) {
    std::vector<Slot> slots(to_size(std::min(round, blocks - first)));
    pool_.parallel_for(signed_size(slots), [&](int64_t i, int) {
      control_.check();
      answer_block(passes, divisions, first + i, slots[to_size(i)]);
    });
    for (Slot& slot : slots) {
      for (size_t i = 0; i < passes.size(); ++i) {
        if (divisions[i].sum_left) passes[i].left_sum.push(std::move(slot.left[i]));
        if (divisions[i].sum_right) passes[i].right_sum.push(std::move(slot.right[i]));
        passes[i].left_count += slot.nodes[i].counts[0];
        passes[i].right_count += slot.nodes[i].counts[1];
      }
    }
  }
  for (Pass& pass : passes) finish_pass(grower, pass);
}

// Makes the sums of all requested nodes. Children of a triple come with their tests, so a parent may itself be
// waiting for its parent: one pass per level.
template <class Rows>
void MemoryGrowth<Rows>::divide_parents(Grower& grower, const std::vector<Request>& requests) {
  std::vector<int32_t> wanted;
  for (const Request& request : requests) wanted.push_back(request.node);
  while (true) {
    std::vector<int32_t> parents;
    for (int32_t id : wanted) {
      // The nearest ancestor that has its own sums can be divided.
      int32_t last = -1;
      while (state(id).sums.empty()) {
        last = id;
        id = grower.node(id).parent;
      }
      if (last >= 0) parents.push_back(id);
    }
    std::sort(parents.begin(), parents.end());
    parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
    if (parents.empty()) return;
    const auto group = to_size(std::max<int64_t>(1, budget_ / std::max<int64_t>(1, 2 * rows_.size())));
    for (size_t first = 0; first < parents.size(); first += group)
      divide_some(grower, std::span(parents).subspan(first, std::min(group, parents.size() - first)));
  }
}

// A node's sums as the solver takes them, from the rows themselves where differences would lose their digits.
template <class Rows>
NodeSums MemoryGrowth<Rows>::sums_of(const Grower& grower, int32_t id) {
  NodeSums sums = finish(state(id).sums, shape_, frame_);
  if (settings_.solve.search != Search::exact || !needs_direct_sums(sums)) return sums;
  const bool was_kept = state(id).has_reach;
  if (!was_kept) rebuild(grower, id);
  const std::vector<double> mean = mean_row(sums);
  auto centred =
      sum_over(state(id), to_size(shape_.decided() * frame_.width() + 1),
               [&](const NodeBlock& block, double* sum) { add_centred(rows_, frame_, block, mean.data(), sum); });
  if (!was_kept) forget_reach(state(id));
  return with_centred(std::move(sums), std::move(centred));
}

// What the product explained by which the nearest ancestor was split; 0 if there is none.
template <class Rows>
double MemoryGrowth<Rows>::product_above(const Grower& grower, int32_t id) const {
  for (id = grower.node(id).parent; id >= 0; id = grower.node(id).parent) {
    const auto place = to_size(id);
    if (place < product_fit_.size() && product_fit_[place] > 0 && grower.node(id).tests == 3)
      return product_fit_[place];
  }
  return 0;
}

// The leaves below a product still show its trace as a linear signal. Splitting one of them by it gains potential,
// but upsets the balance of the four by which their average follows the product: so there a test must explain more
// than the product did.
template <class Rows>
Proposal MemoryGrowth<Rows>::look_ahead(const Grower& grower, const Request& request, Proposal single) {
  const double above = product_above(grower, request.node);
  if (!request.may_triple && above == 0) return single;
  if (!state(request.node).has_reach) rebuild(grower, request.node);
  const NodeState& here = state(request.node);
  const NodeSums sums = finish(here.sums, shape_, frame_);
  const int64_t width = frame_.width();
  const Vector moments = sum_over(here, to_size(shape_.channels() * width * width),
                                  [&](const NodeBlock& block, double* sum) { add_moments(rows_, frame_, block, sum); });
  const auto in_plane = [&](const Vector& f, const Vector& g) {
    return sum_over(here, to_size(shape_.decided()) * kPlaneSums, [&](const NodeBlock& block, double* sum) {
      Vector z(to_size(width));
      for (int64_t i = 0; i < block.count; ++i) {
        const int64_t row = block.rows != nullptr ? static_cast<int64_t>(block.rows[i]) : block.begin + i;
        const double weight = rows_.weight_of(row) * (block.reach != nullptr ? block.reach[i] : 1.0);
        see_row(rows_, frame_, row, z.data());
        const double p = detail::inner(f, z), q = detail::inner(g, z);
        rows_.for_channels(row, shape_.decided(), [&](int32_t channel, double share) {
          add_to_plane(p, q, weight * share, sum + channel * static_cast<int64_t>(kPlaneSums));
        });
      }
    });
  };
  const Pair pair = find_pair(sums, moments, in_plane);
  if (above > 0 && !(pair.linear_fit > above)) single = {};
  const double needed = std::max(kProductOverLinear * pair.linear_fit, kProductOverProduct * above);
  if (!request.may_triple || pair.u.empty() || !(pair.fit > needed)) return single;
  auto tests = measure_triple(sums, moments, pair, here.count, criterion_, grower.limits().min_weight_leaf);
  if (tests.empty()) return single;
  if (signed_size(product_fit_) < grower.size()) product_fit_.resize(to_size(grower.size()), 0.0);
  product_fit_[to_size(request.node)] = pair.fit;
  Proposal triple;
  triple.tests = std::move(tests);
  triple.single = std::move(single.tests);
  return triple;
}

template <class Rows>
Grower MemoryGrowth<Rows>::grow(const Limits& limits, Order order) {
  order_ = order;
  NodeState& root = state(0);
  root.count = rows_.size();
  root.has_reach = true;
  root.sums =
      sum_over(root, shape_.size(), [&](const NodeBlock& block, double* sum) { add_block(rows_, frame_, block, sum); });
  // Tests of three come with room for three: whether there is room is known only when their turn has come.
  Grower grower(whole_side(root.sums, shape_, rows_.size()), limits, order, settings_.lookahead ? 1 : kTogether);
  root.summed_at = grower.node(0).weight;
  std::vector<Request> requests;
  while (!(requests = grower.ask()).empty()) {
    divide_parents(grower, requests);
    std::vector<Proposal> answers(requests.size());
    std::vector<NodeSums> sums;
    for (const Request& request : requests) sums.push_back(sums_of(grower, request.node));
    pool_.parallel_for(signed_size(requests), [&](int64_t i, int) {
      control_.check();
      const NodeSums& mine = sums[to_size(i)];
      const int64_t count = states_[to_size(requests[to_size(i)].node)].count;
      answers[to_size(i)].tests =
          measure(mine, solve(mine, criterion_, settings_.solve), count, criterion_, limits.min_weight_leaf);
    });
    for (size_t i = 0; i < requests.size(); ++i) {
      if (settings_.lookahead) answers[i] = look_ahead(grower, requests[i], std::move(answers[i]));
      grower.tell(requests[i].node, std::move(answers[i]));
      if (grower.node(requests[i].node).tests == 0) forget_reach(state(requests[i].node));
      control_.advance(1);
    }
  }
  return grower;
}

#define BOSCAGE_COMMA ,
template class MemoryGrowth<Matrix<float>>;
template class MemoryGrowth<Matrix<double>>;
template class MemoryGrowth<SparseRows<float BOSCAGE_COMMA int32_t>>;
template class MemoryGrowth<SparseRows<float BOSCAGE_COMMA int64_t>>;
template class MemoryGrowth<SparseRows<double BOSCAGE_COMMA int32_t>>;
template class MemoryGrowth<SparseRows<double BOSCAGE_COMMA int64_t>>;

}  // namespace boscage::stochastic
