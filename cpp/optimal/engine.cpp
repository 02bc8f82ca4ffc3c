#include "optimal/engine.hpp"

#include "base/array.hpp"

namespace boscage::optimal {

int64_t rows_left(const Node& node, int feature, int32_t rank) {
  const uint32_t* order = node.sorted(feature);
  const int32_t* ranks = node.ranks(feature);
  return std::upper_bound(order, order + node.rows, rank, [&](int32_t r, uint32_t row) { return r < ranks[row]; }) -
         order;
}

Engine::Engine(const Problem& problem, int threads, int64_t memory_left, Stopper& stopper)
    : problem_(problem), stopper_(stopper), meter_(memory_left), cache_(meter_) {
  make_root(problem, root_);
  for (const Identity& row : problem.identity) all_rows_.toggle(row);
  workers_.resize(std::max(1, threads));
  for (Worker& worker : workers_) worker.depth_two = make_depth_two(problem, stopper);
}

int64_t Engine::explored() const {
  int64_t sum = 0;
  for (const Worker& worker : workers_) sum += worker.explored;
  return sum;
}

int64_t Engine::work() const {
  int64_t sum = 0;
  for (const Worker& worker : workers_) sum += worker.depth_two->work();
  return sum;
}

double Engine::waited() const {
  const auto alone = std::chrono::duration<double>(Stopper::Clock::now() - start_ - shared_).count();
  double sum = static_cast<double>(workers_.size() - 1) * alone;
  for (const Worker& worker : workers_) sum += worker.waited;
  return sum;
}

SplitTree Engine::best() {
  std::lock_guard lock(best_mutex_);
  return best_;
}

void Engine::charge(int64_t bytes) {
  if (bytes <= 0 || meter_.take(bytes)) return;
  out_of_memory_ = true;
  stopper_.halt();
  throw Stopped();
}

// Lower bound from class weights alone: q leaves can be right on at most the q heaviest classes.
int64_t Engine::quick_bound(const Array<int64_t>& classes, int depth, int64_t& leaf) const {
  int64_t total = 0, most = 0;
  for (const int64_t w : classes) total += w, most = std::max(most, w);
  leaf = (total - most) * problem_.scale + problem_.penalty;
  if ((total - most) * problem_.scale <= problem_.penalty) return leaf;
  if (classes.size() == 2) return std::min(leaf, 2 * problem_.penalty);
  Array<int64_t> sorted(classes);
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  int64_t bound = leaf, missed = total;
  const int64_t leaves = depth < 20 ? std::min<int64_t>(sorted.size(), int64_t{1} << depth) : sorted.size();
  for (int64_t q = 0; q < leaves; ++q) {
    missed -= sorted[q];
    bound = std::min(bound, missed * problem_.scale + static_cast<int64_t>(q + 1) * problem_.penalty);
  }
  return bound;
}

Answer Engine::solve_two(Worker& worker, const Node& node, int64_t budget, const Record* smaller, const Record* larger,
                         Kept* record) {
  Record own;
  own.weight = node.total * problem_.scale;
  own.least.assign(node.features, 0);
  for (int j = 0; j < node.features; ++j) {
    if (smaller) own.least[j] = std::min(smaller->least[j], smaller->floor);
    if (!larger) continue;
    const int64_t bound = larger->least[j];
    own.least[j] = std::max(own.least[j], bound < kNever ? bound - (larger->weight - own.weight) : kNever);
  }
  const Answer answer = worker.depth_two->solve(node, budget, own.least, own.floor);
  own.floor = std::max(own.floor, answer.value);
  if (record) *record = std::make_shared<const Record>(std::move(own));
  return answer;
}

Answer Engine::solve(Worker& worker, const Node& node, int depth, int64_t budget, const Identity& rows,
                     const NodeSearch* parent, const Record* smaller, const Record* larger, Kept* record) {
  stopper_.count_state();
  ++worker.explored;
  if (depth == 2) return solve_two(worker, node, budget, smaller, larger, record);
  NodeSearch search(problem_, node, depth, budget, rows, parent, stopper_);
  charge(search.bytes());
  struct Back {
    Meter& meter;
    int64_t bytes;
    ~Back() { meter.give(bytes); }
  } back{meter_, search.bytes()};
  search.inherit(smaller, larger);
  run(worker, search);
  const Answer answer = search.answer();
  if (record) {
    const int64_t bytes = search.column_bytes();
    // Siblings can do without; the last quarter of the memory is left to the rest.
    const bool keep = meter_.used() + bytes < meter_.limit() / 4 * 3 && meter_.take(bytes);
    auto own = std::make_shared<Record>();
    *own = search.record(answer.value, keep);
    if (keep) own->meter = &meter_, own->bytes = bytes;
    *record = own;
  }
  return answer;
}

Node& Engine::child_node(Worker& worker, const NodeSearch& search, const Task& task, int side) {
  const int depth = search.depth() - 1;
  if (static_cast<int>(worker.nodes.size()) <= search.depth()) {
    worker.nodes.resize(search.depth() + 1);
    worker.accounted.resize(search.depth() + 1, 0);
  }
  const int64_t left = search.left_rows(task);
  const int64_t bytes = 2 * Node::bytes(side == 0 ? left : search.node().rows - left, root_.features);
  if (bytes > worker.accounted[depth]) {
    charge(bytes - worker.accounted[depth]);
    worker.accounted[depth] = bytes;
  }
  make_child(search.node(), task.feature, left, side, worker.nodes[depth], worker.map);
  return worker.nodes[depth];
}

// The cheap tests first: class weights, then the cache; only then the rows are looked at.
Answer Engine::solve_child(Worker& worker, const NodeSearch& search, const Task& task, int side, int64_t budget,
                           const Record* smaller, const Record* larger, Kept* record) {
  const int depth = search.depth() - 1;
  int64_t leaf = 0;
  search.class_weights(task, side, worker.classes);
  const int64_t bound = quick_bound(worker.classes, depth, leaf);
  if (bound == leaf) return {leaf, true, -1, -1};
  if (bound >= budget) return {bound, false, -1, -1};
  const Identity rows = search.rows(task, side);
  const Answer known = cache_.find(rows, depth);
  if (known.value >= 0 && (known.exact || known.value >= budget)) return known;
  const Node& node = child_node(worker, search, task, side);
  const Answer answer = solve(worker, node, depth, budget, rows, &search, smaller, larger, record);
  cache_.store(rows, depth, answer);
  return answer;
}

void Engine::run_task(Worker& worker, NodeSearch& search, const Task& task) {
  const int64_t left = search.left_rows(task);
  const int first = left <= search.node().rows - left ? 0 : 1;
  try {
    for (const int side : {first, 1 - first}) {
      int64_t budget = 0;
      Kept smaller, larger, record;
      {
        std::lock_guard lock(search.mutex);
        if (search.dead(task)) break;
        if (search.exact(task, side)) continue;
        budget = search.budget(task, side);
        smaller = search.sibling(task, side, false);
        larger = search.sibling(task, side, true);
      }
      const Answer answer = solve_child(worker, search, task, side, budget, smaller.get(), larger.get(), &record);
      std::lock_guard lock(search.mutex);
      search.learn(task, side, answer, std::move(record));
    }
    if (&search == root_search_.load()) report(worker, search, task);
  } catch (...) {
    std::lock_guard lock(search.mutex);
    search.leave(task);
    throw;
  }
  std::lock_guard lock(search.mutex);
  search.finish(task);
  search.leave(task);
}

void Engine::watch(NodeSearch& search, bool always) {
  const auto now = Stopper::Clock::now();
  std::lock_guard lock(search.mutex);
  if (!always && now - last_watch_ < std::chrono::milliseconds(20)) return;
  last_watch_ = now;
  lower_ = std::max(lower_.load(), search.lower_bound());
  on_change(lower_.load(), upper_.load());
}

// A task of the root is done: keep its tree if it is the best so far, and look at the bound.
void Engine::report(Worker& worker, NodeSearch& search, const Task& task) {
  int64_t sides[2], value = 0;
  bool better = false;
  {
    std::lock_guard lock(search.mutex);
    better = search.finish(task);
    value = search.best();
    for (int side = 0; side < 2; ++side) sides[side] = search.side_value(task.feature, search.rank(task), side);
  }
  if (better) improve(worker, search, task, value, sides);
  watch(search, false);
}

// A better split of the root: its tree is read off the cache, if it still has every part.
void Engine::improve(Worker& worker, const NodeSearch& search, const Task& task, int64_t value, const int64_t* sides) {
  SplitTree tree;
  tree.value = value;
  tree.nodes.push_back({task.feature, search.rank(task), -1, -1});
  for (int side = 0; side < 2; ++side) {
    Node child;
    make_child(root_, task.feature, search.left_rows(task), side, child, worker.map);
    (side == 0 ? tree.nodes[0].left : tree.nodes[0].right) = static_cast<int32_t>(tree.nodes.size());
    if (!rebuild(worker, child, search.rows(task, side), search.depth() - 1, sides[side], tree)) return;
  }
  std::lock_guard lock(best_mutex_);
  if (tree.value >= best_.value) return;
  best_ = std::move(tree);
  upper_ = best_.value;
}

// Runs work for some time, or some states where these are limited; false if it was not done by then. Throws Stopped
// when the search must end.
bool Engine::attempt(const std::function<void()>& work, Patience patience, NodeSearch& search) {
  stopper_.pause_after(patience.time, patience.states);
  try {
    with_helpers(work);
  } catch (const Stopped&) {
    const bool paused = stopper_.paused();
    stopper_.never_pause();
    watch(search, true);
    if (paused) return false;
    throw;
  }
  stopper_.never_pause();
  return true;
}

// A better start, once it is clear that the search will take a while.
void Engine::refresh(NodeSearch& search) {
  SplitTree found = wide_lookahead(search.depth());
  std::lock_guard lock(best_mutex_);
  if (found.value >= best_.value) return;
  best_ = std::move(found);
  upper_ = best_.value;
  search.seek_below(std::min(search.best(), best_.value));
  on_change(lower_.load(), upper_.load());
}

// Shows that nothing lies below some parts of the way up to the best tree: each but the last is much cheaper than
// the whole proof, and the lower bound rises. Ends early when a tree is found on the way.
void Engine::raise_bound(Worker& worker, NodeSearch& search, Span patience) {
  const int64_t floor = lower_.load(), best = search.best();
  const auto start = Stopper::Clock::now();
  for (const int percent : {10, 20, 35, 50, 75, 100}) {
    const int64_t target = percent == 100 ? best : floor + (best - floor) / 100 * percent;
    search.seek_below(target);
    const Span left = patience - (Stopper::Clock::now() - start);
    if (!attempt([&] { run(worker, search); }, {left, stopper_.states_left()}, search)) break;
    watch(search, true);
    if (search.best() < target) break;
  }
  search.seek_below(best);
}

// The proof at the root, directly if it does not take long, else after the bound has been raised step by step.
void Engine::prove(Worker& worker, NodeSearch& search, SplitTree& proven) {
  using namespace std::chrono_literals;
  const auto all = [&] { finish(worker, search, proven); };
  const Span left = stopper_.deadline() - Stopper::Clock::now();
  const int64_t states = stopper_.states_left();
  if (attempt(all, {std::min<Span>(2s, left / 10), states / 10}, search)) return;
  refresh(search);
  if (attempt(all, {std::min<Span>(30s, left / 2), states / 2}, search)) return;
  raise_bound(worker, search, kAll.time);
  attempt(all, kAll, search);
}

// Exhausts the root below its ceiling, then picks the tree.
void Engine::finish(Worker& worker, NodeSearch& search, SplitTree& proven) {
  run(worker, search);
  lower_ = proven.value = search.best();
  on_change(lower_.load(), std::min(upper_.load(), proven.value));
  root_search_ = nullptr;
  stopper_.never_pause();
  extract(worker, root_, all_rows_, search.depth(), proven.value, &search, nullptr, nullptr, proven);
}

// Sets the bounds at the start; returns the cost of a single leaf.
int64_t Engine::begin(int depth, const SplitTree& incumbent) {
  int64_t leaf = 0;
  lower_ = quick_bound(root_.class_weight, depth, leaf);
  {
    std::lock_guard lock(best_mutex_);
    best_ = incumbent;
    upper_ = best_.value;
  }
  on_change(lower_.load(), upper_.load());
  return leaf;
}

void Engine::bound(int depth, const SplitTree& incumbent, Span patience) {
  if (lower_.load() == begin(depth, incumbent)) return;
  try {
    charge(2 * Node::bytes(root_.rows, root_.features));
    NodeSearch search(problem_, root_, depth, incumbent.value, all_rows_, nullptr, stopper_);
    charge(search.bytes());
    root_search_ = &search;
    raise_bound(workers_[0], search, patience);
  } catch (const Stopped&) {
    stopper_.halt();
  }
  root_search_ = nullptr;
}

bool Engine::search(int depth, const SplitTree& incumbent) {
  const int64_t leaf = begin(depth, incumbent);
  SplitTree proven;
  try {
    charge(2 * Node::bytes(root_.rows, root_.features));
    Worker& worker = workers_[0];
    if (lower_.load() == leaf || depth <= 2) {
      int64_t value = leaf;
      if (lower_.load() != leaf && depth == 1) value = best_stump(problem_, root_).value;
      if (lower_.load() != leaf && depth == 2)
        value = solve(worker, root_, 2, kNever, all_rows_, nullptr, nullptr, nullptr, nullptr).value;
      lower_ = proven.value = value;
      extract(worker, root_, all_rows_, depth, value, nullptr, nullptr, nullptr, proven);
    } else {
      NodeSearch search(problem_, root_, depth, incumbent.value, all_rows_, nullptr, stopper_);
      charge(search.bytes());
      root_search_ = &search;
      prove(worker, search, proven);
    }
  } catch (const Stopped&) {
    stopper_.halt();
    root_search_ = nullptr;
    std::lock_guard lock(best_mutex_);
    return best_.value <= lower_.load();
  }
  std::lock_guard lock(best_mutex_);
  best_ = std::move(proven);
  upper_ = best_.value;
  return true;
}

}  // namespace boscage::optimal
