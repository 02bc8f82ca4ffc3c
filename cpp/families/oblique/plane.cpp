#include "families/oblique/plane.hpp"

#include <algorithm>

#include "base/index.hpp"

namespace boscage {

std::span<const double> Plane::column(size_t j) const {
  if (j < columns_.columns()) return columns_.column(j, place_);
  if (ones_.empty()) ones_.assign(columns_.rows(), 1.0);
  return ones_;
}

void Plane::start_at(const Test& test, const Scaling& scaling) {
  std::fill(theta_.begin(), theta_.end(), 0.0);
  size_t column = to_size(std::max(test.feature, 0));
  if (test.feature == kLinear) {
    column = to_size(std::find(test.weights.begin(), test.weights.end(), 1.0) - test.weights.begin());
  }
  theta_[column] = 1.0;
  theta_.back() = -scaling.scaled(test.threshold, column);
  find_threshold();
}

void Plane::start_at_random(uint64_t seed, uint64_t path, uint64_t draw) {
  const size_t size = theta_.size();
  for (size_t j = 0; j < size; ++j) theta_[j] = normal(seed, path, draw * size + j);
  theta_.back() = 0;
  find_threshold();
}

// A line through the plane itself, so that its gain is known: the threshold moves to its best place.
void Plane::find_threshold() {
  rescore();
  gain_ = -1;
  const CutPlace place = look_at_column(columns_.columns(), -1);
  if (place.is_valid()) take_column(place, columns_.columns());
}

// By the middle of the best interval of steps.
void Plane::move(const CutPlace& place, std::span<const double> moves) {
  const double step = place.threshold();
  for (size_t i = 0; i < scores_.size(); ++i) scores_[i] += step * moves[i];
  gain_ = place.gain;
}

void Plane::take(const CutPlace& place, std::span<const double> change, std::span<const double> moves) {
  for (size_t j = 0; j < theta_.size(); ++j) theta_[j] += place.threshold() * change[j];
  move(place, moves);
}

void Plane::take_column(const CutPlace& place, size_t j) {
  theta_[j] += place.threshold();
  move(place, column(j));
}

}  // namespace boscage
