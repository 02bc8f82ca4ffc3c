// A node of the search: its rows, renumbered from 0, in the sorted order of every column.
//
// Everything the search asks about a set of rows is here and contiguous. Made from the whole problem
// or from a parent by a stable filter. Knows nothing of bounds or budgets.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/array.hpp"
#include "base/parallel.hpp"
#include "optimal/problem.hpp"

namespace boscage::optimal {

constexpr int64_t kNever = INT64_MAX / 4;  // above every value

// Thrown to unwind the search: the caller, the clock, the number of states or the memory said stop.
struct Stopped {};

// When to give up. check() is cheap enough for every sweep.
//
// A search is limited by time, or by the number of states (sets of rows) it explores. With a limit of states no
// decision depends on the clock, so that one thread finds the same on every machine.
class Stopper {
 public:
  using Clock = std::chrono::steady_clock;
  using Span = Clock::duration;
  static constexpr int64_t kNoLimit = INT64_MAX;

  // keep_on_interrupt: a search that is interrupted ends like one that is late; else Interrupted is thrown at once.
  Stopper(const Control& control, Clock::time_point deadline, int64_t max_states = kNoLimit,
          bool keep_on_interrupt = true)
      : control_(control), deadline_(deadline), max_states_(max_states), keep_on_interrupt_(keep_on_interrupt) {}
  bool interrupted() const { return control_.stopped(); }
  bool late() const { return Clock::now() >= deadline_; }
  bool counts_states() const { return max_states_ != kNoLimit; }
  bool out_of_states() const { return refused_.load(std::memory_order_relaxed); }
  int64_t states_left() const { return max_states_ - states_.load(std::memory_order_relaxed); }
  void halt() { halted_.store(true, std::memory_order_relaxed); }  // all threads of this search
  // Lets check() throw after a time, or with a limit of states after a number of them, although nobody wants the
  // search to end.
  void pause_after(Span time, int64_t states) {
    if (counts_states()) {
      pause_states_ = states_.load() + std::min(states, states_left());
    } else {
      pause_ = (Clock::now() + std::min(time, Span::max() / 4)).time_since_epoch().count();
    }
  }
  void never_pause() {
    pause_ = kNever;
    pause_states_ = kNoLimit;
  }
  bool paused() const {
    if (halted_.load() || interrupted() || late() || out_of_states()) return false;
    return past_pause(Clock::now()) || past_pause_of_states();
  }
  Clock::time_point deadline() const { return deadline_; }
  // For work that must be done even when it is late.
  void give_up() const {
    if (!keep_on_interrupt_) control_.check();
  }
  // A state is about to be explored.
  void count_state() {
    check();
    if (states_left() <= 0) refused_.store(true, std::memory_order_relaxed);
    if (states_left() <= 0 || past_pause_of_states()) throw Stopped();
    states_.fetch_add(1, std::memory_order_relaxed);
  }
  void check() const {
    if (interrupted()) {
      give_up();
      throw Stopped();
    }
    if (halted_.load(std::memory_order_relaxed) || out_of_states()) throw Stopped();
    if (const auto now = Clock::now(); now >= deadline_ || past_pause(now)) throw Stopped();
  }

 private:
  static constexpr Clock::rep kNever = Clock::time_point::max().time_since_epoch().count();

  bool past_pause(Clock::time_point now) const {
    return now.time_since_epoch().count() >= pause_.load(std::memory_order_relaxed);
  }
  bool past_pause_of_states() const {
    return states_.load(std::memory_order_relaxed) >= pause_states_.load(std::memory_order_relaxed);
  }

  const Control& control_;
  std::atomic<bool> halted_{false}, refused_{false};
  Clock::time_point deadline_;
  int64_t max_states_;
  bool keep_on_interrupt_;
  std::atomic<int64_t> states_{0}, pause_states_{kNoLimit};
  std::atomic<Clock::rep> pause_{kNever};
};

struct Node {
  int64_t rows = 0;
  int features = 0, classes = 0;
  Array<uint32_t> order;        // [features][rows] local rows by rank
  Array<int32_t> rank;          // [features][rows] by local row
  Array<int64_t> weight;        // [rows], kernel units
  Array<int32_t> label;         // [rows]
  Array<uint32_t> source;       // [rows] rows of the problem
  Array<int64_t> class_weight;  // [classes], kernel units
  int64_t total = 0;            // kernel units

  const uint32_t* sorted(int feature) const { return order.data() + feature * rows; }
  const int32_t* ranks(int feature) const { return rank.data() + feature * rows; }
  int64_t error() const { return total - *std::max_element(class_weight.begin(), class_weight.end()); }
  // Bytes of a node of so many rows.
  static int64_t bytes(int64_t rows, int64_t features) { return rows * (8 * features + 16); }
};

void make_root(const Problem& problem, Node& root);

// The first `left` rows in the order of `feature` (side 0) or the others (side 1). map is work space.
void make_child(const Node& parent, int feature, int64_t left, int side, Node& child, Array<int32_t>& map);

}  // namespace boscage::optimal
