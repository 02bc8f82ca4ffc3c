// Running scaling of the inputs.
//
// Centred (dense rows): subtract the running mean of each column, divide by its largest deviation so far.
// Unit (sparse rows): divide each entry by the fourth root of its column's running mean square, then bring the
// row to length 1; zeros stay zeros. Both append the constant 1. Knows nothing of classes.
#pragma once

#include "base/array.hpp"
#include "online/rows.hpp"
#include "online/state/fields.hpp"

namespace boscage::online {

class Scaling {
 public:
  Scaling() = default;
  Scaling(int64_t features, bool centred);

  bool centred() const { return centred_; }
  int64_t features() const { return features_; }
  // Length of a weight vector: every feature, the constant, and the padding of dense rows.
  int64_t stride() const { return centred_ ? padded(features_ + 1) : features_ + 1; }

  void observe(const RawRow& raw, double weight);
  // The scaled row; `buffer` owns its values. A column never seen moving counts as zero.
  Row scale(const RawRow& raw, Floats& buffer, Array<int32_t>& indices) const;
  // Keeps the mean square length of scaled rows, constant included: steps are divided by its root.
  void measure(const Row& row, double weight);
  double mean_square() const { return mean_square_ > 0 ? mean_square_ : 1.0; }

  const Array<double>& centre() const { return centre_; }
  const Array<double>& radius() const { return radius_; }

  void save(Archive& archive, bool resume) const;
  void load(Reader& reader);
  int64_t bytes() const { return bytes_of(centre_) + bytes_of(radius_) + bytes_of(squares_); }

 private:
  int64_t features_ = 0;
  bool centred_ = true;
  double total_ = 0;        // weight of the rows observed
  double mean_square_ = 0;  // of scaled rows
  double measured_ = 0;
  Array<double> centre_, radius_;  // centred
  Array<double> squares_;          // unit: sum of squares of each column
};

}  // namespace boscage::online
