// Threads, stopping and progress: the one place that knows about them.
//
// Control: a stop flag and a progress counter shared by the caller and the workers.
// Pool: a fixed set of workers lent to one call; parallel_for hands out chunks by number.
// Results never depend on which worker takes a chunk: write to slots, reduce by number.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>

namespace boscage {

// Thrown inside the core when the caller asked to stop.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

class Control {
 public:
  void stop() { stopped_.store(true, std::memory_order_relaxed); }
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  // Cheap enough for every few thousand rows.
  void check() const {
    if (stopped()) throw Interrupted();
  }
  void advance(int64_t steps) { done_.fetch_add(steps, std::memory_order_relaxed); }
  int64_t done() const { return done_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> stopped_{false};
  std::atomic<int64_t> done_{0};
};

class Workers;

// The threads of one call. They are kept when the call is over, and the next call of as many threads takes them again:
// starting threads takes longer than a short fit. A forked process starts its own.
class Pool {
 public:
  // threads counts the caller too: Pool(1) takes nothing and runs everything inline.
  explicit Pool(int threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const { return threads_; }

  // Calls task(chunk, thread) for chunk = 0..chunks-1, each once, in any order; thread < threads().
  // The first exception is rethrown here after all workers have come to rest. A task must not call parallel_for of its
  // own pool, nor two threads at once: std::logic_error.
  void parallel_for(int64_t chunks, const std::function<void(int64_t chunk, int thread)>& task);

 private:
  int threads_;
  std::unique_ptr<Workers> workers_;
  std::atomic<bool> is_running_{false};
};

// Worker threads that wait for the next Pool, for tests.
int64_t idle_workers();

}  // namespace boscage
