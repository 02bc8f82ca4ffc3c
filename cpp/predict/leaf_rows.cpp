#include "predict/leaf_rows.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "base/array.hpp"

namespace boscage {

namespace {

constexpr int64_t kBlockRows = 256;
constexpr double kRounding = 1e-12;  // of a level: sums of shares are not exact

}  // namespace

LeafRows::LeafRows(Span<const uint32_t> leaf, Span<const int64_t> nodes, Span<const double> weight)
    : first_(nodes.size()), order_(leaf.size()), weight_(weight.begin(), weight.end()) {
  if (nodes.empty() || leaf.size() % nodes.size() != 0) throw std::invalid_argument("leaf needs a line for each tree.");
  const int64_t n = leaf.size() / nodes.size();
  rows_ = static_cast<int64_t>(n);
  if (n > std::numeric_limits<uint32_t>::max()) throw std::invalid_argument("too many rows.");
  if (!weight_.empty() && weight_.size() != n) throw std::invalid_argument("weight needs a number for each row.");
  for (int64_t tree = 0; tree < nodes.size(); ++tree) {
    const auto line = leaf.subspan(tree * n, n);
    auto& first = first_[tree];
    first.assign((std::max<int64_t>(nodes[tree], 0)) + 1, 0);
    for (const uint32_t node : line) {
      if (int64_t{node} + 1 >= first.size()) throw std::invalid_argument("a leaf is not a node of its tree.");
      ++first[node + 1];
    }
    for (int64_t node = 1; node < first.size(); ++node) first[node] += first[node - 1];
    auto next = first;
    for (int64_t row = 0; row < n; ++row) order_[tree * n + next[line[row]]++] = static_cast<uint32_t>(row);
  }
}

void LeafRows::gather(const int64_t* reached, Span<const int64_t> rank, Array<Entry>& entries) const {
  entries.clear();
  for (int64_t tree = 0; tree < first_.size(); ++tree) {
    const auto& first = first_[tree];
    const auto node = reached[tree];
    if (reached[tree] < 0 || node + 1 >= first.size()) throw std::invalid_argument("a leaf is not a node of its tree.");
    const auto rows = Span(order_).subspan(tree * rows_ + first[node], first[node + 1] - first[node]);
    double all = weight_.empty() ? static_cast<double>(rows.size()) : 0.0;
    if (!weight_.empty())
      for (const uint32_t row : rows) all += weight_[row];
    for (const uint32_t row : rows) entries.push_back({rank[row], (weight_.empty() ? 1.0 : weight_[row]) / all});
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.rank < b.rank; });
}

void LeafRows::quantiles(Span<const int64_t> reached, Span<const int64_t> rank, Span<const double> levels, int64_t* out,
                         int threads, Control& control) const {
  const int64_t wide = trees(), count = reached.size() / wide;
  if (reached.size() != count * wide) throw std::invalid_argument("reached needs all trees.");
  if (rank.size() != rows_) throw std::invalid_argument("rank needs a number for each row.");
  Pool pool(std::max(threads, 1));
  Array<Array<Entry>> scratch(pool.threads());
  pool.parallel_for((count + kBlockRows - 1) / kBlockRows, [&](int64_t block, int thread) {
    auto& entries = scratch[thread];
    for (int64_t row = block * kBlockRows; row < std::min(count, (block + 1) * kBlockRows); ++row) {
      control.check();
      gather(reached.data() + row * wide, rank, entries);
      double all = 0;
      for (const Entry& entry : entries) all += entry.weight;
      for (int64_t q = 0; q < levels.size(); ++q) {
        double below = 0;
        int64_t found = entries.empty() ? -1 : entries.back().rank;
        for (const Entry& entry : entries) {
          below += entry.weight;
          if (below >= (levels[q] - kRounding) * all) {
            found = entry.rank;
            break;
          }
        }
        out[row * levels.size() + q] = found;
      }
    }
  });
}

}  // namespace boscage
