#include "optimal/node_search.hpp"

#include "base/array.hpp"

namespace boscage::optimal {

namespace {
constexpr int64_t kManyRows = 4096;  // a column of so many takes long enough to look at the clock
}  // namespace

NodeSearch::NodeSearch(const Problem& problem, const Node& node, int depth, int64_t budget, const Identity& rows,
                       const NodeSearch* parent, const Stopper& stopper)
    : problem_(problem), node_(node), parent_(parent), rows_(rows), depth_(depth), budget_(budget) {
  leaf_ = node.error() * problem.scale + problem.penalty;
  best_ = std::min(budget, leaf_);
  columns_.resize(node.features);
  for (int j = 0; j < node.features; ++j) {
    if (node.rows > kManyRows) stopper.check();
    list_cuts(j);
  }
}

// Only cuts with more than the penalty on both sides: a lighter side could join its sibling at no cost.
void NodeSearch::list_cuts(int feature) {
  Column& column = columns_[feature];
  ColumnBounds& b = column.bounds;
  const uint32_t* order = node_.sorted(feature);
  const int32_t* rank = node_.ranks(feature);
  const int64_t all = node_.total * problem_.scale;
  const int64_t rows = node_.rows, classes = node_.classes;
  Array<int64_t> sums(classes, 0);
  b.rank.resize(rows);
  b.position.resize(rows);
  b.weight.resize(rows);
  column.left.resize(rows);
  column.left_class.resize(rows * classes);
  Identity left;
  int64_t weight = 0, count = 0;
  for (int64_t i = 0; i + 1 < rows; ++i) {
    const uint32_t row = order[i];
    weight += node_.weight[row] * problem_.scale;
    sums[node_.label[row]] += node_.weight[row];
    left.toggle(problem_.identity[node_.source[row]]);
    b.rank[count] = rank[row];
    b.position[count] = i + 1;
    b.weight[count] = weight;
    column.left[count] = left;
    for (int64_t c = 0; c < classes; ++c) column.left_class[count * classes + c] = sums[c];
    if (all - weight <= problem_.penalty) break;
    count += rank[row] != rank[order[i + 1]] && weight > problem_.penalty;
  }
  b.rank.resize(count);
  b.position.resize(count);
  b.weight.resize(count);
  column.left.resize(count);
  column.left_class.resize(count * classes);
  b.bound[0].assign(b.rank.size(), problem_.penalty);
  b.bound[1].assign(b.rank.size(), problem_.penalty);
  column.known.assign(b.rank.size(), 0);
  bytes_ += b.size() * static_cast<int64_t>(36 + 16 + 1 + 8 * node_.classes);
}

void NodeSearch::inherit(const Record* smaller, const Record* larger) {
  const int64_t total = node_.total * problem_.scale;
  for (int j = 0; j < node_.features; ++j) {
    Column& column = columns_[j];
    if (smaller) {
      // A split open to us may be none for the smaller set (a side empty or too light); then its cost
      // there is at least the optimum one level down. Hence the clip.
      column.inherited = std::max(column.inherited, std::min(smaller->least[j], smaller->floor));
      if (!smaller->columns.empty()) column.bounds.inherit_from_smaller(smaller->columns[j]);
    }
    if (larger) {
      const int64_t lost = larger->weight - total;
      if (larger->least[j] < kNever) column.inherited = std::max(column.inherited, larger->least[j] - lost);
      if (!larger->columns.empty()) column.bounds.inherit_from_larger(larger->columns[j], total, larger->weight);
    }
    column.bounds.close();
  }
}

// Cuts of a column at or beyond this one are of no interest (only when the first best cut is sought).
int64_t NodeSearch::cut_limit(int feature) const {
  const int64_t size = columns_[feature].bounds.size();
  if (!first_ || feature_ < 0 || feature < feature_) return size;
  return feature == feature_ ? cut_ : 0;
}

bool NodeSearch::longest_run(int feature, Task& task) const {
  const Column& column = columns_[feature];
  const int64_t limit = cut_limit(feature);
  int64_t longest = 0, start = -1;
  for (int64_t i = 0; i <= limit; ++i) {
    const uint8_t known = i < limit ? column.known[i] : uint8_t{kBusy};
    const bool alive = !(known & kBusy) && (known & kSolved) != kSolved && column.bounds.sum(i) < best_;
    if (alive && start < 0) start = i;
    if (alive || start < 0) continue;
    if (i - start > longest) {
      longest = i - start;
      task = {feature, start, i - 1, start + (i - 1 - start) / 2};
    }
    start = -1;
  }
  return longest > 0;
}

bool NodeSearch::take(Task& task, bool quiet) {
  const int count = node_.features;
  for (int tries = 0; tries < count; ++tries) {
    const int j = first_ ? tries : cursor_;
    cursor_ = cursor_ + 1 == count ? 0 : cursor_ + 1;
    Column& column = columns_[j];
    if (column.closed || (quiet && column.busy > 0)) continue;
    if (column.inherited < best_ && longest_run(j, task)) {
      column.known[task.at] |= kBusy;
      ++column.busy;
      ++busy_;
      return true;
    }
    if (column.busy > 0) continue;
    column.closed = true;
    if (!first_) column.solved[0].clear(), column.solved[1].clear();
  }
  return false;
}

bool NodeSearch::dead(const Task& task) const {
  const Column& column = columns_[task.feature];
  return column.bounds.sum(task.at) >= best_ || task.at >= cut_limit(task.feature);
}

int64_t NodeSearch::budget(const Task& task, int side) const {
  const ColumnBounds& b = columns_[task.feature].bounds;
  return best_ - (side == 0 ? b.bound[1][task.high] : b.bound[0][task.low]);
}

Kept NodeSearch::sibling(const Task& task, int side, bool larger) const {
  const auto& solved = columns_[task.feature].solved[side];
  if (larger == (side == 0)) {  // towards higher cuts
    const auto found = solved.lower_bound(task.at);
    return found == solved.end() ? nullptr : found->second;
  }
  const auto found = solved.upper_bound(task.at);
  return found == solved.begin() ? nullptr : std::prev(found)->second;
}

void NodeSearch::learn(const Task& task, int side, const Answer& answer, Kept record) {
  Column& column = columns_[task.feature];
  column.bounds.raise(side, task.at, answer.value);
  if (answer.exact) column.known[task.at] |= static_cast<uint8_t>(1 << side);
  if (record) column.solved[side][task.at] = std::move(record);
}

bool NodeSearch::finish(const Task& task) {
  const Column& column = columns_[task.feature];
  if ((column.known[task.at] & kSolved) != kSolved || dead(task)) return false;
  feature_ = task.feature;
  cut_ = task.at;
  if (!first_) best_ = column.bounds.sum(task.at);
  return true;
}

void NodeSearch::leave(const Task& task) {
  Column& column = columns_[task.feature];
  column.known[task.at] &= static_cast<uint8_t>(~kBusy);
  --column.busy;
  --busy_;
}

void NodeSearch::seek_below(int64_t value) {
  budget_ = value;
  best_ = std::min(value, leaf_);
  feature_ = -1;
  for (int j = 0; j < node_.features; ++j) {
    Column& column = columns_[j];
    column.closed = false;
    for (int64_t i = 0; i < column.bounds.size(); ++i)
      if ((column.known[i] & kSolved) == kSolved && column.bounds.sum(i) < best_)
        best_ = column.bounds.sum(i), feature_ = j, cut_ = i;
  }
}

void NodeSearch::seek_first(int64_t value) {
  first_ = true;
  best_ = value + 1;
  feature_ = -1;
  cut_ = -1;
  for (int j = node_.features - 1; j >= 0; --j) {
    columns_[j].closed = false;
    for (int64_t i = columns_[j].bounds.size() - 1; i >= 0; --i)
      if ((columns_[j].known[i] & kSolved) == kSolved && columns_[j].bounds.sum(i) == value) feature_ = j, cut_ = i;
  }
}

Answer NodeSearch::answer() const {
  if (best_ < budget_ || first_) {
    if (feature_ < 0) return {best_, true, -1, -1};
    return {first_ ? best_ - 1 : best_, true, feature_, columns_[feature_].bounds.rank[cut_]};
  }
  int64_t bound = leaf_;
  for (const Column& column : columns_) bound = std::min(bound, column_bound(column));
  return {std::max(bound, budget_), false, -1, -1};
}

int64_t NodeSearch::column_bound(const Column& column) const {
  int64_t least = kNever;
  for (int64_t i = 0; i < column.bounds.size(); ++i) least = std::min(least, column.bounds.sum(i));
  return std::max(least, column.inherited);
}

int64_t NodeSearch::lower_bound() const {
  int64_t bound = std::min(best_, leaf_);
  for (const Column& column : columns_) bound = std::min(bound, column_bound(column));
  return bound;
}

Record NodeSearch::record(int64_t value, bool with_columns) {
  Record out;
  out.weight = node_.total * problem_.scale;
  out.floor = value;
  for (const Column& column : columns_) {
    out.least.push_back(column_bound(column));
    if (column.bounds.size() == 0) continue;
    out.floor = std::max({out.floor, column.bounds.bound[0].back(), column.bounds.bound[1].front()});
  }
  if (with_columns)
    for (Column& column : columns_) out.columns.push_back(std::move(column.bounds));
  return out;
}

int64_t NodeSearch::column_bytes() const {
  int64_t bytes = 0;
  for (const Column& column : columns_) bytes += column.bounds.bytes();
  return bytes;
}

Identity NodeSearch::rows(const Task& task, int side) const {
  Identity left = columns_[task.feature].left[task.at];
  if (side == 1) left.toggle(rows_);
  return left;
}

void NodeSearch::class_weights(const Task& task, int side, Array<int64_t>& out) const {
  const int64_t* left = columns_[task.feature].left_class.data() + task.at * node_.classes;
  out.resize(node_.classes);
  for (int c = 0; c < node_.classes; ++c) out[c] = side == 0 ? left[c] : node_.class_weight[c] - left[c];
}

Task NodeSearch::task_at(int feature, int32_t rank) const {
  const auto& ranks = columns_[feature].bounds.rank;
  const int64_t at = std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin();
  return {feature, at, at, at};
}

int64_t NodeSearch::side_value(int feature, int32_t rank, int side) const {
  return columns_[feature].bounds.bound[side][task_at(feature, rank).at];
}

}  // namespace boscage::optimal
