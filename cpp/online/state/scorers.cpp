// Saving and restoring the scorers.
#include "online/scorers.hpp"

#include <algorithm>
#include <cmath>

#include "base/array.hpp"

namespace boscage::online {

void Scorers::save(Archive& archive, bool resume, float clock) const {
  const Averages now = averages(clock, !resume);
  const Floats& factor = now.factors;
  if (resume) archive["scorers.starts"] = starts_;
  if (dense_) {
    archive["scorers.weights"] = plain(resume ? weights_ : now.weights);
    if (resume) {
      archive["scorers.squares"] = plain(squares_);
      archive["scorers.averages"] = plain(averages_);
    }
    return;
  }
  Array<int64_t> offsets{0}, table_offsets{0};
  Array<int32_t> labels;
  Array<float> weights, squares, averages, tables;
  for (const Feature& feature : features_) {
    for (const Entry& entry : feature.entries) {
      labels.push_back(entry.label);
      weights.push_back(resume ? entry.weight : entry.weight - entry.average * factor[entry.label]);
      squares.push_back(entry.square);
      averages.push_back(entry.average);
    }
    const int64_t length = feature.length();
    for (int64_t at = 0; at < (resume ? 3 * length : length); ++at) {
      const float* cell = feature.table.data() + at;
      tables.push_back(resume ? cell[0] : cell[0] - cell[2 * length] * factor[at]);
    }
    offsets.push_back(labels.size());
    table_offsets.push_back(tables.size());
  }
  archive["scorers.offsets"] = std::move(offsets);
  archive["scorers.labels"] = std::move(labels);
  archive["scorers.weights"] = std::move(weights);
  archive["scorers.table_offsets"] = std::move(table_offsets);
  archive["scorers.tables"] = std::move(tables);
  if (!resume) return;
  archive["scorers.squares"] = std::move(squares);
  archive["scorers.averages"] = std::move(averages);
}

void Scorers::load(Reader& reader, int64_t classes, const Array<int32_t>& known, bool resume) {
  classes_ = classes;
  for (int32_t label : known) count_known(label);
  starts_.assign(resume ? 0 : classes, 0.0f);
  if (resume) starts_ = reader.take_finite<float>("scorers.starts", classes, 0.0);
  if (dense_) {
    const int64_t size = classes * stride_;
    weights_ = aligned(reader.take_weights("scorers.weights", size));
    squares_.assign(weights_.size(), 0.0f);
    averages_.assign(weights_.size(), 0.0f);
    if (!resume) return;
    squares_ = aligned(reader.take_finite<float>("scorers.squares", size, 0.0));
    averages_ = aligned(reader.take_finite<float>("scorers.averages", size));
    return;
  }
  load_features(reader, resume);
}

void Scorers::check_averages(float clock) const {
  const Averages now = averages(clock, true);
  const auto check = [](float weight) {
    if (!(std::fabs(weight) <= 1e15f)) throw BadState("an average of the state's scorers is out of range");
  };
  for (const float weight : now.weights) check(weight);
  for (const Feature& feature : features_) {
    for (const Entry& entry : feature.entries) check(entry.weight - entry.average * now.factors[entry.label]);
    const auto length = feature.length();
    for (int64_t i = 0; i < length; ++i) check(feature.table[i] - feature.table[2 * length + i] * now.factors[i]);
  }
}

void Scorers::load_features(Reader& reader, bool resume) {
  gradients_.assign(classes_, 0.0f);
  const auto offsets = reader.take_offsets("scorers.offsets", stride_);
  const int64_t size = offsets.back();
  const auto labels = reader.take_index<int32_t>("scorers.labels", size, 0, reach_);
  const auto weights = reader.take_weights("scorers.weights", size);
  const Array<float> zeros(size, 0.0f);
  const auto squares = resume ? reader.take_finite<float>("scorers.squares", size, 0.0) : zeros;
  const auto averages = resume ? reader.take_finite<float>("scorers.averages", size) : zeros;
  const auto table_offsets = reader.take_offsets("scorers.table_offsets", stride_);
  const auto tables = reader.take_finite<float>("scorers.tables", table_offsets.back());
  const int64_t parts = resume ? 3 : 1;
  for (int64_t at = 0; at < features_.size(); ++at) {
    Feature& feature = features_[at];
    feature.entries.reserve(offsets[at + 1] - offsets[at]);
    for (auto i = offsets[at]; i < offsets[at + 1]; ++i) {
      if (!feature.entries.empty() && labels[i] <= feature.entries.back().label) {
        throw BadState("the state's array 'scorers.labels' does not increase within a feature");
      }
      feature.entries.push_back({labels[i], weights[i], squares[i], averages[i]});
    }
    const int64_t cells = table_offsets[at + 1] - table_offsets[at];
    if (cells == 0) continue;
    const int64_t length = cells / parts;
    if (cells % parts != 0 || length > reach_ || !feature.entries.empty()) {
      throw BadState("a table of the state's scorers has the wrong length");
    }
    feature.table.assign(3 * length, 0.0f);
    std::copy_n(tables.begin() + table_offsets[at], cells, feature.table.begin());
    for (int64_t i = 0; i < length; ++i) {
      const bool sound = std::fabs(feature.table[i]) <= 1e15f && feature.table[length + i] >= 0;
      if (!sound) throw BadState("a table of the state's scorers holds a value out of range");
    }
  }
}

}  // namespace boscage::online
