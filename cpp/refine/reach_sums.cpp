#include "refine/reach_sums.hpp"

#include <algorithm>

#include "base/index.hpp"
#include "refine/product.hpp"

namespace boscage::refine {

PairwiseSum reach_sums(const ReachedRows& rows, int64_t first_block, Pool& pool, Control& control) {
  const int64_t leaves = rows.leaves, width = leaves + rows.outputs, panels = padded<double>(width) / kLane<double>;
  const int64_t out_stride = panels * kLane<double>;
  const auto add = [&](int64_t begin, int64_t end, int, double* sums) {
    const int64_t count = end - begin;
    Array<double> left(leaves * count), right(panels * count * kLane<double>, 0.0), out(leaves * out_stride);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = begin + i;
      const double weight = rows.weight.empty() ? 1.0 : rows.weight[row];
      const double *reach = rows.reach + row * leaves, *target = rows.target + row * rows.outputs;
      for (int64_t leaf = 0; leaf < leaves; ++leaf) left[leaf * count + i] = weight * reach[leaf];
      for (int64_t panel = 0; panel < panels; ++panel) {
        double* to = right.data() + (panel * count + i) * kLane<double>;
        for (int64_t c = panel * kLane<double>; c < std::min(width, (panel + 1) * kLane<double>); ++c)
          *to++ = c < leaves ? reach[c] : target[c - leaves];
      }
    }
    multiply(left.data(), count, right.data(), count, panels, out.data(), out_stride, 0, leaves);
    for (int64_t leaf = 0; leaf < leaves; ++leaf)
      std::copy_n(out.data() + leaf * out_stride, width, sums + leaf * width);
  };
  return sum_rows(rows.rows, first_block, to_size(leaves * width), pool, control, add);
}

}  // namespace boscage::refine
