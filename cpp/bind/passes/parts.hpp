// What passes over rows in batches share: arrays of rows in, sums of blocks out.
#pragma once

#include <nanobind/stl/tuple.h>

#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/run.hpp"
#include "families/stochastic/batches.hpp"

namespace boscage::bind {

using Parts = std::tuple<nb::object, nb::object, nb::object>;

inline std::vector<double> copy(const In1<double>& array) { return {array.data(), array.data() + array.size()}; }

// (levels, indices, sums) of the parts of a reduction.
inline Parts give_parts(const PairwiseSum& sum, size_t size) {
  std::vector<int64_t> levels, indices;
  std::vector<double> sums;
  for (const auto& part : sum.parts()) {
    levels.push_back(part.level);
    indices.push_back(part.index);
    sums.insert(sums.end(), part.sums.begin(), part.sums.end());
  }
  const size_t n = levels.size();
  return {nb::cast(give(std::move(levels))), nb::cast(give(std::move(indices))),
          nb::cast(give(std::move(sums), {n, size}))};
}

// Up to this many numbers a pass is over before a thread of its own would have started.
constexpr size_t kShortPass = 1 << 15;

// Sums of blocks: add(begin, end, thread, sums) of each.
template <class T, class Add>
Parts sum_over(const Strided2<T>& X, int64_t first_block, size_t size, int threads, Add add) {
  std::optional<PairwiseSum> sum;
  run(X.size() <= kShortPass, nb::none(), [&](Control& control) {
    Pool pool(threads);
    sum = sum_rows(static_cast<int64_t>(X.shape(0)), first_block, size, pool, control, add);
  });
  return give_parts(*sum, size);
}

inline void check_labels(std::span<const int32_t> y, int32_t classes) {
  for (const int32_t label : y)
    if (label < 0 || label >= classes) throw std::invalid_argument("y holds a class that is not known.");
}

}  // namespace boscage::bind
