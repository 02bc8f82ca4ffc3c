#include "optimal/problem.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <variant>

#include "base/rng.hpp"
#include "data/columns.hpp"

namespace boscage::optimal {
namespace {

struct Ranked {
  Array<uint32_t> kept;   // original rows of positive weight
  Array<uint32_t> order;  // [features][kept], positions in kept
};

constexpr uint32_t kNotKept = ~0U;

// Ranks of the kept rows, and for rows of weight 0 the rank of the largest value not above theirs.
template <class T>
void rank_columns(const Matrix<T>& x, Ranked& ranked, Problem& out, const Control& control, const Poll& poll) {
  const int64_t n = ranked.kept.size();
  ranked.order.resize(n * out.features);
  out.values.resize(out.features);
  out.original_rank.assign(out.original_rows * out.features, 0);
  Array<uint32_t> place(out.original_rows, kNotKept);
  for (int64_t i = 0; i < n; ++i) place[ranked.kept[i]] = static_cast<uint32_t>(i);
  uint32_t* next = ranked.order.data();
  for (int j = 0; j < out.features; ++j) {
    poll();
    const auto sorted = sorted_rows(x, j, control);
    auto& values = out.values[j];
    int32_t* rank = out.original_rank.data() + j * out.original_rows;
    for (auto begin = sorted.begin(), end = begin; begin != sorted.end(); begin = end) {
      const uint32_t* const first = next;
      do {
        const uint32_t at = place[*end & kRowMask];
        if (at != kNotKept) *next++ = at;
      } while (++end != sorted.end() && !(*end & kNewValue));
      if (next != first) values.push_back(static_cast<double>(x(*begin & kRowMask, j)) + 0.0);  // 0 for -0
      const int32_t found = std::max<int32_t>(0, static_cast<int32_t>(values.size()) - 1);
      for (auto entry = begin; entry != end; ++entry) rank[*entry & kRowMask] = found;
    }
  }
}

// group[i] = number of the distinct row that kept row i belongs to; numbers in order of first sight.
Array<uint32_t> group_equal_rows(const Problem& out, const Array<uint32_t>& kept, int64_t& groups, const Poll& poll) {
  const int64_t n = kept.size();
  Array<uint64_t> hash(n, 0x9e3779b97f4a7c15);
  for (int j = 0; j < out.features; ++j) {
    poll();
    const int32_t* rank = out.original_rank.data() + j * out.original_rows;
    for (int64_t i = 0; i < n; ++i)
      hash[i] = (std::rotl(hash[i], 23) ^ static_cast<uint64_t>(rank[kept[i]])) * uint64_t{0xd6e8feb86659fd93};
  }
  const uint64_t mask = std::bit_ceil(static_cast<uint64_t>(2 * n + 1)) - 1;
  Array<uint32_t> slots(static_cast<int64_t>(mask + 1), UINT32_MAX), group(n), first;
  const auto equal = [&](uint32_t a, uint32_t b) {
    for (int j = 0; j < out.features; ++j) {
      const int32_t* rank = out.original_rank.data() + j * out.original_rows;
      if (rank[kept[a]] != rank[kept[b]]) return false;
    }
    return true;
  };
  for (int64_t i = 0; i < n; ++i) {
    if (i % 4096 == 0) poll();
    uint64_t slot = mix(hash[i]) & mask;
    while (slots[slot] != UINT32_MAX) {
      const uint32_t other = first[slots[slot]];
      if (hash[other] == hash[i] && equal(other, static_cast<uint32_t>(i))) break;
      slot = (slot + 1) & mask;
    }
    if (slots[slot] == UINT32_MAX) {
      slots[slot] = static_cast<uint32_t>(first.size());
      first.push_back(static_cast<uint32_t>(i));
    }
    group[i] = slots[slot];
  }
  groups = first.size();
  return group;
}

// Multiplier that makes all weights whole numbers (0: there is none below the limits).
double whole_number_factor(const Array<double>& weights) {
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
Array<int64_t> integer_weights(const Array<double>& weights, Problem& out) {
  constexpr double kTotal = 0x1p46;
  double factor = whole_number_factor(weights);
  const bool whole = factor > 0;
  if (!whole) factor = kTotal / std::accumulate(weights.begin(), weights.end(), 0.0);
  Array<int64_t> result(weights.size());
  int64_t sum = 0;
  for (int64_t i = 0; i < weights.size(); ++i) {
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
void merge_rows(const Ranked& ranked, const Target& target, Problem& out, const Poll& poll) {
  const int64_t n = ranked.kept.size();
  int64_t groups = 0;
  const auto group = group_equal_rows(out, ranked.kept, groups, poll);
  Array<double> sums(groups * out.classes, 0.0);
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t row = ranked.kept[i];
    sums[int64_t{group[i]} * out.classes + target.label[row]] += target.weight_of(row);
  }
  auto whole = integer_weights(sums, out);
  Array<uint32_t> start(groups + 1, 0);
  for (int64_t g = 0; g < groups; ++g) {
    int64_t* w = whole.data() + g * out.classes;
    if (out.classes == 2) {
      const int64_t both = std::min(w[0], w[1]);
      out.constant += both * out.scale;
      w[0] -= both, w[1] -= both;
    }
    for (int c = 0; c < out.classes; ++c)
      if (w[c] > 0) out.label.push_back(c), out.weight.push_back(w[c]);
    start[g + 1] = static_cast<uint32_t>(out.label.size());
  }
  out.rows = out.label.size();
  out.rank.resize(out.rows * out.features);
  out.order.resize(out.rank.size());
  Array<uint8_t> seen(groups);
  for (int j = 0; j < out.features; ++j) {
    poll();
    std::fill(seen.begin(), seen.end(), 0);
    uint32_t* order = out.order.data() + j * out.rows;
    const int32_t* from = out.original_rank.data() + j * out.original_rows;
    for (int64_t i = 0; i < n; ++i) {
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

Problem make_problem(const DataTable& table, const Target& target, double alpha, const Control& control,
                     const Poll& poll) {
  Problem out;
  out.features = static_cast<int>(table.columns());
  out.original_rows = table.size();
  out.classes = target.classes;
  Ranked ranked;
  for (uint32_t row = 0; row < out.original_rows; ++row)
    if (target.weight_of(row) > 0) ranked.kept.push_back(row);
  std::visit(
      [&](const auto& x) {
        if constexpr (requires { x.column_stride; }) {
          rank_columns(x, ranked, out, control, poll);
        } else {
          throw std::invalid_argument("the optimal search takes dense rows only.");
        }
      },
      table.rows());
  merge_rows(ranked, target, out, poll);
  out.penalty = std::llrint(std::min(alpha, 1.0) * static_cast<double>(out.total));
  out.identity.resize(out.rows);
  for (int64_t i = 0; i < out.rows; ++i) {
    const auto stream = static_cast<uint64_t>(i);
    out.identity[i] = {draw_bits(0x0b05, stream, 0), draw_bits(0x0b05, stream, 1)};
  }
  return out;
}

}  // namespace boscage::optimal
