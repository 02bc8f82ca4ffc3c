// The published log-time tree: routers that learn the objective J online, leaves that turn into nodes, and swaps.
//
// Each node keeps, per class, how many rows reached it and the mean margin of its router; a class whose mean lies
// above the node's is pushed right, others left. A leaf with two classes becomes a node while routers are free,
// later by taking the router of the least used leaf's parent. Prediction walks one path.
#pragma once

#include "base/array.hpp"
#include "online/routers.hpp"
#include "online/scaling.hpp"

namespace boscage::online {

// What a node remembers of its classes, sorted by class, at most `cap` of them: a rare one makes room.
class ClassRecords {
 public:
  struct Record {
    double count = 0;   // weight of the rows that reached the node
    double sum = 0;     // of margins since the node has a router
    double weight = 0;  // of the rows in that sum
  };

  int64_t size() const { return labels_.size(); }
  int32_t label(int64_t at) const { return labels_[at]; }
  const Record& record(int64_t at) const { return records_[at]; }
  Record& get(int32_t label, int64_t cap, int32_t keep);
  void push(int32_t label, const Record& record);
  void clear();
  int64_t bytes() const { return bytes_of(labels_) + bytes_of(records_); }

 private:
  Record& replace(int64_t place, int32_t label, int32_t keep);

  Array<int32_t> labels_;
  Array<Record> records_;
};

struct LomOptions {
  int64_t max_internal_nodes = 0;  // 0: four per known class
  double swap_resistance = 4;
  int64_t max_records = 1024;
  double learning_rate = 0.5;
};

class LomTree {
 public:
  LomTree() = default;
  LomTree(const Scaling& scaling, const LomOptions& options);

  void learn(const Row& row, int32_t label, double weight, int64_t known_classes, double mean_square);
  // The leaf a row reaches by the signs of the margins.
  int32_t walk(const Row& row) const;
  int32_t label(int32_t leaf) const { return nodes_[leaf].label; }
  const ClassRecords& records(int32_t leaf) const { return nodes_[leaf].records; }

  void save(Archive& archive, bool resume) const;
  void load(Reader& reader, int64_t classes, bool resume);
  int64_t bytes() const;
  int64_t node_count() const { return nodes_.size(); }

 private:
  struct Node {
    int32_t parent = -1, left = -1, right = -1, router = -1;
    double least = 0;  // leaf: weight that ended here, inherited included; node: the smaller of its children's
    int32_t label = 0;
    double label_count = 0;
    double sum = 0, weight = 0;  // of margins
    ClassRecords records;
  };

  Node& at(int32_t node) { return nodes_[node]; }
  const Node& at(int32_t node) const { return nodes_[node]; }
  ClassRecords::Record& record(int32_t node, int32_t label, double weight);
  bool make_inner(int32_t leaf, int64_t known_classes);
  bool swap_in(int32_t leaf);
  void adopt(int32_t node, int32_t left, int32_t right, int32_t router);
  void repair(int32_t node);
  int32_t child(const Node& node, float margin) const { return margin < 0 ? node.left : node.right; }
  void check_shape() const;

  LomOptions options_;
  Routers routers_;
  Array<Node> nodes_;
  int64_t swaps_ = 0;
  Floats scratch_;
};

}  // namespace boscage::online
