// Columns in units in which their sums neither overflow nor vanish nor lose their digits.
//
// ColumnUnits: what is done to the numbers of such columns before
// anything is added up, and how to get back. Must not know tests, nodes or trees.
#pragma once

#include <cstddef>
#include <vector>

#include "data/rows.hpp"
#include "data/survey.hpp"

namespace boscage::stochastic {

using Range = ColumnRanges;

// Columns as the sums read them, (x - centre) unit: unit is a power of two that keeps sums of very large or very small
// numbers in the range of doubles, centre a number amid those that vary little for their size. Single precision needs
// neither. Empty: all columns are read as they are.
struct ColumnUnits {
  std::vector<double> centre, unit;

  bool is_empty() const { return unit.empty(); }
  Range of(Range range) const;
  // The nearest shift for which centre + shift / unit is a number, so that training and prediction subtract the same.
  double settle(double shift, size_t j) const;
  // A map of columns as read here becomes one of columns as they are.
  void undo(std::vector<double>& shift, std::vector<double>& factor) const;
};

// For columns that are standardised.
ColumnUnits find_units(const Range& range);
// For rows that are only divided by their norm: one power of two for all columns and the constant.
ColumnUnits common_unit(const Range& range);

// The rows as they are read, `values` holding their numbers. A sparse column with a centre has all its entries stored.
Matrix<double> read_rows(const Matrix<double>& X, const ColumnUnits& units, std::vector<double>& values);
template <class Index>
SparseRows<double, Index> read_rows(const SparseRows<double, Index>& X, const ColumnUnits& units,
                                    std::vector<double>& values);

}  // namespace boscage::stochastic
