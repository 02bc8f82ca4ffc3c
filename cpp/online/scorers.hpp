// One linear scorer per class, trained by softmax on a list of candidate classes.
//
// Dense rows: a contiguous vector per class for the weights, the AdaGrad sums and the running average.
// Sparse rows: a sorted list of classes per feature (a full table once half of the classes are in it), so one row
// reads a few short lists instead of K long vectors; an entry is made only when its class has a gradient worth
// storing, because small equal pushes on all other classes cancel in the softmax. Prediction uses weights averaged over
// time since the class started, late times counting more.
#pragma once

#include "base/array.hpp"
#include "online/rows.hpp"
#include "online/state/fields.hpp"

namespace boscage::online {

struct ClassStep {
  int32_t label = 0;
  float gradient = 0;
  bool create = false;
};

class Scorers {
 public:
  // How to read averaged weights at some time: w - factor * V by class; dense weights perhaps formed in advance.
  struct Averages {
    Floats factors;
    Floats weights;
  };
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

  // A class becomes known and starts its average at this clock; nothing before it counts.
  void start(int32_t label, float clock) {
    starts_[label] = clock;
    count_known(label);
  }
  // formed: worth it when many rows will be scored. The scores have the same bits either way.
  Averages averages(float clock, bool formed) const;

  // Scores of the classes `ids` (sorted when rows are sparse; `all`: they are 0..K-1) by the averaged weights,
  // or by w itself when averages is nullptr. scratch: any vector.
  void scores(const Row& row, const Array<int32_t>& ids, bool all, const Averages* averages, Floats& scratch,
              float* out) const;
  // Asks for all that a dense step of a class touches.
  void prefetch(int32_t label) const;
  // Steps sorted by class when rows are sparse; the gradient of `step` is replaced by each class's own.
  void update(const Row& row, const Array<ClassStep>& steps, const Step& step);

  // With resume false the averaged weights at `clock` are stored and nothing else.
  void save(Archive& archive, bool resume, float clock) const;
  void load(Reader& reader, int64_t classes, const Array<int32_t>& known, bool resume);
  // Refuses weights that would overflow once they are averaged.
  void check_averages(float clock) const;
  int64_t bytes() const;

 private:
  struct Feature {
    Array<Entry> entries;  // sorted by class; empty once the table is used
    Array<float> table;    // weights, squares and averages of classes 0..length-1, one after the other
    int64_t length() const { return static_cast<int64_t>(table.size() / 3); }
  };

  void count_known(int32_t label) {
    ++known_;
    reach_ = label >= reach_ ? label + 1 : reach_;
  }
  void create_entries(Feature& feature);
  void load_features(Reader& reader, bool resume);
  void step_feature(Feature& feature, float value, const Array<ClassStep>& steps, const Step& step);
  void prefetch(const Row& row, int64_t j) const;
  void score_all(const Row& row, const float* factors, float* by_class) const;

  int64_t stride_ = 0;
  bool dense_ = true;
  int64_t classes_ = 0;
  int64_t known_ = 0, reach_ = 0;        // known classes, and one more than the largest of their numbers
  Array<float> starts_;                  // clock of each class's start
  Floats weights_, squares_, averages_;  // dense
  Array<Feature> features_;              // sparse
  Array<float> gradients_;               // sparse: by class, zero between updates
  Array<ClassStep> creating_;            // sparse: the steps that may make entries
};

}  // namespace boscage::online
