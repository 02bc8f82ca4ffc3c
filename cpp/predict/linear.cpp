#include "predict/linear.hpp"

#include <algorithm>

#include "base/array.hpp"
#include "base/lanes.hpp"

namespace boscage {

namespace {

BOSCAGE_CLONES void walk_kernel(const LinearNode* nodes, const double* weights, int64_t width,
                                const double* const* rows, int64_t count, int32_t* leaves) {
  constexpr int64_t kTogether = 8;  // scores of different rows do not wait for each other
  for (int64_t first = 0; first < count; first += kTogether) {
    const int64_t here = std::min(kTogether, count - first);
    int32_t at[kTogether] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (bool moved = true; moved;) {
      moved = false;
      for (int64_t g = 0; g < here; ++g) {
        const LinearNode& node = nodes[at[g]];
        if (node.child[0] < 0) continue;
        const double* row = rows[first + g];
        const double score = node.test >= 0 ? dot_lanes(weights + node.test * width, row, width) : row[~node.test];
        at[g] = node.child[score > node.threshold];  // no branch: it could not be foretold
        moved = true;
      }
    }
    for (int64_t g = 0; g < here; ++g) leaves[first + g] = at[g];
  }
}

}  // namespace

void walk_linear(const Array<LinearNode>& nodes, const double* weights, int64_t width, const double* const* rows,
                 int64_t count, int32_t* leaves) {
  walk_kernel(nodes.data(), weights, width, rows, count, leaves);
}

}  // namespace boscage
