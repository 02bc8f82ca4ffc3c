// When a column counts as constant.
#pragma once

namespace boscage {

// A column that varies by less is constant: the reciprocal of a much smaller deviation is no number.
constexpr double kSmallestDeviation = 1e-290;
// So is one whose numbers differ by their last rounding alone.
constexpr double kRelativeNoise = 0x1p-52;

// `size` is the absolute value of the column's numbers, about.
inline bool is_spread(double deviation, double size) {
  return deviation > kSmallestDeviation && deviation > kRelativeNoise * size;
}

}  // namespace boscage
