// How the tests see a row: z = s (scale * (x - shift), constant), s = 1 / norm or 1. X itself is never rewritten.
//
// Frame: the map and one reciprocal norm per row. Everything that is linear in z is folded back to x: a test w
// becomes theta = w * scale and an offset. Also the rows, labels and weights a learner reads: TrainingRows.
// Must not know tests' quality, nodes or trees.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "base/index.hpp"
#include "base/parallel.hpp"
#include "data/matrix.hpp"
#include "data/rows.hpp"
#include "families/stochastic/units.hpp"
#include "numeric/pairwise_sum.hpp"

namespace boscage::stochastic {

template <class T>
class Tile;

// m numbers v from -1 to 1 are as m pairs of classes, between each of which one of them lies, so that the Gini index of
// the 2 m weights is a multiple of the sum of the variances plus a constant; a last channel holds their squares, for
// reports.
constexpr int32_t number_channels(int32_t outputs) { return 2 * outputs + 1; }
inline double number_share(const double* v, int32_t outputs, int32_t channel) {
  if (channel < 2 * outputs) {
    const double x = v[channel / 2];
    return (channel % 2 == 0 ? 1 - x : 1 + x) * (0.5 / outputs);
  }
  double squares = 0;
  for (int32_t j = 0; j < outputs; ++j) squares += v[j] * v[j];
  return squares;
}

enum class Scale { standard, unit, none };

struct FrameSettings {
  Scale scale = Scale::standard;
  bool has_constant = true;
  double constant = 1.0;
};

struct Frame {
  int64_t columns = 0;
  std::vector<double> shift, factor;  // empty: 0 and 1
  bool centre_late = false;           // sums and scores are made of x and centred afterwards, by correction terms
  bool has_constant = false;
  double constant = 0;
  bool unit_rows = false;
  std::vector<double> norm;  // reciprocal norms, one per row; empty: 1

  int64_t width() const { return columns + (has_constant ? 1 : 0); }
};

template <class Rows>
struct TrainingRows {
  Rows X;
  std::span<const int32_t> label;  // classes
  std::span<const double> weight;  // empty: 1
  int32_t classes = 0;
  std::span<const double> value = {};  // numbers, from -1 to 1: rows x outputs
  int32_t outputs = 1;

  bool is_numbers() const { return !value.empty(); }
  const double* values(int64_t row) const { return value.data() + row * outputs; }
  // Channels that tests are chosen by, and all.
  int32_t decided() const { return is_numbers() ? 2 * outputs : classes; }
  int32_t channels() const { return is_numbers() ? number_channels(outputs) : classes; }
  // Calls add(channel, share of the row's weight in it) for the first channels of a row.
  template <class Add>
  void for_channels(int64_t row, int32_t count, const Add& add) const {
    if (!is_numbers()) return add(label[to_size(row)], 1.0);
    for (int32_t k = 0; k < count; ++k) add(k, number_share(values(row), outputs, k));
  }

  int64_t size() const { return X.rows; }
  double weight_of(int64_t row) const { return weight.empty() ? 1.0 : weight[to_size(row)]; }
};

// Centre and spread of the columns (of the given range), then the norms. Rows used as given must have norm at most 1.
template <class Rows>
Frame make_frame(const TrainingRows<Rows>& rows, const FrameSettings& settings, const Range& range,
                 const ColumnUnits& units, Pool& pool, const Control& control);

// The steps of make_frame, for rows that come block by block: sums over blocks, reduced pairwise, give the means, then
// the variances, then the frame; norms are measured tile by tile.

// A power of two by which weights are multiplied so that they sum to at most 1. Any power gives the same bits in the
// end: sums are divided by that of the weights.
double weight_unit(double total);
// The columns, then the weight.
template <class Rows>
void add_to_mean(const TrainingRows<Rows>& rows, int64_t row, double unit, double* sum);
// Squares of distances; sparse rows add the weight of their entries behind them.
template <class Rows>
void add_to_variance(const TrainingRows<Rows>& rows, int64_t row, double unit, const std::vector<double>& shift,
                     const std::vector<double>& per_unit, double* sum);
// 1 / unit of each column, 0 for a constant one.
std::vector<double> units_of(const Range& range);
// The means out of the sums of add_to_mean, inside the range.
std::vector<double> to_shift(const std::vector<double>& sums, const Range& range, const ColumnUnits& units);
// Reciprocal deviations; 0 for a constant column, and for one whose deviation in its own units is below 1e-290.
std::vector<double> to_factor(const std::vector<double>& variance, const Range& range, const ColumnUnits& units);

// The frame without norms; shift and factor are empty unless the scale is standard.
Frame assemble(int64_t columns, const FrameSettings& settings, std::vector<double> shift, std::vector<double> factor,
               bool is_sparse);
// Reciprocal norms of rows begin .. end - 1. Rows used as given are only checked: `first` is added to row numbers in
// the message.
template <class Rows>
void measure_norms(const Frame& frame, const Rows& X, int64_t begin, int64_t end, int64_t first, double* norm);
// The same for the rows of a tile, of which the first is row `begin` of X.
template <class T>
void measure_tile(const Frame& frame, Tile<T>& tile, const Matrix<T>& X, int64_t begin, int64_t first, double* norm);

}  // namespace boscage::stochastic
