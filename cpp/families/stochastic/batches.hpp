// Growing a stochastic tree over rows that are never all in memory: what a pass must bring, and what it tells.
//
// Route: the tests on the way to the nodes being divided, a value that can be sent anywhere. RouteSums: adds up the
// rows of a block along a route; it keeps nothing from block to block. BatchGrowth: asks for a route, is told the
// reduced sums. All leaves that could still be split are asked for together, so that a tree takes one pass per level
// whatever its order of growth. Must not know where rows come from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "base/parallel.hpp"
#include "families/stochastic/divide.hpp"
#include "families/stochastic/frame.hpp"
#include "families/stochastic/sums.hpp"
#include "families/stochastic/tile.hpp"
#include "grow/pass_growth.hpp"
#include "numeric/pairwise_sum.hpp"

namespace boscage::stochastic {

// One test of a route. Its sides lead to other steps; a wanted step is one whose sides are counted and summed.
struct RouteStep {
  Division division;
  std::vector<double> weights;  // of the test as the tree holds it
  int32_t left = -1, right = -1;
  bool is_wanted = false;
  std::vector<double> mean[2];  // of a side that is summed about its mean row, else empty
};

// Parents come before children. No step at all: the sums of the root are wanted, about its mean row if there is one.
struct Route {
  std::vector<RouteStep> steps;
  std::vector<double> root_mean;

  // Numbers a block brings: for each wanted step the sums of the chosen sides and two counts of rows, then for each
  // side with a mean what add_centred makes.
  size_t size(const SumShape& shape) const;
};

template <class T>
class RouteSums {
 public:
  // `frame` without norms; the route must outlive this.
  RouteSums(const Route& route, const Frame& frame, const SumShape& shape);

  // Sums of a block, rows begin .. end - 1, into zeros; `first` is added to row numbers in messages.
  void add(const TrainingRows<Matrix<T>>& rows, int64_t begin, int64_t end, int64_t first, double* out);

 private:
  void divide(int64_t offset);
  void unload(const TrainingRows<Matrix<T>>& block, double* out);
  double* centre(const TrainingRows<Matrix<T>>& block, const double* reach, const std::vector<double>& mean,
                 double* out);

  const Route& route_;
  Frame frame_;
  SumShape shape_;
  TileSums<T> sums_;
  std::vector<double> reach_;                 // of each step
  std::vector<int64_t> counts_;               // of each step, left and right
  std::vector<std::vector<double>> centred_;  // reach over a whole block, of each side with a mean
};

struct SumsPlace : KnownPlace {
  KnownSums known;
  std::vector<double> mean;  // not empty: the sums must be made about it before the node can be solved
};

class BatchGrowth : public PassGrowth<SumsPlace> {
 public:
  BatchGrowth(Frame frame, SumShape shape, int64_t rows, AnyCriterion criterion, SolveSettings settings, Limits limits,
              Order order);

  // The next pass, with at most this many numbers per block unless one node needs more; nothing when the tree is done.
  std::optional<Route> ask(int64_t most_numbers);
  // The sums of all blocks for the route of the last ask.
  void tell(std::span<const double> sums, Pool& pool, Control& control);

  const Frame& frame() const { return frame_; }

 private:
  void take_sides(size_t step, const double*& at, std::vector<int32_t>& fresh);
  void solve_places(const std::vector<int32_t>& places, Pool& pool, Control& control);
  void solve_place(SumsPlace& place, const NodeSums& sums, const SolveSettings& settings);

  Frame frame_;
  SumShape shape_;
  int64_t rows_;
  AnyCriterion criterion_;
  SolveSettings settings_;
  Limits limits_;
  Order order_;
  std::optional<Side> root_;    // none until the first pass
  std::vector<int32_t> nodes_;  // node of grower_ of each step of the last route
  Route route_;
};

// Calls add(tile, row) for rows begin .. end - 1, a few at a time from a copy where columns lie far apart.
template <class T, class Add>
void for_rows(const TrainingRows<Matrix<T>>& rows, int64_t begin, int64_t end, Add add) {
  constexpr int64_t kTileRows = 128;
  std::vector<T> copy;
  for (int64_t at = begin; at < end; at += kTileRows) {
    const Matrix<T>& X = rows.X;
    const int64_t count = std::min(kTileRows, end - at);
    TrainingRows<Matrix<T>> tile = rows;
    tile.X = {X.data + at * X.row_stride, count, X.columns, X.row_stride, 1};
    if (X.column_stride != 1) {
      copy.resize(to_size(count * X.columns));
      for (int64_t j = 0; j < X.columns; ++j)
        for (int64_t i = 0; i < count; ++i) copy[to_size(i * X.columns + j)] = X(at + i, j);
      tile.X = {copy.data(), count, X.columns, X.columns, 1};
    }
    if (!rows.weight.empty()) tile.weight = rows.weight.subspan(to_size(at), to_size(count));
    for (int64_t i = 0; i < count; ++i) add(tile, i);
  }
}

}  // namespace boscage::stochastic
