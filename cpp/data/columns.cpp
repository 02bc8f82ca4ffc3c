#include "data/columns.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/index.hpp"

namespace boscage {

namespace {

constexpr size_t kDigitBits = 11;
constexpr int64_t kSmallSort = 512;  // below this a comparison sort beats the passes of a radix sort
constexpr uint32_t kFewValues = 255;

// Order-preserving bits: negative numbers are flipped whole, others in their sign; NaN becomes the largest key.
template <class T>
auto sort_key(T value) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  if (std::isnan(value)) return ~Bits{0};
  const Bits bits = std::bit_cast<Bits>(value + T{0});  // -0 and 0 are one value
  const Bits sign = Bits{1} << (8 * sizeof(T) - 1);
  return bits & sign ? ~bits : bits | sign;
}

template <class Bits>
struct Keyed {
  Bits key;
  uint32_t row;
};

// Least significant digit first; the digits are counted in one reading, and one that is everywhere the same is skipped.
template <class Bits>
void radix_sort(std::vector<Keyed<Bits>>& items, const Control& control) {
  constexpr size_t digits = (8 * sizeof(Bits) + kDigitBits - 1) / kDigitBits;
  constexpr Bits mask = (1 << kDigitBits) - 1;
  std::array<std::array<uint32_t, size_t{1} << kDigitBits>, digits> starts{};
  for (const auto& item : items)
    for (size_t d = 0; d < digits; ++d) ++starts[d][(item.key >> (d * kDigitBits)) & mask];
  std::vector<Keyed<Bits>> other(items.size());
  for (size_t d = 0; d < digits; ++d) {
    control.check();
    const size_t shift = d * kDigitBits;
    auto& start = starts[d];
    if (start[(items.front().key >> shift) & mask] == items.size()) continue;
    uint32_t sum = 0;
    for (auto& count : start) sum += std::exchange(count, sum);
    for (const auto& item : items) other[start[(item.key >> shift) & mask]++] = item;
    items.swap(other);
  }
}

// By key, equal keys by row; the rows come in order.
template <class Bits>
void sort_items(std::vector<Keyed<Bits>>& items, const Control& control) {
  if (signed_size(items) > kSmallSort) return radix_sort(items, control);
  std::sort(items.begin(), items.end(),
            [](const auto& a, const auto& b) { return a.key != b.key ? a.key < b.key : a.row < b.row; });
}

template <class T>
std::vector<Keyed<decltype(sort_key(T{}))>> sorted_keys(const Matrix<T>& X, int64_t column, const Control& control) {
  std::vector<Keyed<decltype(sort_key(T{}))>> items(to_size(X.rows));
  for (int64_t row = 0; row < X.rows; ++row)
    items[to_size(row)] = {sort_key(X(row, column)), static_cast<uint32_t>(row)};
  sort_items(items, control);
  return items;
}

void store_bins(Column& column, std::vector<uint32_t> bins) {
  if (column.bins <= kFewValues) {
    column.small.assign(bins.begin(), bins.end());
  } else {
    column.large = std::move(bins);
  }
}

template <class T>
Column category_column(const Matrix<T>& X, int64_t j, int64_t n_categories) {
  Column column;
  column.kind = Column::Kind::category;
  column.bins = static_cast<uint32_t>(n_categories);
  std::vector<uint32_t> bins(to_size(X.rows));
  for (int64_t row = 0; row < X.rows; ++row) {
    const T value = X(row, j);
    const bool known = value >= 0 && value < static_cast<T>(n_categories);  // false for NaN
    bins[to_size(row)] = known ? static_cast<uint32_t>(value) : column.bins;
    column.has_missing |= !known;
  }
  store_bins(column, std::move(bins));
  return column;
}

// Where a new bin starts, for bins of about equal weight: at the first value below which lies a further share of
// 1/max_bins of the weight. Such edges are quantiles, which can also be found without all values at hand. Weight, not
// rows, so that a row of weight 2 and two rows of weight 1 give the same bins.
template <class Items>
std::vector<uint8_t> bin_starts(const Items& items, const std::vector<uint8_t>& new_value, uint32_t distinct,
                                int64_t max_bins, std::span<const double> weight) {
  if (static_cast<int64_t>(distinct) <= max_bins) return new_value;
  const auto weight_of = [&](size_t i) { return weight.empty() ? 1.0 : weight[items[i].row]; };
  double total = 0, before = 0;
  for (size_t i = 0; i < new_value.size(); ++i) total += weight_of(i);
  std::vector<uint8_t> starts(new_value.size(), 0);
  int64_t passed = -1;  // of the shares 0, 1/max_bins, 2/max_bins, … of the total
  for (size_t i = 0; i < new_value.size(); ++i) {
    if (new_value[i]) {
      while (passed + 1 < max_bins &&
             before * static_cast<double>(max_bins) >= total * static_cast<double>(passed + 1)) {
        ++passed;
        starts[i] = 1;
      }
    }
    before += weight_of(i);
  }
  return starts;
}

template <class T, class Items>
Column binned_column(const Matrix<T>& X, int64_t j, const Items& items, const std::vector<uint8_t>& starts) {
  Column column;
  column.kind = Column::Kind::binned;
  const size_t present = starts.size();
  column.has_missing = present < items.size();
  std::vector<uint32_t> bins(items.size());
  for (size_t i = 0; i < present; ++i) {
    const double value = static_cast<double>(X(items[i].row, j));
    if (starts[i]) {
      column.first.push_back(value);
      column.last.push_back(value);
    }
    column.last.back() = value;
    bins[items[i].row] = static_cast<uint32_t>(column.first.size() - 1);
  }
  column.bins = static_cast<uint32_t>(column.first.size());
  for (size_t i = present; i < items.size(); ++i) bins[items[i].row] = column.bins;
  store_bins(column, std::move(bins));
  return column;
}

template <class Items>
Column sorted_column(const Items& items, const std::vector<uint8_t>& new_value) {
  Column column;
  const size_t present = new_value.size();
  column.order.resize(items.size());
  for (size_t i = 0; i < items.size(); ++i)
    column.order[i] = items[i].row | (i < present && new_value[i] ? kNewValue : 0U);
  column.has_missing = present < items.size();
  if (column.has_missing) {
    column.is_missing.assign(items.size(), 0);
    for (size_t i = present; i < items.size(); ++i) column.is_missing[items[i].row] = 1;
  }
  return column;
}

// A binned column of all its values, without sorting the rows; nothing if it has more than `most` values.
template <class T>
std::optional<Column> column_of_few_values(const Matrix<T>& X, int64_t j, size_t most) {
  using Key = decltype(sort_key(T{}));
  struct Value {
    Key key;
    uint8_t number;  // by first appearance
    double first, last;
  };
  constexpr int kSlotBits = 10;
  constexpr uint8_t kMissing = kFewValues;
  std::array<uint8_t, size_t{1} << kSlotBits> slots;  // number of the value, by the hash of its key
  slots.fill(kMissing);
  std::vector<Value> values;
  values.reserve(kFewValues);
  Column column;
  column.kind = Column::Kind::binned;
  column.small.resize(to_size(X.rows));
  for (int64_t row = 0; row < X.rows; ++row) {
    const T value = X(row, j);
    uint8_t& number = column.small[to_size(row)];
    number = kMissing;
    if (std::isnan(value)) {
      column.has_missing = true;
      continue;
    }
    const Key key = sort_key(value);
    size_t slot = (key * uint64_t{0x9e3779b97f4a7c15}) >> (64 - kSlotBits);
    while (slots[slot] != kMissing && values[slots[slot]].key != key) slot = (slot + 1) % slots.size();
    if (slots[slot] == kMissing) {
      if (values.size() == most) return std::nullopt;
      slots[slot] = static_cast<uint8_t>(values.size());
      values.push_back({key, slots[slot], static_cast<double>(value), 0.0});
    }
    number = slots[slot];
    values[number].last = static_cast<double>(value);
  }
  std::sort(values.begin(), values.end(), [](const Value& a, const Value& b) { return a.key < b.key; });
  column.bins = static_cast<uint32_t>(values.size());
  std::array<uint8_t, size_t{kFewValues} + 1> bin;
  bin[kMissing] = static_cast<uint8_t>(column.bins);
  for (const Value& value : values) {
    bin[value.number] = static_cast<uint8_t>(column.first.size());
    column.first.push_back(value.first);
    column.last.push_back(value.last);
  }
  for (uint8_t& number : column.small) number = bin[number];
  return column;
}

template <class T>
Column numeric_column(const Matrix<T>& X, int64_t j, int64_t max_bins, std::span<const double> weight,
                      const Control& control) {
  // A column of few values is counted; one of n distinct values in n <= 255 rows gains nothing from it.
  const int64_t few = std::min<int64_t>(max_bins > 0 ? max_bins : X.rows / 2, kFewValues);
  if (auto column = column_of_few_values(X, j, to_size(few))) return std::move(*column);
  const auto items = sorted_keys(X, j, control);
  size_t present = items.size();
  while (present > 0 && items[present - 1].key == sort_key(static_cast<T>(NAN))) --present;
  std::vector<uint8_t> new_value(present);
  uint32_t distinct = 0;
  for (size_t i = 0; i < present; ++i) {
    new_value[i] = i == 0 || items[i].key != items[i - 1].key;
    distinct += new_value[i];
  }
  if (max_bins > 0) {
    Column column = binned_column(X, j, items, bin_starts(items, new_value, distinct, max_bins, weight));
    column.exact = static_cast<int64_t>(distinct) <= max_bins;
    return column;
  }
  return sorted_column(items, new_value);
}

}  // namespace

template <class T>
std::vector<uint32_t> sorted_rows(const Matrix<T>& X, int64_t column, const Control& control) {
  const auto items = sorted_keys(X, column, control);
  std::vector<uint32_t> rows(items.size());
  for (size_t i = 0; i < items.size(); ++i)
    rows[i] = items[i].row | (i == 0 || items[i].key != items[i - 1].key ? kNewValue : 0U);
  return rows;
}

template <class T>
std::vector<Column> make_columns(const Matrix<T>& X, std::span<const int64_t> n_categories, int64_t max_bins,
                                 std::span<const double> weight, Pool& pool, const Control& control) {
  std::vector<Column> columns(to_size(X.columns));
  pool.parallel_for(X.columns, [&](int64_t j, int) {
    control.check();
    const int64_t categories = n_categories.empty() ? 0 : n_categories[to_size(j)];
    columns[to_size(j)] =
        categories > 0 ? category_column(X, j, categories) : numeric_column(X, j, max_bins, weight, control);
  });
  return columns;
}

namespace {

// Stored numbers that are not zero, column by column; the rows of a column increase.
template <class T>
struct ByColumn {
  std::vector<int64_t> start;  // first entry of each column, then the number of entries
  std::vector<uint32_t> rows;
  std::vector<T> values;
};

template <class T, class Index, class Use>
void for_entries(const SparseRows<T, Index>& X, const Control& control, const Use& use) {
  for (int64_t row = 0; row < X.rows; ++row) {
    if (row % 1024 == 0) control.check();
    const auto [begin, end] = X.range(row);
    for (int64_t k = begin; k < end; ++k)
      if (X.data[k] != 0) use(row, to_size(X.column(k)), X.data[k]);
  }
}

template <class T, class Index>
ByColumn<T> by_column(const SparseRows<T, Index>& X, const Control& control) {
  ByColumn<T> out;
  out.start.assign(to_size(X.columns) + 2, 0);
  for_entries(X, control, [&](int64_t, size_t column, T) { ++out.start[column + 2]; });
  std::partial_sum(out.start.begin(), out.start.end(), out.start.begin());
  out.rows.resize(to_size(out.start.back()));
  out.values.resize(out.rows.size());
  for_entries(X, control, [&](int64_t row, size_t column, T value) {
    const auto at = to_size(out.start[column + 1]++);
    out.rows[at] = static_cast<uint32_t>(row);
    out.values[at] = value;
  });
  out.start.pop_back();
  return out;
}

// Puts the entries of one column in order.
template <class T>
SparseSlice sparse_column(const ByColumn<T>& numbers, int64_t begin, int64_t end, uint32_t* entries,
                          const Control& control) {
  SparseSlice slice;
  slice.begin = begin;
  std::vector<Keyed<decltype(sort_key(T{}))>> items;
  items.reserve(to_size(end - begin));
  for (int64_t at = begin; at < end; ++at) {
    const T value = numbers.values[to_size(at)];
    items.push_back({sort_key(value), numbers.rows[to_size(at)]});
    ++(std::isnan(value) ? slice.missing : value < 0 ? slice.negative : slice.positive);
  }
  sort_items(items, control);
  for (size_t i = 0; i < items.size(); ++i) {
    const bool is_new = i < slice.present() && (i == 0 || items[i].key != items[i - 1].key);
    entries[i] = items[i].row | (is_new ? kNewValue : 0U);
  }
  return slice;
}

}  // namespace

template <class T, class Index>
SparseColumns make_sparse_columns(const SparseRows<T, Index>& X, Pool& pool, const Control& control) {
  constexpr int64_t together = 64;  // columns of one chunk: most hold a few entries
  const ByColumn<T> numbers = by_column(X, control);
  SparseColumns columns;
  columns.entries.resize(numbers.rows.size());
  columns.slices.resize(to_size(X.columns));
  pool.parallel_for((X.columns + together - 1) / together, [&](int64_t chunk, int) {
    control.check();
    for (int64_t j = chunk * together; j < std::min(X.columns, (chunk + 1) * together); ++j) {
      const int64_t begin = numbers.start[to_size(j)], end = numbers.start[to_size(j) + 1];
      columns.slices[to_size(j)] = sparse_column(numbers, begin, end, columns.entries.data() + begin, control);
    }
  });
  return columns;
}

template SparseColumns make_sparse_columns(const SparseRows<float, int32_t>&, Pool&, const Control&);
template SparseColumns make_sparse_columns(const SparseRows<float, int64_t>&, Pool&, const Control&);
template SparseColumns make_sparse_columns(const SparseRows<double, int32_t>&, Pool&, const Control&);
template SparseColumns make_sparse_columns(const SparseRows<double, int64_t>&, Pool&, const Control&);
template std::vector<uint32_t> sorted_rows(const Matrix<float>&, int64_t, const Control&);
template std::vector<uint32_t> sorted_rows(const Matrix<double>&, int64_t, const Control&);
template std::vector<Column> make_columns(const Matrix<float>&, std::span<const int64_t>, int64_t,
                                          std::span<const double>, Pool&, const Control&);
template std::vector<Column> make_columns(const Matrix<double>&, std::span<const int64_t>, int64_t,
                                          std::span<const double>, Pool&, const Control&);

}  // namespace boscage
