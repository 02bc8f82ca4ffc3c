#include "online/lomtree.hpp"

#include <algorithm>
#include <cmath>

#include "base/array.hpp"

namespace boscage::online {

namespace {
constexpr float tiny = 1e-12f;  // under the root of AdaGrad sums: only against 0 / 0
}

ClassRecords::Record& ClassRecords::get(int32_t label, int64_t cap, int32_t keep) {
  auto found = std::lower_bound(labels_.begin(), labels_.end(), label);
  if (found != labels_.end() && *found == label) return records_[found - labels_.begin()];
  if (labels_.size() >= cap) return replace(found - labels_.begin(), label, keep);
  const auto place = found - labels_.begin();
  labels_.insert(found, label);
  return *records_.insert(records_.begin() + place, Record{});
}

// The new class takes the room of a rare one: the rarest of some neighbours, looked for at a place that depends on the
// class, because looking at all of a thousand for each new one would cost more than the row.
ClassRecords::Record& ClassRecords::replace(int64_t place, int32_t label, int32_t keep) {
  constexpr uint64_t looked_at = 32;
  const auto size = static_cast<uint64_t>(labels_.size());
  const uint64_t first = static_cast<uint32_t>(label) * 2654435769u % size;
  uint64_t rarest = size;
  for (uint64_t i = 0; i < std::min(size, looked_at); ++i) {
    const uint64_t at = (first + i) % size;
    if (labels_[at] == keep) continue;
    if (rarest == size || records_[at].count < records_[rarest].count) rarest = at;
  }
  const auto out = static_cast<int64_t>(rarest);
  if (out < place) {
    --place;
    std::move(labels_.begin() + out + 1, labels_.begin() + place + 1, labels_.begin() + out);
    std::move(records_.begin() + out + 1, records_.begin() + place + 1, records_.begin() + out);
  } else {
    std::move_backward(labels_.begin() + place, labels_.begin() + out, labels_.begin() + out + 1);
    std::move_backward(records_.begin() + place, records_.begin() + out, records_.begin() + out + 1);
  }
  labels_[place] = label;
  return records_[place] = Record{};
}

void ClassRecords::push(int32_t label, const Record& record) {
  labels_.push_back(label);
  records_.push_back(record);
}

void ClassRecords::clear() {
  labels_ = {};
  records_ = {};
}

LomTree::LomTree(const Scaling& scaling, const LomOptions& options)
    : options_(options), routers_(scaling.stride(), scaling.centred()), nodes_(1) {}

// Counts a visit of `label`; the most frequent class changes only when it is passed.
ClassRecords::Record& LomTree::record(int32_t node, int32_t label, double weight) {
  Node& here = at(node);
  auto& own = here.records.get(label, options_.max_records, here.label);
  own.count += weight;
  if (label == here.label) {
    here.label_count = own.count;
  } else if (own.count > here.label_count) {
    here.label = label;
    here.label_count = own.count;
  }
  return own;
}

void LomTree::learn(const Row& row, int32_t label, double weight, int64_t known_classes, double mean_square) {
  if (at(0).records.size() == 0 && at(0).router < 0) at(0).label = label;
  const auto rate = static_cast<float>(options_.learning_rate / std::sqrt(mean_square));
  int32_t node = 0;
  for (;;) {
    auto* own = &record(node, label, weight);
    if (at(node).router < 0) {
      if (!make_inner(node, known_classes)) break;
    }
    Node& here = at(node);
    const double mean = here.weight > 0 ? here.sum / here.weight : 0.0;
    const double class_mean = own->weight > 0 ? own->sum / own->weight : 0.0;
    const float target = mean > class_mean ? -1.0f : 1.0f;
    float margin = routers_.margin(row, here.router);
    const float error = target * (target - std::clamp(margin, -1.0f, 1.0f));  // in [0, 2]
    if (error > 0) {
      const Step step{static_cast<float>(weight), rate, tiny, 0};
      margin += target * routers_.median_step(row, here.router, step, target, error, scratch_);
    }
    const auto bounded = static_cast<double>(std::clamp(margin, -1.0f, 1.0f));
    here.sum += weight * bounded;
    here.weight += weight;
    own->sum += weight * bounded;
    own->weight += weight;
    node = child(here, margin);
  }
  at(node).least += weight;
  repair(node);
}

// True if the leaf now has a router: a free one, or one taken from the least used part of the tree.
bool LomTree::make_inner(int32_t leaf, int64_t known_classes) {
  if (at(leaf).records.size() < 2) return false;
  const int64_t limit = options_.max_internal_nodes > 0 ? options_.max_internal_nodes : 4 * known_classes;
  if (routers_.size() >= limit) return swap_in(leaf);
  const auto router = static_cast<int32_t>(routers_.size());
  routers_.append();
  const auto first = static_cast<int32_t>(nodes_.size());
  nodes_.resize(nodes_.size() + 2);
  adopt(leaf, first, first + 1, router);
  return true;
}

bool LomTree::swap_in(int32_t leaf) {
  const double spare = at(leaf).least - at(leaf).label_count;
  if (!(spare > options_.swap_resistance * (at(0).least + 1.0))) return false;
  int32_t least = 0;
  while (at(least).router >= 0) {
    const Node& here = at(least);
    least = at(here.left).least < at(here.right).least ? here.left : here.right;
  }
  const int32_t parent = at(least).parent;
  // Taking the root's router, or the leaf itself, would cut the tree off from its own node.
  if (least == leaf || parent <= 0) return false;
  const int32_t grandparent = at(parent).parent;
  const int32_t other = at(parent).left == least ? at(parent).right : at(parent).left;
  (at(grandparent).left == parent ? at(grandparent).left : at(grandparent).right) = other;
  at(other).parent = grandparent;
  repair(other);
  const int32_t router = at(parent).router;
  at(least) = Node{};
  at(parent) = Node{};
  adopt(leaf, least, parent, router);
  ++swaps_;
  return true;
}

// Two empty leaves under a node that was a leaf; they share its weight and inherit its label.
void LomTree::adopt(int32_t node, int32_t left, int32_t right, int32_t router) {
  Node& here = at(node);
  here.left = left;
  here.right = right;
  here.router = router;
  here.sum = here.weight = 0;
  for (int32_t one : {left, right}) {
    at(one).parent = node;
    at(one).label = here.label;
  }
  at(left).least = std::floor(here.least / 2);
  at(right).least = here.least - at(left).least;
  repair(left);
}

// The smaller weight of two children, passed upward until nothing changes.
void LomTree::repair(int32_t node) {
  for (int32_t above = at(node).parent; above >= 0; above = at(above).parent) {
    const double least = std::min(at(at(above).left).least, at(at(above).right).least);
    if (at(above).least == least) return;
    at(above).least = least;
  }
}

int32_t LomTree::walk(const Row& row) const {
  int32_t node = 0;
  while (at(node).router >= 0) node = child(at(node), routers_.margin(row, at(node).router));
  return node;
}

void LomTree::save(Archive& archive, bool resume) const {
  Array<int32_t> left, right, router, label, labels;
  Array<double> least, label_count, sum, weight, counts, sums, weights;
  Array<int64_t> offsets{0};
  for (const Node& node : nodes_) {
    left.push_back(node.left);
    right.push_back(node.right);
    router.push_back(node.router);
    label.push_back(node.label);
    label_count.push_back(node.label_count);
    least.push_back(node.least);
    sum.push_back(node.sum);
    weight.push_back(node.weight);
    for (int64_t i = 0; (resume || node.router < 0) && i < node.records.size(); ++i) {
      labels.push_back(node.records.label(i));
      counts.push_back(node.records.record(i).count);
      sums.push_back(node.records.record(i).sum);
      weights.push_back(node.records.record(i).weight);
    }
    offsets.push_back(labels.size());
  }
  archive["lom.left"] = std::move(left);
  archive["lom.right"] = std::move(right);
  archive["lom.router"] = std::move(router);
  archive["lom.label"] = std::move(label);
  archive["lom.record_offsets"] = std::move(offsets);
  archive["lom.record_labels"] = std::move(labels);
  archive["lom.record_counts"] = std::move(counts);
  routers_.save(archive, "lom.routers", resume);
  if (!resume) return;
  archive["lom.swaps"] = Array<int64_t>{swaps_};
  archive["lom.least"] = std::move(least);
  archive["lom.label_count"] = std::move(label_count);
  archive["lom.sum"] = std::move(sum);
  archive["lom.weight"] = std::move(weight);
  archive["lom.record_sums"] = std::move(sums);
  archive["lom.record_weights"] = std::move(weights);
}

void LomTree::load(Reader& reader, int64_t classes, bool resume) {
  const auto left = reader.take<int32_t>("lom.left");
  const auto size = left.size();
  if (size == 0 || size > INT32_MAX - 2) throw BadState("the state's tree has no nodes or too many");
  const auto right = reader.take<int32_t>("lom.right", size);
  const auto router = reader.take_index<int32_t>("lom.router", size, -1, size);
  const auto label = reader.take_index<int32_t>("lom.label", size, 0, std::max<int64_t>(classes, 1));
  const auto offsets = reader.take_offsets("lom.record_offsets", size);
  const int64_t records = offsets.back();
  const auto labels = reader.take_index<int32_t>("lom.record_labels", records, 0, classes);
  const auto counts = reader.take_finite<double>("lom.record_counts", records, 0.0, 1e300);  // their sum is finite
  const auto zeros = [&](int64_t n) { return Array<double>(n, 0.0); };
  swaps_ = resume ? reader.take_index<int64_t>("lom.swaps", 1, 0, INT64_MAX)[0] : 0;
  const auto least = resume ? reader.take_finite<double>("lom.least", size, 0.0) : zeros(size);
  const auto label_count = resume ? reader.take_finite<double>("lom.label_count", size, 0.0) : zeros(size);
  const auto sum = resume ? reader.take_finite<double>("lom.sum", size) : zeros(size);
  const auto weight = resume ? reader.take_finite<double>("lom.weight", size, 0.0) : zeros(size);
  const auto sums = resume ? reader.take_finite<double>("lom.record_sums", records) : zeros(records);
  const auto weights = resume ? reader.take_finite<double>("lom.record_weights", records, 0.0) : zeros(records);
  nodes_.assign(size, Node{});
  for (int64_t node = 0; node < nodes_.size(); ++node) {
    Node& here = nodes_[node];
    here.left = left[node];
    here.right = right[node];
    here.router = router[node];
    here.label = label[node];
    here.least = least[node];
    here.label_count = label_count[node];
    here.sum = sum[node];
    here.weight = weight[node];
    for (auto i = offsets[node]; i < offsets[node + 1]; ++i) {
      if (i > offsets[node] && labels[i] <= labels[i - 1]) {
        throw BadState("the state's array 'lom.record_labels' does not increase within a node");
      }
      here.records.push(labels[i], {counts[i], sums[i], weights[i]});
    }
    for (int32_t one : {here.left, here.right}) {
      if (here.router < 0 ? one != -1 : (one <= 0 || one >= size)) throw BadState("a node of the state has no child");
    }
  }
  for (int64_t node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node].router < 0) continue;
    for (int32_t one : {nodes_[node].left, nodes_[node].right}) {
      if (at(one).parent >= 0) throw BadState("a node of the state has two parents");
      at(one).parent = static_cast<int32_t>(node);
    }
  }
  check_shape();
  routers_.load(reader, "lom.routers", (size - 1) / 2, resume);
}

// Every node reached from the root, every router used once: walks end and swaps stay inside.
void LomTree::check_shape() const {
  const int64_t inner = (nodes_.size() - 1) / 2;
  Array<bool> used(inner, false);
  Array<int32_t> open{0};
  int64_t reached = 0;
  while (!open.empty()) {
    const Node& here = at(open.back());
    open.pop_back();
    ++reached;
    if (here.router < 0) continue;
    if (here.router >= inner || used[here.router]) {
      throw BadState("a node of the state names a wrong router");
    }
    used[here.router] = true;
    open.push_back(here.left);
    open.push_back(here.right);
  }
  if (reached != nodes_.size() || nodes_.size() % 2 == 0) throw BadState("the state's nodes are not one tree");
}

int64_t LomTree::bytes() const {
  int64_t sum = bytes_of(nodes_) + bytes_of(scratch_) + routers_.bytes();
  for (const Node& node : nodes_) sum += node.records.bytes();
  return sum;
}

}  // namespace boscage::online
