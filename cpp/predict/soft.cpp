// Soft trees from scores that are already known: all nodes for a few rows at a time, rows side by side.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/array.hpp"
#include "predict/predict.hpp"

namespace boscage {

namespace {

constexpr int64_t kRows = 64;  // rows at once: the reach of all nodes stays in the cache

// Reach of both children from that of their parent.
void divide(Routing routing, const double* score, double threshold, const double* reach, double* left, double* right,
            int64_t count) {
  if (routing == Routing::linear) {
    for (int64_t i = 0; i < count; ++i) {
      const double tilt = std::min(1.0, std::max(-1.0, score[i] - threshold));
      left[i] = reach[i] * ((1.0 - tilt) / 2.0);
      right[i] = reach[i] * ((1.0 + tilt) / 2.0);
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    left[i] = reach[i] * (1.0 / (1.0 + std::exp(score[i] - threshold)));
    right[i] = reach[i] * (1.0 / (1.0 + std::exp(threshold - score[i])));
  }
}

}  // namespace

bool Predictor::takes_scores() const {
  if (tree_.routing == Routing::hard || tree_.weights.is_sparse() || !tree_.coef.empty()) return false;
  return std::all_of(tree_.feature.begin(), tree_.feature.end(), [](int32_t f) { return f < 0; });
}

void Predictor::soft_proba(Span<const double> scores, int64_t rows, double* out, int threads, Control& control) const {
  if (!takes_scores() || scores.size() != rows * tree_.weights.rows)
    throw std::invalid_argument("scores need one row for each linear test of a soft tree.");
  const int64_t nodes = tree_.feature.size();
  const int64_t k = tree_.classes, blocks = (rows + kRows - 1) / kRows;
  Pool pool(static_cast<int>(std::clamp<int64_t>(blocks, 1, std::max(threads, 1))));
  struct Scratch {
    Array<double> reach, classes;
  };
  Array<Scratch> scratch(pool.threads());
  pool.parallel_for(blocks, [&](int64_t block, int thread) {
    control.check();
    auto& [reach, classes] = scratch[thread];
    reach.resize(nodes * kRows);
    classes.assign(k * kRows, 0.0);
    const int64_t begin = block * kRows, count = std::min(kRows, rows - begin);
    std::fill_n(reach.data(), count, 1.0);
    for (int64_t node = 0; node < nodes; ++node) {
      const double* mine = reach.data() + node * kRows;
      if (tree_.feature[node] != kLeaf) {
        divide(tree_.routing, scores.data() + tree_.linear_row[node] * rows + begin, tree_.threshold[node], mine,
               reach.data() + tree_.children_left[node] * kRows, reach.data() + tree_.children_right[node] * kRows,
               count);
        continue;
      }
      const double* value = tree_.leaf_value.empty() ? tree_.value.data() + static_cast<int64_t>(node) * k
                                                     : tree_.leaf_value.data() + leaf_index_[node] * k;
      for (int64_t c = 0; c < k; ++c) {
        double* sum = classes.data() + c * kRows;
        for (int64_t i = 0; i < count; ++i) sum[i] += mine[i] * value[c];
      }
    }
    for (int64_t i = 0; i < count; ++i)
      for (int64_t c = 0; c < k; ++c) out[(begin + i) * k + c] = classes[c * kRows + i];
  });
}

}  // namespace boscage
