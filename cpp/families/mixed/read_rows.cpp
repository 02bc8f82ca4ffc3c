#include "families/mixed/read_rows.hpp"

#include <algorithm>
#include <cmath>

#include "families/mixed/tile_kernel.hpp"

namespace boscage::mixed {

namespace {

template <class Rows>
constexpr bool kIsDense = requires(const Rows& X) { X.column_stride; };

bool is_same(double a, double b) { return a == b || (a != a && b != b); }

}  // namespace

template <class T>
void RowReader::read_dense(const Matrix<T>& X, std::span<const uint32_t> rows, std::span<const int32_t> columns,
                           Tile<double>& tile) const {
  const auto n = static_cast<int64_t>(rows.size());
  const bool coded = !data_.numbers.offset.empty();
  const auto put = [&](int64_t g, size_t j, const uint32_t* row) {
    const auto column = static_cast<size_t>(columns[j]);
    const double fill = data_.fill[column];
    double* out = tile.place(g, static_cast<int64_t>(j));
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      auto x = static_cast<double>(X(row[lane], columns[j]));
      if (coded) x = data_.number(x, column);
      out[lane] = x == x ? x : fill;
    }
  };
  uint32_t last[kLanes];
  const auto group_rows = [&](int64_t g) -> const uint32_t* {
    if ((g + 1) * kLanes <= n) return rows.data() + g * kLanes;
    for (int64_t lane = 0; lane < kLanes; ++lane)
      last[lane] = rows[static_cast<size_t>(std::min(g * kLanes + lane, n - 1))];
    return last;
  };
  if (X.column_stride > X.row_stride) {
    for (size_t j = 0; j < columns.size(); ++j)
      for (int64_t g = 0; g < tile.groups(); ++g) put(g, j, group_rows(g));
  } else {
    for (int64_t g = 0; g < tile.groups(); ++g) {
      const uint32_t* row = group_rows(g);
      for (size_t j = 0; j < columns.size(); ++j) put(g, j, row);
    }
  }
}

template <class T, class Index>
void RowReader::read_sparse(const SparseRows<T, Index>& X, std::span<const uint32_t> rows,
                            std::span<const int32_t> columns, Tile<double>& tile) {
  place_.resize(static_cast<size_t>(X.columns), -1);
  for (size_t j = 0; j < columns.size(); ++j) place_[static_cast<size_t>(columns[j])] = static_cast<int32_t>(j);
  std::fill_n(tile.place(0, 0), tile.groups() * kLanes * tile.columns(), 0.0);
  for (int64_t i = 0; i < tile.groups() * kLanes; ++i) {
    const auto [begin, end] = X.range(rows[std::min(static_cast<size_t>(i), rows.size() - 1)]);
    for (int64_t k = begin; k < end; ++k) {
      const auto column = static_cast<size_t>(X.column(k));
      if (place_[column] < 0) continue;
      const auto x = static_cast<double>(X.data[k]);
      tile.place(i / kLanes, place_[column])[i % kLanes] = x == x ? x : data_.fill[column];
    }
  }
  for (const int32_t column : columns) place_[static_cast<size_t>(column)] = -1;
}

void RowReader::read(std::span<const uint32_t> rows, std::span<const int32_t> columns, Tile<double>& tile) {
  tile.resize(static_cast<int64_t>(rows.size()), static_cast<int64_t>(columns.size()));
  std::visit(
      [&](const auto& X) {
        if constexpr (kIsDense<std::remove_cvref_t<decltype(X)>>) {
          read_dense(X, rows, columns, tile);
        } else {
          read_sparse(X, rows, columns, tile);
        }
      },
      data_.X);
}

void RowReader::read_column(std::span<const uint32_t> rows, int32_t column, std::vector<double>& values) const {
  values.resize(rows.size());
  std::visit(
      [&](const auto& X) {
        for (size_t i = 0; i < rows.size(); ++i) values[i] = static_cast<double>(X(rows[i], column));
      },
      data_.X);
}

bool RowReader::varies(std::span<const uint32_t> rows, int32_t column) const {
  return std::visit(
      [&](const auto& X) {
        const auto first = static_cast<double>(X(rows[0], column));
        return std::any_of(rows.begin() + 1, rows.end(),
                           [&](uint32_t row) { return !is_same(static_cast<double>(X(row, column)), first); });
      },
      data_.X);
}

void RowReader::varying(std::span<const uint32_t> rows, std::vector<int32_t>& columns) {
  columns.clear();
  seen_.resize(static_cast<size_t>(data_.columns()));
  touched_.clear();
  std::visit(
      [&](const auto& X) {
        if constexpr (!kIsDense<std::remove_cvref_t<decltype(X)>>) {
          for (const uint32_t row : rows) {
            const auto [begin, end] = X.range(row);
            for (int64_t k = begin; k < end; ++k) {
              const int64_t column = X.column(k);
              Seen& seen = seen_[static_cast<size_t>(column)];
              const auto x = static_cast<double>(X.data[k]);
              if (seen.count++ == 0) {
                seen.first = x;
                touched_.push_back(static_cast<int32_t>(column));
              }
              seen.differs |= !is_same(x, seen.first);
            }
          }
        }
      },
      data_.X);
  for (const int32_t column : touched_) {
    Seen& seen = seen_[static_cast<size_t>(column)];
    const bool has_zeros = seen.count < static_cast<int64_t>(rows.size());
    if (seen.differs || (has_zeros && seen.first != 0)) columns.push_back(column);
    seen = {};
  }
  std::sort(columns.begin(), columns.end());
}

namespace {

// Weighted sums of every column about a centre of its own; missing values do not count.
struct ColumnSums {
  explicit ColumnSums(size_t columns) : weight(columns, 0.0), sum(columns, 0.0), square(columns, 0.0) {}

  void add(size_t j, double share, double off) {
    if (off != off) return;
    weight[j] += share;
    sum[j] += share * off;
    square[j] += share * off * off;
  }

  std::vector<double> weight, sum, square;
};

}  // namespace

void fill_columns(Data& data, std::span<const uint32_t> rows, const Control& control) {
  const auto d = static_cast<size_t>(data.columns());
  double all = 0;
  for (const uint32_t row : rows) all += data.target.weight_of(row);
  std::vector<double> centre(d, 0.0);
  ColumnSums sums(d);
  std::vector<double> line(d);
  const bool coded = !data.numbers.offset.empty();
  std::visit(
      [&](const auto& X) {
        for (size_t i = 0; i < rows.size(); ++i) {
          if (i % 1024 == 0) control.check();
          const double share = data.target.weight_of(rows[i]) / all;
          if constexpr (kIsDense<std::remove_cvref_t<decltype(X)>>) {
            for (size_t j = 0; j < d; ++j) {
              line[j] = static_cast<double>(X(rows[i], static_cast<int64_t>(j)));
              if (coded) line[j] = data.number(line[j], j);
              if (i == 0 && line[j] == line[j]) centre[j] = line[j];
            }
            add_line(line.data(), centre.data(), share, static_cast<int64_t>(d), sums.weight.data(), sums.sum.data(),
                     sums.square.data());
          } else {  // what is not stored is 0, the centre
            const auto [begin, end] = X.range(rows[i]);
            for (int64_t k = begin; k < end; ++k) {
              const auto j = static_cast<size_t>(X.column(k));
              const auto x = static_cast<double>(X.data[k]);
              sums.add(j, share, x);
              sums.weight[j] -= share;  // all rows but those with a missing value are counted below
            }
          }
        }
      },
      data.X);
  data.fill.assign(d, 0.0);
  data.spread.assign(d, 0.0);
  for (size_t j = 0; j < d; ++j) {
    if (data.is_sparse()) sums.weight[j] += 1.0;
    if (!(sums.weight[j] > 0)) continue;
    const double mean = sums.sum[j] / sums.weight[j];
    const double variance = sums.square[j] / sums.weight[j] - mean * mean;
    if (std::isfinite(centre[j] + mean)) data.fill[j] = centre[j] + mean;
    if (variance > 0 && std::isfinite(variance)) data.spread[j] = std::sqrt(variance);
  }
}

}  // namespace boscage::mixed
