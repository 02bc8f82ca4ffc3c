#include "online/scaling.hpp"

#include <algorithm>
#include <cmath>

#include "base/array.hpp"

namespace boscage::online {

Scaling::Scaling(int64_t features, bool centred) : features_(features), centred_(centred) {
  const auto size = features;
  if (centred_) {
    centre_.assign(size, 0.0);
    radius_.assign(size, 0.0);
  } else {
    squares_.assign(size, 0.0);
  }
}

void Scaling::observe(const RawRow& raw, double weight) {
  total_ += weight;
  if (centred_) {
    observe_columns(raw.values.data(), weight / total_, centre_.data(), radius_.data(), features_);
    return;
  }
  for (int64_t i = 0; i < raw.values.size(); ++i) {
    squares_[raw.indices[i]] += weight * raw.values[i] * raw.values[i];
  }
}

Row Scaling::scale(const RawRow& raw, Floats& buffer, Array<int32_t>& indices) const {
  if (centred_) {
    buffer.assign(stride(), 0.0f);
    scale_columns(raw.values.data(), centre_.data(), radius_.data(), buffer.data(), features_);
    buffer[features_] = 1.0f;
    return {buffer.data(), nullptr, stride()};
  }
  // The number of rows in the mean square is common to all columns: it cancels when the row gets length 1.
  buffer.clear();
  indices.clear();
  thread_local Array<double> wide;  // values before the row gets length 1 may exceed the range of float
  wide.clear();
  double length = 0;
  for (int64_t i = 0; i < raw.values.size(); ++i) {
    const double square = squares_[raw.indices[i]];
    if (!(square > 0)) continue;
    const double value = raw.values[i] / std::sqrt(std::sqrt(square));
    wide.push_back(value);
    indices.push_back(raw.indices[i]);
    length += value * value;
  }
  const double shrink = length > 0 && std::isfinite(length) ? 1.0 / std::sqrt(length) : 0.0;
  buffer.resize(wide.size());
  for (int64_t i = 0; i < wide.size(); ++i) buffer[i] = static_cast<float>(wide[i] * shrink);
  buffer.push_back(1.0f);
  indices.push_back(static_cast<int32_t>(features_));
  return {buffer.data(), indices.data(), buffer.size()};
}

void Scaling::measure(const Row& row, double weight) {
  double square = 2.0;  // unit rows and the constant
  if (centred_) {
    float sum = 0;
    dots(row.values, row.values, row.size, nullptr, 1, &sum);
    square = static_cast<double>(sum);
  }
  measured_ += weight;
  mean_square_ += (square - mean_square_) * (weight / measured_);
}

void Scaling::save(Archive& archive, bool resume) const {
  archive["scaling.numbers"] =
      Array<double>{resume ? total_ : 1.0, resume ? mean_square_ : 1.0, resume ? measured_ : 1.0};
  if (centred_) {
    archive["scaling.centre"] = centre_;
    archive["scaling.radius"] = radius_;
  } else {
    archive["scaling.squares"] = squares_;
  }
}

void Scaling::load(Reader& reader) {
  const auto numbers = reader.take_finite<double>("scaling.numbers", 3, 0.0);
  total_ = numbers[0];
  mean_square_ = numbers[1];
  measured_ = numbers[2];
  if (centred_) {
    centre_ = reader.take_finite<double>("scaling.centre", features_);
    radius_ = reader.take_finite<double>("scaling.radius", features_, 0.0);
  } else {
    squares_ = reader.take_finite<double>("scaling.squares", features_, 0.0);
  }
}

}  // namespace boscage::online
