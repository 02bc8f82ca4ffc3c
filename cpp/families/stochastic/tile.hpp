// Rows a few at a time, in the form that kernels read, and their sums: what growth in memory and in batches share.
//
// Tile: rows of X as doubles, wherever they come from. TileSums: divides the rows of tiles by tests and adds them to
// the sides that are asked for. Rows of a class are added in their order, so how rows are cut into tiles changes no
// bit. Must not know nodes, routes or where X lives.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/array.hpp"
#include "base/lanes.hpp"
#include "families/stochastic/frame.hpp"
#include "families/stochastic/sums.hpp"
#include "families/stochastic/tile_kernel.hpp"

namespace boscage::stochastic {

template <class T>
class Tile {
 public:
  explicit Tile(const Frame& frame);

  int64_t most_rows() const { return most_rows_; }
  int64_t count() const { return count_; }
  // Brings the rows of a list, or begin, begin + 1, …; `shift` of the frame is taken off unless that is done late.
  void load(const Matrix<T>& X, const uint32_t* list, int64_t begin, int64_t count);
  // |z|² of each row without norm and constant.
  const double* squares();
  // As kernels see it, without norms and weights.
  TileRows& rows() { return rows_; }
  const TileRows& rows() const { return rows_; }

 private:
  int64_t most_rows_, count_ = 0;
  LineVector<double> data_, squares_;
  Array<double> shift_, square_shift_, square_factor_;
  TileRows rows_{};
};

template <class T>
class TileSums {
 public:
  // `outputs` of numbers; 0: classes. No division: all rows are added to one side.
  TileSums(const Frame& frame, int32_t classes, int32_t outputs, std::span<const Division* const> divisions);

  int64_t most_rows() const { return tile_.most_rows(); }
  // Sums of a side are zeros, or what start() was given last.
  void clear();
  void start(int64_t side, const double* sums);
  // `norm`: of all rows; null: 1.
  void load(const TrainingRows<Matrix<T>>& rows, const double* norm, const uint32_t* list, int64_t begin,
            int64_t count);
  // Norms as measure_norms makes them.
  void measure(const Frame& frame, const Matrix<T>& X, int64_t begin, int64_t first);
  // Divides the rows by a test: reach (null: 1) to that of the sides (null: not wanted). Adds to `counts`.
  void divide(int64_t test, const double* reach, double* left, double* right, int64_t* counts);
  // The only side is all rows, by their reach.
  void take_all(const double* reach);
  // Adds the rows to all sides; to be called when all tests have divided them.
  void add();
  // The sides of the first test come first, left before right. Returns the end of what is written.
  double* finish(int64_t side, double* sums) const;

 private:
  void find_classes(const TrainingRows<Matrix<T>>& rows, const uint32_t* list, int64_t begin);
  void share_out(int32_t channel);
  double* sums_of(int32_t channel, int64_t side) { return sums_.data() + (channel * sides_ + side) * sums_width_; }

  int32_t outputs_, channels_;
  Tile<T> tile_;
  std::vector<const Division*> divisions_;
  std::vector<int64_t> side_of_;  // the first side of each test
  int64_t sides_ = 0, sums_width_;
  LineVector<double> theta_;  // of each test, by place
  LineVector<double> norm_, weight_, spare_;
  LineVector<double> side_weight_, side_multiplier_, share_weight_, share_multiplier_;
  LineVector<double> sums_;
  Array<double> value_;     // of numbers
  Array<int32_t> present_;  // classes of the tile
  Array<int64_t> found_;    // rows of each class
  LineVector<int32_t> order_;
  std::vector<const double*> weights_, multipliers_;
  std::vector<double*> to_;
};

}  // namespace boscage::stochastic
