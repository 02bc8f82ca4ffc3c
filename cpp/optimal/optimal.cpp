#include "optimal/optimal.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

#include "base/array.hpp"
#include "optimal/engine.hpp"

namespace boscage::optimal {
namespace {

using Clock = Stopper::Clock;
constexpr auto kLeastForBound = std::chrono::milliseconds(200);

Clock::time_point deadline(double seconds) {
  const auto now = Clock::now();
  if (!(seconds < 1e8)) return Clock::time_point::max();
  return now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// What the problem and the work at its root take, estimated from the shape of the data.
int64_t base_bytes(int64_t rows, int64_t columns) { return rows * (columns * 36 + 96) + (1 << 20); }

SplitTree leaf_only() {
  SplitTree tree;
  tree.nodes.push_back({});
  return tree;
}

SplitTree from_thresholds(const WarmStart& start, const Problem& problem) {
  SplitTree shape;
  for (int64_t i = 0; i < start.feature.size(); ++i) {
    Split split{start.feature[i], -1, start.left[i], start.right[i]};
    if (split.feature >= 0) {
      const auto& values = problem.values[split.feature];
      split.rank =
          static_cast<int32_t>(std::upper_bound(values.begin(), values.end(), start.threshold[i]) - values.begin()) - 1;
    }
    shape.nodes.push_back(split);
  }
  return shape;
}

// Between two neighbouring values: left if x <= the threshold.
double between(double low, double high, bool is_double) {
  double middle = low / 2 + high / 2;
  if (!is_double) {
    const float half = static_cast<float>(low) / 2 + static_cast<float>(high) / 2;
    middle = static_cast<double>(half);
  }
  return low <= middle && middle < high ? middle : low;
}

// Sends every original row down the tree and sets thresholds between the rows that really part there.
void write_tree(const SplitTree& tree, const Problem& problem, bool is_double, Result& out) {
  out.leaf.assign(problem.original_rows, 0);
  out.left = {-1}, out.right = {-1}, out.feature = {-1}, out.threshold = {0.0};
  Array<int32_t> shape{0};
  Array<Array<int32_t>> rows(1);
  rows[0].resize(problem.original_rows);
  for (int64_t i = 0; i < problem.original_rows; ++i) rows[0][i] = static_cast<int32_t>(i);
  for (int64_t at = 0; at < shape.size(); ++at) {
    const Split& split = tree.nodes[shape[at]];
    if (split.feature < 0) {
      for (const int32_t row : rows[at]) out.leaf[row] = static_cast<int32_t>(at);
      continue;
    }
    const int32_t* rank = problem.original_rank.data() + split.feature * problem.original_rows;
    int32_t low = -1, high = INT32_MAX;
    Array<int32_t> parts[2];
    for (const int32_t row : rows[at]) {
      const bool right = rank[row] > split.rank;
      right ? high = std::min(high, rank[row]) : low = std::max(low, rank[row]);
      parts[right].push_back(row);
    }
    const auto& values = problem.values[split.feature];
    out.feature[at] = split.feature;
    out.threshold[at] = between(values[low], values[high], is_double);
    for (int side = 0; side < 2; ++side) {
      (side == 0 ? out.left : out.right)[at] = static_cast<int32_t>(shape.size());
      shape.push_back(side == 0 ? split.left : split.right);
      rows.push_back(std::move(parts[side]));
      out.left.push_back(-1), out.right.push_back(-1), out.feature.push_back(-1), out.threshold.push_back(0.0);
    }
    rows[at] = {};
  }
}

Status stopped_by(const Engine* engine, const Stopper& stopper) {
  if (engine && engine->out_of_memory()) return Status::memory_limit;
  if (stopper.interrupted()) return Status::interrupted;
  return stopper.out_of_states() ? Status::max_explored : Status::time_limit;
}

// A single leaf: all that can be said before the data has been read.
void write_leaf(int64_t rows, Result& out) {
  out.left = {-1}, out.right = {-1}, out.feature = {-1}, out.threshold = {0.0};
  out.leaf.assign(rows, 0);
  out.objective = 1.0, out.lower_bound = 0.0;
}

// The best tree that can be had quickly; without a proof to follow, a little less quickly.
SplitTree first_tree(Engine& engine, const Problem& problem, const Settings& settings, const WarmStart& warm_start) {
  SplitTree best = engine.fit_shape(leaf_only(), settings.max_depth);
  const auto offer = [&](SplitTree found) {
    if (found.value < best.value) best = std::move(found);
  };
  if (settings.max_depth > 2) offer(engine.lookahead(settings.max_depth));
  if (!warm_start.feature.empty()) offer(engine.fit_shape(from_thresholds(warm_start, problem), settings.max_depth));
  if (settings.exact || settings.max_depth <= 2) return best;
  try {
    offer(engine.wide_lookahead(settings.max_depth));
  } catch (const Stopped&) {
    // late: the quick tree has to do
  }
  return best;
}

}  // namespace

Result solve(const DataTable& table, const Target& target, const Settings& settings, const WarmStart& warm_start,
             Control& control, Snapshot& snapshot) {
  const auto begin = Clock::now();
  Stopper stopper(control, deadline(settings.time_limit), settings.max_explored, settings.keep_on_interrupt);
  Result out;
  const int64_t base = base_bytes(table.size(), table.columns());
  if (base > settings.memory_limit) {
    write_leaf(table.size(), out);
    out.status = Status::memory_limit;
    return out;
  }
  Problem problem;
  try {
    problem = make_problem(table, target, settings.alpha, control, [&] { stopper.check(); });
  } catch (const Stopped&) {
    write_leaf(table.size(), out);
    out.status = stopped_by(nullptr, stopper);
    return out;
  }
  Engine engine(problem, settings.threads, settings.memory_limit - base, stopper);
  engine.on_change = [&](int64_t lower, int64_t upper) {
    snapshot.lower_bound = problem.to_objective(lower + problem.constant);
    if (upper < kNever) snapshot.objective = problem.to_objective(upper + problem.constant);
    control.advance(1);
  };
  SplitTree start = first_tree(engine, problem, settings, warm_start);
  const bool exact = settings.exact || settings.max_depth <= 2;
  bool proven = false;
  if (exact) {
    proven = engine.search(settings.max_depth, start);
  } else {
    // As much again for the bound as the tree has taken.
    engine.bound(settings.max_depth, start, std::max<Engine::Span>(kLeastForBound, Clock::now() - begin));
  }
  start = engine.best();
  stopper.give_up();
  write_tree(start, problem, std::holds_alternative<Matrix<double>>(table.rows()), out);
  const int64_t lower = std::min(start.value, engine.lower_bound());
  out.objective = problem.to_objective(start.value + problem.constant);
  out.lower_bound = problem.to_objective(lower + problem.constant);
  out.status = proven || lower >= start.value   ? Status::optimal
               : exact || stopper.interrupted() ? stopped_by(&engine, stopper)
                                                : Status::heuristic;
  out.explored = engine.explored();
  out.work = engine.work();
  out.waited = engine.waited();
  out.peak_bytes = base + engine.meter().peak();
  return out;
}

}  // namespace boscage::optimal
