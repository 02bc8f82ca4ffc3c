#include "refine/batch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "oblique/block_sum.hpp"
#include "rng.hpp"

namespace boscage::refine {

namespace {

// A column that varies less than this, or less than rounding beside its mean, is constant.
constexpr double kSmallestDeviation = 1e-290, kRelativeNoise = 1e-14;

// Weighted sums of value(x_j, j) over all rows, in blocks.
template <class Value>
std::vector<double> column_sums(const RowSource& source, const Sample& sample, Pool& pool, const Control& control,
                                const Value& value) {
  const int64_t blocks = block_count(sample.size()), width = source.width;
  std::vector<double> parts(static_cast<size_t>(std::max<int64_t>(blocks, 1) * width), 0.0);
  for_blocks(blocks, pool.threads() > 1 ? &pool : nullptr, [&](int64_t block) {
    control.check();
    const auto reader = source.reader();
    std::vector<double> row(static_cast<size_t>(width));
    double* sums = parts.data() + block * width;
    const int64_t end = std::min(sample.size(), (block + 1) * kBlockRows);
    for (int64_t i = block * kBlockRows; i < end; ++i) {
      const auto at = static_cast<size_t>(i);
      reader->read(sample.rows[at], row.data());
      for (int64_t j = 0; j < width; ++j) sums[j] += sample.weight[at] * value(row[static_cast<size_t>(j)], j);
    }
  });
  add_pairwise(parts, blocks, width);
  parts.resize(static_cast<size_t>(width));
  return parts;
}

// Sixteen bits for each entry, drawn by the row's number and the round.
void drop(const Dropout& dropout, uint64_t row, double* values, int64_t columns) {
  const auto limit = static_cast<uint64_t>(dropout.rate * 65536);
  const double stretch = 1 / (1 - static_cast<double>(limit) / 65536);
  const uint64_t stream = mix(row + 1) ^ dropout.round;
  uint64_t bits = 0;
  for (int64_t j = 0; j < columns; ++j) {
    if (j % 4 == 0) bits = draw_bits(dropout.seed, stream, static_cast<uint64_t>(j));
    values[j] = (bits & 0xffff) < limit ? 0.0 : values[j] * stretch;
    bits >>= 16;
  }
}

}  // namespace

Standard make_standard(const RowSource& source, const Sample& sample, Pool& pool, const Control& control) {
  double total = 0;
  for (const double w : sample.weight) total += w;
  Standard out;
  out.mean = column_sums(source, sample, pool, control, [&](double x, int64_t) { return x / total; });
  out.deviation = column_sums(source, sample, pool, control, [&](double x, int64_t j) {
    const double away = x - out.mean[static_cast<size_t>(j)];
    return away * (away / total);
  });
  for (size_t j = 0; j < out.mean.size(); ++j) {
    double& deviation = out.deviation[j];
    deviation = std::sqrt(deviation);
    const bool varies = deviation > kSmallestDeviation && deviation > kRelativeNoise * std::abs(out.mean[j]) &&
                        std::isfinite(deviation);
    if (!varies) deviation = 0;
    out.inverse.push_back(varies ? 1 / deviation : 0.0);
  }
  return out;
}

void widen(Standard& standard, double share, const RowSource& source, const Sample& sample, Pool& pool,
           const Control& control) {
  const auto width = static_cast<size_t>(source.width);
  const int64_t blocks = block_count(sample.size());
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::vector<double> least(static_cast<size_t>(blocks) * width, kNone), most(least.size(), -kNone);
  for_blocks(blocks, pool.threads() > 1 ? &pool : nullptr, [&](int64_t block) {
    control.check();
    const auto reader = source.reader();
    std::vector<double> row(width);
    const auto first = static_cast<size_t>(block) * width;
    const int64_t end = std::min(sample.size(), (block + 1) * kBlockRows);
    for (int64_t i = block * kBlockRows; i < end; ++i) {
      reader->read(sample.rows[static_cast<size_t>(i)], row.data());
      for (size_t j = 0; j < width; ++j) {
        least[first + j] = std::min(least[first + j], row[j]);
        most[first + j] = std::max(most[first + j], row[j]);
      }
    }
  });
  for (size_t j = 0; j < width; ++j) {
    if (standard.inverse[j] == 0) continue;
    double low = kNone, high = -kNone;
    for (size_t at = j; at < least.size(); at += width) {
      low = std::min(low, least[at]);
      high = std::max(high, most[at]);
    }
    const double wide = share * high - share * low;
    if (!(wide > standard.deviation[j]) || !std::isfinite(wide)) continue;
    standard.deviation[j] = wide;
    standard.inverse[j] = 1 / wide;
  }
}

template <class T>
Batch<T>::Batch(const RowSource& source, const Standard& standard, int64_t capacity, int threads)
    : standard_(standard), width_(source.width + 1) {
  const auto rows = static_cast<size_t>(padded<T>(capacity));
  by_rows_.resize(rows * static_cast<size_t>(width_));
  by_columns_.resize(rows * static_cast<size_t>(padded<T>(width_)));
  label_.resize(rows);
  weight_.resize(rows);
  for (int thread = 0; thread < threads; ++thread) {
    readers_.push_back(source.reader());
    row_.emplace_back(static_cast<size_t>(width_));
  }
}

template <class T>
void Batch<T>::fill(const Sample& sample, std::span<const int64_t> chosen, Pool& pool, const Control& control,
                    const Dropout& dropout) {
  rows_ = static_cast<int64_t>(chosen.size());
  pool.parallel_for(row_panels(), [&](int64_t panel, int thread) {
    control.check();
    fill_panel(sample, chosen, dropout, panel, thread);
  });
}

template <class T>
void Batch<T>::fill_panel(const Sample& sample, std::span<const int64_t> chosen, const Dropout& dropout, int64_t panel,
                          int thread) {
  constexpr int64_t lane = kLane<T>;
  const int64_t padded_width = padded<T>(width_), all_rows = padded_rows();
  double* row = row_[static_cast<size_t>(thread)].data();
  T* block = by_rows_.data() + panel * width_ * lane;
  for (int64_t i = panel * lane; i < (panel + 1) * lane; ++i) {
    const auto at = static_cast<size_t>(i);
    const bool there = i < rows_;
    const auto number = there ? static_cast<size_t>(chosen[at]) : 0;
    label_[at] = there ? sample.label[number] : 0;
    weight_[at] = there ? static_cast<T>(sample.weight[number]) : T(0);
    if (there) readers_[static_cast<size_t>(thread)]->read(sample.rows[number], row);
    for (int64_t j = 0; j + 1 < width_; ++j) {
      const auto column = static_cast<size_t>(j);
      row[j] = there ? (row[j] - standard_.mean[column]) * standard_.inverse[column] : 0.0;
    }
    if (there && dropout.rate > 0) drop(dropout, number, row, width_ - 1);
    row[width_ - 1] = there ? 1.0 : 0.0;
    for (int64_t j = 0; j < width_; ++j) block[j * lane + i % lane] = static_cast<T>(row[j]);
    for (int64_t j = 0; j < padded_width; ++j)
      by_columns_[static_cast<size_t>((j / lane) * all_rows * lane + i * lane + j % lane)] =
          j < width_ ? static_cast<T>(row[j]) : T(0);
  }
}

template class Batch<float>;
template class Batch<double>;

}  // namespace boscage::refine
