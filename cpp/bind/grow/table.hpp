// The user's rows, dense or CSR, as growth in memory borrows them: the arrays must outlive it.
#pragma once

#include "bind/bound_predictor.hpp"
#include "data/table.hpp"

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

}  // namespace boscage::bind
