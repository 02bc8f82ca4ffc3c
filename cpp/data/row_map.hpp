// A row on its way to a linear test: numbers for categories, fills for NaN, then centre, scale, constant, norm.
//
// RowView: a row as doubles, dense or sparse. RowMapper: makes the two views of a row that prediction needs,
// "plain" (the user's units, for leaf models) and "seen" (what linear tests multiply). One mapper for each thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/array.hpp"
#include "base/dot.hpp"
#include "data/matrix.hpp"
#include "data/rows.hpp"

namespace boscage {

// Empty spans: that step is left out.
struct RowMap {
  Span<const double> fill;
  Span<const int64_t> code_offset;
  Span<const double> codes;
  Span<const double> shift, scale;
  bool has_constant = false;
  double constant = 0.0;
  bool unit_rows = false;

  bool is_identity() const { return shift.empty() && scale.empty() && !has_constant && !unit_rows; }
};

// The code of a category as an array index, or -1 for NaN and codes that do not exist.
inline int64_t category_code(double x, int64_t n_categories) {
  if (!(x >= 0 && x < static_cast<double>(n_categories))) return -1;
  const auto code = static_cast<int64_t>(x);
  return static_cast<double>(code) == x ? code : -1;
}

// The number that stands for x in column j: categories turned into numbers, NaN filled.
inline double plain_number(const RowMap& map, Span<const int64_t> n_categories, int64_t j, double x) {
  const auto column = j;
  if (!map.code_offset.empty() && map.code_offset[column] >= 0) {
    const int64_t code = category_code(x, n_categories[column]);
    x = code < 0 ? std::numeric_limits<double>::quiet_NaN() : map.codes[map.code_offset[column] + code];
  }
  return std::isnan(x) && !map.fill.empty() ? map.fill[column] : x;
}

inline double scaled(const RowMap& map, int64_t j, double x) {
  const auto column = j;
  if (!map.shift.empty()) x -= map.shift[column];
  if (!map.scale.empty()) x *= map.scale[column];
  return x;
}

// The same where x - shift may overflow.
inline double scaled_by_halves(const RowMap& map, int64_t j, double x) {
  const auto column = j;
  const double half = 0.5 * x - (map.shift.empty() ? 0.0 : 0.5 * map.shift[column]);
  const double scale = map.scale.empty() ? 1.0 : map.scale[column];
  return std::abs(scale) < 0x1p1000 ? half * (2.0 * scale) : (half * scale) * 2.0;
}

// Rows of a smaller norm are divided by this: weights times its reciprocal are numbers.
constexpr double kSmallestNorm = 0x1p-900;

constexpr bool is_safe_square(double square) { return square > 1e-200 && square < 1e200; }

// Divides a row by its norm. Where squares would overflow or vanish the largest entry is divided out first; an entry
// that has itself overflowed counts as the largest number there is.
inline void make_unit_row(double* row, int64_t size, double square) {
  if (std::isnan(square)) return;  // a row with missing values has no length: it is left as it is
  double divisor = std::sqrt(square);
  if (!is_safe_square(square)) {
    double largest = 0;
    for (int64_t j = 0; j < size; ++j) {
      constexpr double most = std::numeric_limits<double>::max();
      row[j] = std::clamp(row[j], -most, most);
      largest = std::max(largest, std::abs(row[j]));
    }
    if (!(largest > 0)) return;
    for (int64_t j = 0; j < size; ++j) row[j] /= largest;
    divisor = std::sqrt(dot(row, row, size));
    if (largest < kSmallestNorm && largest * divisor < kSmallestNorm) divisor = kSmallestNorm / largest;
  }
  for (int64_t j = 0; j < size; ++j) row[j] /= divisor;
}

struct RowView {
  const double* dense = nullptr;  // if null, the row is sparse
  const int64_t* columns = nullptr;
  const double* values = nullptr;
  int64_t stored = 0;

  double dot_with(const double* weights, int64_t size) const {
    return dense != nullptr ? dot(weights, dense, size) : dot_sparse(columns, values, stored, weights);
  }
};

// A dot product in units of 2^kExponent, in which no finite numbers overflow; an entry of the row that has itself
// overflowed counts as the largest number there is.
struct SmallDot {
  static constexpr int kExponent = 1200;
  double value = 0;

  void add(double weight, double x) {
    constexpr double most = std::numeric_limits<double>::max();
    value += (weight * 0x1p-600) * (std::clamp(x, -most, most) * 0x1p-600);
  }
  void add(const RowView& row, const double* weights, int64_t size) {
    if (row.dense != nullptr) {
      for (int64_t j = 0; j < size; ++j) add(weights[j], row.dense[j]);
    } else {
      for (int64_t k = 0; k < row.stored; ++k) add(weights[row.columns[k]], row.values[k]);
    }
  }
};

class RowMapper {
 public:
  // need_dense: sparse weights are multiplied with a dense row.
  RowMapper(const RowMap& map, Span<const int64_t> n_categories, bool need_dense)
      : map_(map), n_categories_(n_categories), need_dense_(need_dense) {
    for (const double s : map.shift) moves_zero_ = moves_zero_ || s != 0;
  }

  const RowView& plain() const { return plain_; }
  const RowView& seen() const { return seen_; }

  template <class T>
  void load(const Matrix<T>& rows, int64_t row) {
    const int64_t d = columns();
    if constexpr (std::is_same_v<T, double>) {
      if (rows.column_stride == 1 && map_.code_offset.empty()) {
        const double* values = rows.data + row * rows.row_stride;
        if (map_.fill.empty() || is_finite(values)) {
          plain_ = {.dense = values};
          return see_dense();
        }
      }
    }
    plain_dense_.resize(d);
    for (int64_t j = 0; j < d; ++j) plain_dense_[j] = static_cast<double>(rows(row, j));
    if (!map_.code_offset.empty() || (!map_.fill.empty() && !is_finite(plain_dense_.data()))) {
      for (int64_t j = 0; j < d; ++j) {
        double& x = plain_dense_[j];
        x = plain_number(map_, n_categories_, j, x);
      }
    }
    plain_ = {.dense = plain_dense_.data()};
    see_dense();
  }

  template <class T, class Index>
  void load(const SparseRows<T, Index>& rows, int64_t row) {
    const auto [begin, end] = rows.range(row);
    if (!map_.code_offset.empty()) {  // an absent entry is category 0, whose number need not be 0
      plain_dense_.assign(columns(), 0.0);
      for (int64_t k = begin; k < end; ++k) plain_dense_[rows.column(k)] = rows.data[k];
      for (int64_t j = 0; j < columns(); ++j) {
        double& x = plain_dense_[j];
        x = plain_number(map_, n_categories_, j, x);
      }
      plain_ = {.dense = plain_dense_.data()};
      return see_dense();
    }
    columns_.clear();
    plain_values_.clear();
    for (int64_t k = begin; k < end; ++k) {
      columns_.push_back(rows.column(k));
      plain_values_.push_back(plain_number(map_, n_categories_, columns_.back(), static_cast<double>(rows.data[k])));
    }
    plain_ = {.columns = columns_.data(), .values = plain_values_.data(), .stored = end - begin};
    see_sparse();
  }

 private:
  int64_t columns() const { return n_categories_.size(); }

  // Is there nothing to fill?
  bool is_finite(const double* values) const { return is_finite_row(values, columns()); }

  void see_dense() {
    if (map_.is_identity()) {
      seen_ = plain_;
      return;
    }
    const int64_t d = columns();
    seen_dense_.resize(d + 1);
    for (int64_t j = 0; j < d; ++j) seen_dense_[j] = scaled(map_, j, plain_.dense[j]);
    finish_dense();
  }

  void finish_dense() {
    const int64_t d = columns();
    if (map_.has_constant) seen_dense_[d] = map_.constant;
    if (map_.unit_rows) {
      const int64_t size = d + (map_.has_constant ? 1 : 0);
      double square = dot(seen_dense_.data(), seen_dense_.data(), size);
      if (!is_safe_square(square)) {
        see_by_halves();
        square = dot(seen_dense_.data(), seen_dense_.data(), size);
      }
      make_unit_row(seen_dense_.data(), size, square);
    }
    seen_ = {.dense = seen_dense_.data()};
  }

  void see_by_halves() {
    const int64_t d = columns();
    for (int64_t j = 0; j < d; ++j)
      seen_dense_[j] = scaled_by_halves(map_, j, plain_.dense == nullptr ? 0.0 : plain_.dense[j]);
    if (plain_.dense != nullptr) return;
    for (int64_t k = 0; k < plain_.stored; ++k)
      seen_dense_[plain_.columns[k]] = scaled_by_halves(map_, plain_.columns[k], plain_.values[k]);
  }

  void see_sparse() {
    const auto d = columns();
    if (moves_zero_) {
      seen_dense_.resize(d + 1);
      for (int64_t j = 0; j < d; ++j) seen_dense_[j] = scaled(map_, static_cast<int64_t>(j), 0.0);
      for (int64_t k = 0; k < columns_.size(); ++k) {
        seen_dense_[columns_[k]] = scaled(map_, columns_[k], plain_values_[k]);
      }
      return finish_dense();
    }
    seen_values_ = plain_values_;
    for (int64_t k = 0; k < columns_.size(); ++k) seen_values_[k] = scaled(map_, columns_[k], plain_values_[k]);
    if (map_.has_constant) {
      columns_.push_back(columns());
      seen_values_.push_back(map_.constant);
      plain_.columns = columns_.data();  // it may have moved; plain_.stored still leaves the constant out
    }
    if (map_.unit_rows) make_unit();
    seen_ = {.columns = columns_.data(), .values = seen_values_.data(), .stored = seen_values_.size()};
    if (need_dense_) scatter();
  }

  void make_unit() {
    LaneSum squares;
    for (int64_t k = 0; k < seen_values_.size(); ++k) squares.add(columns_[k], seen_values_[k] * seen_values_[k]);
    make_unit_row(seen_values_.data(), seen_values_.size(), squares.total());
  }

  void scatter() {
    seen_dense_.resize(columns() + 1, 0.0);
    for (const int64_t j : scattered_) seen_dense_[j] = 0.0;
    scattered_ = columns_;
    for (int64_t k = 0; k < columns_.size(); ++k) seen_dense_[columns_[k]] = seen_values_[k];
    seen_ = {.dense = seen_dense_.data()};
  }

  RowMap map_;
  Span<const int64_t> n_categories_;
  bool need_dense_;
  bool moves_zero_ = false;
  RowView plain_, seen_;
  Array<double> plain_dense_, seen_dense_, plain_values_, seen_values_;
  Array<int64_t> columns_, scattered_;
};

}  // namespace boscage
