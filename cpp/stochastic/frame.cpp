#include "stochastic/frame.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "dot.hpp"
#include "stochastic/reduce.hpp"

namespace boscage::stochastic {

namespace {

template <class Rows>
constexpr bool is_sparse = !requires(const Rows& rows) { rows.column_stride; };

// Calls visit(column, value) for the entries of a row, stored ones only if it is sparse.
template <class Rows, class Visit>
void for_entries(const Rows& X, int64_t row, Visit visit) {
  if constexpr (is_sparse<Rows>) {
    const auto [begin, end] = X.range(row);
    for (int64_t k = begin; k < end; ++k) visit(X.column(k), static_cast<double>(X.data[k]));
  } else {
    const auto* data = X.data + row * X.row_stride;
    for (int64_t j = 0; j < X.columns; ++j) visit(j, static_cast<double>(data[j * X.column_stride]));
  }
}

// Sums over blocks of rows, blocks in parallel, reduced by number: add(row, block's sums).
template <class Rows, class Add>
std::vector<double> sum_blocks(const TrainingRows<Rows>& rows, size_t size, Pool& pool, const Control& control,
                               Add add) {
  const int64_t blocks = block_count(rows.size()), round = 4 * pool.threads();
  PairwiseSum sum;
  for (int64_t first = 0; first < blocks; first += round) {
    std::vector<std::vector<double>> slots(static_cast<size_t>(std::min(round, blocks - first)));
    pool.parallel_for(static_cast<int64_t>(slots.size()), [&](int64_t slot, int) {
      control.check();
      auto& mine = slots[static_cast<size_t>(slot)];
      mine.assign(size, 0.0);
      const int64_t begin = (first + slot) * kBlockRows, end = std::min(begin + kBlockRows, rows.size());
      for (int64_t row = begin; row < end; ++row) add(row, mine.data());
    });
    for (auto& slot : slots) sum.push(std::move(slot));
  }
  return sum.total();
}

struct Range {
  std::vector<double> low, high;
};

// Smallest and largest value of each column; zeros that are not stored count.
template <class Rows>
Range ranges(const TrainingRows<Rows>& rows, Pool& pool, const Control& control) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto d = static_cast<size_t>(rows.X.columns);
  std::vector<Range> parts(static_cast<size_t>(pool.threads()));
  for (Range& part : parts) part = {std::vector<double>(d, infinity), std::vector<double>(d, -infinity)};
  std::vector<std::vector<int64_t>> stored(parts.size(), std::vector<int64_t>(is_sparse<Rows> ? d : 0, 0));
  pool.parallel_for(block_count(rows.size()), [&](int64_t block, int thread) {
    control.check();
    Range& part = parts[static_cast<size_t>(thread)];
    auto& counts = stored[static_cast<size_t>(thread)];
    const int64_t end = std::min((block + 1) * kBlockRows, rows.size());
    for (int64_t row = block * kBlockRows; row < end; ++row) {
      for_entries(rows.X, row, [&](int64_t j, double x) {
        const auto column = static_cast<size_t>(j);
        part.low[column] = std::min(part.low[column], x);
        part.high[column] = std::max(part.high[column], x);
        if constexpr (is_sparse<Rows>) ++counts[column];
      });
    }
  });
  Range all = std::move(parts[0]);
  for (size_t t = 1; t < parts.size(); ++t) {
    for (size_t j = 0; j < d; ++j) {
      all.low[j] = std::min(all.low[j], parts[t].low[j]);
      all.high[j] = std::max(all.high[j], parts[t].high[j]);
      if constexpr (is_sparse<Rows>) stored[0][j] += stored[t][j];
    }
  }
  if constexpr (is_sparse<Rows>) {
    for (size_t j = 0; j < d; ++j) {
      if (stored[0][j] == rows.size()) continue;
      all.low[j] = std::min(all.low[j], 0.0);
      all.high[j] = std::max(all.high[j], 0.0);
    }
  }
  return all;
}

// Weighted means and standard deviations; a constant column gets factor 0.
template <class Rows>
void standardise(Frame& frame, const TrainingRows<Rows>& rows, Pool& pool, const Control& control) {
  const auto d = static_cast<size_t>(rows.X.columns);
  const Range range = ranges(rows, pool, control);
  const double total =
      sum_blocks(rows, 1, pool, control, [&](int64_t row, double* sum) { sum[0] += rows.weight_of(row); })[0];
  frame.shift = sum_blocks(rows, d, pool, control, [&](int64_t row, double* sum) {
    const double share = rows.weight_of(row) / total;
    for_entries(rows.X, row, [&](int64_t j, double x) { sum[j] += share * x; });
  });
  // In units of half the range, so that no square overflows.
  std::vector<double> half(d);
  for (size_t j = 0; j < d; ++j) {
    half[j] = range.high[j] / 2 - range.low[j] / 2;
    frame.shift[j] = std::clamp(frame.shift[j], range.low[j], range.high[j]);
  }
  const auto square = [&](size_t j, double x) {
    const double away = (x - frame.shift[j]) / half[j];
    return away * away;
  };
  auto variance = sum_blocks(rows, is_sparse<Rows> ? 2 * d : d, pool, control, [&](int64_t row, double* sum) {
    const double share = rows.weight_of(row) / total;
    for_entries(rows.X, row, [&](int64_t j, double x) {
      const auto column = static_cast<size_t>(j);
      if (!(half[column] > 0)) return;
      sum[column] += share * square(column, x);
      if constexpr (is_sparse<Rows>) sum[d + column] += share;
    });
  });
  frame.factor.assign(d, 0.0);
  for (size_t j = 0; j < d; ++j) {
    if (!(half[j] > 0)) continue;
    if constexpr (is_sparse<Rows>) variance[j] += std::max(0.0, 1 - variance[d + j]) * square(j, 0.0);
    const double deviation = half[j] * std::sqrt(variance[j]);
    if (deviation > 1e-14 * std::max(std::abs(range.low[j]), std::abs(range.high[j]))) frame.factor[j] = 1 / deviation;
  }
}

// Correction terms cost no time in the passes; columns far from 0 for their spread would lose digits by them, and so
// are centred number by number, unless the zeros of sparse rows forbid it.
template <class Rows>
bool may_centre_late(const Frame& frame) {
  if (is_sparse<Rows>) return true;
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
  std::vector<double> z(static_cast<size_t>(frame.columns));
  for (size_t j = 0; j < z.size(); ++j) z[j] = seen(frame, j, 0.0);
  for_entries(X, row, [&](int64_t j, double x) { z[static_cast<size_t>(j)] = seen(frame, static_cast<size_t>(j), x); });
  if (frame.has_constant) z.push_back(frame.constant);
  double largest = 0;
  for (const double x : z) largest = std::max(largest, std::abs(x));
  if (!(largest > 0)) return 0;
  for (double& x : z) x /= largest;
  return largest * std::sqrt(dot(z.data(), z.data(), static_cast<int64_t>(z.size())));
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

template <class Rows>
double row_norm(const Frame& frame, const Rows& X, int64_t row, double zero_square) {
  LaneSum squares, removed;
  for_entries(X, row, [&](int64_t j, double x) {
    const double z = seen(frame, static_cast<size_t>(j), x);
    squares.add(j, z * z);
    if constexpr (is_sparse<Rows>) {
      if (!frame.shift.empty()) {
        const double before = seen(frame, static_cast<size_t>(j), 0.0);
        removed.add(j, before * before);
      }
    }
  });
  double square = squares.total() + frame.constant * frame.constant;
  if constexpr (is_sparse<Rows>) {
    const double rest = zero_square - removed.total();
    if (rest < 1e-6 * zero_square && square < 1e-6 * zero_square) return careful_norm(frame, X, row);
    square += std::max(rest, 0.0);
  }
  return square > 1e-200 && square < 1e200 ? std::sqrt(square) : careful_norm(frame, X, row);
}

[[noreturn]] void refuse_norm(int64_t row, double norm) {
  throw std::invalid_argument("scale=False needs rows of norm at most 1, but row " + std::to_string(row) +
                              " of X has norm " + std::to_string(norm) +
                              ". Pass scale='unit' or scale='standard', or divide the rows.");
}

}  // namespace

template <class Rows>
Frame make_frame(const TrainingRows<Rows>& rows, const FrameSettings& settings, Pool& pool, const Control& control) {
  Frame frame;
  frame.columns = rows.X.columns;
  frame.has_constant = settings.has_constant;
  frame.unit_rows = settings.scale != Scale::none;
  frame.constant = settings.has_constant && frame.unit_rows ? settings.constant : 0.0;
  if (settings.scale == Scale::standard) standardise(frame, rows, pool, control);
  frame.centre_late = may_centre_late<Rows>(frame);
  const double zero_square = square_of_zero(frame);
  std::vector<double> norm(static_cast<size_t>(rows.size()));
  pool.parallel_for(block_count(rows.size()), [&](int64_t block, int) {
    control.check();
    const int64_t end = std::min((block + 1) * kBlockRows, rows.size());
    for (int64_t row = block * kBlockRows; row < end; ++row)
      norm[static_cast<size_t>(row)] = row_norm(frame, rows.X, row, zero_square);
  });
  if (frame.unit_rows) {
    for (double& length : norm) length = length > 0 ? 1 / length : 1.0;
    frame.norm = std::move(norm);
    return frame;
  }
  for (size_t row = 0; row < norm.size(); ++row)
    if (!(norm[row] <= 1 + 1e-6)) refuse_norm(static_cast<int64_t>(row), norm[row]);
  if (frame.has_constant) {  // (x, b) / sqrt(1 + b²) has norm at most 1
    const double shrink = 1 / std::sqrt(1 + settings.constant * settings.constant);
    frame.factor.assign(static_cast<size_t>(frame.columns), shrink);
    frame.constant = settings.constant * shrink;
  }
  return frame;
}

#define BOSCAGE_COMMA ,
#define BOSCAGE_FRAME(Rows) \
  template Frame make_frame(const TrainingRows<Rows>&, const FrameSettings&, Pool&, const Control&);
BOSCAGE_FRAME(Matrix<float>)
BOSCAGE_FRAME(Matrix<double>)
BOSCAGE_FRAME(SparseRows<float BOSCAGE_COMMA int32_t>)
BOSCAGE_FRAME(SparseRows<float BOSCAGE_COMMA int64_t>)
BOSCAGE_FRAME(SparseRows<double BOSCAGE_COMMA int32_t>)
BOSCAGE_FRAME(SparseRows<double BOSCAGE_COMMA int64_t>)

}  // namespace boscage::stochastic
