#include "online/rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace boscage::online {

namespace {

// Squares and their sums stay finite; every finite float is small enough.
template <class T>
constexpr T largest_value = std::numeric_limits<float>::max();
template <>
constexpr double largest_value<double> = 1e150;

template <class T>
void check_values(const T* values, int64_t size) {
  constexpr int64_t block = 4096;  // without an exit inside, the loop uses wide registers
  for (int64_t start = 0; start < size; start += block) {
    const int64_t end = std::min(size, start + block);
    int bad = 0;
    // Written so that NaN fails too.
    for (int64_t i = start; i < end; ++i) bad |= !(std::fabs(values[i]) <= largest_value<T>);
    if (bad != 0) {
      throw std::invalid_argument(
          "X holds NaN, infinity or a value above 1e150 in size; give finite values and rescale huge columns");
    }
  }
}

}  // namespace

void check_batch(const Batch& batch) {
  const int64_t size = batch.sparse() ? batch.entries : batch.rows * batch.features;
  if (batch.data32 != nullptr) check_values(batch.data32, size);
  if (batch.data64 != nullptr) check_values(batch.data64, size);
  if (!batch.sparse()) return;
  for (int64_t row = 0; row < batch.rows; ++row) {
    const int64_t begin = batch.indptr[row], end = batch.indptr[row + 1];
    if (begin < 0 || begin > end || end > batch.entries) throw std::invalid_argument("X.indptr is not valid");
    for (int64_t at = begin; at < end; ++at) {
      const int64_t least = at == begin ? 0 : int64_t{batch.indices[at - 1]} + 1;
      if (batch.indices[at] < least || batch.indices[at] >= batch.features) {
        throw std::invalid_argument("X.indices must increase within each row and stay below " +
                                    std::to_string(batch.features));
      }
    }
  }
}

void read_row(const Batch& batch, int64_t row, bool want_sparse, RawRow& out) {
  out.sparse = want_sparse;
  out.indices.clear();
  if (want_sparse) {
    out.values.clear();
    const int64_t begin = batch.sparse() ? batch.indptr[row] : row * batch.features;
    const int64_t end = batch.sparse() ? batch.indptr[row + 1] : begin + batch.features;
    for (int64_t at = begin; at < end; ++at) {
      const double value = batch.value(at);
      if (value == 0) continue;
      out.values.push_back(value);
      out.indices.push_back(batch.sparse() ? batch.indices[at] : static_cast<int32_t>(at - begin));
    }
    return;
  }
  out.values.resize(batch.features);
  double* values = out.values.data();
  if (batch.sparse()) {
    out.values.assign(batch.features, 0.0);
    for (int64_t at = batch.indptr[row]; at < batch.indptr[row + 1]; ++at) values[batch.indices[at]] = batch.value(at);
  } else if (batch.data32 != nullptr) {
    const float* from = batch.data32 + row * batch.features;
    for (int64_t j = 0; j < batch.features; ++j) values[j] = static_cast<double>(from[j]);
  } else {
    const double* from = batch.data64 + row * batch.features;
    for (int64_t j = 0; j < batch.features; ++j) values[j] = from[j];
  }
}

}  // namespace boscage::online
