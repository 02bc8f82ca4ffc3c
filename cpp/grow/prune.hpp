// Minimal cost-complexity pruning: the weakest link first.
//
// The link of an inner node t is (R(t) - R(leaves below t)) / (leaves below t - 1). Cutting the weakest links one
// after the other gives nested trees, so one number per node, the alpha at which it becomes a leaf, says all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace boscage {

struct PruningPath {
  std::vector<double> collapse;       // by node: alpha at which it becomes a leaf; infinity at leaves
  std::vector<double> alphas, risks;  // the path: alpha and total risk of the leaves after each cut
  std::vector<int64_t> leaves;        // leaves left after each cut
};

// Children have larger numbers than parents; risk[t] = weight share x impurity of t as a leaf.
PruningPath pruning_path(std::span<const int32_t> left, std::span<const int32_t> right, std::span<const double> risk);

}  // namespace boscage
