// The online learner: a stream of labelled rows in, candidate classes and probabilities out.
//
// An online tree scores every class while they are few and the candidates of class trees when they are many.
// A LOMtree (Config::lomtree) is the published tree. Classes are numbers 0..K-1 handed out by the caller; a class is
// known once a row of positive weight carried it. The whole learner is a value: it can be copied, saved and restored.
#pragma once

#include <cstdint>

#include "base/array.hpp"
#include "base/parallel.hpp"
#include "online/class_tree.hpp"
#include "online/lomtree.hpp"
#include "online/reservoir.hpp"
#include "online/scorers.hpp"

namespace boscage::online {

struct Config {
  int64_t features = 0;
  bool lomtree = false;
  bool centred = true;
  uint64_t seed = 0;
  double learning_rate = 2;
  int64_t flat_below = 160;  // up to this many known classes all are scored
  int64_t beam = 40;
  int64_t trees = 1;
  int64_t max_internal_nodes = 0;  // 0: four per known class
  double swap_resistance = 4;
  int64_t max_records = 1024;
  int64_t replay = 0;  // rows kept per class
  Flood flood;
  Constants constants;
};

struct Workspace {
  RawRow raw;
  Floats values, scores, scratch;
  Array<int32_t> indices, candidates;
  Array<ClassStep> steps;
  Beam beam;
  BeamStep beam_step;
  int64_t scorers_read = 0, written = 0;  // weight vectors since the start; routers read are counted by the beam
};

// A row on its way through prediction, and the rows that go together.
struct Pending {
  Row row;
  Floats values;
  Array<int32_t> indices, candidates;
  Beam beam;
};
struct Chunk {
  Array<Pending> rows;
  Workspace work;
};

// Where class numbers stand in the caller's order, for ties and for columns.
struct ClassOrder {
  const int32_t* column_of = nullptr;  // by class
  const int32_t* class_at = nullptr;   // by column
};

class Learner {
 public:
  explicit Learner(const Config& config);
  explicit Learner(Archive archive);

  const Config& config() const { return config_; }
  int64_t classes() const { return classes_; }
  int64_t known() const { return known_.size(); }
  int64_t examples() const { return examples_; }
  bool can_learn() const { return can_learn_; }
  // Weight vectors of routers and scorers that learning has read and changed since this object was made; 0 for a
  // LOMtree.
  int64_t vectors_read() const { return work_.beam.routers_read + work_.scorers_read; }
  int64_t vectors_written() const { return work_.written; }
  void add_classes(int64_t count);

  // Learns rows order[0..count) with their labels and weights (by row; nullptr: 1). Weight 0 changes nothing.
  // replay: bring back stored rows of overdue classes. keep: these rows are new, so count them in the class means and
  // store some; in later passes over the same rows neither would learn anything.
  void learn(const Batch& batch, const int32_t* labels, const double* weights, const int64_t* order, int64_t count,
             bool replay, bool keep, Control& control);

  // The k most probable classes of every row, best first; probabilities may be nullptr.
  void predict_top(const Batch& batch, int64_t k, const ClassOrder& order, int32_t* labels, double* probabilities,
                   int threads, Control& control) const;
  // A probability per column; `out` is rows x classes and all zero on entry.
  void predict_all(const Batch& batch, const ClassOrder& order, double* out, int threads, Control& control) const;

  // LOMtree only: the node every row ends in.
  void leaves(const Batch& batch, int32_t* out, int threads, Control& control) const;

  Archive save(bool resume) const;
  // Bytes by part: inputs, scorers, tree, class statistics, replay.
  Array<std::pair<std::string, int64_t>> memory() const;

 private:
  void make_parts();
  void learn_row(const RawRow& raw, int32_t label, double weight, bool keep, Workspace& work);
  void replay_row(int64_t draw, Workspace& work);
  void meet(int32_t label);
  void train(const Row& row, int32_t label, double weight, Workspace& work);
  void update_trees(const Row& row, int32_t label, bool is_new);
  void find_candidates(const Row& row, Workspace& work) const;
  // Sorted without repetition where that matters.
  void settle(Array<int32_t>& candidates) const;
  bool scores_all() const { return trees_.empty() || trees_[0].empty(); }
  float clock() const;  // a power of the number of steps: averages give late times more weight
  Scorers::Averages averages_for(int64_t rows) const;
  // Calls body(row, work) for every row of the batch with its work.candidates and work.scores (or probabilities).
  template <class Body>
  void for_rows(const Batch& batch, int threads, bool need_probabilities, Control& control, const Body& body) const;
  // Rows begin..end scaled, with their candidates; they go down the class trees together.
  void prepare(const Batch& batch, int64_t begin, int64_t end, Chunk& chunk) const;
  void distribution(Pending& pending, bool need_probabilities, const Scorers::Averages& averages,
                    Workspace& work) const;
  void leaf_distribution(const Row& row, bool need_probabilities, Workspace& work) const;

  Config config_;
  bool can_learn_ = true;
  int64_t classes_ = 0;
  int64_t examples_ = 0;  // training steps, replayed ones included
  Array<int32_t> known_;
  Array<bool> is_known_;
  int64_t next_build_ = 16, built_classes_ = 0;
  Scaling scaling_;
  ClassMeans means_;
  Scorers scorers_;
  Array<ClassTree> trees_;
  Reservoir reservoir_;
  LomTree lomtree_;
  Workspace work_;
};

}  // namespace boscage::online
