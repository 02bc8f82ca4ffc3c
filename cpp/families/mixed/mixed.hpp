// Trees for forests: at every node a few random offers of tests, the best of which is taken.
//
// A share of the nodes has axis cuts along a few random columns alone. The others choose, by the gain under the
// criterion of all classes, among the offers of several finders: WODT and ridge regression, each over its own random
// columns, scaled by the rows of the node, and axis cuts. Every draw is a function of the seed, the node's path and the
// offer, so that trees depend neither on threads nor on the order of growth.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "criteria/criteria.hpp"
#include "data/rows.hpp"
#include "data/target.hpp"
#include "grow/growth.hpp"
#include "grow/node_rows.hpp"
#include "grow/scan.hpp"

namespace boscage::mixed {

enum class Finder : uint8_t { wodt, ridge, axis };

struct Options {
  double axis_share = 0.5;  // of the nodes have axis cuts alone
  std::vector<Finder> finders{Finder::wodt, Finder::ridge, Finder::axis};
  int64_t axis_columns = 1;    // of an axis offer
  int64_t linear_columns = 0;  // of a linear offer; 0: at random from 1 to all
  double l2 = 0.1;
  double super_classes = 0.5;  // share of WODT's offers whose classes are first put into two groups at random
  int max_iter = 30;
  int64_t max_rows = 0;  // directions are found from so many rows of a node; 0: all
  uint64_t seed = 0;
};

// Numbers that stand for categories in linear tests, as in RowMap; empty: every column is numeric.
struct CategoryNumbers {
  std::span<const int64_t> offset;
  std::span<const double> codes;
};

struct Data {
  AnyRows X;
  std::span<const int64_t> n_categories;
  CategoryNumbers numbers;
  std::vector<double> fill, spread;  // mean and deviation of every column, by fill_columns
  Target target;
  AnyCriterion criterion;
  Limits limits;
  Options options;

  int64_t columns() const {
    return std::visit([](const auto& rows) { return rows.columns; }, X);
  }
  bool is_sparse() const { return X.index() >= 2; }
  bool is_category(size_t column) const { return column < n_categories.size() && n_categories[column] > 0; }
  // x as a linear test sees it, but for a missing value.
  double number(double x, size_t column) const {
    if (numbers.offset.empty() || numbers.offset[column] < 0 || !(x == x)) return x;
    return numbers.codes[static_cast<size_t>(numbers.offset[column]) + static_cast<size_t>(x)];
  }
};

// Sets data.fill and data.spread by the weighted rows listed.
void fill_columns(Data& data, std::span<const uint32_t> rows, const Control& control);

// The whole loop in memory. `rows` divides as the tree grows.
void grow(Grower& grower, const Data& data, NodeRows& rows, Pool& pool, Control& control);

}  // namespace boscage::mixed
