#include "families/oblique/columns.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_set>

#include "base/dot.hpp"
#include "base/index.hpp"
#include "base/rng.hpp"

namespace boscage {

ScaledColumns::ScaledColumns(const ObliqueData& data, std::span<const uint32_t> rows)
    : rows_(rows.size()), columns_(to_size(data.columns())) {
  std::visit([&](const auto& X) { keep(X, data.scaling, rows); }, data.X);
}

template <class T>
void ScaledColumns::keep(const Matrix<T>& X, const Scaling& scaling, std::span<const uint32_t> rows) {
  values_.resize(rows_ * columns_);
  for (size_t i = 0; i < rows_; ++i) {
    for (size_t j = 0; j < columns_; ++j) {
      const double value = scaling.scaled(static_cast<double>(X(rows[i], static_cast<int64_t>(j))), j);
      values_[j * rows_ + i] = std::isnan(value) ? scaling.missing(j) : value;
    }
  }
}

template <class T, class Index>
void ScaledColumns::keep(const SparseRows<T, Index>& X, const Scaling& scaling, std::span<const uint32_t> rows) {
  const auto for_entries = [&](const auto& use) {
    for (size_t i = 0; i < rows_; ++i) {
      const auto [begin, end] = X.range(rows[i]);
      for (int64_t k = begin; k < end; ++k) use(i, to_size(X.column(k)), static_cast<double>(X.data[k]));
    }
  };
  offsets_.assign(columns_ + 1, 0);
  for_entries([&](size_t, size_t j, double) { ++offsets_[j + 1]; });
  for (size_t j = 0; j < columns_; ++j) offsets_[j + 1] += offsets_[j];
  entries_.resize(offsets_.back());
  std::vector<size_t> next(offsets_.begin(), offsets_.end() - 1);
  for_entries([&](size_t i, size_t j, double x) {
    const double value = scaling.scaled(x, j);
    entries_[next[j]++] = {static_cast<uint32_t>(i), std::isnan(value) ? scaling.missing(j) : value};
  });
  absent_.resize(columns_);
  for (size_t j = 0; j < columns_; ++j) absent_[j] = scaling.scaled(0.0, j);
}

std::span<const double> ScaledColumns::column(size_t j, std::vector<double>& place) const {
  if (!is_sparse()) return {dense(j), rows_};
  place.assign(rows_, absent_[j]);
  for (const Entry& entry : entries(j)) place[entry.row] = entry.value;
  return place;
}

void ScaledColumns::score(std::span<const double> theta, std::vector<double>& scores) const {
  double constant = theta[columns_];
  if (is_sparse())
    for (size_t j = 0; j < columns_; ++j) constant += theta[j] * absent_[j];
  scores.assign(rows_, constant);
  for (size_t j = 0; j < columns_; ++j)
    if (theta[j] != 0) add_entries(j, theta[j], scores);
}

void ScaledColumns::add(std::span<const size_t> columns, std::span<const double> theta,
                        std::vector<double>& scores) const {
  if (is_sparse()) {
    double constant = 0;
    for (const size_t j : columns) constant += theta[j] * absent_[j];
    for (double& score : scores) score += constant;
  }
  for (const size_t j : columns) add_entries(j, theta[j], scores);
}

void ScaledColumns::add_entries(size_t j, double factor, std::vector<double>& scores) const {
  if (is_sparse()) {
    for (const Entry& entry : entries(j)) scores[entry.row] += factor * (entry.value - absent_[j]);
  } else {
    const double* x = dense(j);
    for (size_t i = 0; i < rows_; ++i) scores[i] += factor * x[i];
  }
}

void ScaledColumns::project(std::span<const double> pull, std::vector<double>& sums) const {
  sums.resize(columns_);
  double all = 0;
  for (const double value : pull) all += value;
  for (size_t j = 0; j < columns_; ++j) {
    if (is_sparse()) {
      double sum = 0;
      for (const Entry& entry : entries(j)) sum += pull[entry.row] * (entry.value - absent_[j]);
      sums[j] = sum + all * absent_[j];
    } else {
      sums[j] = dot(pull.data(), dense(j), static_cast<int64_t>(rows_));
    }
  }
}

// By a sum of hashes of what a row has, so that columns can be read one after the other.
bool ScaledColumns::has_distinct_rows(size_t wanted) const {
  if (rows_ < wanted) return false;
  std::vector<uint64_t> hash(rows_, 0);
  for (size_t j = 0; j < columns_; ++j) {
    const uint64_t key = mix(j + 1);
    const auto add = [&](size_t i, double x) { hash[i] += mix(key ^ std::bit_cast<uint64_t>(x + 0.0)); };
    if (is_sparse()) {
      for (const Entry& entry : entries(j))
        if (entry.value != absent_[j]) add(entry.row, entry.value);
    } else {
      for (size_t i = 0; i < rows_; ++i) add(i, dense(j)[i]);
    }
  }
  return std::unordered_set<uint64_t>(hash.begin(), hash.end()).size() >= wanted;
}

}  // namespace boscage
