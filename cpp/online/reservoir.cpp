#include "online/reservoir.hpp"

#include <algorithm>
#include <cmath>

#include "base/array.hpp"
#include "base/rng.hpp"

namespace boscage::online {

namespace {

constexpr uint64_t keep_stream = 0x6b656570, class_stream = 0x636c6173, row_stream = 0x726f7773;

float clipped(double value) { return static_cast<float>(std::clamp(value, -3e38, 3e38)); }

}  // namespace

void Reservoir::offer(int32_t label, const RawRow& raw, double weight) {
  if (per_class_ == 0) return;
  Class& own = classes_[label];
  ++seen_;
  own.last = seen_;
  const int64_t place = own.seen++;
  int64_t slot = own.rows.size();
  if (place >= per_class_) {
    // Every row of the class so far is kept with the same chance.
    const double u = uniform(seed_ ^ keep_stream, label, place);
    slot = static_cast<int64_t>(u * static_cast<double>(place + 1));
    if (slot >= per_class_) return;
  } else {
    if (own.rows.empty()) stocked_.push_back(label);
    own.rows.emplace_back();
  }
  Stored& stored = own.rows[slot];
  stored.weight = weight;
  stored.indices = raw.indices;
  stored.values.resize(raw.values.size());
  std::transform(raw.values.begin(), raw.values.end(), stored.values.begin(), clipped);
}

int32_t Reservoir::pick_class(int64_t draw) const {
  if (stocked_.empty()) return -1;
  const double u = uniform(seed_, class_stream, draw);
  return stocked_[static_cast<int64_t>(u * static_cast<double>(stocked_.size()))];
}

bool Reservoir::overdue(int32_t label) const {
  const Class& own = classes_[label];
  const auto gap = static_cast<double>(seen_ - own.last);
  return gap * static_cast<double>(own.seen) > constants_.patience * static_cast<double>(seen_);
}

// Of all steps, 1 / (1 + replays per row) are rows of the stream; a class last met g rows ago has about a share of
// 1 / (g + 1) of these. The others are replays, spread evenly.
float Reservoir::head_start(int32_t label) const {
  const double replays = static_cast<double>(constants_.probes) * overdue_share_;
  const auto gap = static_cast<double>(seen_ - classes_[label].last);
  const auto stocked = static_cast<double>(stocked_.size());
  const double whole = std::log((stocked / (gap + 1) + replays) / (1 + replays));
  return static_cast<float>(flood_.head_start * whole);
}

void Reservoir::recall(int32_t label, int64_t draw, RawRow& raw, double& weight) const {
  const Class& own = classes_[label];
  const double u = uniform(seed_, row_stream, draw);
  const Stored& stored = own.rows[static_cast<int64_t>(u * static_cast<double>(own.rows.size()))];
  raw.sparse = !dense_;
  raw.indices = stored.indices;
  raw.values.assign(stored.values.begin(), stored.values.end());
  weight = stored.weight;
}

void Reservoir::save(Archive& archive) const {
  if (per_class_ == 0) return;
  Array<int64_t> seen, last, row_offsets{0}, offsets{0};
  Array<int32_t> indices;
  Array<float> values;
  Array<double> weights;
  for (const Class& own : classes_) {
    seen.push_back(own.seen);
    last.push_back(own.last);
    for (const Stored& stored : own.rows) {
      values.insert(values.end(), stored.values.begin(), stored.values.end());
      indices.insert(indices.end(), stored.indices.begin(), stored.indices.end());
      weights.push_back(stored.weight);
      offsets.push_back(values.size());
    }
    row_offsets.push_back(weights.size());
  }
  archive["replay.numbers"] = Array<int64_t>{seen_};
  archive["replay.overdue_share"] = Array<double>{overdue_share_};
  archive["replay.seen"] = std::move(seen);
  archive["replay.last"] = std::move(last);
  archive["replay.stocked"] = stocked_;
  archive["replay.row_offsets"] = std::move(row_offsets);
  archive["replay.value_offsets"] = std::move(offsets);
  archive["replay.values"] = std::move(values);
  archive["replay.indices"] = std::move(indices);
  archive["replay.weights"] = std::move(weights);
}

void Reservoir::load(Reader& reader, int64_t classes) {
  classes_.assign(classes, Class{});
  if (per_class_ == 0) return;
  constexpr int64_t most = int64_t{1} << 53;
  seen_ = reader.take_index<int64_t>("replay.numbers", 1, 0, most)[0];
  overdue_share_ = reader.take_finite<double>("replay.overdue_share", 1, 0.0)[0];
  if (overdue_share_ > 1) throw BadState("'replay.overdue_share' of the state is above 1");
  const auto seen = reader.take_index<int64_t>("replay.seen", classes, 0, seen_ + 1);
  const auto last = reader.take_index<int64_t>("replay.last", classes, 0, seen_ + 1);
  stocked_ = reader.take_index<int32_t>("replay.stocked", -1, 0, classes);
  const auto row_offsets = reader.take_offsets("replay.row_offsets", classes);
  const int64_t rows = row_offsets.back();
  const auto offsets = reader.take_offsets("replay.value_offsets", rows);
  const auto values = reader.take_finite<float>("replay.values", offsets.back());
  const auto indices = reader.take_index<int32_t>("replay.indices", dense_ ? 0 : offsets.back(), 0, features_);
  const auto weights = reader.take_finite<double>("replay.weights", rows, 0.0);
  Array<bool> listed(classes, false);
  for (int32_t label : stocked_) {
    const auto at = label;
    if (listed[at] || row_offsets[at] == row_offsets[at + 1]) throw BadState("'replay.stocked' of the state is wrong");
    listed[at] = true;
  }
  for (int64_t at = 0; at < classes_.size(); ++at) {
    Class& own = classes_[at];
    own.seen = seen[at];
    own.last = last[at];
    const int64_t count = row_offsets[at + 1] - row_offsets[at];
    if (count != std::min(own.seen, per_class_) || (count > 0) != listed[at]) {
      throw BadState("the state's replayed rows do not agree with their counts");
    }
    for (auto row = row_offsets[at]; row < row_offsets[at + 1]; ++row) {
      Stored stored;
      stored.weight = weights[row];
      stored.values.assign(values.begin() + offsets[row], values.begin() + offsets[row + 1]);
      if (dense_ && stored.values.size() != features_) {
        throw BadState("a replayed row of the state has the wrong length");
      }
      if (!dense_) stored.indices.assign(indices.begin() + offsets[row], indices.begin() + offsets[row + 1]);
      if (std::adjacent_find(stored.indices.begin(), stored.indices.end(), std::greater_equal<int32_t>()) !=
          stored.indices.end()) {
        throw BadState("a replayed row of the state is not sorted");
      }
      own.rows.push_back(std::move(stored));
    }
  }
}

int64_t Reservoir::bytes() const {
  int64_t sum = bytes_of(classes_) + bytes_of(stocked_);
  for (const Class& own : classes_) {
    sum += bytes_of(own.rows);
    for (const Stored& stored : own.rows) sum += bytes_of(stored.values) + bytes_of(stored.indices);
  }
  return sum;
}

}  // namespace boscage::online
