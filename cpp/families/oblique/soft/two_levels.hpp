// Three soft tests at once, a node's and its children's: what is left in their four leaves, and the gradient.
//
// A row goes right with probability s(z) at each of the three. SoftLeaves: the entropy (bits per unit of weight) of the
// four soft leaves, as WODT has it for two; of numbers their squared error as a share of the node's. LabelledLeaves:
// the log-loss when each leaf answers with one class; unlike the entropy it pulls at rows that lie far on the wrong
// side, so that it ends without error where that is possible. Points are root, left child, right child one after the
// other, each with its bias last.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "families/oblique/columns.hpp"

namespace boscage {

class TwoLevels {
 public:
  TwoLevels(const ScaledColumns& columns, const NodeCutter& node) : columns_(columns), node_(node) {}

  // At the point of the last value().
  std::span<const double> gradient();

 protected:
  std::span<const WeightedRow> rows() const { return node_.local(); }
  void score(std::span<const double> theta);
  virtual void pull_rows() = 0;

  const ScaledColumns& columns_;
  const NodeCutter& node_;
  std::array<std::vector<double>, 3> z_, pull_;  // of each test by row; pull: the slope of the objective in z

 private:
  std::vector<double> gradient_;
};

class SoftLeaves : public TwoLevels {
 public:
  using TwoLevels::TwoLevels;
  double value(std::span<const double> theta);

 private:
  void pull_rows() override;
  double entropy(const std::array<std::vector<double>, 4>& sums);
  double error(const std::array<std::vector<double>, 4>& sums);
  // What a unit of weight costs that a row has in a leaf.
  double cost(size_t leaf, size_t row) const;

  std::array<std::vector<double>, 3> right_, left_;
  std::array<std::vector<double>, 4> at_;  // of each leaf: the bits of every class, or the means of the outputs
};

class LabelledLeaves : public TwoLevels {
 public:
  LabelledLeaves(const ScaledColumns& columns, const NodeCutter& node, const std::array<uint32_t, 4>& leaf_class)
      : TwoLevels(columns, node), leaf_class_(leaf_class) {}
  double value(std::span<const double> theta);

 private:
  void pull_rows() override;

  std::array<uint32_t, 4> leaf_class_;
  std::vector<std::array<double, 4>> share_;  // of each row: how its probability is spread over the leaves of its class
};

}  // namespace boscage
