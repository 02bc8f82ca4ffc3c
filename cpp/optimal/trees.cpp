// The parts of Engine that make trees: read off the cache, picked in a fixed order, or by looking ahead.
#include <stdexcept>

#include "base/array.hpp"
#include "optimal/engine.hpp"

namespace boscage::optimal {

// Writes the tree of a node whose optimum `value` is known, as far as the cache knows every split.
bool Engine::rebuild(Worker& worker, const Node& node, const Identity& rows, int depth, int64_t value, SplitTree& out) {
  stopper_.give_up();
  const auto at = out.nodes.size();
  out.nodes.push_back({});
  if (node.error() * problem_.scale + problem_.penalty == value) return true;
  const Answer answer = depth == 1 ? best_stump(problem_, node) : cache_.find(rows, depth);
  if (!answer.exact || answer.value != value || answer.feature < 0) return false;
  out.nodes[at].feature = answer.feature;
  out.nodes[at].rank = answer.rank;
  const int64_t left = rows_left(node, answer.feature, answer.rank);
  for (int side = 0; side < 2; ++side) {
    Node child;
    make_child(node, answer.feature, left, side, child, worker.map);
    Identity part;
    for (const uint32_t row : child.source) part.toggle(problem_.identity[row]);
    int64_t leaf = 0;
    const int64_t bound = quick_bound(child.class_weight, depth - 1, leaf);
    Answer known{leaf, true, -1, -1};
    if (bound != leaf && depth == 2) known = best_stump(problem_, child);
    if (bound != leaf && depth > 2) known = cache_.find(part, depth - 1);
    if (depth == 1) known = {leaf, true, -1, -1};
    if (!known.exact) return false;
    (side == 0 ? out.nodes[at].left : out.nodes[at].right) = static_cast<int32_t>(out.nodes.size());
    if (!rebuild(worker, child, part, depth - 1, known.value, out)) return false;
  }
  return true;
}

// The first optimal tree: a leaf if it is optimal, else the first column and in it the first cut.
int32_t Engine::extract(Worker& worker, const Node& node, const Identity& rows, int depth, int64_t value,
                        NodeSearch* search, const Record* smaller, const Record* larger, SplitTree& out) {
  const auto at = static_cast<int32_t>(out.nodes.size());
  out.nodes.push_back({});
  if (node.error() * problem_.scale + problem_.penalty == value) return at;
  std::unique_ptr<NodeSearch> own;
  Answer answer;
  if (depth == 1) answer = best_stump(problem_, node);
  if (depth == 2) answer = worker.depth_two->first_split(node, value);
  if (depth > 2) {
    if (!search) {
      own = std::make_unique<NodeSearch>(problem_, node, depth, value + 1, rows, nullptr, stopper_);
      own->inherit(smaller, larger);
      search = own.get();
    }
    search->seek_first(value);
    run(worker, *search);
    answer = search->answer();
  }
  if (answer.feature < 0 || answer.value != value) throw std::logic_error("optimal search: value and tree disagree");
  out.nodes[at].feature = answer.feature;
  out.nodes[at].rank = answer.rank;
  const int64_t left = rows_left(node, answer.feature, answer.rank);
  for (int side = 0; side < 2; ++side) {
    Node child;
    make_child(node, answer.feature, left, side, child, worker.map);
    Identity part;
    for (const uint32_t row : child.source) part.toggle(problem_.identity[row]);
    int64_t side_value = child.error() * problem_.scale + problem_.penalty;
    if (depth == 2) side_value = best_stump(problem_, child).value;
    Kept below, above;
    if (depth > 2) {
      side_value = search->side_value(answer.feature, answer.rank, side);
      const Task task = search->task_at(answer.feature, answer.rank);
      below = search->sibling(task, side, false);
      above = search->sibling(task, side, true);
    }
    const int32_t index = extract(worker, child, part, depth - 1, side_value, nullptr, below.get(), above.get(), out);
    (side == 0 ? out.nodes[at].left : out.nodes[at].right) = index;
  }
  return at;
}

namespace {

// Appends the pruned tree of shape node `from` on these rows; returns its value.
int64_t fit_part(const Problem& problem, const Node& node, const SplitTree& shape, int32_t from, int depth,
                 SplitTree& out, Array<int32_t>& map, const Stopper& stopper) {
  stopper.give_up();
  const Split& test = shape.nodes[from];
  const int64_t leaf = node.error() * problem.scale + problem.penalty;
  const auto at = out.nodes.size();
  if (test.feature >= 0 && depth > 0) {
    const int64_t left = rows_left(node, test.feature, test.rank);
    if (left == 0) return fit_part(problem, node, shape, test.right, depth, out, map, stopper);
    if (left == node.rows) return fit_part(problem, node, shape, test.left, depth, out, map, stopper);
    out.nodes.push_back({test.feature, test.rank, -1, -1});
    int64_t value = 0;
    for (int side = 0; side < 2; ++side) {
      Node child;
      make_child(node, test.feature, left, side, child, map);
      (side == 0 ? out.nodes[at].left : out.nodes[at].right) = static_cast<int32_t>(out.nodes.size());
      value += fit_part(problem, child, shape, side == 0 ? test.left : test.right, depth - 1, out, map, stopper);
    }
    if (value < leaf) return value;
  }
  out.nodes.resize(at);
  out.nodes.push_back({});
  return leaf;
}

// Splits the node at `at` and gives it two children: grow(child's rows) makes one and returns its place.
template <class Grow>
void branch(const Node& node, const Answer& cut, int32_t at, SplitTree& out, Array<int32_t>& map, Grow grow) {
  out.nodes[at].feature = cut.feature;
  out.nodes[at].rank = cut.rank;
  const int64_t left = rows_left(node, cut.feature, cut.rank);
  for (int side = 0; side < 2; ++side) {
    Node child;
    make_child(node, cut.feature, left, side, child, map);
    const int32_t index = grow(child);
    (side == 0 ? out.nodes[at].left : out.nodes[at].right) = index;
  }
}

}  // namespace

// Looking two levels ahead.
Answer Engine::look_split(Worker& worker, const Node& node, int depth) {
  if (depth == 1) return best_stump(problem_, node);
  Array<int64_t> least(node.features, 0);
  int64_t floor = 0;
  stopper_.count_state();
  ++worker.explored;
  return worker.depth_two->solve(node, kNever, least, floor);
}

int32_t Engine::look(Worker& worker, const Node& node, int depth, SplitTree& out) {
  const auto at = static_cast<int32_t>(out.nodes.size());
  out.nodes.push_back({});
  if (depth == 0 || node.error() * problem_.scale <= problem_.penalty) return at;
  Answer answer;
  try {
    answer = look_split(worker, node, depth);
  } catch (const Stopped&) {
    return at;  // late: leaves from here on
  }
  if (answer.feature < 0) return at;
  branch(node, answer, at, out, worker.map, [&](const Node& child) { return look(worker, child, depth - 1, out); });
  return at;
}

// The quick heuristic: look ahead, split, look ahead again.
SplitTree Engine::lookahead(int depth) {
  SplitTree shape;
  look(workers_[0], root_, depth, shape);
  return fit_shape(shape, depth);
}

// The slow one: at every node above the lowest three levels many cuts are tried, each judged by what looking
// ahead makes of its sides; the lowest three levels are solved. Both only as far as that is affordable.
SplitTree Engine::wide_lookahead(int depth) {
  SplitTree shape;
  with_helpers([&] { widen(workers_[0], root_, depth, shape); });
  return fit_shape(shape, depth);
}

// The best tree of depth three, if it can be had at a bearable price.
bool Engine::solve_three(Worker& worker, const Node& node, SplitTree& out) {
  constexpr int64_t kAffordable = 5'000'000;  // about a second
  if (node.rows * node.features * node.features > kAffordable) return false;
  const auto at = out.nodes.size();
  Identity rows;
  for (const uint32_t row : node.source) rows.toggle(problem_.identity[row]);
  const Answer best = solve(worker, node, 3, kNever, rows, nullptr, nullptr, nullptr, nullptr);
  cache_.store(rows, 3, best);
  if (rebuild(worker, node, rows, 3, best.value, out)) return true;
  out.nodes.resize(at);
  return false;
}

int64_t Engine::look_cost(Worker& worker, const Node& node, int depth) {
  SplitTree shape, fitted;
  look(worker, node, depth, shape);
  stopper_.check();
  return fit_part(problem_, node, shape, 0, depth, fitted, worker.map, stopper_);
}

Answer Engine::widest_split(Worker& worker, const Node& node, int depth) {
  const int64_t price = node.rows * node.features * node.features * node.features;
  const int64_t tries = std::clamp<int64_t>(100'000'000 / std::max<int64_t>(price, 1), 0, 24);
  Array<std::pair<int, int32_t>> cuts;
  const Answer first = look_split(worker, node, depth);
  if (first.feature >= 0) cuts.emplace_back(first.feature, first.rank);
  for (int j = 0; j < node.features; ++j)
    for (int64_t t = 1; t <= tries; ++t) {
      const int32_t rank = node.ranks(j)[node.sorted(j)[node.rows * t / (tries + 1)]];
      const int64_t left = rows_left(node, j, rank);
      if (left < node.rows && (cuts.empty() || cuts.back() != std::pair(j, rank))) cuts.emplace_back(j, rank);
    }
  Answer best;
  for (const auto& [feature, rank] : cuts) {
    const int64_t left = rows_left(node, feature, rank);
    int64_t cost = 0;
    for (int side = 0; side < 2 && cost < best.value; ++side) {
      Node child;
      make_child(node, feature, left, side, child, worker.map);
      cost += look_cost(worker, child, depth - 1);
    }
    if (cost < best.value) best = {cost, true, feature, rank};
  }
  return best;
}

int32_t Engine::widen(Worker& worker, const Node& node, int depth, SplitTree& out) {
  const auto at = static_cast<int32_t>(out.nodes.size());
  int64_t leaf = 0;
  if (quick_bound(node.class_weight, depth, leaf) == leaf || depth == 0) {
    out.nodes.push_back({});
    return at;
  }
  if (depth == 3 && solve_three(worker, node, out)) return at;
  if (depth <= 3) return look(worker, node, depth, out);
  out.nodes.push_back({});
  const Answer best = widest_split(worker, node, depth);
  if (best.feature < 0) return at;
  branch(node, best, at, out, worker.map, [&](const Node& child) { return widen(worker, child, depth - 1, out); });
  return at;
}

SplitTree Engine::fit_shape(const SplitTree& shape, int depth) {
  SplitTree out;
  out.value = fit_part(problem_, root_, shape, 0, depth, out, workers_[0].map, stopper_);
  return out;
}

}  // namespace boscage::optimal
