// A balanced binary tree over the classes that proposes candidates for a row.
//
// Built from class means: each node halves its classes along their main direction and starts a linear router there;
// routers then learn online, and a beam search returns the classes of the most probable leaves.
// Every known class lives in exactly one leaf. Knows nothing of scorers.
#pragma once

#include <string>
#include <vector>

#include "online/class_means.hpp"
#include "online/routers.hpp"

namespace boscage::online {

// Work space of the search: nodes of a level with their path scores, one array each.
struct Beam {
  std::vector<int32_t> nodes, next_nodes, routers, parents;
  Floats scores, next_scores, margins;
  std::vector<uint32_t> keys;  // scores as whole numbers in the same order
};

class ClassTree {
 public:
  static constexpr int64_t leaf_size = 4;      // classes per leaf when built
  static constexpr int64_t leaf_overflow = 8;  // a leaf that grew above this is split

  ClassTree() = default;
  ClassTree(const Scaling& scaling, uint64_t seed)
      : constant_(static_cast<int32_t>(scaling.features())),
        dense_(scaling.centred()),
        seed_(seed),
        routers_(scaling.stride(), scaling.centred()) {}

  bool empty() const { return nodes_.empty(); }
  int64_t size() const { return static_cast<int64_t>(nodes_.size()); }

  // Forgets everything and builds anew over `labels`.
  void rebuild(const std::vector<int32_t>& labels, const ClassMeans& means, const Scaling& scaling);
  // A class met after the last build joins the leaf its first row reaches.
  void insert(int32_t label, const Row& row, const ClassMeans& means, const Scaling& scaling);
  // One logistic step towards the label's side for every router above its leaf.
  void train(const Row& row, int32_t label, float weight, float rate, float epsilon);
  // Appends the classes of the `width` most probable leaves, level by level.
  void retrieve(const Row& row, int64_t width, Beam& beam, std::vector<int32_t>& labels) const;

  void save(Archive& archive, const std::string& name, bool resume) const;
  void load(Reader& reader, const std::string& name, const std::vector<int32_t>& known, bool resume);
  int64_t bytes() const;

 private:
  struct Node {
    int32_t parent = -1, left = -1, right = -1, router = -1;
    std::vector<int32_t> labels;  // leaves only
  };
  struct Halves {
    Floats direction;
    std::vector<int32_t> left, right;  // positions in MeanRows
  };

  void grow(int32_t node, std::vector<int32_t> members, uint64_t path, const std::vector<int32_t>& labels,
            const MeanRows& means, const std::vector<float>& variance);
  // Keeps the `width` best of the next level, ties by node number, in the order they stand in.
  static void narrow(int64_t width, Beam& beam);
  Halves halve(const std::vector<int32_t>& members, uint64_t path, const MeanRows& means) const;
  void start_router(int32_t router, const Halves& halves, const MeanRows& means, const std::vector<float>& variance);
  void place(int32_t node, const std::vector<int32_t>& labels);
  void check_labels(const std::vector<int32_t>& known);
  void check_shape() const;

  int32_t constant_ = 0;  // position of the constant in a weight vector
  bool dense_ = true;
  uint64_t seed_ = 0;
  std::vector<Node> nodes_;
  std::vector<int32_t> leaf_of_;  // by class; -1 unknown
  Routers routers_;
};

}  // namespace boscage::online
