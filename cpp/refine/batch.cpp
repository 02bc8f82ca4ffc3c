#include "refine/batch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/array.hpp"
#include "base/rng.hpp"
#include "numeric/deviation.hpp"
#include "numeric/pairwise_sum.hpp"

namespace boscage::refine {

namespace {

// Columns beyond these sizes are measured in a unit of their own, those so many times as large as their range from the
// middle of it: squares neither overflow nor vanish, and sums keep their digits.
constexpr double kLarge = 1e100, kSmall = 1e-100, kFar = 0x1p26;

// How distances are measured in a column: (x - centre) / unit.
class Measure {
 public:
  Measure(double low, double high) {
    const double width = high - low, size = std::max(std::abs(low), std::abs(high));
    if (width > 0 && size > kFar * width) centre_ = low / 2 + high / 2;
    if (size > kLarge || size < kSmall || centre_ != 0)
      unit_ = std::ldexp(1.0, std::clamp(exponent(low, high), -1000, 1000));
    special_ = centre_ != 0 || unit_ != 1;
  }

  bool is_special() const { return special_; }
  double unit() const { return unit_; }
  double away(double x) const { return special_ ? 2 * ((0.5 * x - 0.5 * centre_) / unit_) : x - centre_; }
  double undo(double away) const { return special_ ? centre_ + away * unit_ : away; }
  void move_to(double centre) { centre_ = centre; }

 private:
  static int exponent(double low, double high) {
    const double half = high / 2 - low / 2;
    return half > 0 ? std::ilogb(half) + 1 : 0;
  }

  double centre_ = 0, unit_ = 1;
  bool special_ = false;
};

// Weighted sums of value(x_j, j) over all rows, in blocks.
template <class Value>
Array<double> column_sums(const RowSource& source, const Sample& sample, Pool& pool, const Control& control,
                          const Value& value) {
  const int64_t blocks = block_count(sample.size()), width = source.width;
  Array<double> parts(std::max<int64_t>(blocks, 1) * width, 0.0);
  for_blocks(blocks, pool.threads() > 1 ? &pool : nullptr, [&](int64_t block) {
    control.check();
    const auto reader = source.reader();
    Array<double> row(width);
    double* sums = parts.data() + block * width;
    const int64_t end = std::min(sample.size(), (block + 1) * kBlockRows);
    for (int64_t i = block * kBlockRows; i < end; ++i) {
      const auto at = i;
      reader->read(sample.rows[at], row.data());
      for (int64_t j = 0; j < width; ++j) sums[j] += sample.weight[at] * value(row[j], j);
    }
  });
  add_pairwise(parts, blocks, width);
  parts.resize(width);
  return parts;
}

void find_ranges(const RowSource& source, const Sample& sample, Pool& pool, const Control& control, Standard& out) {
  const auto width = source.width;
  const int64_t blocks = block_count(sample.size());
  constexpr double kNone = std::numeric_limits<double>::infinity();
  Array<double> least(blocks * width, kNone), most(least.size(), -kNone);
  for_blocks(blocks, pool.threads() > 1 ? &pool : nullptr, [&](int64_t block) {
    control.check();
    const auto reader = source.reader();
    Array<double> row(width);
    const auto first = block * width;
    const int64_t end = std::min(sample.size(), (block + 1) * kBlockRows);
    for (int64_t i = block * kBlockRows; i < end; ++i) {
      reader->read(sample.rows[i], row.data());
      for (int64_t j = 0; j < width; ++j) {
        least[first + j] = std::min(least[first + j], row[j]);
        most[first + j] = std::max(most[first + j], row[j]);
      }
    }
  });
  out.low.assign(width, kNone);
  out.high.assign(width, -kNone);
  for (int64_t at = 0; at < least.size(); ++at) {
    out.low[at % width] = std::min(out.low[at % width], least[at]);
    out.high[at % width] = std::max(out.high[at % width], most[at]);
  }
}

// Sixteen bits for each entry, drawn by the row's number and the round.
void drop(const Dropout& dropout, uint64_t row, double* values, int64_t columns) {
  const auto limit = static_cast<uint64_t>(dropout.rate * 65536);
  const double stretch = 1 / (1 - static_cast<double>(limit) / 65536);
  const uint64_t stream = mix(row + 1) ^ dropout.round;
  uint64_t bits = 0;
  for (int64_t j = 0; j < columns; ++j) {
    if (j % 4 == 0) bits = draw_bits(dropout.seed, stream, j);
    values[j] = (bits & 0xffff) < limit ? 0.0 : values[j] * stretch;
    bits >>= 16;
  }
}

}  // namespace

Standard make_standard(const RowSource& source, const Sample& sample, double share, Pool& pool,
                       const Control& control) {
  double total = 0;
  for (const double w : sample.weight) total += w;
  const auto width = source.width;
  Standard out{Array<double>(width), Array<double>(width), Array<double>(width), {}, {}};
  find_ranges(source, sample, pool, control, out);
  Array<Measure> measures;
  for (int64_t j = 0; j < width; ++j) measures.emplace_back(out.low[j], out.high[j]);
  out.mean =
      column_sums(source, sample, pool, control, [&](double x, int64_t j) { return measures[j].away(x) / total; });
  for (int64_t j = 0; j < width; ++j) {
    out.mean[j] = measures[j].undo(out.mean[j]);
    if (measures[j].is_special() || !std::isfinite(out.mean[j]))  // rounded up to infinity
      out.mean[j] = std::clamp(out.mean[j], out.low[j], out.high[j]);
    measures[j].move_to(out.mean[j]);
  }
  out.deviation = column_sums(source, sample, pool, control, [&](double x, int64_t j) {
    const double away = measures[j].away(x);
    return away * (away / total);
  });
  for (int64_t j = 0; j < width; ++j) {
    double& deviation = out.deviation[j];
    deviation = std::sqrt(deviation) * measures[j].unit();
    const bool varies =
        out.low[j] < out.high[j] && is_spread(deviation, std::abs(out.mean[j])) && std::isfinite(deviation);
    if (!varies) deviation = 0;
    const double wide = share * out.high[j] - share * out.low[j];
    if (varies && wide > deviation && std::isfinite(wide)) deviation = wide;
    out.inverse[j] = varies ? 1 / deviation : 0.0;
  }
  return out;
}

template <class T>
Batch<T>::Batch(const RowSource& source, const Standard& standard, int64_t capacity, int threads)
    : standard_(standard), width_(source.width + 1) {
  const auto rows = padded<T>(capacity);
  by_rows_.resize(rows * width_);
  by_columns_.resize(rows * (padded<T>(width_)));
  label_.resize(rows);
  weight_.resize(rows);
  for (int thread = 0; thread < threads; ++thread) {
    readers_.push_back(source.reader());
    row_.emplace_back(width_);
  }
}

template <class T>
void Batch<T>::fill(const Sample& sample, Span<const int64_t> chosen, Pool& pool, const Control& control,
                    const Dropout& dropout) {
  rows_ = chosen.size();
  pool.parallel_for(row_panels(), [&](int64_t panel, int thread) {
    control.check();
    fill_panel(sample, chosen, dropout, panel, thread);
  });
}

template <class T>
void Batch<T>::fill_panel(const Sample& sample, Span<const int64_t> chosen, const Dropout& dropout, int64_t panel,
                          int thread) {
  constexpr int64_t lane = kLane<T>;
  const int64_t padded_width = padded<T>(width_), all_rows = padded_rows();
  double* row = row_[thread].data();
  T* block = by_rows_.data() + panel * width_ * lane;
  for (int64_t i = panel * lane; i < (panel + 1) * lane; ++i) {
    const auto at = i;
    const bool there = i < rows_;
    const auto number = there ? chosen[at] : 0;
    label_[at] = there ? sample.label[number] : 0;
    weight_[at] = there ? static_cast<T>(sample.weight[number]) : T(0);
    if (there) readers_[thread]->read(sample.rows[number], row);
    for (int64_t j = 0; j + 1 < width_; ++j) {
      const auto column = j;
      // Halves cannot overflow where x - mean could.
      const double half = 0.5 * row[j] - 0.5 * standard_.mean[column];
      row[j] = there ? half * (2 * standard_.inverse[column]) : 0.0;
    }
    if (there && dropout.rate > 0) drop(dropout, static_cast<uint64_t>(number), row, width_ - 1);
    row[width_ - 1] = there ? 1.0 : 0.0;
    for (int64_t j = 0; j < width_; ++j) block[j * lane + i % lane] = static_cast<T>(row[j]);
    for (int64_t j = 0; j < padded_width; ++j)
      by_columns_[(j / lane) * all_rows * lane + i * lane + j % lane] = j < width_ ? static_cast<T>(row[j]) : T(0);
  }
}

template class Batch<float>;
template class Batch<double>;

}  // namespace boscage::refine
