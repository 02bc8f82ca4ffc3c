#include "base/parallel.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/array.hpp"

#if __has_include(<pthread.h>)
#include <pthread.h>

#endif

namespace boscage {

// A team of threads that runs one parallel loop after another.
class Workers {
 public:
  explicit Workers(int count) {
    for (int thread = 1; thread <= count; ++thread) threads_.emplace_back([this, thread] { work(thread); });
  }

  ~Workers() {
    {
      std::lock_guard lock(mutex_);
      closing_ = true;
      round_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  int64_t size() const { return threads_.size(); }

  void run(int64_t chunks, const std::function<void(int64_t, int)>& task) {
    {
      std::lock_guard lock(mutex_);
      task_ = &task;
      chunks_ = chunks;
      next_.store(0, std::memory_order_relaxed);
      busy_.store(static_cast<int>(threads_.size()), std::memory_order_relaxed);
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
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  // Rounds follow each other within microseconds while a tree grows; a short spin saves the sleep.
  static constexpr int kSpins = 2000;

  void take_chunks(int thread) {
    try {
      for (int64_t chunk; (chunk = next_.fetch_add(1, std::memory_order_relaxed)) < chunks_;) (*task_)(chunk, thread);
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      next_.store(chunks_, std::memory_order_relaxed);
    }
  }

  void work(int thread) {
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

  Array<std::thread> threads_;
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

namespace {

// Teams between two calls. Never destroyed: threads may wait when the process ends.
class Idle {
 public:
  static Idle& instance() {
    static std::once_flag once;
    std::call_once(once, [] {
      current_ = new Idle;
#if __has_include(<pthread.h>)
      // Threads do not live on in a forked process: it begins with none, and with a mutex that nobody holds.
      pthread_atfork(nullptr, nullptr, [] { current_ = new Idle; });
#endif
    });
    return *current_;
  }

  std::unique_ptr<Workers> take(int64_t count) {
    {
      std::lock_guard lock(mutex_);
      for (auto& team : teams_) {
        if (team->size() != count) continue;
        std::swap(team, teams_.back());
        auto found = std::move(teams_.back());
        teams_.pop_back();
        return found;
      }
    }
    return std::make_unique<Workers>(static_cast<int>(count));
  }

  // Keeps the team, unless many threads wait already.
  void give(std::unique_ptr<Workers> team) {
    std::lock_guard lock(mutex_);
    if (waiting() + team->size() <= most_) teams_.push_back(std::move(team));
  }

  int64_t count() {
    std::lock_guard lock(mutex_);
    return waiting();
  }

 private:
  int64_t waiting() const {
    int64_t sum = 0;
    for (const auto& team : teams_) sum += team->size();
    return sum;
  }

  static inline Idle* current_ = nullptr;
  const int64_t most_ = std::max<int64_t>(8, 2 * static_cast<int64_t>(std::thread::hardware_concurrency()));
  std::mutex mutex_;
  Array<std::unique_ptr<Workers>> teams_;
};

}  // namespace

int64_t idle_workers() { return Idle::instance().count(); }

Pool::Pool(int threads) : threads_(std::max(threads, 1)) {
  if (threads_ > 1) workers_ = Idle::instance().take(threads_ - 1);
}

Pool::~Pool() {
  if (workers_) Idle::instance().give(std::move(workers_));
}

void Pool::parallel_for(int64_t chunks, const std::function<void(int64_t, int)>& task) {
  if (!workers_ || chunks <= 1) {
    for (int64_t chunk = 0; chunk < chunks; ++chunk) task(chunk, 0);
    return;
  }
  if (is_running_.exchange(true, std::memory_order_acquire))
    throw std::logic_error("parallel_for: this pool is running a loop already; take another pool for loops inside it.");
  struct Done {
    std::atomic<bool>& is_running;
    ~Done() { is_running.store(false, std::memory_order_release); }
  } done{is_running_};
  workers_->run(chunks, task);
}

}  // namespace boscage
