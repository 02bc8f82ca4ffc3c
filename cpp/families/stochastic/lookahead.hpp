// Seeing XOR: two levels at once from the second moments of a node.
//
// Where the class means agree no single linear test gains anything, but class k may still depend on products
// (u.z)(v.z). So may a number: the shares of its row in two classes (frame.hpp) take the place of Y_k. The pair
// u, v comes from the extreme directions of M_k = sum (Y_k - rho_k) z zᵀ against S = sum z zᵀ; root u, right child +v,
// left child -v make the last turn right with probability (1 + (u.z)(v.z))/2. Must not know rows: what it needs of them
// are sums.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "base/index.hpp"
#include "families/stochastic/solve.hpp"

namespace boscage::stochastic {

// For two directions f, g and each class, p = f.z and q = g.z: weight, sums of p², q², p⁴, q⁴, p²q², then the weight
// in equal ranges of the angle atan(|p| / |q|).
constexpr size_t kPowerSums = 6, kAngles = 256, kPlaneSums = kPowerSums + kAngles;

inline void add_to_plane(double p, double q, double weight, double* sums) {
  const double pp = p * p, qq = q * q;
  const double terms[kPowerSums] = {1.0, pp, qq, pp * pp, qq * qq, pp * qq};
  for (size_t i = 0; i < kPowerSums; ++i) sums[i] += weight * terms[i];
  const double angle = std::atan2(std::abs(p), std::abs(q)) * (2 / std::numbers::pi);
  sums[kPowerSums + std::min(kAngles - 1, static_cast<size_t>(angle * static_cast<double>(kAngles)))] += weight;
}

using PlaneSums = std::function<Vector(const Vector& f, const Vector& g)>;

struct Pair {
  Vector u, v;
  double fit = 0;         // share of the variance of the class, or of all numbers, explained by the product
  double linear_fit = 0;  // and by the best linear function
};

// moments: for each class, or channel, the sum of weight times z zᵀ (lower triangles). Empty u: nothing found.
Pair find_pair(const NodeSums& sums, const Vector& moments, const PlaneSums& plane_sums);

// The three tests (root, left, right) with their sides and gains; empty if a child's test gains nothing.
std::vector<MeasuredTest> measure_triple(const NodeSums& sums, const Vector& moments, const Pair& pair, int64_t rows,
                                         const AnyCriterion& criterion, double min_weight);

}  // namespace boscage::stochastic
