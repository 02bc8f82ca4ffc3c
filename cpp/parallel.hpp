// Threads, stopping and progress: the one place that knows about them.
//
// Control: a stop flag and a progress counter shared by the caller and the workers.
// Pool: a fixed set of workers owned by one call; parallel_for hands out chunks by number.
// Results never depend on which worker takes a chunk: write to slots, reduce by number.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

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

class Pool {
 public:
  // threads counts the caller too: Pool(1) starts nothing and runs everything inline.
  explicit Pool(int threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls task(chunk, thread) for chunk = 0..chunks-1, each once, in any order; thread < threads().
  // The first exception is rethrown here after all workers have come to rest.
  void parallel_for(int64_t chunks, const std::function<void(int64_t chunk, int thread)>& task);

 private:
  void work(int thread);
  void take_chunks(int thread);

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_, rest_;
  const std::function<void(int64_t, int)>* task_ = nullptr;
  int64_t chunks_ = 0;
  std::atomic<int64_t> next_{0};
  std::atomic<uint64_t> round_{0};
  std::atomic<int> busy_{0};
  std::exception_ptr error_;
  bool closing_ = false;
};

}  // namespace boscage
