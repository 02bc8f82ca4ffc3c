#include "online/class_tree.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include "base/array.hpp"
#include "base/rng.hpp"

namespace boscage::online {

namespace {

float sigmoid(float m) {
  const float tail = exp_negative(m < 0 ? m : -m);
  return m < 0 ? tail / (1.0f + tail) : 1.0f / (1.0f + tail);
}

void normalise(Floats& direction) {
  double square = 0;
  for (float value : direction) square += static_cast<double>(value) * static_cast<double>(value);
  if (!(square > 0)) return;
  const auto factor = static_cast<float>(1.0 / std::sqrt(square));
  for (float& value : direction) value *= factor;
}

}  // namespace

void ClassTree::rebuild(const Array<int32_t>& labels, const ClassMeans& means, const Scaling& scaling) {
  nodes_.assign(1, Node{});
  links_.assign(1, Link{});
  routers_.clear();
  std::fill(leaf_of_.begin(), leaf_of_.end(), -1);
  grow(0, 1, labels, means, scaling);
}

void ClassTree::insert(int32_t label, const Row& row, const ClassMeans& means, const Scaling& scaling) {
  int32_t node = 0;
  uint64_t path = 1;
  while (nodes_[node].router >= 0) {
    const Node& here = nodes_[node];
    const bool right = routers_.margin(row, here.router) > 0;
    node = right ? here.right : here.left;
    path = child_path(path, right);
  }
  auto labels = nodes_[node].labels;
  labels.push_back(label);
  place(node, labels);
  if (labels.size() <= 2 * constants_.leaf_size) return;
  grow(node, path, labels, means, scaling);
}

void ClassTree::place(int32_t node, const Array<int32_t>& labels) {
  nodes_[node].labels = labels;
  for (int32_t label : labels) {
    if (label >= leaf_of_.size()) leaf_of_.resize(label + 1, -1);
    leaf_of_[label] = node;
  }
}

void ClassTree::grow(int32_t node, uint64_t path, const Array<int32_t>& labels, const ClassMeans& means,
                     const Scaling& scaling) {
  const MeanRows rows = means.rows(labels, scaling);
  const Array<float> variance = means.variance(scaling, dense_ ? constants_.dense_floor : constants_.sparse_floor);
  Array<int32_t> all(labels.size());
  std::iota(all.begin(), all.end(), 0);
  std::deque<Growth> waiting;
  waiting.push_back({node, path, std::move(all)});
  for (; !waiting.empty(); waiting.pop_front()) {
    const Growth& here = waiting.front();
    if (here.members.size() <= constants_.leaf_size) {
      Array<int32_t> own;
      for (int32_t member : here.members) own.push_back(labels[member]);
      place(here.node, own);
      continue;
    }
    Halves halves = halve(here.members, here.path, rows);
    const auto router = static_cast<int32_t>(routers_.size());
    routers_.append();
    start_router(router, halves, rows, variance);
    split(here.node, router);
    const Link children = links_[here.node];
    waiting.push_back({children.left, child_path(here.path, false), std::move(halves.left)});
    waiting.push_back({children.right, child_path(here.path, true), std::move(halves.right)});
  }
}

void ClassTree::split(int32_t node, int32_t router) {
  const auto first = static_cast<int32_t>(nodes_.size());
  nodes_.resize(nodes_.size() + 2);
  links_.resize(nodes_.size());
  Node& here = nodes_[node];
  here.left = first;
  here.right = first + 1;
  here.router = router;
  here.labels = {};
  links_[node] = {router, first, first + 1};
  nodes_[first].parent = nodes_[first + 1].parent = node;
}

ClassTree::Halves ClassTree::halve(const Array<int32_t>& members, uint64_t path, const MeanRows& means) const {
  const auto count = static_cast<float>(members.size());
  const auto length = means.length();
  Halves out;
  out.direction.resize(length);
  for (int64_t j = 0; j < length; ++j) out.direction[j] = static_cast<float>(uniform(seed_, path, j)) - 0.5f;
  Floats centre(length, 0.0f), next(length);
  for (int32_t member : members) means.add_to(member, 1.0f / count, centre);
  for (int64_t round = 0; round < constants_.power_rounds; ++round) {
    std::fill(next.begin(), next.end(), 0.0f);
    const float middle = std::inner_product(centre.begin(), centre.end(), out.direction.begin(), 0.0f);
    float sum = 0;
    for (int32_t member : members) {
      const float coefficient = means.project(member, out.direction) - middle;
      means.add_to(member, coefficient, next);
      sum += coefficient;
    }
    for (int64_t j = 0; j < length; ++j) next[j] -= sum * centre[j];
    normalise(next);
    std::swap(out.direction, next);
  }
  const int64_t half = members.size() / 2;
  Array<std::pair<float, int32_t>> order(members.size());
  for (int64_t round = 0; round < constants_.halving_rounds; ++round) {
    for (int64_t i = 0; i < members.size(); ++i) {
      const float at = means.project(members[i], out.direction);
      order[i] = {std::isfinite(at) ? at : 0.0f, members[i]};
    }
    std::sort(order.begin(), order.end());
    std::fill(out.direction.begin(), out.direction.end(), 0.0f);
    for (int64_t i = 0; i < order.size(); ++i) {
      const auto share = static_cast<float>(i < half ? half : order.size() - half);
      means.add_to(order[i].second, (i < half ? -1.0f : 1.0f) / share, out.direction);
    }
  }
  for (int64_t i = 0; i < order.size(); ++i) (i < half ? out.left : out.right).push_back(order[i].second);
  return out;
}

// A discriminant in one dimension: the difference of the halves over the variance within classes and halves.
void ClassTree::start_router(int32_t router, const Halves& halves, const MeanRows& means,
                             const Array<float>& variance) {
  Floats direction = halves.direction;
  double noise = 0;
  for (int64_t j = 0; j < direction.size(); ++j) {
    direction[j] /= variance[j];
    noise += static_cast<double>(direction[j]) * static_cast<double>(direction[j]) * static_cast<double>(variance[j]);
  }
  double middle[2] = {0, 0}, square[2] = {0, 0};
  for (int side = 0; side < 2; ++side) {
    const auto& members = side == 0 ? halves.left : halves.right;
    for (int32_t member : members) {
      const auto value = static_cast<double>(means.project(member, direction));
      middle[side] += value;
      square[side] += value * value;
    }
    const auto size = static_cast<double>(members.size());
    middle[side] /= size;
    square[side] = std::max(0.0, square[side] / size - middle[side] * middle[side]);
  }
  const double spread = (square[0] + square[1]) / 2 + noise;
  if (!(spread > 0) || !std::isfinite(spread)) return;
  const double factor = (middle[1] - middle[0]) / spread;
  Array<std::pair<int32_t, float>> weights;
  for (int64_t j = 0; j < direction.size(); ++j) {
    const auto weight = static_cast<float>(factor * static_cast<double>(direction[j]));
    if (weight != 0) weights.emplace_back(static_cast<int32_t>(j), weight);
  }
  const auto kept = constants_.sparse_start;
  if (!dense_ && weights.size() > kept) {
    std::nth_element(weights.begin(), weights.begin() + constants_.sparse_start, weights.end(),
                     [](const auto& a, const auto& b) {
                       return std::fabs(a.second) != std::fabs(b.second) ? std::fabs(a.second) > std::fabs(b.second)
                                                                         : a.first < b.first;
                     });
    weights.resize(kept);
    std::sort(weights.begin(), weights.end());
  }
  weights.emplace_back(constant_, static_cast<float>(-factor * (middle[0] + middle[1]) / 2));
  routers_.start(router, weights);
}

int64_t ClassTree::train(const Row& row, int32_t label, float weight, float rate) {
  const auto skip = static_cast<float>(constants_.router_skip);
  const auto epsilon = static_cast<float>(constants_.start_square);
  int64_t moved = 0;
  int32_t child = leaf_of_[label];
  for (int32_t node = nodes_[child].parent; node >= 0; child = node, node = nodes_[node].parent) {
    const Node& here = nodes_[node];
    const float target = here.right == child ? 1.0f : 0.0f;
    const float gradient = sigmoid(routers_.margin(row, here.router)) - target;
    if (std::fabs(gradient) < skip) continue;
    routers_.step(row, here.router, Step{gradient * weight, rate, epsilon, 0});
    ++moved;
  }
  return moved;
}

void ClassTree::prefetch(int32_t label) const {
  int32_t node = leaf_of_[label];
  for (node = nodes_[node].parent; node >= 0; node = nodes_[node].parent) {
    routers_.prefetch(nodes_[node].router);
  }
}

void ClassTree::narrow(int64_t width, BeamStep& step) {
  const int64_t count = step.nodes.size();
  if (static_cast<int64_t>(count) <= width) return;
  step.keys.resize(count);
  sortable_keys(step.scores.data(), static_cast<int64_t>(count), step.keys.data());
  const uint32_t least = threshold_of(step.keys.data(), static_cast<int64_t>(count), width);
  int64_t above = 0, equal = 0;
  for (const uint32_t key : step.keys) above += key > least, equal += key == least;
  int32_t last = INT32_MAX;  // of those with the least score, the largest node number kept
  if (above + equal > width) {
    Array<int32_t> tied;
    for (int64_t i = 0; i < count; ++i)
      if (step.keys[i] == least) tied.push_back(step.nodes[i]);
    std::nth_element(tied.begin(), tied.begin() + (width - above - 1), tied.end());
    last = tied[width - above - 1];
  }
  int64_t kept = 0;
  const uint32_t* keys = step.keys.data();
  int32_t* nodes = step.nodes.data();
  float* scores = step.scores.data();
  for (int64_t i = 0; i < count; ++i) {
    const int32_t node = nodes[i];
    nodes[kept] = node;
    scores[kept] = scores[i];
    kept += (keys[i] > least) | ((keys[i] == least) & (node <= last));
  }
  step.nodes.resize(kept);
  step.scores.resize(kept);
}

void ClassTree::start(Beam& beam) const {
  beam.nodes.assign(1, 0);
  beam.scores.assign(1, 0.0f);
}

bool ClassTree::descend(const Row& row, int64_t width, Beam& beam, BeamStep& step) const {
  const int64_t here = beam.nodes.size();
  step.nodes.resize(2 * here);
  step.scores.resize(2 * here);
  for (auto* list : {&step.routers, &step.left, &step.right}) list->resize(here);
  step.parent_scores.resize(here);
  step.margins.resize(here);
  int64_t count = 0, leaves = 0;  // written without a branch: leaves and inner nodes mix on the last levels
  for (int64_t i = 0; i < here; ++i) {
    const int32_t node = beam.nodes[i];
    const Link link = links_[node];
    const float score = beam.scores[i];
    step.nodes[leaves] = node;
    step.scores[leaves] = score;
    step.routers[count] = link.router;
    step.left[count] = link.left;
    step.right[count] = link.right;
    step.parent_scores[count] = score;
    leaves += link.router < 0 ? 1 : 0;
    count += link.router < 0 ? 0 : 1;
  }
  if (count == 0) return false;
  beam.routers_read += static_cast<int64_t>(count);
  routers_.margins(row, step.routers.data(), static_cast<int64_t>(count), step.margins.data());
  branch_scores(step.parent_scores.data(), step.margins.data(), static_cast<int64_t>(count),
                step.scores.data() + leaves);
  int32_t* nodes = step.nodes.data() + leaves;
  for (int64_t i = 0; i < count; ++i) {
    nodes[2 * i] = step.left[i];
    nodes[2 * i + 1] = step.right[i];
  }
  step.nodes.resize(leaves + 2 * count);
  step.scores.resize(leaves + 2 * count);
  narrow(width, step);
  beam.nodes.assign(step.nodes.begin(), step.nodes.end());
  beam.scores.assign(step.scores.begin(), step.scores.end());
  return true;
}

void ClassTree::append_labels(const Beam& beam, Array<int32_t>& labels) const {
  for (const int32_t node : beam.nodes) __builtin_prefetch(&nodes_[node].labels);
  for (const int32_t node : beam.nodes) __builtin_prefetch(nodes_[node].labels.data());
  for (const int32_t node : beam.nodes) {
    const auto& own = nodes_[node].labels;
    labels.insert(labels.end(), own.begin(), own.end());
  }
}

void ClassTree::save(Archive& archive, const std::string& name, bool resume) const {
  Array<int32_t> left, right, router, labels;
  Array<int64_t> offsets{0};
  for (const Node& node : nodes_) {
    left.push_back(node.left);
    right.push_back(node.right);
    router.push_back(node.router);
    labels.insert(labels.end(), node.labels.begin(), node.labels.end());
    offsets.push_back(labels.size());
  }
  archive[name + ".left"] = std::move(left);
  archive[name + ".right"] = std::move(right);
  archive[name + ".router"] = std::move(router);
  archive[name + ".labels"] = std::move(labels);
  archive[name + ".label_offsets"] = std::move(offsets);
  routers_.save(archive, name + ".routers", resume);
}

void ClassTree::load(Reader& reader, const std::string& name, const Array<int32_t>& known, bool resume) {
  const auto left = reader.take<int32_t>(name + ".left");
  const auto count = left.size();
  const auto right = reader.take<int32_t>(name + ".right", count);
  const auto router = reader.take<int32_t>(name + ".router", count);
  const auto offsets = reader.take_offsets(name + ".label_offsets", count);
  const auto labels = reader.take_index<int32_t>(name + ".labels", offsets.back(), 0, INT32_MAX);
  nodes_.assign(count, Node{});
  leaf_of_.clear();
  int32_t routers = 0;
  for (int64_t at = 0; at < nodes_.size(); ++at) {
    Node& node = nodes_[at];
    node.router = router[at];
    if (node.router >= 0) ++routers;
    for (int32_t child : {left[at], right[at]}) {
      const bool leaf = node.router < 0;
      if (leaf ? child != -1 : (child <= static_cast<int32_t>(at) || child >= count)) {
        throw BadState("the state's array '" + name + ".left' or '.right' holds a wrong node");
      }
      if (!leaf && nodes_[child].parent >= 0) throw BadState("'" + name + "' is not a tree");
      if (!leaf) nodes_[child].parent = static_cast<int32_t>(at);
    }
    node.left = left[at];
    node.right = right[at];
    node.labels.assign(labels.begin() + offsets[at], labels.begin() + offsets[at + 1]);
  }
  links_.clear();
  for (const Node& node : nodes_) links_.push_back({node.router, node.left, node.right});
  check_shape();
  check_labels(known);
  routers_.load(reader, name + ".routers", routers, resume);
}

// What load could not see node by node: one root, and every router used once.
void ClassTree::check_shape() const {
  int64_t inner = 0;
  for (const Node& node : nodes_) inner += node.router >= 0 ? 1 : 0;
  Array<bool> used(inner, false);
  for (int64_t at = 0; at < nodes_.size(); ++at) {
    const Node& node = nodes_[at];
    if ((node.parent < 0) != (at == 0)) throw BadState("a class tree of the state is not connected");
    if (node.router < 0) continue;
    const auto router = node.router;
    if (router >= inner || used[router]) throw BadState("a class tree of the state names a wrong router");
    if (!node.labels.empty()) throw BadState("an inner node of the state holds classes");
    used[router] = true;
  }
}

// Every known class in exactly one leaf; finds the leaves of the classes on the way.
void ClassTree::check_labels(const Array<int32_t>& known) {
  if (nodes_.empty()) return;
  const int32_t most = known.empty() ? -1 : *std::max_element(known.begin(), known.end());
  leaf_of_.assign(most + 1, -2);
  for (int32_t label : known) leaf_of_[label] = -1;
  int64_t placed = 0;
  for (int64_t at = 0; at < nodes_.size(); ++at) {
    for (int32_t label : nodes_[at].labels) {
      if (label > most || leaf_of_[label] != -1) {
        throw BadState("a class tree of the state holds an unknown or repeated class");
      }
      leaf_of_[label] = static_cast<int32_t>(at);
      ++placed;
    }
  }
  if (placed != known.size()) throw BadState("a class tree of the state lacks a class");
}

int64_t ClassTree::bytes() const {
  int64_t sum = bytes_of(nodes_) + bytes_of(links_) + bytes_of(leaf_of_) + routers_.bytes();
  for (const Node& node : nodes_) sum += bytes_of(node.labels);
  return sum;
}

}  // namespace boscage::online
