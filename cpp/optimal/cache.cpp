#include "optimal/cache.hpp"

#include "base/array.hpp"
#include "base/rng.hpp"

namespace boscage::optimal {
namespace {

Identity with_depth(Identity rows, int depth) {
  rows.toggle({mix(static_cast<uint64_t>(depth) + 1), mix(~static_cast<uint64_t>(depth))});
  return rows;
}

}  // namespace

// The key's entry, a free one, or the one to give up.
Cache::Entry* Cache::place(Array<Entry>& entries, const Identity& key) {
  const auto mask = static_cast<uint64_t>(entries.size() - 1);
  for (uint64_t i = 0; i < kProbe; ++i) {
    Entry& entry = entries[(key.low + i) & mask];
    if (entry.value < 0 || entry.key == key) return &entry;
  }
  return &entries[(key.low + (key.high >> 32) % kProbe) & mask];
}

void Cache::grow(Shard& shard) {
  const int64_t size = shard.entries.empty() ? kFirst : 2 * shard.entries.size();
  const int64_t bytes = size * kEntryBytes;
  // Half of the memory at most: without the rest the search could not go on, without a larger cache it can.
  if (meter_.used() + bytes > meter_.limit() / 2 || !meter_.take(bytes)) return;
  Array<Entry> larger(size);
  shard.count = 0;
  for (const Entry& entry : shard.entries) {
    if (entry.value < 0) continue;
    Entry* to = place(larger, entry.key);
    shard.count += to->value < 0;
    *to = entry;
  }
  meter_.give(shard.entries.size() * kEntryBytes);
  shard.entries = std::move(larger);
}

Answer Cache::find(const Identity& rows, int depth) {
  const Identity key = with_depth(rows, depth);
  Shard& s = shard(key);
  std::lock_guard lock(s.mutex);
  if (s.entries.empty()) return {-1, false, -1, -1};
  const Entry* entry = place(s.entries, key);
  if (entry->value < 0 || !(entry->key == key)) return {-1, false, -1, -1};
  return {entry->value >> 1, (entry->value & 1) != 0, entry->feature, entry->rank};
}

void Cache::store(const Identity& rows, int depth, const Answer& answer) {
  const Identity key = with_depth(rows, depth);
  Shard& s = shard(key);
  std::lock_guard lock(s.mutex);
  if (2 * s.count >= s.entries.size()) grow(s);
  if (s.entries.empty()) return;
  Entry* entry = place(s.entries, key);
  const int64_t value = 2 * answer.value + (answer.exact ? 1 : 0);
  if (entry->value >= 0 && entry->key == key) {
    const bool known = (entry->value & 1) != 0;
    if (known || (!answer.exact && entry->value >= value)) return;
  }
  s.count += entry->value < 0;
  *entry = {key, value, answer.feature, answer.rank};
}

}  // namespace boscage::optimal
