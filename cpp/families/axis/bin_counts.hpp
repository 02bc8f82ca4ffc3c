// Counting rows by bins of their columns: histograms of nodes, smallest values of bins, digits of numbers.
//
// Edges: the largest value of each bin of each column, in order; a missing number has the place behind the last bin.
// Weights lie on a grid, so all sums are exact and may be added in any order. Must not know where rows come from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "base/parallel.hpp"
#include "data/matrix.hpp"
#include "data/target.hpp"
#include "families/axis/batches.hpp"

namespace boscage {

template <class T>
struct BinEdges {
  std::vector<int64_t>
      start;            // first place of each column, then the number of places; one place is for missing numbers
  std::vector<T> last;  // by place; that of a missing number is not used

  int64_t columns() const { return signed_size(start) - 1; }
  int64_t places() const { return start.back(); }
};

template <class T>
struct CountedRows {
  Matrix<T> X;
  Target target;
};

// For each histogram of the steps (without steps: for the root) the sums by place, then the rows by place. `grids` are
// those of the histograms' nodes, for numbers.
template <class T>
Histograms count_bins(const CountedRows<T>& rows, const BinEdges<T>& edges, const BinRoute& route,
                      const AnyCriterion& criterion, Pool& pool, const Control& control);

// By place; infinity where there is no number.
template <class T>
std::vector<T> smallest_in_bins(const Matrix<T>& X, const BinEdges<T>& edges, Pool& pool, const Control& control);

// Weight by prefix and next digit of the keys of one column that begin like one of the prefixes; a key is the number's
// bits, turned so that they lie in the order of the numbers.
template <class T, class Key>
std::vector<double> count_digits(const Matrix<T>& X, int64_t column, std::span<const double> weight,
                                 std::span<const Key> prefixes, int shift);

}  // namespace boscage
