// A node of the search: its rows, renumbered from 0, in the sorted order of every column.
//
// Everything the search asks about a set of rows is here and contiguous. Made from the whole problem
// or from a parent by a stable filter. Knows nothing of bounds or budgets.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "optimal/problem.hpp"
#include "parallel.hpp"

namespace boscage::optimal {

constexpr int64_t kNever = INT64_MAX / 4;  // above every value

// Thrown to unwind the search: the caller, the clock or the memory said stop.
struct Stopped {};

// When to give up. check() is cheap enough for every sweep.
class Stopper {
 public:
  using Clock = std::chrono::steady_clock;
  // keep_on_interrupt: a search that is interrupted ends like one that is late; else Interrupted is thrown at once.
  Stopper(const Control& control, Clock::time_point deadline, bool keep_on_interrupt = true)
      : control_(control), deadline_(deadline), keep_on_interrupt_(keep_on_interrupt) {}
  bool interrupted() const { return control_.stopped(); }
  bool late() const { return Clock::now() >= deadline_; }
  void halt() { halted_.store(true, std::memory_order_relaxed); }  // all threads of this search
  // A moment at which check() throws although nobody wants the search to end.
  void pause_at(Clock::time_point moment) { pause_ = moment.time_since_epoch().count(); }
  bool paused() const { return !halted_.load() && !interrupted() && !late() && past_pause(Clock::now()); }
  Clock::time_point deadline() const { return deadline_; }
  // For work that must be done even when it is late.
  void give_up() const {
    if (!keep_on_interrupt_) control_.check();
  }
  void check() const {
    give_up();
    if (halted_.load(std::memory_order_relaxed) || interrupted()) throw Stopped();
    const auto now = Clock::now();
    if (now >= deadline_ || past_pause(now)) throw Stopped();
  }

 private:
  bool past_pause(Clock::time_point now) const {
    return now.time_since_epoch().count() >= pause_.load(std::memory_order_relaxed);
  }

  const Control& control_;
  std::atomic<bool> halted_{false};
  Clock::time_point deadline_;
  bool keep_on_interrupt_;
  std::atomic<Clock::rep> pause_{Clock::time_point::max().time_since_epoch().count()};
};

struct Node {
  int64_t rows = 0;
  int features = 0, classes = 0;
  std::vector<uint32_t> order;        // [features][rows] local rows by rank
  std::vector<int32_t> rank;          // [features][rows] by local row
  std::vector<int64_t> weight;        // [rows], kernel units
  std::vector<int32_t> label;         // [rows]
  std::vector<uint32_t> source;       // [rows] rows of the problem
  std::vector<int64_t> class_weight;  // [classes], kernel units
  int64_t total = 0;                  // kernel units

  const uint32_t* sorted(int feature) const { return order.data() + feature * rows; }
  const int32_t* ranks(int feature) const { return rank.data() + feature * rows; }
  int64_t error() const { return total - *std::max_element(class_weight.begin(), class_weight.end()); }
  // Bytes of a node of so many rows.
  static int64_t bytes(int64_t rows, int64_t features) { return rows * (8 * features + 16); }
};

void make_root(const Problem& problem, Node& root);

// The first `left` rows in the order of `feature` (side 0) or the others (side 1). map is work space.
void make_child(const Node& parent, int feature, int64_t left, int side, Node& child, std::vector<int32_t>& map);

}  // namespace boscage::optimal
