// The optimal search against an exhaustive one, and its parts against plain loops.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "optimal/bounds.hpp"
#include "optimal/cache.hpp"
#include "optimal/optimal.hpp"
#include "optimal/sweep.hpp"
#include "tests/check.hpp"

using namespace boscage;
using namespace boscage::optimal;

namespace {

struct Data {
  int rows = 0, columns = 0, classes = 2;
  std::vector<double> x, w;
  std::vector<int32_t> y;
  double at(int i, int j) const { return x[i * columns + j]; }
};

DataTable table_of(const Data& data) {
  return DataTable(Matrix<double>{data.x.data(), data.rows, data.columns, data.columns, 1});
}

Target target_of(const Data& data) {
  Target target;
  target.label = data.y, target.classes = data.classes, target.weight = data.w;
  return target;
}

int draw_int(uint64_t seed, uint64_t stream, uint64_t draw, int below) {
  return static_cast<int>(uniform(seed, stream, draw) * below);
}

Data make_rows(uint64_t seed, int rows, int columns, int classes, int levels, bool weighted) {
  Data data{rows, columns, classes, {}, {}, {}};
  for (int i = 0; i < rows; ++i) {
    const auto row = static_cast<uint64_t>(i);
    for (int j = 0; j < columns; ++j) {
      const double u = uniform(seed, 10 + j, row);
      data.x.push_back(levels > 0 ? std::floor(u * levels) : u);
    }
    const bool noisy = uniform(seed, 1, row) < 0.3;
    const int label =
        noisy ? draw_int(seed, 2, row, classes) : (data.at(i, 0) > (levels > 0 ? levels / 2 : 0.5)) % classes;
    data.y.push_back(i < classes ? i : label);
    data.w.push_back(weighted ? 0.5 + uniform(seed, 3, row) : 1.0);
  }
  return data;
}

double leaf_error(const Data& data, const std::vector<int>& rows) {
  std::vector<double> sums(data.classes, 0.0);
  double total = 0;
  for (const int i : rows) sums[data.y[i]] += data.w[i], total += data.w[i];
  return total - *std::max_element(sums.begin(), sums.end());
}

// Every split of every column.
double exhaustive(const Data& data, const std::vector<int>& rows, int depth, double penalty) {
  double best = leaf_error(data, rows) + penalty;
  if (depth == 0 || rows.size() < 2) return best;
  for (int j = 0; j < data.columns; ++j) {
    std::set<double> values;
    for (const int i : rows) values.insert(data.at(i, j));
    values.erase(std::prev(values.end()));
    for (const double cut : values) {
      std::vector<int> parts[2];
      for (const int i : rows) parts[data.at(i, j) > cut].push_back(i);
      const double left = exhaustive(data, parts[0], depth - 1, penalty);
      if (left < best) best = std::min(best, left + exhaustive(data, parts[1], depth - 1, penalty));
    }
  }
  return best;
}

Result run(const Data& data, const Settings& settings, const WarmStart& start = {}) {
  Control control;
  Snapshot snapshot;
  return solve(table_of(data), target_of(data), settings, start, control, snapshot);
}

double objective_of(const Data& data, const Result& result, double alpha) {
  double wrong = 0, total = 0, leaves = 0;
  for (int64_t node = 0; node < result.feature.size(); ++node) {
    if (result.feature[node] >= 0) continue;
    std::vector<int> rows;
    for (int i = 0; i < data.rows; ++i)
      if (result.leaf[i] == static_cast<int32_t>(node)) rows.push_back(i);
    wrong += leaf_error(data, rows);
    leaves += 1;
  }
  for (const double w : data.w) total += w;
  return wrong / total + alpha * leaves;
}

// The leaf that thresholds send a row to.
int32_t leaf_of(const Data& data, const Result& result, int i) {
  int32_t node = 0;
  while (result.feature[node] >= 0)
    node = data.at(i, result.feature[node]) <= result.threshold[node] ? result.left[node] : result.right[node];
  return node;
}

void compare_with_exhaustive(const Data& data, int depth, double alpha) {
  Settings settings;
  settings.max_depth = depth;
  settings.alpha = alpha;
  const Result result = run(data, settings);
  std::vector<int> rows(data.rows);
  double total = 0;
  for (int i = 0; i < data.rows; ++i) rows[i] = i, total += data.w[i];
  const double best = exhaustive(data, rows, depth, alpha * total) / total;
  CHECK(result.status == Status::optimal);
  CHECK(std::abs(result.objective - best) < 1e-9);
  CHECK(std::abs(result.lower_bound - best) < 1e-9);
  CHECK(std::abs(objective_of(data, result, alpha) - best) < 1e-9);
  for (int i = 0; i < data.rows; ++i) CHECK(leaf_of(data, result, i) == result.leaf[i]);
}

}  // namespace

TEST("optimal: equals exhaustive search at depths 1 to 4") {
  const double alphas[] = {0.0, 0.001, 0.01, 0.02, 0.05};
  const int most_rows[] = {0, 60, 60, 26, 13};
  for (uint64_t seed = 0; seed < 240; ++seed) {
    const int depth = 1 + draw_int(seed, 100, 0, 4), classes = 2 + draw_int(seed, 100, 1, 3);
    const int rows = classes + draw_int(seed, 100, 2, most_rows[depth] - classes);
    const int columns = 1 + draw_int(seed, 100, 3, depth < 4 ? 3 : 2);
    const int levels[] = {0, 3, 8};
    compare_with_exhaustive(
        make_rows(seed, rows, columns, classes, levels[draw_int(seed, 100, 4, 3)], uniform(seed, 100, 5) < 0.5), depth,
        alphas[draw_int(seed, 100, 6, 5)]);
  }
}

TEST("optimal: the tree does not depend on the number of threads or on the start") {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const Data data = make_rows(seed, 150, 3, 2 + static_cast<int>(seed % 2), seed % 3 == 0 ? 12 : 0, seed % 2 == 0);
    Settings settings;
    settings.max_depth = 3;
    const Result one = run(data, settings);
    settings.threads = 3;
    for (int repeat = 0; repeat < 3; ++repeat) {
      const Result other = run(data, settings, {one.left, one.right, one.feature, one.threshold});
      CHECK(other.left == one.left && other.feature == one.feature && other.threshold == one.threshold);
      CHECK(other.status == Status::optimal);
    }
  }
}

TEST("optimal: limits end the search with bounds in order") {
  const Data data = make_rows(7, 2000, 6, 2, 0, true);
  Settings settings;
  settings.max_depth = 5;
  settings.time_limit = 0.15;
  const Result late = run(data, settings);
  CHECK(late.status == Status::time_limit);
  CHECK(late.lower_bound <= late.objective);
  CHECK(std::abs(objective_of(data, late, settings.alpha) - late.objective) < 1e-9);
  settings.time_limit = 5.0;
  settings.memory_limit = 4'000'000;
  const Result tight = run(data, settings);
  CHECK(tight.peak_bytes <= settings.memory_limit);
  settings.memory_limit = 1000;
  CHECK(run(data, settings).status == Status::memory_limit);
}

TEST("optimal: a stop flag ends the search at once with a tree") {
  const Data data = make_rows(3, 500, 4, 2, 0, true);
  Control control;
  Snapshot snapshot;
  control.stop();
  const Result result = solve(table_of(data), target_of(data), {}, {}, control, snapshot);
  CHECK(result.status == Status::interrupted);
  CHECK(result.feature.size() == 1 && result.leaf.size() == 500);
}

TEST("optimal: look-ahead gives a tree and a bound below the optimum") {
  const Data data = make_rows(5, 120, 2, 3, 0, true);
  Settings settings;
  settings.max_depth = 3;
  const Result proven = run(data, settings);
  settings.exact = false;
  const Result result = run(data, settings);
  CHECK(result.status == Status::heuristic || result.status == Status::optimal);
  CHECK(result.lower_bound > 0 && result.lower_bound <= proven.objective + 1e-12);
  CHECK(result.objective >= proven.objective - 1e-12);
  CHECK(std::abs(objective_of(data, result, settings.alpha) - result.objective) < 1e-9);
}

TEST("optimal: bounds stay closed under both rules") {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    ColumnBounds b;
    const int n = 12;
    for (int i = 0; i < n; ++i) {
      b.rank.push_back(i), b.position.push_back(i + 1);
      b.weight.push_back((i ? b.weight.back() : 0) + 1 + draw_int(seed, 0, i, 5));
    }
    b.bound[0].assign(n, 1), b.bound[1].assign(n, 1);
    for (int step = 0; step < 6; ++step) {
      const int side = draw_int(seed, 1, step, 2), i = draw_int(seed, 2, step, n);
      b.raise(side, i, 1 + draw_int(seed, 3, step, 20));
    }
    ColumnBounds closed = b;
    closed.close();
    CHECK(closed.bound[0] == b.bound[0] && closed.bound[1] == b.bound[1]);
  }
}

TEST("optimal: the cache forgets but never lies") {
  Meter meter(64 * 64 * 32 * 2);
  Cache cache(meter);
  const auto key = [](uint64_t i) { return Identity{draw_bits(1, i, 0), draw_bits(1, i, 1)}; };
  for (uint64_t i = 0; i < 20000; ++i) cache.store(key(i), 3, {static_cast<int64_t>(i), i % 2 == 0, 1, 2});
  int64_t found = 0;
  for (uint64_t i = 0; i < 20000; ++i) {
    const Answer answer = cache.find(key(i), 3);
    CHECK(cache.find(key(i), 2).value == -1);
    if (answer.value < 0) continue;
    ++found;
    CHECK(answer.value == static_cast<int64_t>(i) && answer.exact == (i % 2 == 0));
  }
  CHECK(found > 500);
  CHECK(meter.peak() <= meter.limit());
}

// Rows, keys and orders for the kernels, all numbers small enough for 32 bits. The orders are permutations if the
// number of rows has no factor 2, 3 or 7.
template <class T>
struct SweepData {
  int rows, columns, classes;
  std::vector<Item<T>> items;
  std::vector<int> label;
  std::vector<uint32_t> order;

  SweepData(int n, int d, int k) : rows(n), columns(d), classes(k), items(n), label(n), order(n * d) {
    for (int i = 0; i < n; ++i) {
      label[i] = draw_int(4, 2, i, k);
      const T weight = static_cast<T>(1 + draw_int(4, 1, i, 9));
      items[i] = {static_cast<T>(draw_int(4, 0, i, 40)), k == 2 && label[i] == 0 ? static_cast<T>(-weight) : weight};
      for (int j = 0; j < d; ++j) order[j * n + i] = static_cast<uint32_t>((i * (j + 1) * 7 + j) % n);
    }
  }
};

template <class T>
void check_binary_sweeps(int rows, bool marked) {
  const SweepData<T> data(rows, 3, 2);
  std::vector<uint32_t> order = data.order;
  if (marked)
    for (size_t i = 0; i < order.size(); ++i) order[i] |= draw_int(4, 3, i, 3) == 0 ? kCutHere : 0U;
  const std::vector<uint8_t> dense(3, !marked);
  for (const SweepKernels<T>& kernels : runnable_sweep_kernels<T>()) {
    BinarySweep<T> s{data.items.data(), order.data(), dense.data(), rows, 3, {}, {}, {}, {}};
    for (int lane = 0; lane < kLanes; ++lane) s.cut[lane] = static_cast<T>(3 * lane - 1);
    kernels.binary(s);
    for (int lane = 0; lane < kLanes; ++lane) {
      int64_t low[2] = {0, 0}, high[2] = {0, 0}, left = 0;
      for (int k = 0; k < 3; ++k) {
        int64_t sum[2] = {0, 0};
        for (int i = 0; i < rows; ++i) {
          const uint32_t entry = order[k * rows + i];
          const Item<T>& item = data.items[entry & ~kCutHere];
          sum[item.key > s.cut[lane]] += item.weight;
          for (int side = 0; side < 2 && (!marked || (entry & kCutHere)); ++side) {
            low[side] = std::min(low[side], sum[side]);
            high[side] = std::max(high[side], sum[side]);
          }
        }
        left = sum[0];
      }
      CHECK(s.left[lane] == left);
      for (int side = 0; side < 2; ++side) CHECK(s.low[side][lane] == low[side] && s.high[side][lane] == high[side]);
    }
  }
}

// Largest weight that a stump over all columns gets right on one side of a cut.
template <class T>
int64_t plain_correct(const SweepData<T>& data, T cut, int side) {
  int64_t best = 0;
  for (int k = 0; k < data.columns; ++k)
    for (int end = 1; end < data.rows; ++end) {
      std::vector<int64_t> part[2] = {std::vector<int64_t>(data.classes), std::vector<int64_t>(data.classes)};
      for (int i = 0; i < data.rows; ++i) {
        const uint32_t row = data.order[k * data.rows + i];
        if ((data.items[row].key > cut) == (side == 1)) part[i >= end][data.label[row]] += data.items[row].weight;
      }
      int64_t sum = 0;
      for (const auto& p : part) sum += *std::max_element(p.begin(), p.end());
      best = std::max(best, sum);
    }
  return best;
}

template <class T>
void check_class_sweeps(int rows) {
  const int classes = 4;
  const SweepData<T> data(rows, 2, classes);
  std::vector<Run> runs;
  std::vector<uint32_t> run_start{0};
  for (int k = 0; k < data.columns; ++k) {
    for (int i = 0; i < rows; ++i)
      runs.push_back({static_cast<uint32_t>(i + 1), data.label[data.order[k * rows + i]], i + 1 < rows});
    run_start.push_back(static_cast<uint32_t>(runs.size()));
  }
  std::vector<T> total[2], rest[2];
  for (int side = 0; side < 2; ++side) total[side].assign(classes * kLanes, 0), rest[side] = total[side];
  ClassSweep<T> s{};
  s.items = data.items.data(), s.order = data.order.data(), s.runs = runs.data(), s.run_start = run_start.data();
  s.rows = rows, s.columns = data.columns, s.classes = classes;
  for (int lane = 0; lane < kLanes; ++lane) {
    s.cut[lane] = static_cast<T>(3 * lane - 1);
    for (int i = 0; i < rows; ++i)
      total[data.items[i].key > s.cut[lane]][data.label[i] * kLanes + lane] += data.items[i].weight;
  }
  for (int side = 0; side < 2; ++side) s.total[side] = total[side].data(), s.rest[side] = rest[side].data();
  for (const SweepKernels<T>& kernels : runnable_sweep_kernels<T>()) {
    kernels.classes(s);
    for (int lane = 0; lane < kLanes; ++lane)
      for (int side = 0; side < 2; ++side) CHECK(s.correct[side][lane] == plain_correct(data, s.cut[lane], side));
  }
}

TEST("optimal: the sweeps of every instruction set agree with plain loops") {
  CHECK(std::string(runnable_sweep_kernels<int32_t>().front().name) == "plain");
  for (const int rows : {1, 2, 17, 90}) {
    for (const bool marked : {false, true}) check_binary_sweeps<int32_t>(rows, marked);
    for (const bool marked : {false, true}) check_binary_sweeps<int64_t>(rows, marked);
  }
  for (const int rows : {5, 17, 55}) check_class_sweeps<int32_t>(rows), check_class_sweeps<int64_t>(rows);
}
