#include "families/stochastic/frame.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "base/dot.hpp"
#include "base/index.hpp"
#include "data/row_map.hpp"
#include "families/stochastic/tile.hpp"
#include "numeric/deviation.hpp"

namespace boscage::stochastic {

namespace {

// Sums over blocks of rows, blocks in parallel, reduced by number: add(row, block's sums).
template <class Rows, class Add>
std::vector<double> sum_blocks(const TrainingRows<Rows>& rows, size_t size, Pool& pool, const Control& control,
                               Add add) {
  return sum_rows(rows.size(), 0, size, pool, control,
                  [&](int64_t begin, int64_t end, int, double* sums) {
                    for (int64_t row = begin; row < end; ++row) add(row, sums);
                  })
      .total();
}

double square_away(const std::vector<double>& shift, const std::vector<double>& per_unit, size_t j, double x) {
  const double away = (x - shift[j]) * per_unit[j];
  return away * away;
}

// Weighted means and standard deviations; a constant column gets factor 0.
template <class Rows>
std::pair<std::vector<double>, std::vector<double>> standardise(const TrainingRows<Rows>& rows, const Range& range,
                                                                const ColumnUnits& units, Pool& pool,
                                                                const Control& control) {
  const auto d = to_size(rows.X.columns);
  const double unit = weight_unit(
      sum_blocks(rows, 1, pool, control, [&](int64_t row, double* sum) { sum[0] += rows.weight_of(row); })[0]);
  const auto mean =
      sum_blocks(rows, d + 1, pool, control, [&](int64_t row, double* sum) { add_to_mean(rows, row, unit, sum); });
  auto shift = to_shift(mean, range, units);
  const auto per_unit = units_of(range);
  auto variance = sum_blocks(rows, is_sparse<Rows> ? 2 * d : d, pool, control,
                             [&](int64_t row, double* sum) { add_to_variance(rows, row, unit, shift, per_unit, sum); });
  for (size_t j = 0; j < d; ++j) {
    if constexpr (is_sparse<Rows>) {
      const double absent = std::max(0.0, mean[d] - variance[d + j]);
      variance[j] += absent * square_away(shift, per_unit, j, 0.0);
    }
    variance[j] /= mean[d];
  }
  variance.resize(d);
  return {std::move(shift), to_factor(variance, range, units)};
}

// Correction terms cost no time in the passes; columns far from 0 for their spread would lose digits by them, and so
// are centred number by number, unless the zeros of sparse rows forbid it.
bool may_centre_late(const Frame& frame, bool is_sparse) {
  if (is_sparse) return true;
  for (size_t j = 0; j < frame.shift.size(); ++j)
    if (std::abs(frame.shift[j]) * frame.factor[j] > 100) return false;
  return true;
}

double seen(const Frame& frame, size_t j, double x) {
  if (!frame.shift.empty()) x -= frame.shift[j];
  return frame.factor.empty() ? x : x * frame.factor[j];
}

// Norm of a row in which squares can overflow or vanish.
template <class Rows>
double careful_norm(const Frame& frame, const Rows& X, int64_t row) {
  std::vector<double> z(to_size(frame.columns));
  for (size_t j = 0; j < z.size(); ++j) z[j] = seen(frame, j, 0.0);
  for_entries(X, row, [&](int64_t j, double x) { z[to_size(j)] = seen(frame, to_size(j), x); });
  if (frame.has_constant) z.push_back(frame.constant);
  double largest = 0;
  for (const double x : z) largest = std::max(largest, std::abs(x));
  if (!(largest > 0)) return 0;
  for (double& x : z) x /= largest;
  return largest * std::sqrt(dot(z.data(), z.data(), signed_size(z)));
}

// |z|² of the row of zeros, what sparse rows start from.
double square_of_zero(const Frame& frame) {
  LaneSum sum;
  for (size_t j = 0; j < frame.shift.size(); ++j) {
    const double z = seen(frame, j, 0.0);
    sum.add(static_cast<int64_t>(j), z * z);
  }
  return sum.total();
}

// Squares in this range have lost no digits.
bool is_exact(double square) { return square > 1e-200 && square < 1e200; }

template <class Rows>
double sparse_norm(const Frame& frame, const Rows& X, int64_t row, double zero_square) {
  LaneSum squares, removed;
  for_entries(X, row, [&](int64_t j, double x) {
    const double z = seen(frame, to_size(j), x);
    squares.add(j, z * z);
    if (frame.shift.empty()) return;
    const double before = seen(frame, to_size(j), 0.0);
    removed.add(j, before * before);
  });
  double square = squares.total() + frame.constant * frame.constant;
  const double rest = zero_square - removed.total();
  if (rest < 1e-6 * zero_square && square < 1e-6 * zero_square) return careful_norm(frame, X, row);
  square += std::max(rest, 0.0);
  return is_exact(square) ? std::sqrt(square) : careful_norm(frame, X, row);
}

[[noreturn]] void refuse_norm(int64_t row, double norm) {
  throw std::invalid_argument("scale=False needs rows of norm at most 1, but row " + std::to_string(row) +
                              " of X has norm " + std::to_string(norm) +
                              ". Pass scale='unit' or scale='standard', or divide the rows.");
}

}  // namespace

double weight_unit(double total) {
  int exponent = 0;
  std::frexp(total, &exponent);
  return std::ldexp(1.0, -exponent);
}

template <class Rows>
void add_to_mean(const TrainingRows<Rows>& rows, int64_t row, double unit, double* sum) {
  const double share = rows.weight_of(row) * unit;
  for_entries(rows.X, row, [&](int64_t j, double x) { sum[j] += share * x; });
  sum[rows.X.columns] += share;
}

template <class Rows>
void add_to_variance(const TrainingRows<Rows>& rows, int64_t row, double unit, const std::vector<double>& shift,
                     const std::vector<double>& per_unit, double* sum) {
  const double share = rows.weight_of(row) * unit;
  for_entries(rows.X, row, [&, centre = shift.data(), scale = per_unit.data()](int64_t j, double x) {
    const double away = (x - centre[j]) * scale[j];
    sum[j] += share * (away * away);
    if constexpr (is_sparse<Rows>) sum[rows.X.columns + j] += share;
  });
}

std::vector<double> units_of(const Range& range) {
  std::vector<double> per_unit(range.low.size(), 0.0);
  for (size_t j = 0; j < per_unit.size(); ++j)
    if (range.is_wide(j)) per_unit[j] = 1 / range.unit(j);
  return per_unit;
}

std::vector<double> to_shift(const std::vector<double>& sums, const Range& range, const ColumnUnits& units) {
  std::vector<double> shift(sums.begin(), sums.end() - 1);
  for (size_t j = 0; j < shift.size(); ++j)
    shift[j] = units.settle(std::clamp(shift[j] / sums.back(), range.low[j], range.high[j]), j);
  return shift;
}

std::vector<double> to_factor(const std::vector<double>& variance, const Range& range, const ColumnUnits& units) {
  std::vector<double> factor(variance.size(), 0.0);
  for (size_t j = 0; j < factor.size(); ++j) {
    if (!range.is_wide(j)) continue;
    const double deviation = range.unit(j) * std::sqrt(variance[j]);
    const double centre = units.is_empty() ? 0.0 : units.centre[j], unit = units.is_empty() ? 1.0 : units.unit[j];
    const double largest = std::max(range.largest(j), std::abs(centre) * unit);
    if (is_spread(deviation / unit, largest / unit)) factor[j] = 1 / deviation;
  }
  return factor;
}

Frame assemble(int64_t columns, const FrameSettings& settings, std::vector<double> shift, std::vector<double> factor,
               bool is_sparse) {
  Frame frame;
  frame.columns = columns;
  frame.has_constant = settings.has_constant;
  frame.unit_rows = settings.scale != Scale::none;
  frame.constant = settings.has_constant ? settings.constant : 0.0;
  frame.shift = std::move(shift);
  frame.factor = std::move(factor);
  if (!frame.unit_rows && frame.has_constant) {  // (x, b) / sqrt(1 + b²) has norm at most 1
    constexpr double kHuge = 1e150;              // its square would overflow
    const double b = settings.constant, shrink = b < kHuge ? 1 / std::sqrt(1 + b * b) : 1 / b;
    frame.factor.assign(to_size(columns), shrink);
    frame.constant = settings.constant * shrink;
  }
  frame.centre_late = may_centre_late(frame, is_sparse);
  return frame;
}

namespace {

// Rows that are used as given are seen so where they are measured.
Frame as_given(const Frame& frame) {
  return frame.unit_rows ? frame : assemble(frame.columns, {Scale::none, false, 0.0}, {}, {}, false);
}

// Keeps the reciprocal of a row's length, or only checks it.
void settle_norm(const Frame& frame, double length, int64_t row, double* norm, int64_t i) {
  if (frame.unit_rows)
    norm[i] = length > 0 ? 1 / std::max(length, kSmallestNorm) : 1.0;
  else if (!(length <= 1 + 1e-6))
    refuse_norm(row, length);
}

}  // namespace

template <class T>
void measure_tile(const Frame& frame, Tile<T>& tile, const Matrix<T>& X, int64_t begin, int64_t first, double* norm) {
  const double constant = frame.unit_rows ? frame.constant : 0.0;
  const double* squares = tile.squares();
  for (int64_t i = 0; i < tile.count(); ++i) {
    const double square = squares[i] + constant * constant;
    const double length = is_exact(square) ? std::sqrt(square) : careful_norm(as_given(frame), X, begin + i);
    settle_norm(frame, length, first + begin + i, norm, i);
  }
}

template <class Rows>
void measure_norms(const Frame& frame, const Rows& X, int64_t begin, int64_t end, int64_t first, double* norm) {
  if constexpr (is_sparse<Rows>) {
    const Frame seen_by = as_given(frame);
    const double zero_square = square_of_zero(seen_by);
    for (int64_t row = begin; row < end; ++row)
      settle_norm(frame, sparse_norm(seen_by, X, row, zero_square), first + row, norm, row - begin);
  } else {
    Tile<std::remove_cvref_t<decltype(X(0, 0))>> tile(frame);
    for (int64_t at = begin; at < end; at += tile.most_rows()) {
      tile.load(X, nullptr, at, std::min(tile.most_rows(), end - at));
      measure_tile(frame, tile, X, at, first, norm != nullptr ? norm + (at - begin) : nullptr);
    }
  }
}

template <class Rows>
Frame make_frame(const TrainingRows<Rows>& rows, const FrameSettings& settings, const Range& range,
                 const ColumnUnits& units, Pool& pool, const Control& control) {
  std::pair<std::vector<double>, std::vector<double>> map;
  if (settings.scale == Scale::standard) map = standardise(rows, range, units, pool, control);
  Frame frame = assemble(rows.X.columns, settings, std::move(map.first), std::move(map.second), is_sparse<Rows>);
  std::vector<double> norm(to_size(frame.unit_rows ? rows.size() : 0));
  pool.parallel_for(block_count(rows.size()), [&](int64_t block, int) {
    control.check();
    const int64_t begin = block * kBlockRows, end = std::min(begin + kBlockRows, rows.size());
    measure_norms(frame, rows.X, begin, end, 0, frame.unit_rows ? norm.data() + begin : nullptr);
  });
  frame.norm = std::move(norm);
  return frame;
}

#define BOSCAGE_FRAME(...)                                                                                            \
  template Frame make_frame(const TrainingRows<__VA_ARGS__>&, const FrameSettings&, const Range&, const ColumnUnits&, \
                            Pool&, const Control&);                                                                   \
  template void measure_norms(const Frame&, const __VA_ARGS__&, int64_t, int64_t, int64_t, double*);
BOSCAGE_FRAME(Matrix<float>)
BOSCAGE_FRAME(Matrix<double>)
BOSCAGE_FRAME(SparseRows<float, int32_t>)
BOSCAGE_FRAME(SparseRows<float, int64_t>)
BOSCAGE_FRAME(SparseRows<double, int32_t>)
BOSCAGE_FRAME(SparseRows<double, int64_t>)

#define BOSCAGE_STEPS(Rows)                                                                             \
  template void add_to_mean(const TrainingRows<Rows>&, int64_t, double, double*);                       \
  template void add_to_variance(const TrainingRows<Rows>&, int64_t, double, const std::vector<double>&, \
                                const std::vector<double>&, double*);
BOSCAGE_STEPS(Matrix<float>)
BOSCAGE_STEPS(Matrix<double>)
template void measure_tile(const Frame&, Tile<float>&, const Matrix<float>&, int64_t, int64_t, double*);
template void measure_tile(const Frame&, Tile<double>&, const Matrix<double>&, int64_t, int64_t, double*);

}  // namespace boscage::stochastic
