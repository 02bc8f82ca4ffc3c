// Some rows at a time, standardised and packed for the product, with a column of ones at the end.
//
// Standard: mean and reciprocal deviation of the columns. Batch: the rows twice, in panels of rows (to be multiplied
// with weights) and in panels of columns (to be multiplied with slopes). It knows nothing of trees.
#pragma once

#include "base/array.hpp"
#include "base/parallel.hpp"
#include "refine/row_reader.hpp"
#include "refine/vectors.hpp"

namespace boscage::refine {

// Rows to learn from: which of the source, their classes and weights.
struct Sample {
  Span<const int64_t> rows;
  Span<const int32_t> label;
  Span<const double> weight;

  int64_t size() const { return rows.size(); }
};

struct Standard {
  Array<double> mean, deviation, inverse;  // inverse: 1 / deviation, 0 for a constant column
  Array<double> low, high;                 // smallest and largest number
};

// Deviations are raised to this share of the column's range: a column that is almost always the same, as a pixel at the
// border, would otherwise tower over all others in the few rows where it is not.
Standard make_standard(const RowSource& source, const Sample& sample, double share, Pool& pool, const Control& control);

// Entries put to their column's mean at random, the others stretched so that sums keep their mean.
struct Dropout {
  double rate = 0;
  uint64_t seed = 0, round = 0;
};

template <class T>
class Batch {
 public:
  Batch(const RowSource& source, const Standard& standard, int64_t capacity, int threads);

  // Numbers of the sample's rows; places after the last are rows of zeros.
  void fill(const Sample& sample, Span<const int64_t> chosen, Pool& pool, const Control& control,
            const Dropout& dropout = {});

  int64_t rows() const { return rows_; }
  int64_t padded_rows() const { return padded<T>(rows_); }
  int64_t width() const { return width_; }  // columns and the one
  int64_t row_panels() const { return padded_rows() / kLane<T>; }
  int64_t column_panels() const { return padded<T>(width_) / kLane<T>; }
  const T* by_rows() const { return by_rows_.data(); }
  const T* by_columns() const { return by_columns_.data(); }
  const int32_t* label() const { return label_.data(); }
  const T* weight() const { return weight_.data(); }

 private:
  void fill_panel(const Sample& sample, Span<const int64_t> chosen, const Dropout& dropout, int64_t panel, int thread);

  const Standard& standard_;
  int64_t width_, rows_ = 0;
  Array<std::unique_ptr<RowReader>> readers_;
  Array<Array<double>> row_;
  Array<T> by_rows_, by_columns_, weight_;
  Array<int32_t> label_;
};

}  // namespace boscage::refine
