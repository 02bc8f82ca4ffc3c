#include "oblique/plane.hpp"

#include <algorithm>

namespace boscage {

std::span<const double> Plane::ones() const {
  if (ones_.empty()) ones_.assign(columns_.rows(), 1.0);
  return ones_;
}

void Plane::start_at(const Test& test, const Scaling& scaling) {
  std::fill(theta_.begin(), theta_.end(), 0.0);
  size_t column = static_cast<size_t>(std::max(test.feature, 0));
  if (test.feature == kLinear) {
    column = static_cast<size_t>(std::find(test.weights.begin(), test.weights.end(), 1.0) - test.weights.begin());
  }
  theta_[column] = 1.0;
  theta_.back() = -scaling.scaled(test.threshold, column);
  rescore(-1);
}

void Plane::start_at_random(uint64_t seed, uint64_t path, uint64_t draw) {
  const size_t size = theta_.size();
  for (size_t j = 0; j < size; ++j) theta_[j] = normal(seed, path, draw * size + j);
  theta_.back() = 0;
  rescore(-1);
}

void Plane::start_at(std::span<const double> theta) {
  theta_.assign(theta.begin(), theta.end());
  rescore(-1);
}

// A line through the plane itself, so that its gain is known: the threshold moves to its best place.
void Plane::rescore(double gain) {
  columns_.score(theta_, scores_);
  gain_ = gain;
  if (gain >= 0) return;
  const CutPlace place = look(ones());
  if (place.is_valid()) take_column(place, columns_.columns());
}

void Plane::take(const CutPlace& place, std::span<const double> change) {
  for (size_t j = 0; j < theta_.size(); ++j) theta_[j] += step_of(place) * change[j];
  rescore(place.gain);
}

void Plane::take_column(const CutPlace& place, size_t j) {
  theta_[j] += step_of(place);
  rescore(place.gain);
}

}  // namespace boscage
