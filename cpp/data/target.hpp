// What is to be predicted: the class of each row, or one or more numbers; and how much a row counts. Borrowed.
#pragma once

#include <cstdint>

#include "base/array.hpp"

namespace boscage {

struct Target {
  Span<const int32_t> label;  // classes
  int32_t classes = 0;
  Span<const double> number;  // numbers: rows x outputs
  int32_t outputs = 0;
  Span<const double> weight;  // on a grid on which sums are exact; empty: every row counts 1

  bool is_numbers() const { return outputs > 0; }
  int64_t rows() const { return is_numbers() ? number.size() / outputs : label.size(); }
  double weight_of(uint32_t row) const { return weight.empty() ? 1.0 : weight[row]; }
};

}  // namespace boscage
