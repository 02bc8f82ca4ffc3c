#include "online/class_means.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/array.hpp"
#include "base/rng.hpp"

namespace boscage::online {

namespace {

constexpr uint64_t profile_stream = 0x70726f66;

}  // namespace

float MeanRows::project(int64_t at, const Floats& direction) const {
  if (dense_) {
    float out = 0;
    dots(direction.data(), values_.data() + at * length_, length_, nullptr, 1, &out);
    return out;
  }
  float sum = 0;
  for (const auto& [feature, value] : entries_[at]) {
    sum += value * direction[feature];
  }
  return sum;
}

void MeanRows::add_to(int64_t at, float factor, Floats& sum) const {
  if (dense_) {
    axpy(factor, values_.data() + at * length_, sum.data(), length_);
    return;
  }
  for (const auto& [feature, value] : entries_[at]) {
    sum[feature] += factor * value;
  }
}

ClassMeans::ClassMeans(int64_t features, bool dense) : features_(features), dense_(dense) {
  spread_.assign(features, 0.0);
}

void ClassMeans::append(int64_t count) {
  weights_.resize(weights_.size() + count, 0.0);
  if (dense_) {
    means_.resize(weights_.size() * features_, 0.0);
  } else {
    sums_.resize(weights_.size());
  }
}

void ClassMeans::add(int32_t label, const RawRow& raw, const Row& row, double weight) {
  const auto at = label;
  const double before = weights_[at];
  weights_[at] += weight;
  if (dense_) {
    add_to_mean(raw.values.data(), weight / weights_[at], weight * (before / weights_[at]),
                means_.data() + label * features_, spread_.data(), features_);
    return;
  }
  HashedSums& sums = sums_[at];
  sums.reserve_more(row.size - 1);
  for (int64_t j = 0; j + 1 < row.size; ++j) {  // the last pair is the constant
    sums.get(row.indices[j]).weight += static_cast<float>(weight) * row.values[j];
    spread_[row.indices[j]] += weight * static_cast<double>(row.values[j] * row.values[j]);
  }
}

void ClassMeans::shift(int32_t from, int32_t to, RawRow& raw) const {
  const double* old_mean = means_.data() + from * features_;
  const double* new_mean = means_.data() + to * features_;
  for (int64_t j = 0; j < features_; ++j) raw.values[j] += new_mean[j] - old_mean[j];
}

Row ClassMeans::draw_row(int32_t label, float size, uint64_t seed, uint64_t draw, Floats& values,
                         Array<int32_t>& indices) const {
  const HashedSums& sums = sums_[label];
  const auto share = static_cast<float>(1.0 / weights_[label]);
  indices.clear();
  sums.for_each([&](const HashedSums::Cell& cell) {
    const double chance = std::fabs(static_cast<double>(cell.weight * share)) / static_cast<double>(size);
    if (uniform(seed ^ profile_stream, draw, cell.feature) < chance) indices.push_back(cell.feature);
  });
  std::sort(indices.begin(), indices.end());
  values.clear();
  double square = 0;
  for (const int32_t feature : indices) {
    const float mean = sums.find(feature)->weight * share;
    const float value = std::fabs(mean) > size ? mean : std::copysign(size, mean);
    values.push_back(value);
    square += static_cast<double>(value) * static_cast<double>(value);
  }
  const auto shrink = static_cast<float>(square > 0 ? 1.0 / std::sqrt(square) : 0.0);
  for (float& value : values) value *= shrink;
  values.push_back(1.0f);
  indices.push_back(static_cast<int32_t>(features_));
  return {values.data(), indices.data(), values.size()};
}

MeanRows ClassMeans::rows(const Array<int32_t>& labels, const Scaling& scaling) const {
  MeanRows out;
  out.size_ = labels.size();
  out.dense_ = dense_;
  out.length_ = dense_ ? padded(features_) : features_;
  if (dense_) {
    out.values_.assign(out.size_ * out.length_, 0.0f);
    for (int64_t i = 0; i < out.size_; ++i) {
      const double* mean = means_.data() + labels[i] * features_;
      scale_columns(mean, scaling.centre().data(), scaling.radius().data(), out.values_.data() + i * out.length_,
                    features_);
    }
    return out;
  }
  for (int32_t label : labels) {
    const double weight = weights_[label];
    Array<std::pair<int32_t, float>> entries;
    for (const auto& cell : sums_[label].sorted()) {
      entries.emplace_back(cell.feature, static_cast<float>(static_cast<double>(cell.weight) / weight));
    }
    out.entries_.push_back(std::move(entries));
  }
  return out;
}

Array<float> ClassMeans::variance(const Scaling& scaling, double share) const {
  const double total = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  Array<double> within = spread_;
  if (dense_) {
    for (int64_t j = 0; j < features_; ++j) {
      const double radius = scaling.radius()[j];
      within[j] = radius > 0 ? within[j] / total / radius / radius : 0.0;
    }
  } else {
    for (int64_t label = 0; label < sums_.size(); ++label) {
      if (!(weights_[label] > 0)) continue;
      for (const auto& cell : sums_[label].sorted()) {
        const auto sum = static_cast<double>(cell.weight);
        within[cell.feature] -= sum * sum / weights_[label];
      }
    }
    for (double& value : within) value = value > 0 ? value / total : 0.0;
  }
  const double mean = std::accumulate(within.begin(), within.end(), 0.0) / static_cast<double>(features_);
  const double floor = share * mean + 1e-8;
  Array<float> out(dense_ ? padded(features_) : features_, 1.0f);
  for (int64_t j = 0; j < within.size(); ++j) out[j] = static_cast<float>(within[j] + floor);
  return out;
}

void ClassMeans::save(Archive& archive) const {
  archive["means.weights"] = weights_;
  archive["means.spread"] = spread_;
  if (dense_) {
    archive["means.means"] = means_;
    return;
  }
  Array<int64_t> offsets{0};
  Array<int32_t> features;
  Array<float> sums;
  for (const HashedSums& one : sums_) {
    for (const auto& cell : one.sorted()) {
      features.push_back(cell.feature);
      sums.push_back(cell.weight);
    }
    offsets.push_back(features.size());
  }
  archive["means.offsets"] = std::move(offsets);
  archive["means.features"] = std::move(features);
  archive["means.sums"] = std::move(sums);
}

void ClassMeans::load(Reader& reader, int64_t classes) {
  weights_ = reader.take_finite<double>("means.weights", classes, 0.0);
  spread_ = reader.take_finite<double>("means.spread", features_, 0.0);
  if (dense_) {
    means_ = reader.take_finite<double>("means.means", classes * features_);
    return;
  }
  const auto offsets = reader.take_offsets("means.offsets", classes);
  const auto features = reader.take_index<int32_t>("means.features", offsets.back(), 0, features_);
  const auto sums = reader.take_finite<float>("means.sums", offsets.back());
  sums_.assign(classes, HashedSums{});
  for (int64_t label = 0; label < sums_.size(); ++label) {
    sums_[label].reserve_more(offsets[label + 1] - offsets[label]);
    for (auto at = offsets[label]; at < offsets[label + 1]; ++at) {
      if (at > offsets[label] && features[at] <= features[at - 1]) {
        throw BadState("the state's array 'means.features' does not increase within a class");
      }
      sums_[label].get(features[at]).weight = sums[at];
    }
  }
}

int64_t ClassMeans::bytes() const {
  int64_t sum = bytes_of(weights_) + bytes_of(means_) + bytes_of(spread_) + bytes_of(sums_);
  for (const HashedSums& one : sums_) sum += one.bytes();
  return sum;
}

}  // namespace boscage::online
