#include "families/oblique/column_scale.hpp"

#include "data/survey.hpp"

namespace boscage {

namespace {

constexpr double kSmallestHalf = 1e-290;

}  // namespace

void scale_by_range(const AnyRows& X, std::span<const double> weight, Pool& pool, const Control& control,
                    Scaling& scaling) {
  const ColumnRanges ranges =
      std::visit([&](const auto& rows) { return column_ranges(rows, weight, pool, control); }, X);
  for (size_t j = 0; j < scaling.inverse.size(); ++j) {
    if (!(scaling.inverse[j] > 0)) continue;  // constant, or missing everywhere
    const double half = 0.5 * ranges.high[j] - 0.5 * ranges.low[j];
    scaling.centre[j] = 0.5 * ranges.low[j] + 0.5 * ranges.high[j];
    scaling.inverse[j] = half > kSmallestHalf ? 1.0 / half : 0.0;
  }
}

}  // namespace boscage
