// Means of the classes and the variance within them: what the class tree is built from.
//
// Dense rows keep raw means in double precision and are scaled when asked for, so means learnt early and late are
// comparable although the scaling moved. Sparse rows keep sums of scaled entries, touched features only.
#pragma once

#include <utility>

#include "base/array.hpp"
#include "online/hashed_weights.hpp"
#include "online/scaling.hpp"
#include "online/state/fields.hpp"

namespace boscage::online {

// The scaled means of a list of classes, by position in the list; the constant is left out.
class MeanRows {
 public:
  int64_t size() const { return size_; }
  int64_t length() const { return length_; }
  float project(int64_t at, const Floats& direction) const;
  void add_to(int64_t at, float factor, Floats& sum) const;

 private:
  friend class ClassMeans;
  int64_t size_ = 0, length_ = 0;
  bool dense_ = true;
  Floats values_;                                    // dense: size x length, padded
  Array<Array<std::pair<int32_t, float>>> entries_;  // sparse
};

class ClassMeans {
 public:
  ClassMeans() = default;
  ClassMeans(int64_t features, bool dense);

  void append(int64_t count);
  void add(int32_t label, const RawRow& raw, const Row& row, double weight);
  double weight(int32_t label) const { return weights_[label]; }

  // Moves a dense row from one class to another by the difference of their means.
  void shift(int32_t from, int32_t to, RawRow& raw) const;
  // A made-up sparse row of a class: each feature of the class's mean is present by chance, so that rows made in this
  // way have that mean. `size` is the usual size of a scaled entry: |mean| / size is the chance of a feature, and its
  // value then +-size (the mean itself where that is larger). Length 1, with the constant; equal draws, equal rows.
  Row draw_row(int32_t label, float size, uint64_t seed, uint64_t draw, Floats& values, Array<int32_t>& indices) const;
  MeanRows rows(const Array<int32_t>& labels, const Scaling& scaling) const;
  // Variance within classes of every scaled column, kept away from zero by a share of their mean.
  Array<float> variance(const Scaling& scaling, double share) const;

  void save(Archive& archive) const;
  void load(Reader& reader, int64_t classes);
  int64_t bytes() const;

 private:
  int64_t features_ = 0;
  bool dense_ = true;
  Array<double> weights_;  // per class
  Array<double> means_;    // dense: classes x features
  Array<double> spread_;   // dense: squared deviations within classes; sparse: squares of scaled entries
  Array<HashedSums> sums_;
};

}  // namespace boscage::online
