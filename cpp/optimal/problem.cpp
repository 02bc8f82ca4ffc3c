#include "optimal/problem.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/index.hpp"
#include "base/rng.hpp"

namespace boscage::optimal {
namespace {

// An order-preserving integer of a double; -0 counts as 0.
uint64_t sortable(double value) {
  const auto bits = std::bit_cast<uint64_t>(value + 0.0);
  return bits >> 63 ? ~bits : bits | (1ULL << 63);
}

double from_sortable(uint64_t key) { return std::bit_cast<double>(key >> 63 ? key & ~(1ULL << 63) : ~key); }

struct Keyed {
  uint64_t key;
  uint32_t row;
};

// Least-significant-digit radix sort; digits that are the same everywhere cost one look.
void radix_sort(std::vector<Keyed>& items, std::vector<Keyed>& spare) {
  constexpr int kBits = 11, kDigits = 6, kSize = 1 << kBits;
  const size_t n = items.size();
  std::vector<uint32_t> counts(kDigits * kSize, 0);
  for (const Keyed& item : items)
    for (int d = 0; d < kDigits; ++d) ++counts[d * kSize + ((item.key >> (d * kBits)) & (kSize - 1))];
  spare.resize(n);
  for (int d = 0; d < kDigits; ++d) {
    uint32_t* count = counts.data() + d * kSize;
    const int shift = d * kBits;
    if (n == 0 || count[(items[0].key >> shift) & (kSize - 1)] == n) continue;
    uint32_t start = 0;
    for (int v = 0; v < kSize; ++v) start += std::exchange(count[v], start);
    for (const Keyed& item : items) spare[count[(item.key >> shift) & (kSize - 1)]++] = item;
    items.swap(spare);
  }
}

// Sorting pays for counters of all digits; few rows are faster by comparison.
void sort_keys(std::vector<Keyed>& items, std::vector<Keyed>& spare) {
  if (items.size() > 600) return radix_sort(items, spare);
  std::sort(items.begin(), items.end(),
            [](const Keyed& a, const Keyed& b) { return a.key != b.key ? a.key < b.key : a.row < b.row; });
}

struct Ranked {
  std::vector<uint32_t> kept;   // original rows of positive weight
  std::vector<uint32_t> order;  // [features][kept], positions in kept
};

template <class T>
void load_column(const Matrix& x, int64_t column, const std::vector<uint32_t>& kept, std::vector<Keyed>& keys) {
  const T* data = static_cast<const T*>(x.data) + column * x.column_stride;
  for (size_t i = 0; i < kept.size(); ++i)
    keys[i] = {sortable(static_cast<double>(data[kept[i] * x.row_stride])), static_cast<uint32_t>(i)};
}

// Ranks of the kept rows, and for rows of weight 0 the rank of the largest value not above theirs.
void rank_columns(const Matrix& x, Ranked& ranked, Problem& out, const std::function<void()>& poll) {
  const size_t n = ranked.kept.size();
  std::vector<Keyed> keys(n), spare;
  ranked.order.resize(n * out.features);
  out.values.resize(out.features);
  out.original_rank.assign(to_size(out.original_rows) * out.features, 0);
  std::vector<uint8_t> is_kept(out.original_rows, 0);
  for (const uint32_t row : ranked.kept) is_kept[row] = 1;
  for (int j = 0; j < out.features; ++j) {
    poll();
    keys.resize(n);
    x.is_double ? load_column<double>(x, j, ranked.kept, keys) : load_column<float>(x, j, ranked.kept, keys);
    sort_keys(keys, spare);
    auto& values = out.values[j];
    int32_t* rank = out.original_rank.data() + j * out.original_rows;
    for (size_t i = 0; i < n; ++i) {
      if (i == 0 || keys[i].key != keys[i - 1].key) values.push_back(from_sortable(keys[i].key));
      rank[ranked.kept[keys[i].row]] = static_cast<int32_t>(values.size()) - 1;
      ranked.order[j * n + i] = keys[i].row;
    }
    if (n == to_size(out.original_rows)) continue;
    for (int64_t row = 0; row < out.original_rows; ++row) {
      if (is_kept[row]) continue;
      const auto above = std::upper_bound(values.begin(), values.end(), x.at(row, j));
      rank[row] = std::max<int32_t>(0, static_cast<int32_t>(above - values.begin()) - 1);
    }
  }
}

// group[i] = number of the distinct row that kept row i belongs to; numbers in order of first sight.
std::vector<uint32_t> group_equal_rows(const Problem& out, const std::vector<uint32_t>& kept, uint32_t& groups,
                                       const std::function<void()>& poll) {
  const size_t n = kept.size();
  std::vector<uint64_t> hash(n, 0x9e3779b97f4a7c15ULL);
  for (int j = 0; j < out.features; ++j) {
    poll();
    const int32_t* rank = out.original_rank.data() + j * out.original_rows;
    for (size_t i = 0; i < n; ++i)
      hash[i] = (std::rotl(hash[i], 23) ^ static_cast<uint64_t>(rank[kept[i]])) * 0xd6e8feb86659fd93ULL;
  }
  const size_t size = std::bit_ceil(2 * n + 1);
  std::vector<uint32_t> slots(size, UINT32_MAX), group(n), first;
  const auto equal = [&](uint32_t a, uint32_t b) {
    for (int j = 0; j < out.features; ++j) {
      const int32_t* rank = out.original_rank.data() + j * out.original_rows;
      if (rank[kept[a]] != rank[kept[b]]) return false;
    }
    return true;
  };
  for (size_t i = 0; i < n; ++i) {
    if (i % 4096 == 0) poll();
    size_t slot = mix(hash[i]) & (size - 1);
    while (slots[slot] != UINT32_MAX) {
      const uint32_t other = first[slots[slot]];
      if (hash[other] == hash[i] && equal(other, static_cast<uint32_t>(i))) break;
      slot = (slot + 1) & (size - 1);
    }
    if (slots[slot] == UINT32_MAX) {
      slots[slot] = static_cast<uint32_t>(first.size());
      first.push_back(static_cast<uint32_t>(i));
    }
    group[i] = slots[slot];
  }
  groups = static_cast<uint32_t>(first.size());
  return group;
}

// Multiplier that makes all weights whole numbers (0: there is none below the limits).
double whole_number_factor(const std::vector<double>& weights) {
  double least = std::numeric_limits<double>::infinity(), total = 0;
  for (const double w : weights) {
    if (w > 0) least = std::min(least, w);
    total += w;
  }
  const double grain = total * 0x1p-48;  // finer than fixed point resolves
  for (int q = 1; q <= 64; ++q) {
    double sum = 0;
    const bool whole = std::all_of(weights.begin(), weights.end(), [&](double w) {
      const double r = w / least * q;
      sum += r;
      return std::abs(r - std::nearbyint(r)) <= 1e-14 * r + grain / least * q;
    });
    if (whole) return sum < 0x1p53 ? q / least : 0.0;
  }
  return 0.0;
}

// Whole numbers as they are, others in fixed point with a total of 2^46.
std::vector<int64_t> integer_weights(const std::vector<double>& weights, Problem& out) {
  constexpr double kTotal = 0x1p46;
  double factor = whole_number_factor(weights);
  const bool whole = factor > 0;
  if (!whole) factor = kTotal / std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<int64_t> result(weights.size());
  int64_t sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 0) result[i] = std::max<int64_t>(1, std::llrint(weights[i] * factor));
    sum += result[i];
  }
  out.scale = 1;
  while (whole && static_cast<double>(sum) * static_cast<double>(out.scale) * 2 <= kTotal) out.scale *= 2;
  out.narrow = sum < (1LL << 30);
  out.total = sum * out.scale;
  return result;
}

// One row per (distinct features, class); two classes: only their difference.
void merge_rows(const Ranked& ranked, const int32_t* labels, const double* weights, Problem& out,
                const std::function<void()>& poll) {
  const size_t n = ranked.kept.size();
  uint32_t groups = 0;
  const auto group = group_equal_rows(out, ranked.kept, groups, poll);
  std::vector<double> sums(to_size(groups) * out.classes, 0.0);
  for (size_t i = 0; i < n; ++i) {
    const uint32_t row = ranked.kept[i];
    sums[to_size(group[i]) * out.classes + labels[row]] += weights ? weights[row] : 1.0;
  }
  auto whole = integer_weights(sums, out);
  std::vector<uint32_t> start(groups + 1, 0);
  for (uint32_t g = 0; g < groups; ++g) {
    int64_t* w = whole.data() + to_size(g) * out.classes;
    if (out.classes == 2) {
      const int64_t both = std::min(w[0], w[1]);
      out.constant += both * out.scale;
      w[0] -= both, w[1] -= both;
    }
    for (int c = 0; c < out.classes; ++c)
      if (w[c] > 0) out.label.push_back(c), out.weight.push_back(w[c]);
    start[g + 1] = static_cast<uint32_t>(out.label.size());
  }
  out.rows = signed_size(out.label);
  out.rank.resize(to_size(out.rows) * out.features);
  out.order.resize(out.rank.size());
  std::vector<uint8_t> seen(groups);
  for (int j = 0; j < out.features; ++j) {
    poll();
    std::fill(seen.begin(), seen.end(), 0);
    uint32_t* order = out.order.data() + j * out.rows;
    const int32_t* from = out.original_rank.data() + j * out.original_rows;
    for (size_t i = 0; i < n; ++i) {
      const uint32_t place = ranked.order[j * n + i], g = group[place];
      if (std::exchange(seen[g], 1)) continue;
      for (uint32_t row = start[g]; row < start[g + 1]; ++row) {
        *order++ = row;
        out.rank[j * out.rows + row] = from[ranked.kept[place]];
      }
    }
    const int32_t *rank = out.ranks(j), last = static_cast<int32_t>(out.rows) - 1;
    const uint32_t* sorted = out.order.data() + j * out.rows;
    bool tied = false;
    for (int32_t i = 0; i < last && !tied; ++i) tied = rank[sorted[i]] == rank[sorted[i + 1]];
    out.tied.push_back(tied);
  }
}

}  // namespace

Problem make_problem(const Matrix& x, const int32_t* labels, const double* weights, double alpha,
                     const std::function<void()>& poll) {
  Problem out;
  out.features = static_cast<int>(x.columns);
  out.original_rows = x.rows;
  Ranked ranked;
  int32_t top = 0;
  for (int64_t i = 0; i < x.rows; ++i) {
    top = std::max(top, labels[i]);
    if (!weights || weights[i] > 0) ranked.kept.push_back(static_cast<uint32_t>(i));
  }
  out.classes = top + 1;
  rank_columns(x, ranked, out, poll);
  merge_rows(ranked, labels, weights, out, poll);
  out.penalty = std::llrint(std::min(alpha, 1.0) * static_cast<double>(out.total));
  out.identity.resize(out.rows);
  for (int64_t i = 0; i < out.rows; ++i) {
    const auto stream = static_cast<uint64_t>(i);
    out.identity[i] = {draw_bits(0x0b05, stream, 0), draw_bits(0x0b05, stream, 1)};
  }
  return out;
}

}  // namespace boscage::optimal
