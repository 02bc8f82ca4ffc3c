#include "online/routers.hpp"

#include <cmath>

#include "base/array.hpp"

namespace boscage::online {

void Routers::append() {
  ++size_;
  if (dense_) {
    weights_.resize(size_ * stride_, 0.0f);
    squares_.resize(size_ * stride_, 0.0f);
  } else {
    nodes_.emplace_back();
  }
}

void Routers::clear() {
  size_ = 0;
  weights_.clear();
  squares_.clear();
  nodes_.clear();
}

void Routers::reset(int32_t router) {
  if (!dense_) {
    nodes_[router] = HashedWeights{};
    return;
  }
  const auto first = static_cast<int64_t>(router) * stride_;
  std::fill_n(weights_.begin() + first, stride_, 0.0f);
  std::fill_n(squares_.begin() + first, stride_, 0.0f);
}

void Routers::margins(const Row& row, const int32_t* routers, int64_t count, float* out) const {
  if (dense_) {
    dots(row.values, weights_.data(), stride_, routers, count, out);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const HashedWeights& node = nodes_[routers[i]];
    float sum = 0;
    for (int64_t j = 0; j < row.size; ++j) {
      if (const auto* cell = node.find(row.indices[j])) sum += row.values[j] * cell->weight;
    }
    out[i] = sum;
  }
}

float Routers::margin(const Row& row, int32_t router) const {
  float out = 0;
  margins(row, &router, 1, &out);
  return out;
}

void Routers::prefetch(int32_t router) const {
  if (!dense_) return;
  prefetch_vector(weights_.data() + router * stride_, stride_);
  prefetch_vector(squares_.data() + router * stride_, stride_);
}

void Routers::step(const Row& row, int32_t router, const Step& step) {
  if (dense_) {
    const int64_t first = router * stride_;
    adagrad(row.values, step, weights_.data() + first, squares_.data() + first, stride_);
    return;
  }
  HashedWeights& node = nodes_[router];
  node.reserve_more(row.size);
  for (int64_t j = 0; j < row.size; ++j) {
    auto& cell = node.get(row.indices[j]);
    const float slope = step.gradient * row.values[j];
    cell.square += slope * slope;
    cell.weight -= step.rate * slope / std::sqrt(cell.square + step.epsilon);
  }
}

float Routers::median_step(const Row& row, int32_t router, const Step& step, float direction, float limit,
                           Floats& scratch) {
  scratch.resize(row.size);
  if (dense_) {
    const int64_t first = router * stride_;
    return online::median_step(row.values, step, direction, limit, weights_.data() + first, squares_.data() + first,
                               scratch.data(), stride_);
  }
  HashedWeights& node = nodes_[router];
  node.reserve_more(row.size);
  float reach = 0;
  for (int64_t j = 0; j < row.size; ++j) {
    auto& cell = node.get(row.indices[j]);
    const float slope = step.gradient * row.values[j];
    cell.square += slope * slope;
    scratch[j] = slope / std::sqrt(cell.square + step.epsilon);
    reach += row.values[j] * scratch[j];
  }
  reach *= step.rate;
  if (!(reach > 0)) return 0;
  const float change = reach < limit ? reach : limit;
  const float factor = direction * (step.rate * (change / reach));
  for (int64_t j = 0; j < row.size; ++j) node.get(row.indices[j]).weight += factor * scratch[j];
  return change;
}

void Routers::start(int32_t router, const Array<std::pair<int32_t, float>>& weights) {
  if (!dense_) nodes_[router].reserve_more(weights.size());
  for (const auto& [position, weight] : weights) {
    if (dense_) {
      weights_[router * stride_ + position] = weight;
    } else {
      nodes_[router].get(position).weight = weight;
    }
  }
}

void Routers::save(Archive& archive, const std::string& name, bool resume) const {
  if (dense_) {
    archive[name + ".weights"] = plain(weights_);
    if (resume) archive[name + ".squares"] = plain(squares_);
    return;
  }
  Array<int64_t> offsets{0};
  Array<int32_t> features;
  Array<float> weights, squares;
  for (const HashedWeights& node : nodes_) {
    for (const auto& cell : node.sorted()) {
      features.push_back(cell.feature);
      weights.push_back(cell.weight);
      squares.push_back(cell.square);
    }
    offsets.push_back(features.size());
  }
  archive[name + ".offsets"] = std::move(offsets);
  archive[name + ".features"] = std::move(features);
  archive[name + ".weights"] = std::move(weights);
  if (resume) archive[name + ".squares"] = std::move(squares);
}

void Routers::load(Reader& reader, const std::string& name, int64_t size, bool resume) {
  clear();
  size_ = size;
  if (dense_) {
    weights_ = aligned(reader.take_weights(name + ".weights", size * stride_));
    squares_.assign(weights_.size(), 0.0f);
    if (resume) {
      squares_ = aligned(reader.take_finite<float>(name + ".squares", size * stride_, 0.0));
    }
    return;
  }
  const auto offsets = reader.take_offsets(name + ".offsets", size);
  const int64_t cells = offsets.back();
  const auto features = reader.take_index<int32_t>(name + ".features", cells, 0, stride_);
  const auto weights = reader.take_weights(name + ".weights", cells);
  const auto squares =
      resume ? reader.take_finite<float>(name + ".squares", cells, 0.0) : Array<float>(weights.size(), 0.0f);
  nodes_.resize(size);
  for (int64_t node = 0; node < nodes_.size(); ++node) {
    nodes_[node].reserve_more(offsets[node + 1] - offsets[node]);
    for (auto at = offsets[node]; at < offsets[node + 1]; ++at) {
      if (at > offsets[node] && features[at] <= features[at - 1]) {
        throw BadState("the state's array '" + name + ".features' does not increase within a router");
      }
      auto& cell = nodes_[node].get(features[at]);
      cell.weight = weights[at];
      cell.square = squares[at];
    }
  }
}

int64_t Routers::bytes() const {
  int64_t sum = bytes_of(weights_) + bytes_of(squares_) + bytes_of(nodes_);
  for (const HashedWeights& node : nodes_) sum += node.bytes();
  return sum;
}

}  // namespace boscage::online
