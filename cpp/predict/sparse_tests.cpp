#include "predict/sparse_tests.hpp"

#include <algorithm>

#include "base/array.hpp"
#include "base/lanes.hpp"

namespace boscage {

namespace {

// Scores of eight rows at once; the terms of a test come in the order of their columns.
BOSCAGE_CLONES void score_kernel(const TestTerm* terms, int32_t count, const double* first, int64_t stride,
                                 const uint32_t* rows, int64_t size, double* out) {
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    const double* row[kLanes];
    for (int g = 0; g < kLanes; ++g) row[g] = first + rows[i + g] * stride;
    Lanes sums[8] = {};
    for (int32_t k = 0; k < count; ++k) {
      const int32_t j = terms[k].column;
      const Lanes x{row[0][j], row[1][j], row[2][j], row[3][j], row[4][j], row[5][j], row[6][j], row[7][j]};
      sums[terms[k].lane] += terms[k].weight * x;
    }
    store(out + i, ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7])));
  }
  for (; i < size; ++i) {
    const double* row = first + rows[i] * stride;
    double lane[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (int32_t k = 0; k < count; ++k) lane[terms[k].lane] += terms[k].weight * row[terms[k].column];
    out[i] = ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
  }
}

// Rows that go right are moved to the end; the number of those that stay. Both sides keep their order.
template <class Score>
int64_t divide(Span<uint32_t> rows, double threshold, Array<uint32_t>& moved, const Score& score) {
  uint32_t *left = rows.data(), *right = moved.data();
  for (int64_t i = 0; i < rows.size(); ++i) {
    const uint32_t row = rows[i];
    const bool is_right = score(row, i) > threshold;
    *left = row;
    *right = row;
    left += !is_right;
    right += is_right;
  }
  std::copy(moved.data(), right, left);
  return (left - rows.data());
}

}  // namespace

void divide_by_tests(const SparseTests& tree, const double* first, int64_t stride, DivideScratch& scratch,
                     int64_t* leaves) {
  auto& open = scratch.open;
  scratch.moved.resize(scratch.rows.size());
  scratch.scores.resize(scratch.rows.size());
  open.assign(1, {0, 0, static_cast<int32_t>(scratch.rows.size())});
  while (!open.empty()) {
    const auto [number, begin, end] = open.back();
    open.pop_back();
    const SparseTest& node = tree.nodes[number];
    const auto rows = Span(scratch.rows).subspan(begin, end - begin);
    if (rows.empty()) continue;
    if (node.left < 0) {
      for (const uint32_t row : rows) leaves[row] = number;
      continue;
    }
    const TestTerm* terms = tree.terms.data() + node.begin;
    int64_t kept;
    if (node.terms == 1 && terms->weight == 1.0) {
      const double* column = first + terms->column;
      kept = divide(rows, node.threshold, scratch.moved, [&](uint32_t row, int64_t) { return column[row * stride]; });
    } else {
      score_kernel(terms, node.terms, first, stride, rows.data(), rows.size(), scratch.scores.data());
      kept = divide(rows, node.threshold, scratch.moved, [&](uint32_t, int64_t i) { return scratch.scores[i]; });
    }
    const int32_t middle = begin + static_cast<int32_t>(kept);
    open.push_back({node.right, middle, end});
    open.push_back({node.left, begin, middle});
  }
}

}  // namespace boscage
