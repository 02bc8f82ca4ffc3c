// One linear scorer per class, trained by softmax on a list of candidate classes.
//
// Dense rows: a contiguous vector per class for the weights, the AdaGrad sums and the running average.
// Sparse rows: a sorted list of classes per feature, so one row reads a few short lists instead of K long vectors;
// an entry is made only when its class has a gradient worth storing (create_above), because small equal pushes on
// all other classes cancel in the softmax. Prediction uses weights averaged over time, late steps counting more.
#pragma once

#include <vector>

#include "online/rows.hpp"
#include "online/state.hpp"

namespace boscage::online {

struct ClassStep {
  int32_t label = 0;
  float gradient = 0;
  bool create = false;
};

class Scorers {
 public:
  struct Entry {
    int32_t label = 0;
    float weight = 0;
    float square = 0;
    float average = 0;
  };

  Scorers() = default;
  Scorers(int64_t stride, bool dense);

  int64_t classes() const { return classes_; }
  void append(int64_t count);

  // Scores of the classes `ids` (sorted when rows are sparse; `all`: they are 0..K-1) by the averaged weights
  // w - factor * V, or by w itself when factor is 0. scratch: any vector.
  void scores(const Row& row, const std::vector<int32_t>& ids, bool all, float factor, std::vector<float>& scratch,
              float* out) const;
  // Steps sorted by class when rows are sparse; the gradient of `step` is replaced by each class's own.
  void update(const Row& row, const std::vector<ClassStep>& steps, Step step);

  // factor: with resume false the averaged weights are stored and nothing else.
  void save(Archive& archive, bool resume, float factor) const;
  void load(Reader& reader, int64_t classes);
  int64_t bytes() const;

 private:
  void update_feature(std::vector<Entry>& entries, float value, const std::vector<ClassStep>& steps, Step step);

  int64_t stride_ = 0;
  bool dense_ = true;
  int64_t classes_ = 0;
  std::vector<float> weights_, squares_, averages_;  // dense
  std::vector<std::vector<Entry>> features_;         // sparse
};

}  // namespace boscage::online
