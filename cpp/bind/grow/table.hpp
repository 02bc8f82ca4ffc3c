// The user's rows, dense or CSR, as growth in memory borrows them: the arrays must outlive it.
#pragma once

#include <stdexcept>

#include "bind/bound_predictor.hpp"
#include "data/table.hpp"
#include "data/target.hpp"

namespace boscage::bind {

struct Table {
  Table(const AnyRows& matrix, size_t stored, bool is_shared)
      : rows(matrix), data(matrix, is_shared), count(static_cast<size_t>(data.size())), numbers(stored) {}

  AnyRows rows;
  DataTable data;
  size_t count;
  size_t numbers;  // stored

  int64_t columns() const { return data.columns(); }
};

inline void check_rows(const Table& X, const Target& target) {
  if (X.data.size() != target.rows()) throw std::invalid_argument("X and y differ in length.");
}

}  // namespace boscage::bind
