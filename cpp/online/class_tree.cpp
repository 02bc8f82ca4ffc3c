#include "online/class_tree.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "rng.hpp"

namespace boscage::online {

namespace {

constexpr int power_rounds = 8;
constexpr int halving_rounds = 6;
constexpr size_t sparse_start = 2048;  // largest coefficients kept when a sparse router starts
constexpr float router_skip = 0.001f;  // gradients below this teach nothing

// log(sigmoid(m)) for m >= 0 by a table with steps of 1/64; zero beyond 16.
class LogSigmoid {
 public:
  LogSigmoid() {
    for (size_t i = 0; i < table_.size(); ++i) {
      table_[i] = static_cast<float>(-std::log1p(std::exp(-static_cast<double>(i) / 64)));
    }
  }
  float operator()(float m) const {
    if (!(m < 16.0f)) return 0.0f;
    const float at = m * 64.0f;
    const auto low = static_cast<size_t>(at);
    return table_[low] + (at - static_cast<float>(low)) * (table_[low + 1] - table_[low]);
  }

 private:
  std::array<float, 1026> table_{};
};

const LogSigmoid log_sigmoid;

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

void ClassTree::rebuild(const std::vector<int32_t>& labels, const ClassMeans& means, const Scaling& scaling) {
  nodes_.assign(1, Node{});
  routers_.clear();
  std::fill(leaf_of_.begin(), leaf_of_.end(), -1);
  const MeanRows rows = means.rows(labels, scaling);
  std::vector<int32_t> members(labels.size());
  std::iota(members.begin(), members.end(), 0);
  grow(0, std::move(members), 1, labels, rows, means.variance(scaling));
}

void ClassTree::insert(int32_t label, const Row& row, const ClassMeans& means, const Scaling& scaling) {
  int32_t node = 0;
  uint64_t path = 1;
  while (nodes_[static_cast<size_t>(node)].router >= 0) {
    const Node& here = nodes_[static_cast<size_t>(node)];
    const bool right = routers_.margin(row, here.router) > 0;
    node = right ? here.right : here.left;
    path = child_path(path, right);
  }
  auto labels = nodes_[static_cast<size_t>(node)].labels;
  labels.push_back(label);
  place(node, labels);
  if (static_cast<int64_t>(labels.size()) <= leaf_overflow) return;
  std::vector<int32_t> members(labels.size());
  std::iota(members.begin(), members.end(), 0);
  grow(node, std::move(members), path, labels, means.rows(labels, scaling), means.variance(scaling));
}

void ClassTree::place(int32_t node, const std::vector<int32_t>& labels) {
  nodes_[static_cast<size_t>(node)].labels = labels;
  for (int32_t label : labels) {
    if (static_cast<size_t>(label) >= leaf_of_.size()) leaf_of_.resize(static_cast<size_t>(label) + 1, -1);
    leaf_of_[static_cast<size_t>(label)] = node;
  }
}

void ClassTree::grow(int32_t node, std::vector<int32_t> members, uint64_t path, const std::vector<int32_t>& labels,
                     const MeanRows& means, const std::vector<float>& variance) {
  if (static_cast<int64_t>(members.size()) <= leaf_size) {
    std::vector<int32_t> own;
    for (int32_t member : members) own.push_back(labels[static_cast<size_t>(member)]);
    place(node, own);
    return;
  }
  Halves halves = halve(members, path, means);
  const auto router = static_cast<int32_t>(routers_.size());
  routers_.append();
  start_router(router, halves, means, variance);
  const auto first = static_cast<int32_t>(nodes_.size());
  nodes_.resize(nodes_.size() + 2);
  Node& here = nodes_[static_cast<size_t>(node)];
  here.left = first;
  here.right = first + 1;
  here.router = router;
  here.labels = {};
  nodes_[static_cast<size_t>(first)].parent = nodes_[static_cast<size_t>(first) + 1].parent = node;
  halves.direction = {};
  grow(first, std::move(halves.left), child_path(path, false), labels, means, variance);
  grow(first + 1, std::move(halves.right), child_path(path, true), labels, means, variance);
}

ClassTree::Halves ClassTree::halve(const std::vector<int32_t>& members, uint64_t path, const MeanRows& means) const {
  const auto count = static_cast<float>(members.size());
  const auto length = static_cast<size_t>(means.length());
  Halves out;
  out.direction.resize(length);
  for (size_t j = 0; j < length; ++j) out.direction[j] = static_cast<float>(uniform(seed_, path, j)) - 0.5f;
  Floats centre(length, 0.0f), next(length);
  for (int32_t member : members) means.add_to(member, 1.0f / count, centre);
  for (int round = 0; round < power_rounds; ++round) {
    std::fill(next.begin(), next.end(), 0.0f);
    const float middle = std::inner_product(centre.begin(), centre.end(), out.direction.begin(), 0.0f);
    float sum = 0;
    for (int32_t member : members) {
      const float coefficient = means.project(member, out.direction) - middle;
      means.add_to(member, coefficient, next);
      sum += coefficient;
    }
    for (size_t j = 0; j < length; ++j) next[j] -= sum * centre[j];
    normalise(next);
    std::swap(out.direction, next);
  }
  const size_t half = members.size() / 2;
  std::vector<std::pair<float, int32_t>> order(members.size());
  for (int round = 0; round < halving_rounds; ++round) {
    for (size_t i = 0; i < members.size(); ++i) {
      const float at = means.project(members[i], out.direction);
      order[i] = {std::isfinite(at) ? at : 0.0f, members[i]};
    }
    std::sort(order.begin(), order.end());
    std::fill(out.direction.begin(), out.direction.end(), 0.0f);
    for (size_t i = 0; i < order.size(); ++i) {
      const auto share = static_cast<float>(i < half ? half : order.size() - half);
      means.add_to(order[i].second, (i < half ? -1.0f : 1.0f) / share, out.direction);
    }
  }
  for (size_t i = 0; i < order.size(); ++i) (i < half ? out.left : out.right).push_back(order[i].second);
  return out;
}

// A discriminant in one dimension: the difference of the halves over the variance within classes and halves.
void ClassTree::start_router(int32_t router, const Halves& halves, const MeanRows& means,
                             const std::vector<float>& variance) {
  Floats direction = halves.direction;
  double noise = 0;
  for (size_t j = 0; j < direction.size(); ++j) {
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
  std::vector<std::pair<int32_t, float>> weights;
  for (size_t j = 0; j < direction.size(); ++j) {
    const auto weight = static_cast<float>(factor * static_cast<double>(direction[j]));
    if (weight != 0) weights.emplace_back(static_cast<int32_t>(j), weight);
  }
  if (!dense_ && weights.size() > sparse_start) {
    std::nth_element(weights.begin(), weights.begin() + sparse_start, weights.end(), [](const auto& a, const auto& b) {
      return std::fabs(a.second) != std::fabs(b.second) ? std::fabs(a.second) > std::fabs(b.second) : a.first < b.first;
    });
    weights.resize(sparse_start);
    std::sort(weights.begin(), weights.end());
  }
  weights.emplace_back(constant_, static_cast<float>(-factor * (middle[0] + middle[1]) / 2));
  routers_.start(router, weights);
}

void ClassTree::train(const Row& row, int32_t label, float weight, float rate, float epsilon) {
  int32_t child = leaf_of_[static_cast<size_t>(label)];
  for (int32_t node = nodes_[static_cast<size_t>(child)].parent; node >= 0;
       child = node, node = nodes_[static_cast<size_t>(node)].parent) {
    const Node& here = nodes_[static_cast<size_t>(node)];
    const float target = here.right == child ? 1.0f : 0.0f;
    const float gradient = sigmoid(routers_.margin(row, here.router)) - target;
    if (std::fabs(gradient) < router_skip) continue;
    routers_.step(row, here.router, Step{gradient * weight, rate, epsilon, 0});
  }
}

void ClassTree::narrow(int64_t width, Beam& beam) {
  const auto count = static_cast<int64_t>(beam.next_nodes.size());
  if (count <= width) return;
  beam.keys.resize(static_cast<size_t>(count));
  sortable_keys(beam.next_scores.data(), count, beam.keys.data());
  const uint32_t least = kth_largest(beam.keys.data(), count, width);
  int64_t above = 0, equal = 0;
  for (const uint32_t key : beam.keys) above += key > least, equal += key == least;
  int32_t last = INT32_MAX;  // of those with the least score, the largest node number kept
  if (above + equal > width) {
    std::vector<int32_t> tied;
    for (int64_t i = 0; i < count; ++i)
      if (beam.keys[static_cast<size_t>(i)] == least) tied.push_back(beam.next_nodes[static_cast<size_t>(i)]);
    std::nth_element(tied.begin(), tied.begin() + (width - above - 1), tied.end());
    last = tied[static_cast<size_t>(width - above - 1)];
  }
  size_t kept = 0;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const int32_t node = beam.next_nodes[i];
    const uint32_t key = beam.keys[i];
    beam.next_nodes[kept] = node;
    beam.next_scores[kept] = beam.next_scores[i];
    kept += static_cast<size_t>((key > least) | ((key == least) & (node <= last)));
  }
  beam.next_nodes.resize(kept);
  beam.next_scores.resize(kept);
}

void ClassTree::retrieve(const Row& row, int64_t width, Beam& beam, std::vector<int32_t>& labels) const {
  beam.nodes.assign(1, 0);
  beam.scores.assign(1, 0.0f);
  for (;;) {
    beam.next_nodes.clear();
    beam.next_scores.clear();
    beam.routers.clear();
    beam.parents.clear();
    for (size_t i = 0; i < beam.nodes.size(); ++i) {
      const Node& node = nodes_[static_cast<size_t>(beam.nodes[i])];
      if (node.router < 0) {
        beam.next_nodes.push_back(beam.nodes[i]);
        beam.next_scores.push_back(beam.scores[i]);
      } else {
        beam.routers.push_back(node.router);
        beam.parents.push_back(static_cast<int32_t>(i));
      }
    }
    const size_t count = beam.routers.size(), leaves = beam.next_nodes.size();
    if (count == 0) break;
    beam.margins.resize(count);
    routers_.margins(row, beam.routers.data(), static_cast<int64_t>(count), beam.margins.data());
    beam.next_nodes.resize(leaves + 2 * count);
    beam.next_scores.resize(leaves + 2 * count);
    for (size_t i = 0; i < count; ++i) {
      const auto parent = static_cast<size_t>(beam.parents[i]);
      const Node& node = nodes_[static_cast<size_t>(beam.nodes[parent])];
      const float margin = beam.margins[i];
      const float both = beam.scores[parent] + log_sigmoid(std::fabs(margin));
      beam.next_nodes[leaves + 2 * i] = node.left;
      beam.next_nodes[leaves + 2 * i + 1] = node.right;
      beam.next_scores[leaves + 2 * i] = both - std::max(margin, 0.0f);
      beam.next_scores[leaves + 2 * i + 1] = both + std::min(margin, 0.0f);
    }
    narrow(width, beam);
    std::swap(beam.nodes, beam.next_nodes);
    std::swap(beam.scores, beam.next_scores);
  }
  for (const int32_t node : beam.nodes) {
    const auto& own = nodes_[static_cast<size_t>(node)].labels;
    labels.insert(labels.end(), own.begin(), own.end());
  }
}

void ClassTree::save(Archive& archive, const std::string& name, bool resume) const {
  std::vector<int32_t> left, right, router, labels;
  std::vector<int64_t> offsets{0};
  for (const Node& node : nodes_) {
    left.push_back(node.left);
    right.push_back(node.right);
    router.push_back(node.router);
    labels.insert(labels.end(), node.labels.begin(), node.labels.end());
    offsets.push_back(static_cast<int64_t>(labels.size()));
  }
  archive[name + ".left"] = std::move(left);
  archive[name + ".right"] = std::move(right);
  archive[name + ".router"] = std::move(router);
  archive[name + ".labels"] = std::move(labels);
  archive[name + ".label_offsets"] = std::move(offsets);
  routers_.save(archive, name + ".routers", resume);
}

void ClassTree::load(Reader& reader, const std::string& name, const std::vector<int32_t>& known, bool resume) {
  const auto left = reader.take<int32_t>(name + ".left");
  const auto count = static_cast<int64_t>(left.size());
  const auto right = reader.take<int32_t>(name + ".right", count);
  const auto router = reader.take<int32_t>(name + ".router", count);
  const auto offsets = reader.take_offsets(name + ".label_offsets", count);
  const auto labels = reader.take_index<int32_t>(name + ".labels", offsets.back(), 0, INT32_MAX);
  nodes_.assign(static_cast<size_t>(count), Node{});
  leaf_of_.clear();
  int32_t routers = 0;
  for (size_t at = 0; at < nodes_.size(); ++at) {
    Node& node = nodes_[at];
    node.router = router[at];
    if (node.router >= 0) ++routers;
    for (int32_t child : {left[at], right[at]}) {
      const bool leaf = node.router < 0;
      if (leaf ? child != -1 : (child <= static_cast<int32_t>(at) || child >= count)) {
        throw BadState("the state's array '" + name + ".left' or '.right' holds a wrong node");
      }
      if (!leaf && nodes_[static_cast<size_t>(child)].parent >= 0) throw BadState("'" + name + "' is not a tree");
      if (!leaf) nodes_[static_cast<size_t>(child)].parent = static_cast<int32_t>(at);
    }
    node.left = left[at];
    node.right = right[at];
    node.labels.assign(labels.begin() + offsets[at], labels.begin() + offsets[at + 1]);
  }
  check_shape();
  check_labels(known);
  routers_.load(reader, name + ".routers", routers, resume);
}

// What load could not see node by node: one root, and every router used once.
void ClassTree::check_shape() const {
  size_t inner = 0;
  for (const Node& node : nodes_) inner += node.router >= 0 ? 1 : 0;
  std::vector<bool> used(inner, false);
  for (size_t at = 0; at < nodes_.size(); ++at) {
    const Node& node = nodes_[at];
    if ((node.parent < 0) != (at == 0)) throw BadState("a class tree of the state is not connected");
    if (node.router < 0) continue;
    const auto router = static_cast<size_t>(node.router);
    if (router >= inner || used[router]) throw BadState("a class tree of the state names a wrong router");
    if (!node.labels.empty()) throw BadState("an inner node of the state holds classes");
    used[router] = true;
  }
}

// Every known class in exactly one leaf; finds the leaves of the classes on the way.
void ClassTree::check_labels(const std::vector<int32_t>& known) {
  if (nodes_.empty()) return;
  const int32_t most = known.empty() ? -1 : *std::max_element(known.begin(), known.end());
  leaf_of_.assign(static_cast<size_t>(most + 1), -2);
  for (int32_t label : known) leaf_of_[static_cast<size_t>(label)] = -1;
  size_t placed = 0;
  for (size_t at = 0; at < nodes_.size(); ++at) {
    for (int32_t label : nodes_[at].labels) {
      if (label > most || leaf_of_[static_cast<size_t>(label)] != -1) {
        throw BadState("a class tree of the state holds an unknown or repeated class");
      }
      leaf_of_[static_cast<size_t>(label)] = static_cast<int32_t>(at);
      ++placed;
    }
  }
  if (placed != known.size()) throw BadState("a class tree of the state lacks a class");
}

int64_t ClassTree::bytes() const {
  int64_t sum = bytes_of(nodes_) + bytes_of(leaf_of_) + routers_.bytes();
  for (const Node& node : nodes_) sum += bytes_of(node.labels);
  return sum;
}

}  // namespace boscage::online
