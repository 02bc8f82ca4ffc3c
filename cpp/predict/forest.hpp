// Prediction with many trees over the same columns: sums over trees in their order, a block of rows at a time.
//
// A block of rows stays in the cache while one tree after another walks over it. What trees would convert again and
// again (single precision for linear tests, sparse rows) is converted once for the block. The sum of a row takes the
// trees in their order, so it depends neither on the block nor on the number of threads.
#pragma once

#include <cstdint>

#include "base/array.hpp"
#include "predict/predict.hpp"

namespace boscage {

class Forest {
 public:
  // Trees of the same columns and number of classes; they must outlive the forest. `is_geometric`: they predict
  // logarithms of probabilities. Throws std::invalid_argument if they do not go together.
  explicit Forest(Array<const Predictor*> trees, bool is_geometric = false);

  int64_t size() const { return trees_.size(); }
  int64_t columns() const { return trees_.front()->columns(); }
  int64_t classes() const { return trees_.front()->tree().classes; }
  bool is_short(int64_t rows) const { return static_cast<double>(rows) * row_cost_ < 1e7; }

  // rows × classes: sums over the trees. `chosen` is empty, or has for each tree (rows + 7) / 8 bytes with the bits of
  // the rows it is asked about.
  template <class Rows>
  void sums(const Rows& rows, Span<const uint8_t> chosen, double* out, int threads, Control& control) const;
  // rows × classes: means over the trees; exponent != 1: raised to it and divided by their total. Of logarithms:
  // the softmax of exponent times their mean.
  template <class Rows>
  void proba(const Rows& rows, double exponent, double* out, int threads, Control& control) const;
  // rows × trees: numbers of the leaves.
  template <class Rows>
  void apply(const Rows& rows, int64_t* out, int threads, Control& control) const;

 private:
  template <class Rows, class Work>
  void for_blocks(const Rows& rows, int threads, Control& control, const Work& work) const;
  int64_t block_rows(bool is_copied) const;

  Array<const Predictor*> trees_;
  bool is_geometric_ = false, has_linear_tests_ = false;
  double row_cost_ = 0;
};

// Raises probabilities to a power and divides them by their total; zeros stay zeros.
void sharpen(double* proba, int64_t classes, double exponent);

// Turns logarithms of probabilities into probabilities whose total is 1.
void softmax(double* logs, int64_t classes, double exponent);

}  // namespace boscage
