// A balanced binary tree over the classes that proposes candidates for a row.
//
// Built from class means: each node halves its classes along their main direction and starts a linear router there;
// routers then learn online, and a beam search returns the classes of the most probable leaves.
// Every known class lives in exactly one leaf. Knows nothing of scorers.
#pragma once

#include <string>

#include "base/array.hpp"
#include "online/class_means.hpp"
#include "online/constants.hpp"
#include "online/routers.hpp"

namespace boscage::online {

// A search under way: the nodes of a level with their path scores.
struct Beam {
  Array<int32_t> nodes;
  Floats scores;
  int64_t routers_read = 0;  // since the beam was made
};

// Work space of a step of the search, shared by many beams.
struct BeamStep {
  Array<int32_t> nodes, routers, left, right;
  Floats scores, parent_scores, margins;
  Array<uint32_t> keys;  // scores as whole numbers in the same order
};

class ClassTree {
 public:
  ClassTree() = default;
  ClassTree(const Scaling& scaling, uint64_t seed, const Constants& constants)
      : constants_(constants),
        constant_(static_cast<int32_t>(scaling.features())),
        dense_(scaling.centred()),
        seed_(seed),
        routers_(scaling.stride(), scaling.centred()) {}

  bool empty() const { return nodes_.empty(); }
  int64_t size() const { return nodes_.size(); }

  // Forgets everything and builds anew over `labels`.
  void rebuild(const Array<int32_t>& labels, const ClassMeans& means, const Scaling& scaling);
  // A class met after the last build joins the leaf its first row reaches.
  void insert(int32_t label, const Row& row, const ClassMeans& means, const Scaling& scaling);
  // One logistic step towards the label's side for every router above its leaf; returns how many moved.
  int64_t train(const Row& row, int32_t label, float weight, float rate);
  // Search for the `width` most probable leaves: start, descend a level until that returns false, append the classes.
  // Many rows may descend together, so that a level's routers are read while they are near.
  void start(Beam& beam) const;
  bool descend(const Row& row, int64_t width, Beam& beam, BeamStep& step) const;
  void append_labels(const Beam& beam, Array<int32_t>& labels) const;
  // Asks for what `train` will touch, to be near when it does.
  void prefetch(int32_t label) const;

  void save(Archive& archive, const std::string& name, bool resume) const;
  void load(Reader& reader, const std::string& name, const Array<int32_t>& known, bool resume);
  int64_t bytes() const;

 private:
  struct Node {
    int32_t parent = -1, left = -1, right = -1, router = -1;
    Array<int32_t> labels;  // leaves only
  };
  // What the search reads of a node, and nothing else: a whole tree of them stays near.
  struct Link {
    int32_t router = -1, left = -1, right = -1;
  };
  // Classes to be put below a node.
  struct Growth {
    int32_t node = 0;
    uint64_t path = 1;
    Array<int32_t> members;  // positions in MeanRows
  };
  struct Halves {
    Floats direction;
    Array<int32_t> left, right;  // positions in MeanRows
  };

  // All labels go below a node. Level by level: the routers of a level lie side by side.
  void grow(int32_t node, uint64_t path, const Array<int32_t>& labels, const ClassMeans& means, const Scaling& scaling);
  void split(int32_t node, int32_t router);
  // Keeps the `width` best of the next level, ties by node number, in the order they stand in.
  static void narrow(int64_t width, BeamStep& step);
  Halves halve(const Array<int32_t>& members, uint64_t path, const MeanRows& means) const;
  void start_router(int32_t router, const Halves& halves, const MeanRows& means, const Array<float>& variance);
  void place(int32_t node, const Array<int32_t>& labels);
  void check_labels(const Array<int32_t>& known);
  void check_shape() const;

  Constants constants_;
  int32_t constant_ = 0;  // position of the constant in a weight vector
  bool dense_ = true;
  uint64_t seed_ = 0;
  Array<Node> nodes_;
  Array<Link> links_;       // by node
  Array<int32_t> leaf_of_;  // by class; -1 unknown
  Routers routers_;
};

}  // namespace boscage::online
