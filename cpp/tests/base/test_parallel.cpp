#include <atomic>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#if __has_include(<sys/wait.h>)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "base/parallel.hpp"
#include "base/rng.hpp"
#include "tests/check.hpp"

using namespace boscage;

TEST("every chunk is taken exactly once, whatever the number of threads") {
  for (int threads : {1, 2, 3, 8}) {
    Pool pool(threads);
    for (int64_t chunks : {0, 1, 7, 1000}) {
      std::vector<int> taken(static_cast<size_t>(chunks), 0);
      pool.parallel_for(chunks, [&](int64_t chunk, int thread) {
        CHECK(thread < threads);
        ++taken[static_cast<size_t>(chunk)];
      });
      CHECK(std::accumulate(taken.begin(), taken.end(), int64_t{0}) == chunks);
      for (int count : taken) CHECK(count == 1);
    }
  }
}

TEST("an exception in a worker reaches the caller, and the pool still works") {
  Pool pool(4);
  bool caught = false;
  try {
    pool.parallel_for(100, [](int64_t chunk, int) {
      if (chunk == 50) throw std::runtime_error("planted");
    });
  } catch (const std::runtime_error&) {
    caught = true;
  }
  CHECK(caught);
  std::atomic<int> count{0};
  pool.parallel_for(10, [&](int64_t, int) { ++count; });
  CHECK(count == 10);
}

TEST("threads outlive a call and are taken again") {
  {
    Pool pool(3);
  }
  const int64_t waiting = idle_workers();
  CHECK(waiting >= 2);
  for (int call = 0; call < 20; ++call) {
    Pool pool(3);
    CHECK(idle_workers() == waiting - 2);
    std::atomic<int> count{0};
    pool.parallel_for(10, [&](int64_t, int) { ++count; });
    CHECK(count == 10);
  }
  CHECK(idle_workers() == waiting);
  for (int size = 2; size < 40; ++size) Pool pool(size);
  CHECK(idle_workers() <= std::max<int64_t>(8, 2 * std::thread::hardware_concurrency()));
}

TEST("a loop inside a loop of the same pool is refused, and one of another pool is not") {
  Pool pool(2);
  bool caught = false;
  try {
    pool.parallel_for(4, [&](int64_t, int) { pool.parallel_for(4, [](int64_t, int) {}); });
  } catch (const std::logic_error&) {
    caught = true;
  }
  CHECK(caught);
  std::atomic<int> count{0};
  pool.parallel_for(4, [&](int64_t, int) {
    Pool inner(2);
    inner.parallel_for(4, [&](int64_t, int) { ++count; });
  });
  CHECK(count == 16);
}

#if __has_include(<sys/wait.h>)
TEST("a forked process starts threads of its own") {
  {
    Pool pool(3);
  }
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a loop that waits for threads which are not there ends the test
    bool good = idle_workers() == 0;
    Pool pool(3);
    std::atomic<int> count{0};
    pool.parallel_for(100, [&](int64_t, int) { ++count; });
    _exit(good && count == 100 ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

TEST("draws are uniform, normal and reproducible") {
  double sum = 0, square = 0, normals = 0, normal_squares = 0;
  const int n = 20000;
  for (int draw = 0; draw < n; ++draw) {
    const double u = uniform(7, 3, draw);
    CHECK(u >= 0 && u < 1);
    sum += u;
    square += u * u;
    const double z = normal(7, 3, draw);
    normals += z;
    normal_squares += z * z;
  }
  CHECK(std::abs(sum / n - 0.5) < 0.01);
  CHECK(std::abs(square / n - 1.0 / 3) < 0.01);
  CHECK(std::abs(normals / n) < 0.03);
  CHECK(std::abs(normal_squares / n - 1) < 0.05);
  CHECK(uniform(1, 2, 3) == uniform(1, 2, 3));
  CHECK(uniform(1, 2, 3) != uniform(1, 3, 2));
}

TEST("paths stay distinct down a long chain") {
  uint64_t path = 1;
  for (int depth = 0; depth < 200; ++depth) {
    CHECK(child_path(path, false) != child_path(path, true));
    path = child_path(path, depth % 3 == 0);
    CHECK(path != 0);
  }
}
