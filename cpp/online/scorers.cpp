#include "online/scorers.hpp"

#include <algorithm>
#include <cmath>

#include "base/array.hpp"

namespace boscage::online {

namespace {

bool before(const Scorers::Entry& entry, int32_t label) { return entry.label < label; }

// First entry from `from` on whose label is not smaller: doubling steps, then a binary search, because the labels
// asked for come in order and lie close together.
int64_t seek(const Array<Scorers::Entry>& entries, int64_t from, int32_t label) {
  int64_t step = 1, high = from;
  while (high < entries.size() && entries[high].label < label) {
    from = high + 1;
    high += step;
    step *= 2;
  }
  const auto begin = entries.begin();
  const auto end = begin + static_cast<int64_t>(std::min(high, entries.size()));
  return (std::lower_bound(begin + static_cast<int64_t>(from), end, label, before) - begin);
}

void apply(float& weight, float& square, float& average, float slope, const Step& step, float start) {
  square += slope * slope;
  const float move = step.rate * slope / std::sqrt(square + step.epsilon);
  weight -= move;
  average -= (step.clock - start) * move;
}

// A table of another length with the same contents, zeros added.
Array<float> lengthened(const Array<float>& table, int64_t from, int64_t to) {
  Array<float> out(3 * to, 0.0f);
  for (int64_t part = 0; part < 3; ++part) std::copy_n(table.begin() + part * from, from, out.begin() + part * to);
  return out;
}

}  // namespace

Scorers::Scorers(int64_t stride, bool dense) : stride_(stride), dense_(dense) {
  if (!dense_) features_.resize(stride);
}

void Scorers::append(int64_t count) {
  classes_ += count;
  starts_.resize(classes_, 0.0f);
  if (!dense_) {
    gradients_.resize(classes_, 0.0f);
    return;
  }
  for (auto* values : {&weights_, &squares_, &averages_}) values->resize(classes_ * stride_, 0.0f);
}

Scorers::Averages Scorers::averages(float clock, bool formed) const {
  Averages out;
  out.factors.assign(starts_.size(), 0.0f);
  for (int64_t k = 0; k < starts_.size(); ++k) {
    out.factors[k] = clock > starts_[k] ? 1.0f / (clock - starts_[k]) : 0.0f;
  }
  if (!formed || !dense_) return out;
  out.weights = weights_;
  for (int64_t i = 0; i < out.weights.size(); ++i) {
    out.weights[i] -= averages_[i] * out.factors[i / stride_];
  }
  return out;
}

void Scorers::scores(const Row& row, const Array<int32_t>& ids, bool all, const Averages* averages, Floats& scratch,
                     float* out) const {
  const auto count = ids.size();
  if (dense_) {
    const int32_t* list = all ? nullptr : ids.data();
    if (averages == nullptr) {
      dots(row.values, weights_.data(), stride_, list, count, out);
    } else if (!averages->weights.empty()) {
      dots(row.values, averages->weights.data(), stride_, list, count, out);
    } else {
      averaged_dots(row.values, weights_.data(), averages_.data(), averages->factors.data(), stride_, list, count, out);
    }
    return;
  }
  const float* factors = averages != nullptr ? averages->factors.data() : nullptr;
  if (4 * count >= classes_) {
    scratch.assign(classes_, 0.0f);
    score_all(row, factors, scratch.data());
    for (int64_t i = 0; i < count; ++i) out[i] = scratch[ids[i]];
    return;
  }
  std::fill_n(out, count, 0.0f);
  for (int64_t j = 0; j < row.size; ++j) {
    const Feature& feature = features_[row.indices[j]];
    const float value = row.values[j];
    const int64_t length = feature.length();
    int64_t at = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int32_t label = ids[i];
      if (label < length) {
        const float* entry = feature.table.data() + label;
        out[i] += value * (entry[0] - entry[2 * length] * (factors != nullptr ? factors[label] : 0.0f));
      } else if (at < feature.entries.size()) {
        at = seek(feature.entries, at, label);
        if (at == feature.entries.size() || feature.entries[at].label != label) continue;
        const float factor = factors != nullptr ? factors[label] : 0.0f;
        out[i] += value * (feature.entries[at].weight - feature.entries[at].average * factor);
      }
    }
  }
}

// The lists of a row's features lie anywhere in memory: asks for them before they are read.
void Scorers::prefetch(const Row& row, int64_t j) const {
  if (j + 12 < row.size) __builtin_prefetch(&features_[row.indices[j + 12]]);
  if (j + 4 >= row.size) return;
  const Feature& soon = features_[row.indices[j + 4]];
  const char* data = soon.table.empty() ? reinterpret_cast<const char*>(soon.entries.data())
                                        : reinterpret_cast<const char*>(soon.table.data());
  const int64_t entry_bytes = sizeof(Entry), float_bytes = sizeof(float);
  const int64_t bytes = soon.table.empty() ? soon.entries.size() * entry_bytes : soon.table.size() * float_bytes / 3;
  for (int64_t at = 0; at < std::min<int64_t>(bytes, 512); at += 64) __builtin_prefetch(data + at);
}

void Scorers::score_all(const Row& row, const float* factors, float* by_class) const {
  for (int64_t j = 0; j < row.size; ++j) {
    prefetch(row, j);
    const Feature& feature = features_[row.indices[j]];
    const float value = row.values[j];
    const int64_t length = feature.length();
    if (length > 0 && factors != nullptr) {
      averaged_axpy(value, feature.table.data(), feature.table.data() + 2 * length, factors, by_class, length);
    } else if (length > 0) {
      axpy(value, feature.table.data(), by_class, length);
    }
    for (const Entry& entry : feature.entries) {
      const float factor = factors != nullptr ? factors[entry.label] : 0.0f;
      by_class[entry.label] += value * (entry.weight - entry.average * factor);
    }
  }
}

void Scorers::prefetch(int32_t label) const {
  if (!dense_) return;
  for (const Floats* values : {&weights_, &squares_, &averages_}) {
    prefetch_vector(values->data() + label * stride_, stride_);
  }
}

void Scorers::update(const Row& row, const Array<ClassStep>& steps, const Step& step) {
  if (dense_) {
    for (int64_t i = 0; i < steps.size(); ++i) {
      if (i + 1 < steps.size()) prefetch(steps[i + 1].label);
      const ClassStep& one = steps[i];
      const int64_t first = one.label * stride_;
      Step own = step;
      own.gradient = one.gradient;
      own.clock = step.clock - starts_[one.label];
      adagrad_averaged(row.values, own, weights_.data() + first, squares_.data() + first, averages_.data() + first,
                       stride_);
    }
    return;
  }
  creating_.clear();
  for (const ClassStep& one : steps) {
    gradients_[one.label] = one.gradient;
    if (one.create) creating_.push_back(one);
  }
  for (int64_t j = 0; j < row.size; ++j) {
    Feature& feature = features_[row.indices[j]];
    // New entries first, with zero state: the step then treats all alike.
    if (!creating_.empty()) create_entries(feature);
    step_feature(feature, row.values[j], steps, step);
  }
  for (const ClassStep& one : steps) gradients_[one.label] = 0;
}

void Scorers::step_feature(Feature& feature, float value, const Array<ClassStep>& steps, const Step& step) {
  const int64_t length = feature.length();
  if (length > 0) {
    float* table = feature.table.data();
    if (static_cast<int64_t>(16 * steps.size()) > length) {  // zero gradients change nothing
      adagrad_classes(value, gradients_.data(), starts_.data(), step, table, table + length, table + 2 * length,
                      length);
      return;
    }
    for (const ClassStep& one : steps) {
      if (one.label >= length) continue;
      float* entry = table + one.label;
      apply(entry[0], entry[length], entry[2 * length], one.gradient * value, step, starts_[one.label]);
    }
    return;
  }
  auto& entries = feature.entries;
  if (entries.size() < 8 * steps.size()) {
    for (Entry& entry : entries) {
      const float gradient = gradients_[entry.label];
      if (gradient != 0) apply(entry.weight, entry.square, entry.average, gradient * value, step, starts_[entry.label]);
    }
    return;
  }
  int64_t at = 0;
  for (const ClassStep& one : steps) {
    at = seek(entries, at, one.label);
    if (at == entries.size() || entries[at].label != one.label) continue;
    apply(entries[at].weight, entries[at].square, entries[at].average, one.gradient * value, step, starts_[one.label]);
  }
}

void Scorers::create_entries(Feature& feature) {
  auto& entries = feature.entries;
  if (feature.length() > 0) {
    if (creating_.back().label >= feature.length()) {
      feature.table = lengthened(feature.table, feature.length(), reach_);
    }
    return;
  }
  int64_t at = 0, missing = 0;
  for (const ClassStep& one : creating_) {
    at = seek(entries, at, one.label);
    if (at == entries.size() || entries[at].label != one.label) ++missing;
  }
  if (missing == 0) return;
  const int64_t old = entries.size();
  // Decided by the classes known, not by those the caller has announced: batches must not matter.
  if (2 * static_cast<int64_t>(old + missing) >= known_ && known_ > 16) {
    feature.table.assign(3 * reach_, 0.0f);
    for (const Entry& entry : entries) {
      float* cell = feature.table.data() + entry.label;
      cell[0] = entry.weight;
      cell[reach_] = entry.square;
      cell[2 * reach_] = entry.average;
    }
    entries = {};
    return;
  }
  // Merge from the back; room grows by a quarter, not by half or more.
  if (entries.capacity() < old + missing) entries.reserve(old + std::max(missing, old / 4));
  entries.resize(old + missing);
  int64_t from = old, to = old + missing;
  for (auto one = creating_.rbegin(); one != creating_.rend() && to > from; ++one) {
    while (from > 0 && entries[from - 1].label > one->label) entries[--to] = entries[--from];
    if (from > 0 && entries[from - 1].label == one->label) continue;
    entries[--to] = Entry{one->label, 0, 0, 0};
  }
}

int64_t Scorers::bytes() const {
  int64_t sum = bytes_of(weights_) + bytes_of(squares_) + bytes_of(averages_) + bytes_of(features_);
  for (const Feature& feature : features_) sum += bytes_of(feature.entries) + bytes_of(feature.table);
  return sum;
}

}  // namespace boscage::online
