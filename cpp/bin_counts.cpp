#include "bin_counts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace boscage {

namespace {

constexpr int64_t kTileRows = 4096;
constexpr size_t kMostNumbersOfThreads = 1 << 25;

// Places of some numbers among sorted ones: how many of those are smaller. All numbers take the same steps, so that
// the processor can work on many of them at once.
template <class T, class Number>
void find_places(const T* sorted, int64_t size, const Number* x, int64_t n, int32_t* place) {
  std::fill(place, place + n, 0);
  int64_t rest = size;
  while (rest > 1) {
    const int64_t half = rest / 2;
    for (int64_t i = 0; i < n; ++i) place[i] += sorted[place[i] + half - 1] < x[i] ? static_cast<int32_t>(half) : 0;
    rest -= half;
  }
  if (size > 0)
    for (int64_t i = 0; i < n; ++i) place[i] += sorted[place[i]] < x[i] ? 1 : 0;
}

// One thread's memory for a tile.
template <class T>
struct Scratch {
  std::vector<int32_t> histogram, member, place;
  std::vector<T> values;
  std::vector<double> sums;
};

template <class T>
class Counter {
 public:
  Counter(const CountedRows<T>& rows, const BinEdges<T>& edges, const std::vector<BinStep>& steps, int32_t classes)
      : rows_(rows), edges_(edges), steps_(steps), classes_(classes) {
    for (const BinStep& step : steps)
      for (const int32_t histogram : step.histogram) histograms_ = std::max<int64_t>(histograms_, histogram + 1);
  }

  size_t size() const { return static_cast<size_t>(histograms_ * edges_.places() * (classes_ + 1)); }

  void add(int64_t begin, int64_t end, Scratch<T>& scratch) const {
    scratch.histogram.assign(static_cast<size_t>(end - begin), steps_.empty() ? 0 : -1);
    if (!steps_.empty()) lead(begin, end, scratch);
    scratch.member.clear();
    for (int64_t i = 0; i < end - begin; ++i)
      if (scratch.histogram[static_cast<size_t>(i)] >= 0) scratch.member.push_back(static_cast<int32_t>(i));
    const auto n = static_cast<int64_t>(scratch.member.size());
    scratch.values.resize(scratch.member.size());
    scratch.place.resize(scratch.member.size());
    for (int64_t column = 0; column < edges_.columns(); ++column) add_column(begin, column, n, scratch);
  }

 private:
  // To which histogram a row belongs: parents come before children.
  void lead(int64_t begin, int64_t end, Scratch<T>& scratch) const {
    for (int64_t i = 0; i < end - begin; ++i) {
      int32_t at = 0;
      while (at >= 0) {
        const BinStep& step = steps_[static_cast<size_t>(at)];
        const T x = rows_.X(begin + i, step.feature);
        const bool left = std::isnan(x) ? step.missing_left : goes_left(step, x);
        if (step.histogram[!left] >= 0) scratch.histogram[static_cast<size_t>(i)] = step.histogram[!left];
        at = step.step[!left];
      }
    }
  }

  bool goes_left(const BinStep& step, T x) const {
    if (!step.categories.empty()) return has_category(step.categories, static_cast<int64_t>(x));
    const int64_t start = edges_.start[static_cast<size_t>(step.feature)];
    return step.position > 0 && x <= edges_.last[static_cast<size_t>(start + step.position - 1)];
  }

  void add_column(int64_t begin, int64_t column, int64_t n, Scratch<T>& scratch) const {
    const int64_t start = edges_.start[static_cast<size_t>(column)];
    const int64_t bins = edges_.start[static_cast<size_t>(column) + 1] - start - 1;
    for (int64_t i = 0; i < n; ++i)
      scratch.values[static_cast<size_t>(i)] = rows_.X(begin + scratch.member[static_cast<size_t>(i)], column);
    find_places(edges_.last.data() + start, bins, scratch.values.data(), n, scratch.place.data());
    const int64_t stride = edges_.places() * (classes_ + 1), counts = edges_.places() * classes_;
    for (int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<size_t>(i), row = static_cast<size_t>(begin + scratch.member[at]);
      const int64_t place = start + (std::isnan(scratch.values[at]) ? bins : scratch.place[at]);
      double* histogram = scratch.sums.data() + scratch.histogram[static_cast<size_t>(scratch.member[at])] * stride;
      histogram[place * classes_ + rows_.label[row]] += rows_.weight.empty() ? 1.0 : rows_.weight[row];
      histogram[counts + place] += 1;
    }
  }

  const CountedRows<T>& rows_;
  const BinEdges<T>& edges_;
  const std::vector<BinStep>& steps_;
  int64_t histograms_ = 1;
  int32_t classes_;
};

}  // namespace

template <class T>
std::vector<double> count_bins(const CountedRows<T>& rows, const BinEdges<T>& edges, const std::vector<BinStep>& steps,
                               int32_t classes, Pool& pool, const Control& control) {
  const Counter<T> counter(rows, edges, steps, classes);
  const size_t size = counter.size();
  // Large histograms are not kept once for every thread.
  const bool alone = size * static_cast<size_t>(pool.threads()) > kMostNumbersOfThreads;
  std::vector<Scratch<T>> scratch(alone ? 1 : static_cast<size_t>(pool.threads()));
  for (auto& mine : scratch) mine.sums.assign(size, 0.0);
  const int64_t tiles = (rows.X.rows + kTileRows - 1) / kTileRows;
  const auto add = [&](int64_t tile, int thread) {
    control.check();
    counter.add(tile * kTileRows, std::min((tile + 1) * kTileRows, rows.X.rows), scratch[static_cast<size_t>(thread)]);
  };
  if (alone) {
    for (int64_t tile = 0; tile < tiles; ++tile) add(tile, 0);
  } else {
    pool.parallel_for(tiles, add);
  }
  std::vector<double> sums = std::move(scratch[0].sums);
  for (size_t t = 1; t < scratch.size(); ++t)
    for (size_t i = 0; i < size; ++i) sums[i] += scratch[t].sums[i];
  return sums;
}

template <class T>
std::vector<T> smallest_in_bins(const Matrix<T>& X, const BinEdges<T>& edges, Pool& pool, const Control& control) {
  std::vector<T> smallest(static_cast<size_t>(edges.places()), std::numeric_limits<T>::infinity());
  pool.parallel_for(edges.columns(), [&](int64_t column, int) {
    const int64_t start = edges.start[static_cast<size_t>(column)];
    const int64_t bins = edges.start[static_cast<size_t>(column) + 1] - start - 1;
    std::vector<T> values(kTileRows);
    std::vector<int32_t> place(kTileRows);
    for (int64_t begin = 0; begin < X.rows; begin += kTileRows) {
      control.check();
      const int64_t n = std::min(kTileRows, X.rows - begin);
      for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i)] = X(begin + i, column) + 0;  // -0 and 0 are one
      find_places(edges.last.data() + start, bins, values.data(), n, place.data());
      for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
        T& low = smallest[static_cast<size_t>(start + place[i])];
        low = values[i] < low ? values[i] : low;
      }
    }
  });
  for (int64_t column = 0; column < edges.columns(); ++column)  // beyond the last bin
    smallest[static_cast<size_t>(edges.start[static_cast<size_t>(column) + 1] - 1)] =
        std::numeric_limits<T>::infinity();
  return smallest;
}

template <class T, class Key>
std::vector<double> count_digits(const Matrix<T>& X, int64_t column, std::span<const double> weight,
                                 std::span<const Key> prefixes, int shift) {
  constexpr int kDigitBits = 8;
  constexpr int kSignPlace = static_cast<int>(8 * sizeof(Key)) - 1;
  constexpr Key sign = Key{1} << kSignPlace;
  const auto size = static_cast<int64_t>(prefixes.size());
  std::vector<double> counts(prefixes.size() << kDigitBits, 0.0);
  std::vector<Key> digits(kTileRows), heads(kTileRows);
  std::vector<int32_t> place(kTileRows);
  std::vector<int64_t> row(kTileRows);
  for (int64_t begin = 0; begin < X.rows; begin += kTileRows) {
    int64_t n = 0;
    for (int64_t i = begin; i < std::min(begin + kTileRows, X.rows); ++i) {
      const T x = X(i, column) + 0;
      if (std::isnan(x)) continue;
      const Key bits = std::bit_cast<Key>(x), key = (bits & sign) != 0 ? ~bits : bits | sign;
      const auto at = static_cast<size_t>(n++);
      digits[at] = key >> shift;
      // A shift by all bits would be undefined; the first digit has one prefix, 0.
      heads[at] = shift + kDigitBits > kSignPlace ? 0 : key >> (shift + kDigitBits);
      row[at] = i;
    }
    find_places(prefixes.data(), size, heads.data(), n, place.data());
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
      if (place[i] >= size || prefixes[static_cast<size_t>(place[i])] != heads[i]) continue;
      const size_t cell = (static_cast<size_t>(place[i]) << kDigitBits) + static_cast<size_t>(digits[i] & 0xff);
      counts[cell] += weight.empty() ? 1.0 : weight[static_cast<size_t>(row[i])];
    }
  }
  return counts;
}

template std::vector<double> count_bins(const CountedRows<float>&, const BinEdges<float>&, const std::vector<BinStep>&,
                                        int32_t, Pool&, const Control&);
template std::vector<double> count_bins(const CountedRows<double>&, const BinEdges<double>&,
                                        const std::vector<BinStep>&, int32_t, Pool&, const Control&);
template std::vector<float> smallest_in_bins(const Matrix<float>&, const BinEdges<float>&, Pool&, const Control&);
template std::vector<double> smallest_in_bins(const Matrix<double>&, const BinEdges<double>&, Pool&, const Control&);
template std::vector<double> count_digits(const Matrix<float>&, int64_t, std::span<const double>,
                                          std::span<const uint32_t>, int);
template std::vector<double> count_digits(const Matrix<double>&, int64_t, std::span<const double>,
                                          std::span<const uint64_t>, int);

}  // namespace boscage
