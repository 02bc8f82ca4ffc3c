// Saving, restoring and measuring the learner.
#include "online/learner.hpp"

#include <algorithm>
#include <cmath>

#include "base/array.hpp"

namespace boscage::online {

Archive Learner::save(bool resume) const {
  Archive archive;
  const bool full = resume && can_learn_;
  archive["config.integers"] = Array<int64_t>{config_.features,
                                              config_.lomtree ? 1 : 0,
                                              config_.centred ? 1 : 0,
                                              full ? static_cast<int64_t>(config_.seed) : 0,
                                              config_.flat_below,
                                              config_.beam,
                                              config_.trees,
                                              full ? config_.max_internal_nodes : 0,
                                              full ? config_.max_records : 2,
                                              full ? config_.replay : 0};
  archive["config.numbers"] = Array<double>{full ? config_.learning_rate : 1.0, full ? config_.swap_resistance : 1.0,
                                            full ? config_.flood.above : 1.0, full ? config_.flood.head_start : 0.0};
  archive["learner.counts"] =
      Array<int64_t>{full ? 1 : 0, classes_, full ? examples_ : 0, full ? next_build_ : 16, full ? built_classes_ : 0};
  archive["learner.known"] = known_;
  scaling_.save(archive, full);
  if (config_.lomtree) {
    lomtree_.save(archive, full);
    return archive;
  }
  scorers_.save(archive, full, clock());
  for (int64_t tree = 0; tree < trees_.size(); ++tree) {
    trees_[tree].save(archive, "tree" + std::to_string(tree), full);
  }
  if (!full) return archive;
  archive["constants.numbers"] = config_.constants.numbers();
  archive["constants.integers"] = config_.constants.integers();
  means_.save(archive);
  reservoir_.save(archive);
  return archive;
}

namespace {

Config read_config(Reader& reader) {
  const auto integers = reader.take_index<int64_t>("config.integers", 10, INT64_MIN, INT64_MAX);
  const auto numbers = reader.take_finite<double>("config.numbers", 4, 0.0);
  Config config;
  config.features = integers[0];
  config.lomtree = integers[1] != 0;
  config.centred = integers[2] != 0;
  config.seed = static_cast<uint64_t>(integers[3]);
  config.flat_below = integers[4];
  config.beam = integers[5];
  config.trees = integers[6];
  config.max_internal_nodes = integers[7];
  config.max_records = integers[8];
  config.replay = integers[9];
  config.learning_rate = numbers[0];
  config.swap_resistance = numbers[1];
  config.flood = {numbers[2], numbers[3]};
  constexpr int64_t most = INT32_MAX - 64;
  const bool sound = config.features >= 1 && config.features < most && config.flat_below >= 0 && config.beam >= 1 &&
                     config.trees >= 1 && config.trees <= 1000 && config.max_internal_nodes >= 0 &&
                     config.max_records >= 2 && config.replay >= 0 && config.learning_rate > 0 &&
                     config.learning_rate <= 1e6 && config.flood.above <= 1 && config.flood.head_start <= 10 &&
                     integers[1] >= 0 && integers[1] <= 1 && integers[2] >= 0 && integers[2] <= 1;
  if (!sound) throw BadState("the state's configuration is out of range");
  return config;
}

Constants read_constants(Reader& reader) {
  const auto numbers = reader.take_finite<double>("constants.numbers", Constants::n_numbers);
  const Constants constants =
      Constants::from(numbers, reader.take<int64_t>("constants.integers", Constants::n_integers));
  if (!constants.sound()) throw BadState("the state's constants are out of range");
  return constants;
}

}  // namespace

Learner::Learner(Archive archive) {
  Reader reader(std::move(archive));
  config_ = read_config(reader);
  const auto counts = reader.take_index<int64_t>("learner.counts", 5, 0, INT64_MAX);
  if (counts[0] > 1 || counts[1] >= INT32_MAX - 1 || counts[2] > (int64_t{1} << 52) || counts[3] < 1 ||
      counts[3] > (int64_t{1} << 60) || counts[4] > counts[1]) {
    throw BadState("the state's counts are out of range");
  }
  can_learn_ = counts[0] == 1;
  classes_ = counts[1];
  examples_ = counts[2];
  next_build_ = counts[3];
  built_classes_ = counts[4];
  known_ = reader.take_index<int32_t>("learner.known", -1, 0, classes_);
  if (std::adjacent_find(known_.begin(), known_.end(), std::greater_equal<int32_t>()) != known_.end()) {
    throw BadState("the state's array 'learner.known' does not increase");
  }
  // Parts are sized by the configuration: believe it only if an array of that length came with it.
  if (reader.length(config_.centred ? "scaling.centre" : "scaling.squares") != config_.features) {
    throw BadState("the state's scaling has the wrong length");
  }
  if (can_learn_ && !config_.lomtree) config_.constants = read_constants(reader);
  make_parts();
  scaling_.load(reader);
  if (config_.lomtree) {
    lomtree_.load(reader, classes_, can_learn_);
  } else {
    scorers_.load(reader, classes_, known_, can_learn_);
    if (can_learn_) scorers_.check_averages(clock());
    for (int64_t tree = 0; tree < trees_.size(); ++tree) {
      trees_[tree].load(reader, "tree" + std::to_string(tree), known_, can_learn_);
      if (trees_[tree].empty() != trees_[0].empty()) throw BadState("the state's class trees disagree");
    }
    if (can_learn_) {
      means_.load(reader, classes_);
      reservoir_.load(reader, classes_);
      for (int32_t label : known_) {
        if (!(means_.weight(label) > 0)) throw BadState("a known class of the state has no mean");
      }
    }
  }
  reader.finish();
  is_known_.assign(classes_, false);
  for (int32_t label : known_) is_known_[label] = true;
}

Array<std::pair<std::string, int64_t>> Learner::memory() const {
  int64_t trees = bytes_of(known_) + static_cast<int64_t>(is_known_.capacity() / 8) + lomtree_.bytes();
  for (const ClassTree& tree : trees_) trees += tree.bytes();
  const int64_t work = bytes_of(work_.values) + bytes_of(work_.scores) + bytes_of(work_.raw.values) +
                       bytes_of(work_.scratch) + bytes_of(work_.candidates) + bytes_of(work_.steps);
  return {{"scaling", scaling_.bytes() + work},
          {"scorers", scorers_.bytes()},
          {"tree", trees},
          {"class_means", means_.bytes()},
          {"replay", reservoir_.bytes()}};
}

}  // namespace boscage::online
