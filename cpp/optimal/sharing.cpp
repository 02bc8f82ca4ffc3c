// The parts of Engine that let several threads work on one search: open nodes, helping, waiting.
#include <thread>

#include "base/array.hpp"
#include "optimal/engine.hpp"

namespace boscage::optimal {
namespace {

// Waiting for other threads: first awake, then in short sleeps; the time is added to `waited`.
class Pause {
 public:
  explicit Pause(double& waited) : waited_(waited) {}
  ~Pause() { over(); }
  void rest() {
    if (rests_++ == 0) start_ = Stopper::Clock::now();
    rests_ < kAwake ? std::this_thread::yield() : std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  void over() {
    if (rests_ > 0) waited_ += std::chrono::duration<double>(Stopper::Clock::now() - start_).count();
    rests_ = 0;
  }

 private:
  static constexpr int kAwake = 200;
  double& waited_;
  int rests_ = 0;
  Stopper::Clock::time_point start_{};
};

}  // namespace

void Engine::run(Worker& worker, NodeSearch& search) {
  const bool shared = workers_.size() > 1 && search.node().rows * search.node().features >= 256;
  if (shared) {
    std::lock_guard lock(registry_mutex_);
    open_.push_back(&search);
  }
  // Whatever happens, nobody may be inside when the node goes away.
  struct Closing {
    Engine& engine;
    NodeSearch& search;
    bool shared;
    ~Closing() {
      if (!shared) return;
      {
        std::lock_guard lock(engine.registry_mutex_);
        std::erase(engine.open_, &search);
      }
      for (;;) {
        {
          std::lock_guard lock(search.mutex);
          if (search.busy() == 0) return;
        }
        std::this_thread::yield();
      }
    }
  } closing{*this, search, shared};
  Task task;
  Pause pause(worker.waited);
  for (;;) {
    bool taken = false, waiting = false;
    {
      std::lock_guard lock(search.mutex);
      taken = search.take(task, true);
      waiting = !taken && search.busy() > 0;
    }
    if (!taken && !waiting) return;
    if (!taken) {
      if (help(worker, &search)) {
        pause.over();
        continue;
      }
      std::lock_guard lock(search.mutex);
      taken = search.take(task, false);
    }
    if (taken) {
      pause.over();
      run_task(worker, search, task);
    } else {
      stopper_.check();
      pause.rest();
    }
  }
}

// A task of an open node (below `above`, if given). The topmost ones come first, since theirs are the largest;
// if every living column is being worked on, the lowest ones, since less is lost if it comes to nothing.
NodeSearch* Engine::choose(const NodeSearch* above, bool quiet, Task& task) {
  std::lock_guard registry(registry_mutex_);
  Array<NodeSearch*> order(open_);
  std::stable_sort(order.begin(), order.end(), [quiet](const NodeSearch* a, const NodeSearch* b) {
    return quiet ? a->depth() > b->depth() : a->depth() < b->depth();
  });
  for (NodeSearch* search : order) {
    bool below = above == nullptr;
    for (const NodeSearch* up = search->parent(); up && !below; up = up->parent()) below = up == above;
    if (!below) continue;
    std::lock_guard lock(search->mutex);
    if (search->take(task, quiet)) return search;
  }
  return nullptr;
}

// Joins an open node for one task.
bool Engine::help(Worker& worker, const NodeSearch* above) {
  Task task;
  NodeSearch* chosen = choose(above, true, task);
  if (!chosen) chosen = choose(above, false, task);
  if (!chosen) return false;
  run_task(worker, *chosen, task);
  return true;
}

void Engine::help_until_done(Worker& worker) {
  Pause pause(worker.waited);
  try {
    while (!finished_.load()) {
      stopper_.check();
      help(worker, nullptr) ? pause.over() : pause.rest();
    }
  } catch (const Stopped&) {
  }
}

void Engine::with_helpers(const std::function<void()>& work) {
  if (workers_.size() == 1) return work();
  struct Timing {
    Span& sum;
    const Stopper::Clock::time_point start = Stopper::Clock::now();
    ~Timing() { sum += Stopper::Clock::now() - start; }
  } timing{shared_};
  finished_ = false;
  Pool pool(static_cast<int>(workers_.size()));
  std::atomic<int> arrived{0};
  pool.parallel_for(workers_.size(), [&](int64_t, int) {
    const int me = arrived.fetch_add(1);
    if (me > 0) return help_until_done(workers_[me]);
    struct Finish {
      std::atomic<bool>& flag;
      ~Finish() { flag = true; }
    } finish{finished_};
    work();
  });
}

}  // namespace boscage::optimal
