#include "online/distinct.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/array.hpp"
#include "base/rng.hpp"

namespace boscage::online {

namespace {

// Calls visit(column, value) for the entries that are not zero.
template <class Visit>
void for_entries(const Batch& batch, int64_t row, const Visit& visit) {
  const int64_t begin = batch.sparse() ? batch.indptr[row] : row * batch.features;
  const int64_t end = batch.sparse() ? batch.indptr[row + 1] : begin + batch.features;
  for (int64_t at = begin; at < end; ++at) {
    const double value = batch.value(at);
    if (value != 0) visit(batch.sparse() ? int64_t{batch.indices[at]} : at - begin, value);
  }
}

struct Key {
  uint64_t hash = 0;
  int32_t label = 0;
  int64_t row = 0;
};

Array<std::pair<int64_t, double>> entries(const Batch& batch, int64_t row) {
  Array<std::pair<int64_t, double>> out;
  for_entries(batch, row, [&](int64_t column, double value) { out.emplace_back(column, value); });
  return out;
}

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2^64 divided by the golden ratio

}  // namespace

DistinctRows distinct_rows(const Batch& batch, const int32_t* labels, const double* weights) {
  Array<Key> keys;
  keys.reserve(batch.rows);
  for (int64_t row = 0; row < batch.rows; ++row) {
    if (weights != nullptr && !(weights[row] > 0)) continue;
    uint64_t hash = mix(static_cast<uint64_t>(labels[row]) + kGolden);
    for_entries(batch, row, [&](int64_t column, double value) {
      hash = mix(hash ^ std::bit_cast<uint64_t>(value)) + kGolden * static_cast<uint64_t>(column + 1);
    });
    keys.push_back({mix(hash), labels[row], row});
  }
  // Hashes hardly ever collide; when they do, the contents decide.
  std::sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
    if (a.hash != b.hash) return a.hash < b.hash;
    if (a.label != b.label) return a.label < b.label;
    return a.row != b.row && entries(batch, a.row) < entries(batch, b.row);
  });
  DistinctRows out;
  Array<double> own;
  for (int64_t i = 0; i < keys.size();) {
    int64_t end = i + 1;
    while (end < keys.size() && keys[end].hash == keys[i].hash && keys[end].label == keys[i].label &&
           entries(batch, keys[end].row) == entries(batch, keys[i].row)) {
      ++end;
    }
    own.clear();
    for (int64_t at = i; at < end; ++at) own.push_back(weights == nullptr ? 1.0 : weights[keys[at].row]);
    std::sort(own.begin(), own.end());
    out.rows.push_back(keys[i].row);
    out.weights.push_back(std::accumulate(own.begin(), own.end(), 0.0));
    i = end;
  }
  return out;
}

}  // namespace boscage::online
