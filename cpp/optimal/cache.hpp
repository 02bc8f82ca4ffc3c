// What is known of row sets met before: value or bound, and the best split where the value is exact.
//
// Meter: bytes used against a limit. Cache: a sharded hash table from (128-bit identity of the rows,
// depth) to an Answer; it forgets when it may not grow, never lies. Knows nothing of nodes or trees.
#pragma once

#include <atomic>
#include <mutex>

#include "base/array.hpp"
#include "optimal/depth_two.hpp"
#include "optimal/problem.hpp"

namespace boscage::optimal {

class Meter {
 public:
  explicit Meter(int64_t limit) : limit_(limit) {}
  bool take(int64_t bytes) {
    const int64_t now = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (now > limit_) {
      used_.fetch_sub(bytes, std::memory_order_relaxed);
      return false;
    }
    int64_t peak = peak_.load(std::memory_order_relaxed);
    while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
    return true;
  }
  void give(int64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  int64_t used() const { return used_.load(std::memory_order_relaxed); }
  int64_t peak() const { return peak_.load(std::memory_order_relaxed); }
  int64_t limit() const { return limit_; }

 private:
  std::atomic<int64_t> used_{0}, peak_{0};
  int64_t limit_;
};

class Cache {
 public:
  explicit Cache(Meter& meter) : meter_(meter) {}
  // An answer for the set at this depth; value -1 if nothing is known.
  Answer find(const Identity& rows, int depth);
  void store(const Identity& rows, int depth, const Answer& answer);

 private:
  struct Entry {
    Identity key;
    int64_t value = -1;  // 2 * value + exact
    int32_t feature = -1, rank = -1;
  };
  struct Shard {
    std::mutex mutex;
    Array<Entry> entries;
    int64_t count = 0;
  };
  static constexpr uint64_t kShards = 64, kProbe = 8;
  static constexpr int64_t kFirst = 64, kEntryBytes = sizeof(Entry);

  Shard& shard(const Identity& key) { return shards_[key.high % kShards]; }
  void grow(Shard& shard);
  static Entry* place(Array<Entry>& entries, const Identity& key);

  Meter& meter_;
  Shard shards_[kShards];
};

}  // namespace boscage::optimal
