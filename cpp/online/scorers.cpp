#include "online/scorers.hpp"

#include <algorithm>
#include <cmath>

namespace boscage::online {

namespace {

bool before(const Scorers::Entry& entry, int32_t label) { return entry.label < label; }

// First entry from `from` on whose label is not smaller: doubling steps, then a binary search, because the labels
// asked for come in order and lie close together.
size_t seek(const std::vector<Scorers::Entry>& entries, size_t from, int32_t label) {
  size_t step = 1, high = from;
  while (high < entries.size() && entries[high].label < label) {
    from = high + 1;
    high += step;
    step *= 2;
  }
  const auto begin = entries.begin();
  const auto end = begin + static_cast<int64_t>(std::min(high, entries.size()));
  return static_cast<size_t>(std::lower_bound(begin + static_cast<int64_t>(from), end, label, before) - begin);
}

void apply(Scorers::Entry& entry, float value, float gradient, const Step& step) {
  const float slope = gradient * value;
  entry.square += slope * slope;
  const float move = step.rate * slope / std::sqrt(entry.square + step.epsilon);
  entry.weight -= move;
  entry.average -= step.clock * move;
}

}  // namespace

Scorers::Scorers(int64_t stride, bool dense) : stride_(stride), dense_(dense) {
  if (!dense_) features_.resize(static_cast<size_t>(stride));
}

void Scorers::append(int64_t count) {
  classes_ += count;
  if (!dense_) return;
  for (auto* values : {&weights_, &squares_, &averages_}) values->resize(static_cast<size_t>(classes_ * stride_), 0.0f);
}

void Scorers::scores(const Row& row, const std::vector<int32_t>& ids, bool all, float factor,
                     std::vector<float>& scratch, float* out) const {
  const auto count = static_cast<int64_t>(ids.size());
  if (dense_) {
    const int32_t* list = all ? nullptr : ids.data();
    if (factor > 0) {
      averaged_dots(row.values, weights_.data(), averages_.data(), factor, stride_, list, count, out);
    } else {
      dots(row.values, weights_.data(), stride_, list, count, out);
    }
    return;
  }
  if (4 * count >= classes_) {
    scratch.assign(static_cast<size_t>(classes_), 0.0f);
    for (int64_t j = 0; j < row.size; ++j) {
      const float value = row.values[j];
      for (const Entry& entry : features_[static_cast<size_t>(row.indices[j])]) {
        scratch[static_cast<size_t>(entry.label)] += value * (entry.weight - entry.average * factor);
      }
    }
    for (int64_t i = 0; i < count; ++i) out[i] = scratch[static_cast<size_t>(ids[static_cast<size_t>(i)])];
    return;
  }
  std::fill_n(out, count, 0.0f);
  for (int64_t j = 0; j < row.size; ++j) {
    const auto& entries = features_[static_cast<size_t>(row.indices[j])];
    size_t at = 0;
    for (int64_t i = 0; i < count && at < entries.size(); ++i) {
      const int32_t label = ids[static_cast<size_t>(i)];
      at = seek(entries, at, label);
      if (at < entries.size() && entries[at].label == label) {
        out[i] += row.values[j] * (entries[at].weight - entries[at].average * factor);
      }
    }
  }
}

void Scorers::update(const Row& row, const std::vector<ClassStep>& steps, Step step) {
  if (dense_) {
    for (const ClassStep& one : steps) {
      const int64_t first = one.label * stride_;
      step.gradient = one.gradient;
      adagrad_averaged(row.values, step, weights_.data() + first, squares_.data() + first, averages_.data() + first,
                       stride_);
    }
    return;
  }
  for (int64_t j = 0; j < row.size; ++j) {
    update_feature(features_[static_cast<size_t>(row.indices[j])], row.values[j], steps, step);
  }
}

void Scorers::update_feature(std::vector<Entry>& entries, float value, const std::vector<ClassStep>& steps, Step step) {
  size_t at = 0, missing = 0;
  for (const ClassStep& one : steps) {
    at = seek(entries, at, one.label);
    if (at < entries.size() && entries[at].label == one.label) {
      apply(entries[at], value, one.gradient, step);
    } else if (one.create) {
      ++missing;
    }
  }
  if (missing == 0) return;
  // Merge the new entries in from the back; room grows by a quarter, not by half or more.
  const size_t old = entries.size();
  if (entries.capacity() < old + missing) entries.reserve(old + std::max(missing, old / 4));
  entries.resize(old + missing);
  size_t from = old, to = old + missing;
  for (auto one = steps.rbegin(); one != steps.rend() && missing > 0; ++one) {
    while (from > 0 && entries[from - 1].label > one->label) entries[--to] = entries[--from];
    if (!one->create || (from > 0 && entries[from - 1].label == one->label)) continue;
    entries[--to] = Entry{one->label, 0, 0, 0};
    apply(entries[to], value, one->gradient, step);
    --missing;
  }
}

void Scorers::save(Archive& archive, bool resume, float factor) const {
  if (dense_) {
    std::vector<float> weights = weights_;
    if (!resume) {
      for (size_t i = 0; i < weights.size(); ++i) weights[i] -= averages_[i] * factor;
    } else {
      archive["scorers.squares"] = squares_;
      archive["scorers.averages"] = averages_;
    }
    archive["scorers.weights"] = std::move(weights);
    return;
  }
  std::vector<int64_t> offsets{0};
  std::vector<int32_t> labels;
  std::vector<float> weights, squares, averages;
  for (const auto& entries : features_) {
    for (const Entry& entry : entries) {
      labels.push_back(entry.label);
      weights.push_back(resume ? entry.weight : entry.weight - entry.average * factor);
      squares.push_back(entry.square);
      averages.push_back(entry.average);
    }
    offsets.push_back(static_cast<int64_t>(labels.size()));
  }
  archive["scorers.offsets"] = std::move(offsets);
  archive["scorers.labels"] = std::move(labels);
  archive["scorers.weights"] = std::move(weights);
  if (!resume) return;
  archive["scorers.squares"] = std::move(squares);
  archive["scorers.averages"] = std::move(averages);
}

void Scorers::load(Reader& reader, int64_t classes) {
  classes_ = classes;
  const bool resume = reader.has("scorers.squares");
  int64_t size = classes * stride_;
  std::vector<int64_t> offsets;
  if (!dense_) {
    offsets = reader.take_offsets("scorers.offsets", stride_);
    size = offsets.back();
  }
  weights_ = reader.take_weights("scorers.weights", size);
  squares_.assign(weights_.size(), 0.0f);
  averages_.assign(weights_.size(), 0.0f);
  if (resume) {
    squares_ = reader.take_finite<float>("scorers.squares", size, 0.0);
    averages_ = reader.take_finite<float>("scorers.averages", size);
  }
  if (dense_) return;
  const auto labels = reader.take_index<int32_t>("scorers.labels", size, 0, classes);
  for (size_t feature = 0; feature < features_.size(); ++feature) {
    auto& entries = features_[feature];
    entries.clear();
    entries.reserve(static_cast<size_t>(offsets[feature + 1] - offsets[feature]));
    for (auto at = static_cast<size_t>(offsets[feature]); at < static_cast<size_t>(offsets[feature + 1]); ++at) {
      if (!entries.empty() && labels[at] <= entries.back().label) {
        throw BadState("the state's array 'scorers.labels' does not increase within a feature");
      }
      entries.push_back({labels[at], weights_[at], squares_[at], averages_[at]});
    }
  }
  weights_ = {};
  squares_ = {};
  averages_ = {};
}

int64_t Scorers::bytes() const {
  int64_t sum = bytes_of(weights_) + bytes_of(squares_) + bytes_of(averages_) + bytes_of(features_);
  for (const auto& entries : features_) sum += bytes_of(entries);
  return sum;
}

}  // namespace boscage::online
