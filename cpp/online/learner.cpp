#include "online/learner.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "base/array.hpp"

namespace boscage::online {

namespace {

constexpr double clock_unit = 1024;  // keeps powers of the time finite

}  // namespace

float Learner::clock() const {
  const double time = static_cast<double>(examples_) / clock_unit;
  double power = time;
  for (int64_t i = 0; i < config_.constants.average_power; ++i) power *= time;
  return static_cast<float>(std::min(power, 1e38));
}

Learner::Learner(const Config& config) : config_(config) { make_parts(); }

void Learner::make_parts() {
  scaling_ = Scaling(config_.features, config_.centred);
  if (config_.lomtree) {
    lomtree_ = LomTree(
        scaling_, {config_.max_internal_nodes, config_.swap_resistance, config_.max_records, config_.learning_rate});
    return;
  }
  means_ = ClassMeans(config_.features, config_.centred);
  scorers_ = Scorers(scaling_.stride(), config_.centred);
  reservoir_ =
      Reservoir(config_.features, config_.centred, config_.replay, config_.flood, config_.constants, config_.seed);
  trees_.clear();
  for (int64_t tree = 0; tree < config_.trees; ++tree) {
    trees_.emplace_back(scaling_, config_.seed + static_cast<uint64_t>(tree), config_.constants);
  }
}

void Learner::add_classes(int64_t count) {
  if (count < 0 || classes_ + count > INT32_MAX - 1) throw std::invalid_argument("too many classes");
  classes_ += count;
  is_known_.resize(classes_, false);
  if (config_.lomtree) return;
  means_.append(count);
  scorers_.append(count);
  reservoir_.append(count);
}

void Learner::learn(const Batch& batch, const int32_t* labels, const double* weights, const int64_t* order,
                    int64_t count, bool replay, bool keep, Control& control) {
  if (!can_learn_) throw std::invalid_argument("this model was saved without its learning state");
  const bool sparse = !config_.centred;
  for (int64_t i = 0; i < count; ++i) {
    if ((i & 63) == 0) control.check();
    if ((i & 1023) == 1023) control.advance(1024);
    const int64_t row = order == nullptr ? i : order[i];
    const double weight = weights == nullptr ? 1.0 : weights[row];
    if (!(weight > 0)) continue;
    read_row(batch, row, sparse, work_.raw);
    learn_row(work_.raw, labels[row], weight, keep, work_);
    for (int64_t probe = 0; replay && probe < config_.constants.probes; ++probe) {
      replay_row(2 * (examples_ * config_.constants.probes + probe), work_);
    }
  }
}

// Trains on a stored row of a random class if the class is overdue. Few rows per class are stored, so every second
// time the row is made up from the class's mean, which knows all its rows: dense rows are another class's, moved by the
// difference of the means; sparse rows are drawn feature by feature.
void Learner::replay_row(int64_t draw, Workspace& work) {
  const int32_t label = reservoir_.pick_class(draw);
  if (label < 0) return;
  const bool overdue = reservoir_.overdue(label);
  reservoir_.note(overdue);
  if (!overdue) return;
  const bool made_up = (examples_ & 1) == 1;
  const int32_t source = made_up && config_.centred ? reservoir_.pick_class(draw + 1) : label;
  double weight = 1;
  reservoir_.recall(source, draw, work.raw, weight);
  if (source != label) means_.shift(source, label, work.raw);
  Row row = scaling_.scale(work.raw, work.values, work.indices);
  if (made_up && !config_.centred && row.size > 1) {
    float size = 0;  // mean entry of the stored row, its constant left out
    for (int64_t j = 0; j + 1 < row.size; ++j) size += std::fabs(row.values[j]);
    size /= static_cast<float>(row.size - 1);
    if (size > 0)
      row = means_.draw_row(label, size, config_.seed, static_cast<uint64_t>(draw), work.values, work.indices);
  }
  train(row, label, weight, work);
}

void Learner::meet(int32_t label) {
  is_known_[label] = true;
  if (!config_.lomtree) scorers_.start(label, clock());
  known_.insert(std::upper_bound(known_.begin(), known_.end(), label), label);
}

void Learner::learn_row(const RawRow& raw, int32_t label, double weight, bool keep, Workspace& work) {
  const bool is_new = !is_known_[label];
  if (is_new) meet(label);
  scaling_.observe(raw, weight);
  const Row row = scaling_.scale(raw, work.values, work.indices);
  scaling_.measure(row, weight);
  if (config_.lomtree) {
    ++examples_;
    lomtree_.learn(row, label, weight, known(), scaling_.mean_square());
    return;
  }
  if (keep) {
    means_.add(label, raw, row, weight);
    reservoir_.offer(label, raw, weight);
  }
  if (known() > config_.flat_below) update_trees(row, label, is_new);
  train(row, label, weight, work);
}

void Learner::update_trees(const Row& row, int32_t label, bool is_new) {
  const bool grown = trees_[0].empty() ||
                     static_cast<double>(known()) >= config_.constants.regrow * static_cast<double>(built_classes_) + 4;
  const bool due = examples_ >= next_build_ && examples_ <= config_.constants.rebuild_until * known();
  for (ClassTree& tree : trees_) {
    if (grown || due) {
      tree.rebuild(known_, means_, scaling_);
    } else if (is_new) {
      tree.insert(label, row, means_, scaling_);
    }
  }
  if (grown || due) built_classes_ = known();
  while (next_build_ <= examples_) next_build_ *= 2;
}

void Learner::settle(Array<int32_t>& candidates) const {
  if (trees_.size() == 1 && config_.centred) return;
  std::sort(candidates.begin(), candidates.end());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
}

void Learner::find_candidates(const Row& row, Workspace& work) const {
  if (scores_all()) {
    work.candidates = known_;
    return;
  }
  work.candidates.clear();
  for (const ClassTree& tree : trees_) {
    tree.start(work.beam);
    while (tree.descend(row, config_.beam, work.beam, work.beam_step)) continue;
    tree.append_labels(work.beam, work.candidates);
  }
  settle(work.candidates);
}

void Learner::train(const Row& row, int32_t label, double weight, Workspace& work) {
  ++examples_;
  const double unit = 1.0 / std::sqrt(scaling_.mean_square());
  const auto scale = static_cast<float>(weight);
  if (!scores_all()) {
    for (const ClassTree& tree : trees_) tree.prefetch(label);
    scorers_.prefetch(label);
  }
  find_candidates(row, work);
  auto& ids = work.candidates;
  const bool all = scores_all() && known() == classes_;
  if (std::find(ids.begin(), ids.end(), label) == ids.end()) {
    ids.insert(config_.centred ? ids.end() : std::upper_bound(ids.begin(), ids.end(), label), label);
  }
  if (!scores_all()) {
    const auto rate = static_cast<float>(config_.learning_rate * config_.constants.router_rate * unit);
    for (ClassTree& tree : trees_) work.written += tree.train(row, label, scale, rate);
  }
  work.scores.resize(ids.size());
  scorers_.scores(row, ids, all, nullptr, work.scratch, work.scores.data());
  if (reservoir_.flooded()) {
    for (int64_t i = 0; i < ids.size(); ++i) work.scores[i] += reservoir_.head_start(ids[i]);
  }
  softmax(work.scores.data(), ids.size());
  work.steps.clear();
  const auto skip = static_cast<float>(config_.constants.skip_below);
  const auto create = static_cast<float>(config_.constants.create_above);
  for (int64_t i = 0; i < ids.size(); ++i) {
    const float gradient = work.scores[i] - (ids[i] == label ? 1.0f : 0.0f);
    const float size = std::fabs(gradient);
    if (size >= skip) work.steps.push_back({ids[i], gradient * scale, size >= create});
  }
  work.scorers_read += ids.size();
  work.written += work.steps.size();
  const auto rate = static_cast<float>(config_.learning_rate * unit);
  scorers_.update(row, work.steps, Step{0, rate, static_cast<float>(config_.constants.start_square), clock()});
}

// Forming averaged weights costs as much as scoring each class once.
Scorers::Averages Learner::averages_for(int64_t rows) const {
  return config_.lomtree ? Scorers::Averages{} : scorers_.averages(clock(), 16 * rows >= classes_);
}

void Learner::prepare(const Batch& batch, int64_t begin, int64_t end, Chunk& chunk) const {
  if (chunk.rows.size() < end - begin) chunk.rows.resize(end - begin);
  const auto rows = Span(chunk.rows).first(end - begin);
  for (Pending& pending : rows) {
    read_row(batch, begin + (&pending - rows.data()), !config_.centred, chunk.work.raw);
    pending.row = scaling_.scale(chunk.work.raw, pending.values, pending.indices);
    pending.candidates.clear();
  }
  if (scores_all()) return;
  for (const ClassTree& tree : trees_) {
    for (Pending& pending : rows) tree.start(pending.beam);
    for (bool going = true; going;) {
      going = false;
      for (Pending& pending : rows)
        going |= tree.descend(pending.row, config_.beam, pending.beam, chunk.work.beam_step);
    }
    for (Pending& pending : rows) tree.append_labels(pending.beam, pending.candidates);
  }
  for (Pending& pending : rows) settle(pending.candidates);
}

void Learner::distribution(Pending& pending, bool need_probabilities, const Scorers::Averages& averages,
                           Workspace& work) const {
  if (known_.empty()) {  // nothing learnt: every class alike
    work.candidates.resize(classes_);
    std::iota(work.candidates.begin(), work.candidates.end(), 0);
    work.scores.assign(work.candidates.size(), 1.0f / static_cast<float>(classes_));
    return;
  }
  if (config_.lomtree) {
    leaf_distribution(pending.row, need_probabilities, work);
    return;
  }
  if (scores_all()) {
    work.candidates = known_;
  } else {
    std::swap(work.candidates, pending.candidates);
  }
  work.scores.resize(work.candidates.size());
  const bool all = scores_all() && known() == classes_;
  scorers_.scores(pending.row, work.candidates, all, &averages, work.scratch, work.scores.data());
  if (need_probabilities) softmax(work.scores.data(), work.scores.size());
}

// The leaf's class shares, with one row's weight added for its label so that it stays first.
void Learner::leaf_distribution(const Row& row, bool need_probabilities, Workspace& work) const {
  const int32_t leaf = lomtree_.walk(row);
  if (!need_probabilities) {
    work.candidates.assign(1, lomtree_.label(leaf));
    work.scores.assign(1, 1.0f);
    return;
  }
  const ClassRecords& records = lomtree_.records(leaf);
  const int32_t favourite = lomtree_.label(leaf);
  work.candidates.clear();
  work.scores.clear();
  double total = 1;
  for (int64_t i = 0; i < records.size(); ++i) total += records.record(i).count;
  bool found = false;
  for (int64_t i = 0; i < records.size(); ++i) {
    const bool own = records.label(i) == favourite;
    found = found || own;
    work.candidates.push_back(records.label(i));
    work.scores.push_back(static_cast<float>((records.record(i).count + (own ? 1.0 : 0.0)) / total));
  }
  if (found) return;
  work.candidates.push_back(favourite);
  work.scores.push_back(static_cast<float>(1.0 / total));
}

namespace {

// The k best candidates of one row; when fewer, the first other classes with probability 0.
void write_top(const Workspace& work, int64_t k, const ClassOrder& order, int64_t classes, int32_t* labels,
               double* probabilities) {
  Array<std::pair<float, int32_t>> ranked;
  ranked.reserve(work.candidates.size());
  for (int64_t i = 0; i < work.candidates.size(); ++i) {
    const float score = std::isnan(work.scores[i]) ? -HUGE_VALF : work.scores[i];  // never from a model learnt here
    ranked.emplace_back(-score, order.column_of[work.candidates[i]]);
  }
  const auto best = std::min<int64_t>(k, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + best, ranked.end());
  for (int64_t i = 0; i < best; ++i) {
    labels[i] = order.class_at[ranked[i].second];
    if (probabilities != nullptr) probabilities[i] = static_cast<double>(-ranked[i].first);
  }
  int64_t filled = best;
  for (int64_t column = 0; column < classes && filled < k; ++column) {
    const int32_t label = order.class_at[column];
    if (std::find(work.candidates.begin(), work.candidates.end(), label) != work.candidates.end()) continue;
    if (probabilities != nullptr) probabilities[filled] = 0;
    labels[filled++] = label;
  }
}

int32_t best_label(const Workspace& work, const ClassOrder& order) {
  int64_t best = 0;
  for (int64_t i = 1; i < work.candidates.size(); ++i) {
    const bool tie = work.scores[i] == work.scores[best];
    if (work.scores[i] > work.scores[best] ||
        (tie && order.column_of[work.candidates[i]] < order.column_of[work.candidates[best]])) {
      best = i;
    }
  }
  return work.candidates[best];
}

}  // namespace

template <class Body>
void Learner::for_rows(const Batch& batch, int threads, bool need_probabilities, Control& control,
                       const Body& body) const {
  // Many rows read a level's routers while these are near; more than this many numbers would push them away.
  constexpr int64_t most_rows = 256, numbers = 1 << 16;
  const int64_t length = std::clamp<int64_t>(numbers / scaling_.stride(), 16, most_rows);
  const int64_t chunks = (batch.rows + length - 1) / length;
  const Scorers::Averages averages = averages_for(batch.rows);
  Pool pool(static_cast<int>(std::clamp<int64_t>(threads, 1, std::max<int64_t>(chunks, 1))));
  Array<Chunk> own(pool.threads());
  pool.parallel_for(chunks, [&](int64_t number, int thread) {
    control.check();
    Chunk& chunk = own[thread];
    const int64_t begin = number * length, end = std::min(batch.rows, begin + length);
    prepare(batch, begin, end, chunk);
    for (int64_t row = begin; row < end; ++row) {
      distribution(chunk.rows[row - begin], need_probabilities, averages, chunk.work);
      body(row, chunk.work);
    }
    control.advance(end - begin);
  });
}

void Learner::predict_top(const Batch& batch, int64_t k, const ClassOrder& order, int32_t* labels,
                          double* probabilities, int threads, Control& control) const {
  const bool probable = probabilities != nullptr;
  for_rows(batch, threads, probable, control, [&](int64_t row, const Workspace& work) {
    if (k == 1 && !probable) {
      labels[row] = best_label(work, order);
    } else {
      write_top(work, k, order, classes_, labels + row * k, probable ? probabilities + row * k : nullptr);
    }
  });
}

void Learner::predict_all(const Batch& batch, const ClassOrder& order, double* out, int threads,
                          Control& control) const {
  for_rows(batch, threads, true, control, [&](int64_t row, const Workspace& work) {
    // Normalised once more in double precision, so that rows sum to 1 to the last digits.
    double total = 0;
    for (float score : work.scores) total += static_cast<double>(score);
    for (int64_t i = 0; i < work.candidates.size(); ++i) {
      out[row * classes_ + order.column_of[work.candidates[i]]] = static_cast<double>(work.scores[i]) / total;
    }
  });
}

void Learner::leaves(const Batch& batch, int32_t* out, int threads, Control& control) const {
  constexpr int64_t length = 128;
  const int64_t chunks = (batch.rows + length - 1) / length;
  Pool pool(static_cast<int>(std::clamp<int64_t>(threads, 1, std::max<int64_t>(chunks, 1))));
  Array<Workspace> own(pool.threads());
  pool.parallel_for(chunks, [&](int64_t chunk, int thread) {
    control.check();
    Workspace& work = own[thread];
    for (int64_t row = chunk * length; row < std::min(batch.rows, (chunk + 1) * length); ++row) {
      read_row(batch, row, !config_.centred, work.raw);
      out[row] = lomtree_.walk(scaling_.scale(work.raw, work.values, work.indices));
    }
  });
}

}  // namespace boscage::online
