#include "parallel.hpp"

namespace boscage {

namespace {
// Rounds follow each other within microseconds while a tree grows; a short spin saves the sleep.
constexpr int kSpins = 2000;
}  // namespace

Pool::Pool(int threads) {
  for (int thread = 1; thread < threads; ++thread) workers_.emplace_back([this, thread] { work(thread); });
}

Pool::~Pool() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    round_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void Pool::take_chunks(int thread) {
  try {
    for (int64_t chunk; (chunk = next_.fetch_add(1, std::memory_order_relaxed)) < chunks_;) (*task_)(chunk, thread);
  } catch (...) {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
    next_.store(chunks_, std::memory_order_relaxed);
  }
}

void Pool::work(int thread) {
  uint64_t seen = 0;
  while (true) {
    for (int spin = 0; spin < kSpins && round_.load(std::memory_order_acquire) == seen; ++spin)
      std::this_thread::yield();
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return round_.load(std::memory_order_relaxed) != seen; });
      seen = round_.load(std::memory_order_relaxed);
      if (closing_) return;
    }
    take_chunks(thread);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      std::lock_guard lock(mutex_);
      rest_.notify_one();
    }
  }
}

void Pool::parallel_for(int64_t chunks, const std::function<void(int64_t, int)>& task) {
  if (workers_.empty() || chunks <= 1) {
    for (int64_t chunk = 0; chunk < chunks; ++chunk) task(chunk, 0);
    return;
  }
  {
    std::lock_guard lock(mutex_);
    task_ = &task;
    chunks_ = chunks;
    next_.store(0, std::memory_order_relaxed);
    busy_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
    error_ = nullptr;
    round_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  take_chunks(0);
  for (int spin = 0; spin < kSpins && busy_.load(std::memory_order_acquire) > 0; ++spin) std::this_thread::yield();
  {
    std::unique_lock lock(mutex_);
    rest_.wait(lock, [&] { return busy_.load(std::memory_order_acquire) == 0; });
  }
  if (error_) std::rethrow_exception(error_);
}

}  // namespace boscage
