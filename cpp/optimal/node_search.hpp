// The state of the search at one node of depth three or more: what is known of every cut of every column.
//
// take() chooses the next cut to evaluate, the middle of the longest living run of a column; budget()
// says how far its sides must be solved (an interval budget: reaching it kills the whole half run);
// learn() records what came back. Siblings: the solved children of one column and side are nested sets,
// so their bounds serve each other. Any number of threads may work on one node: every method here must
// be called with `mutex` held, except those that read the fixed parts (marked const).
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "base/array.hpp"
#include "optimal/bounds.hpp"
#include "optimal/cache.hpp"
#include "optimal/node.hpp"

namespace boscage::optimal {

// What a solved child leaves for its siblings.
struct Record {
  int64_t weight = 0;           // of its rows, value units
  int64_t floor = 0;            // lower bound of its optimum one level down
  Array<int64_t> least;         // per column: lower bound of the cost with the root split there
  Array<ColumnBounds> columns;  // empty for depth two
  Meter* meter = nullptr;
  int64_t bytes = 0;
  ~Record() {
    if (meter) meter->give(bytes);
  }
};
using Kept = std::shared_ptr<const Record>;

struct Task {
  int feature = -1;
  int64_t low = 0, high = 0, at = 0;  // run of living cuts, and the one to evaluate
};

class NodeSearch {
 public:
  NodeSearch(const Problem& problem, const Node& node, int depth, int64_t budget, const Identity& rows,
             const NodeSearch* parent, const Stopper& stopper);

  // Bounds from a solved node with a subset (superset) of our rows.
  void inherit(const Record* smaller, const Record* larger);

  // The next cut to evaluate. With `quiet` only from columns nobody works on: siblings of one column are of
  // most use to each other when they are solved one after the other.
  bool take(Task& task, bool quiet);
  bool dead(const Task& task) const;
  bool exact(const Task& task, int side) const { return columns_[task.feature].known[task.at] & (1 << side); }
  int64_t budget(const Task& task, int side) const;
  Kept sibling(const Task& task, int side, bool larger) const;
  void learn(const Task& task, int side, const Answer& answer, Kept record);
  // True if the task found a better split. leave() must follow, as the last thing done with this node.
  bool finish(const Task& task);
  void leave(const Task& task);
  int busy() const { return busy_; }

  // From now on: look for trees below this value.
  void seek_below(int64_t value);
  // From now on: look for the first cut, by column and rank, of cost `value`.
  void seek_first(int64_t value);

  Answer answer() const;
  // What siblings may use; with_columns moves the bounds of all cuts out of here.
  Record record(int64_t value, bool with_columns);
  int64_t column_bytes() const;
  int64_t lower_bound() const;
  int64_t best() const { return best_; }
  int64_t side_value(int feature, int32_t rank, int side) const;
  Task task_at(int feature, int32_t rank) const;

  // The fixed parts.
  int depth() const { return depth_; }
  const Node& node() const { return node_; }
  const NodeSearch* parent() const { return parent_; }
  int64_t left_rows(const Task& task) const { return columns_[task.feature].bounds.position[task.at]; }
  int32_t rank(const Task& task) const { return columns_[task.feature].bounds.rank[task.at]; }
  Identity rows(const Task& task, int side) const;
  void class_weights(const Task& task, int side, Array<int64_t>& out) const;
  int64_t bytes() const { return bytes_; }

  std::mutex mutex;

 private:
  enum : uint8_t { kLeftExact = 1, kRightExact = 2, kSolved = 3, kBusy = 4 };
  struct Column {
    ColumnBounds bounds;
    Array<Identity> left;       // identity of the rows left of each cut
    Array<int64_t> left_class;  // [cuts][classes], kernel units
    Array<uint8_t> known;
    int64_t inherited = 0;  // lower bound of any split of this column
    bool closed = false;
    int busy = 0;
    std::map<int64_t, Kept> solved[2];  // by cut
  };

  void list_cuts(int feature);
  int64_t cut_limit(int feature) const;
  bool longest_run(int feature, Task& task) const;
  int64_t column_bound(const Column& column) const;

  const Problem& problem_;
  const Node& node_;
  const NodeSearch* parent_;
  Identity rows_;
  int depth_;
  int64_t budget_, leaf_, best_;
  int feature_ = -1;
  int64_t cut_ = -1;
  bool first_ = false;
  int cursor_ = 0, busy_ = 0;
  int64_t bytes_ = 0;
  Array<Column> columns_;
};

}  // namespace boscage::optimal
