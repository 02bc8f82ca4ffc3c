#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "base/rng.hpp"
#include "base/shared_lock.hpp"
#include "online/learner.hpp"
#include "tests/check.hpp"

using namespace boscage;
using namespace boscage::online;

namespace {

const SharedLock::Poll patient = [] {};

void pause(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

// Starts each body in a thread of its own and waits for all.
void together(const std::vector<std::function<void()>>& bodies) {
  std::vector<std::thread> threads;
  for (const auto& body : bodies) threads.emplace_back(body);
  for (auto& thread : threads) thread.join();
}

struct Rows {
  std::vector<float> values;
  std::vector<int32_t> labels;
  Batch batch() const {
    Batch out;
    out.features = 5;
    out.rows = static_cast<int64_t>(labels.size());
    out.data32 = values.data();
    return out;
  }
};

Rows make_rows(int64_t count, int32_t classes, uint64_t seed) {
  Rows out;
  for (int64_t row = 0; row < count; ++row) {
    out.labels.push_back(static_cast<int32_t>(draw_bits(seed, 1, row) % 1000) % classes);
    for (int64_t j = 0; j < 5; ++j) {
      const auto draw = static_cast<uint64_t>(5 * row + j);
      const double centre = normal(7, out.labels.back(), j);
      out.values.push_back(static_cast<float>(centre + 0.3 * normal(seed, 2, draw)));
    }
  }
  return out;
}

void learn(Learner& learner, const Rows& rows, int64_t classes) {
  Control control;
  learner.add_classes(classes - learner.classes());
  learner.learn(rows.batch(), rows.labels.data(), nullptr, nullptr, rows.batch().rows, true, true, control);
}

std::vector<double> probabilities(const Learner& learner, const Rows& rows, int threads) {
  std::vector<int32_t> columns(static_cast<size_t>(learner.classes()));
  std::iota(columns.begin(), columns.end(), 0);
  std::vector<double> out(static_cast<size_t>(rows.batch().rows * learner.classes()), 0.0);
  Control control;
  learner.predict_all(rows.batch(), {columns.data(), columns.data()}, out.data(), threads, control);
  return out;
}

Learner make_learner(int kind) {
  Config config;
  config.features = 5;
  config.lomtree = kind == 2;
  config.flat_below = kind == 0 ? 1000 : 0;
  config.beam = 3;
  config.learning_rate = kind == 2 ? 0.5 : 2.0;
  config.replay = kind == 2 ? 0 : 2;
  return Learner(config);
}

}  // namespace

TEST("lock: one writer or many readers") {
  SharedLock lock;
  CHECK(lock.try_lock_shared());
  CHECK(lock.try_lock_shared());
  CHECK(!lock.try_lock());
  lock.unlock_shared();
  CHECK(!lock.try_lock());
  lock.unlock_shared();
  CHECK(lock.try_lock());
  CHECK(!lock.try_lock());
  CHECK(!lock.try_lock_shared());
  lock.unlock();
  int number = 0;  // no atomic: the lock alone protects it
  const auto write = [&] {
    for (int i = 0; i < 500; ++i) {
      lock.lock(patient);
      ++number;
      lock.unlock();
    }
  };
  const auto read = [&] {
    int last = 0;
    for (int i = 0; i < 500; ++i) {
      lock.lock_shared(patient);
      CHECK(number >= last);
      last = number;
      lock.unlock_shared();
    }
  };
  together({write, read, write, read, read});
  CHECK(number == 1000);
}

TEST("lock: readers wait behind a waiting writer and go before the next") {
  SharedLock lock;
  std::atomic<int> stage{0};
  lock.lock_shared(patient);
  std::thread writer([&] {
    lock.lock(patient);
    CHECK(stage.exchange(1) == 0);
    pause(30);
    lock.unlock();
  });
  while (lock.try_lock_shared()) {  // until the writer waits
    lock.unlock_shared();
    std::this_thread::yield();
  }
  std::thread reader([&] {
    lock.lock_shared(patient);
    CHECK(stage == 1);
    lock.unlock_shared();
  });
  pause(20);
  lock.unlock_shared();
  writer.join();
  reader.join();
  CHECK(stage == 1);
}

TEST("lock: who gives up waiting leaves nothing behind") {
  SharedLock lock;
  const SharedLock::Poll give_up = [] { throw std::runtime_error("planted"); };
  const auto gives_up = [&](const std::function<void()>& wait) {
    try {
      wait();
      return false;
    } catch (const std::runtime_error&) {
      return true;
    }
  };
  lock.lock(patient);
  CHECK(gives_up([&] { lock.lock_shared(give_up); }));
  CHECK(gives_up([&] { lock.lock(give_up); }));
  lock.unlock();
  CHECK(lock.try_lock());
  lock.unlock();
  lock.lock_shared(patient);
  std::thread reader;
  CHECK(gives_up([&] {
    lock.lock([&] {
      if (!reader.joinable()) {  // a reader queues behind the writer, which then gives up
        reader = std::thread([&] {
          lock.lock_shared(patient);
          lock.unlock_shared();
        });
        pause(20);
      }
      give_up();
    });
  }));
  reader.join();
  lock.unlock_shared();
  CHECK(lock.try_lock());
}

TEST("learner: readers beside a writer see the state before or after a batch") {
  constexpr int batches = 5;
  const Rows probe = make_rows(40, 20, 99);
  for (int kind = 0; kind < 3; ++kind) {
    std::vector<Rows> stream;
    for (int number = 0; number < batches; ++number) {
      stream.push_back(make_rows(60, 20 + 10 * number, static_cast<uint64_t>(number)));
    }
    const auto classes = [](int number) { return int64_t{20} + 10 * number; };
    Learner serial = make_learner(kind), shared = make_learner(kind);
    std::vector<std::vector<double>> states;
    for (int number = 0; number < batches; ++number) {
      learn(serial, stream[static_cast<size_t>(number)], classes(number));
      states.push_back(probabilities(serial, probe, 1));
    }
    learn(shared, stream[0], classes(0));
    SharedLock lock;
    std::atomic<bool> done{false};
    std::atomic<int> wrong{0}, reads{0};
    const auto read = [&] {
      while (!done.load() || reads.load() < 4) {
        lock.lock_shared(patient);
        const std::vector<double> found = probabilities(shared, probe, 2);
        const bool sound = shared.save(true).size() > 4 && shared.memory().size() == 5;
        lock.unlock_shared();
        if (!sound || std::find(states.begin(), states.end(), found) == states.end()) ++wrong;
        ++reads;
      }
    };
    const auto write = [&] {
      for (int number = 1; number < batches; ++number) {
        lock.lock(patient);
        learn(shared, stream[static_cast<size_t>(number)], classes(number));
        lock.unlock();
        pause(2);
      }
      done = true;
    };
    together({read, read, write});
    CHECK(wrong == 0);
    CHECK(probabilities(shared, probe, 1) == states.back());
  }
}

TEST("learner: a copy learns while others read the original") {
  const Rows probe = make_rows(40, 20, 99), first = make_rows(100, 20, 1), second = make_rows(200, 30, 2);
  for (int kind = 0; kind < 3; ++kind) {
    Learner learner = make_learner(kind);
    learn(learner, first, 20);
    const std::vector<double> before = probabilities(learner, probe, 1);
    Learner copy = make_learner(kind);
    std::atomic<int> wrong{0};
    together({[&] {
                copy = learner;
                learn(copy, second, 30);
              },
              [&] {
                for (int i = 0; i < 20; ++i) wrong += probabilities(learner, probe, 2) == before ? 0 : 1;
              }});
    CHECK(wrong == 0);
    Learner serial = make_learner(kind);
    learn(serial, first, 20);
    learn(serial, second, 30);
    CHECK(probabilities(copy, probe, 1) == probabilities(serial, probe, 1));
  }
}
