#include "families/axis/bin_counts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/index.hpp"

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
  std::vector<double> added;  // of numbers: what each member adds, sum by sum
  Histograms found;
};

template <class T>
class Counter {
 public:
  Counter(const CountedRows<T>& rows, const BinEdges<T>& edges, const BinRoute& route, const AnyCriterion& criterion)
      : rows_(rows),
        edges_(edges),
        steps_(route.steps),
        grids_(route.grids),
        criterion_(criterion),
        sums_(sums_of(rows.target)),
        outputs_(to_size(rows.target.outputs)) {
    for (const BinStep& step : steps_)
      for (const int32_t histogram : step.histogram) histograms_ = std::max<int64_t>(histograms_, histogram + 1);
  }

  Histograms empty() const {
    const auto places = to_size(histograms_ * edges_.places());
    return {std::vector<double>(places * to_size(sums_ + 1), 0.0),
            std::vector<double>(places * 2 * outputs_, std::numeric_limits<double>::infinity())};
  }

  void add(int64_t begin, int64_t end, Scratch<T>& scratch) const {
    scratch.histogram.assign(to_size(end - begin), steps_.empty() ? 0 : -1);
    if (!steps_.empty()) lead(begin, end, scratch);
    scratch.member.clear();
    for (int64_t i = 0; i < end - begin; ++i)
      if (scratch.histogram[to_size(i)] >= 0) scratch.member.push_back(static_cast<int32_t>(i));
    const auto n = signed_size(scratch.member);
    scratch.values.resize(scratch.member.size());
    scratch.place.resize(scratch.member.size());
    if (rows_.target.is_numbers()) prepare_numbers(begin, scratch);
    for (int64_t column = 0; column < edges_.columns(); ++column) add_column(begin, column, n, scratch);
  }

 private:
  // To which histogram a row belongs: parents come before children.
  void lead(int64_t begin, int64_t end, Scratch<T>& scratch) const {
    for (int64_t i = 0; i < end - begin; ++i) {
      int32_t at = 0;
      while (at >= 0) {
        const BinStep& step = steps_[to_size(at)];
        const T x = rows_.X(begin + i, step.feature);
        const bool left = std::isnan(x) ? step.missing_left : goes_left(step, x);
        if (step.histogram[!left] >= 0) scratch.histogram[to_size(i)] = step.histogram[!left];
        at = step.step[!left];
      }
    }
  }

  bool goes_left(const BinStep& step, T x) const {
    if (!step.categories.empty()) return x >= 0 && has_category(step.categories, static_cast<int64_t>(x));
    const int64_t start = edges_.start[to_size(step.feature)];
    return step.position > 0 && x <= edges_.last[to_size(start + step.position - 1)];
  }

  void add_column(int64_t begin, int64_t column, int64_t n, Scratch<T>& scratch) const {
    const int64_t start = edges_.start[to_size(column)];
    const int64_t bins = edges_.start[to_size(column) + 1] - start - 1;
    for (int64_t i = 0; i < n; ++i) scratch.values[to_size(i)] = rows_.X(begin + scratch.member[to_size(i)], column);
    find_places(edges_.last.data() + start, bins, scratch.values.data(), n, scratch.place.data());
    const int64_t stride = edges_.places() * (sums_ + 1), counts = edges_.places() * sums_;
    for (int64_t i = 0; i < n; ++i) {
      const auto at = to_size(i), row = to_size(begin + scratch.member[at]);
      const int64_t place = start + (std::isnan(scratch.values[at]) ? bins : scratch.place[at]);
      const int32_t number = scratch.histogram[to_size(scratch.member[at])];
      double* histogram = scratch.found.sums.data() + number * stride;
      if (outputs_ == 0) {
        histogram[place * sums_ + rows_.target.label[row]] += rows_.target.weight_of(static_cast<uint32_t>(row));
      } else {
        const double* added = scratch.added.data() + i * sums_;
        for (int64_t j = 0; j < sums_; ++j) histogram[place * sums_ + j] += added[j];
        widen(scratch.found.extremes, number * edges_.places() + place, row);
      }
      histogram[counts + place] += 1;
    }
  }

  // The smallest number of each output and the smallest negated one, by place.
  void widen(std::vector<double>& extremes, int64_t place, size_t row) const {
    double* low = extremes.data() + to_size(place) * 2 * outputs_;
    for (size_t j = 0; j < outputs_; ++j) {
      const double y = rows_.target.number[row * outputs_ + j];
      low[j] = std::min(low[j], y);
      low[outputs_ + j] = std::min(low[outputs_ + j], -y);
    }
  }

  void prepare_numbers(int64_t begin, Scratch<T>& scratch) const {
    scratch.added.clear();
    std::vector<double> values(outputs_);
    for (const int32_t member : scratch.member) {
      const auto row = static_cast<uint32_t>(begin + member);
      const NumberGrid& grid = *grids_[to_size(scratch.histogram[to_size(member)])];
      const double weight = rows_.target.weight_of(row);
      const double* y = rows_.target.number.data() + row * outputs_;
      scratch.added.push_back(weight);
      for (size_t j = 0; j < outputs_; ++j) {
        scratch.added.push_back(grid.value(y[j], j, weight));
        values[j] = grid.scaled(y[j] - grid.outputs[j].centre);
      }
      const double report =
          visit_numbers([&](const auto& g) { return g.report(values.data(), static_cast<int>(outputs_)); }, criterion_);
      scratch.added.push_back(grid.report(report, weight));
    }
  }

  const CountedRows<T>& rows_;
  const BinEdges<T>& edges_;
  const std::vector<BinStep>& steps_;
  const std::vector<std::shared_ptr<const NumberGrid>>& grids_;
  const AnyCriterion& criterion_;
  int64_t histograms_ = 1;
  int64_t sums_;
  size_t outputs_;
};

}  // namespace

template <class T>
Histograms count_bins(const CountedRows<T>& rows, const BinEdges<T>& edges, const BinRoute& route,
                      const AnyCriterion& criterion, Pool& pool, const Control& control) {
  const Counter<T> counter(rows, edges, route, criterion);
  Histograms found = counter.empty();
  // Large histograms are not kept once for every thread.
  const bool alone = found.sums.size() * to_size(pool.threads()) > kMostNumbersOfThreads;
  std::vector<Scratch<T>> scratch(alone ? 1 : to_size(pool.threads()));
  for (auto& mine : scratch) mine.found = found;
  const int64_t tiles = (rows.X.rows + kTileRows - 1) / kTileRows;
  const auto add = [&](int64_t tile, int thread) {
    control.check();
    counter.add(tile * kTileRows, std::min((tile + 1) * kTileRows, rows.X.rows), scratch[to_size(thread)]);
  };
  if (alone) {
    for (int64_t tile = 0; tile < tiles; ++tile) add(tile, 0);
  } else {
    pool.parallel_for(tiles, add);
  }
  for (const Scratch<T>& part : scratch) {
    for (size_t i = 0; i < found.sums.size(); ++i) found.sums[i] += part.found.sums[i];
    for (size_t i = 0; i < found.extremes.size(); ++i)
      found.extremes[i] = std::min(found.extremes[i], part.found.extremes[i]);
  }
  return found;
}

template <class T>
std::vector<T> smallest_in_bins(const Matrix<T>& X, const BinEdges<T>& edges, Pool& pool, const Control& control) {
  std::vector<T> smallest(to_size(edges.places()), std::numeric_limits<T>::infinity());
  pool.parallel_for(edges.columns(), [&](int64_t column, int) {
    const int64_t start = edges.start[to_size(column)];
    const int64_t bins = edges.start[to_size(column) + 1] - start - 1;
    std::vector<T> values(kTileRows);
    std::vector<int32_t> place(kTileRows);
    for (int64_t begin = 0; begin < X.rows; begin += kTileRows) {
      control.check();
      const int64_t n = std::min(kTileRows, X.rows - begin);
      for (int64_t i = 0; i < n; ++i) values[to_size(i)] = X(begin + i, column) + 0;  // -0 and 0 are one
      find_places(edges.last.data() + start, bins, values.data(), n, place.data());
      for (size_t i = 0; i < to_size(n); ++i) {
        T& low = smallest[to_size(start + place[i])];
        low = values[i] < low ? values[i] : low;
      }
    }
  });
  for (int64_t column = 0; column < edges.columns(); ++column)  // beyond the last bin
    smallest[to_size(edges.start[to_size(column) + 1] - 1)] = std::numeric_limits<T>::infinity();
  return smallest;
}

template <class T, class Key>
std::vector<double> count_digits(const Matrix<T>& X, int64_t column, std::span<const double> weight,
                                 std::span<const Key> prefixes, int shift) {
  constexpr int kDigitBits = 8;
  constexpr int kSignPlace = static_cast<int>(8 * sizeof(Key)) - 1;
  constexpr Key sign = Key{1} << kSignPlace;
  const auto size = signed_size(prefixes);
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
      const auto at = to_size(n++);
      digits[at] = key >> shift;
      // A shift by all bits would be undefined; the first digit has one prefix, 0.
      heads[at] = shift + kDigitBits > kSignPlace ? 0 : key >> (shift + kDigitBits);
      row[at] = i;
    }
    find_places(prefixes.data(), size, heads.data(), n, place.data());
    for (size_t i = 0; i < to_size(n); ++i) {
      if (place[i] >= size || prefixes[to_size(place[i])] != heads[i]) continue;
      const size_t cell = (to_size(place[i]) << kDigitBits) + to_size(digits[i] & 0xff);
      counts[cell] += weight.empty() ? 1.0 : weight[to_size(row[i])];
    }
  }
  return counts;
}

template Histograms count_bins(const CountedRows<float>&, const BinEdges<float>&, const BinRoute&, const AnyCriterion&,
                               Pool&, const Control&);
template Histograms count_bins(const CountedRows<double>&, const BinEdges<double>&, const BinRoute&,
                               const AnyCriterion&, Pool&, const Control&);
template std::vector<float> smallest_in_bins(const Matrix<float>&, const BinEdges<float>&, Pool&, const Control&);
template std::vector<double> smallest_in_bins(const Matrix<double>&, const BinEdges<double>&, Pool&, const Control&);
template std::vector<double> count_digits(const Matrix<float>&, int64_t, std::span<const double>,
                                          std::span<const uint32_t>, int);
template std::vector<double> count_digits(const Matrix<double>&, int64_t, std::span<const double>,
                                          std::span<const uint64_t>, int);

}  // namespace boscage
