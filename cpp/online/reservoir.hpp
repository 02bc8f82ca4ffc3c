// A few rows of every class, replayed while the stream leaves the class out.
//
// Each class keeps a uniform sample of its rows. A class is overdue when the stream has gone on for several times its
// usual gap without it; in a shuffled stream that is rare, in a stream sorted by class it is the rule. A random class
// or two are looked at per row learnt, and a row of theirs is replayed if they are overdue.
#pragma once

#include "base/array.hpp"
#include "online/constants.hpp"
#include "online/rows.hpp"
#include "online/state/fields.hpp"

namespace boscage::online {

// What to do while few classes flood the stream.
struct Flood {
  double above = 0.5;     // share of overdue classes beyond which it is one
  double head_start = 1;  // factor of the logarithm of a class's present share
};

class Reservoir {
 public:
  Reservoir() = default;
  Reservoir(int64_t features, bool dense, int64_t per_class, const Flood& flood, const Constants& constants,
            uint64_t seed)
      : features_(features), dense_(dense), per_class_(per_class), flood_(flood), constants_(constants), seed_(seed) {}

  void append(int64_t count) { classes_.resize(classes_.size() + count); }
  // Counts a row of the stream and perhaps keeps it.
  void offer(int32_t label, const RawRow& raw, double weight);
  // A random class with stored rows; -1 if there is none. Draws are numbered: equal numbers, equal answers.
  int32_t pick_class(int64_t draw) const;
  bool overdue(int32_t label) const;
  // Whether a class looked at was overdue. Where most are, a few classes flood the stream.
  void note(bool was_overdue) {
    overdue_share_ += ((was_overdue ? 1.0 : 0.0) - overdue_share_) * constants_.note_share;
  }
  bool flooded() const { return overdue_share_ > flood_.above; }
  // A factor of the log of how much more often a class is trained on now than if all were alike: in a flood a row's
  // class can be told from the time alone, and what is known from the time need not be learnt as a weight.
  float head_start(int32_t label) const;
  // One of the stored rows of a class.
  void recall(int32_t label, int64_t draw, RawRow& raw, double& weight) const;

  void save(Archive& archive) const;
  void load(Reader& reader, int64_t classes);
  int64_t bytes() const;

 private:
  struct Stored {
    Array<float> values;
    Array<int32_t> indices;
    double weight = 1;
  };
  struct Class {
    int64_t seen = 0;  // rows of the stream
    int64_t last = 0;  // when the latest came
    Array<Stored> rows;
  };

  int64_t features_ = 0;
  bool dense_ = true;
  int64_t per_class_ = 0;
  Flood flood_;
  Constants constants_;
  uint64_t seed_ = 0;
  int64_t seen_ = 0;
  double overdue_share_ = 0;  // of the classes looked at lately
  Array<Class> classes_;
  Array<int32_t> stocked_;  // classes with rows, in order of first appearance
};

}  // namespace boscage::online
