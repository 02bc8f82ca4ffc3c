#include "families/mixed/ridge.hpp"

#include <cmath>
#include <numeric>

#include "base/lanes.hpp"
#include "numeric/linear_algebra.hpp"

namespace boscage::mixed {

namespace {

// Added to the diagonal, by its mean: columns that repeat each other leave the matrix singular up to rounding.
constexpr double kLeastDiagonal = 1e-6;

bool solve(std::vector<double>& matrix, size_t size, double penalty, double* x) {
  double trace = 0;
  for (size_t i = 0; i < size; ++i) trace += matrix[i * size + i];
  const double added = penalty + kLeastDiagonal * trace / static_cast<double>(size);
  if (!(added > 0) || !std::isfinite(added)) return false;
  for (size_t i = 0; i < size; ++i) matrix[i * size + i] += added;
  if (!cholesky(matrix, size)) return false;
  solve_lower(matrix, size, x);
  solve_upper(matrix, size, x);
  return true;
}

}  // namespace

bool solve_ridge(const TileView& tile, std::span<const double> weight, std::span<const double> target, double penalty,
                 RidgeScratch& scratch, std::vector<double>& theta) {
  const auto m = static_cast<size_t>(tile.columns), n = weight.size();
  const double all = std::accumulate(weight.begin(), weight.end(), 0.0);
  const double mean = std::inner_product(weight.begin(), weight.end(), target.begin(), 0.0) / all;
  theta.resize(m);
  scratch.pull.resize(n);
  if (m <= n) {
    for (size_t i = 0; i < n; ++i) scratch.pull[i] = weight[i] * (target[i] - mean);
    project_tile(tile, scratch.pull.data(), theta.data());
    scratch.gram.resize(m * m);
    gram_of_columns(tile, weight.data(), scratch.gram.data());
    return solve(scratch.gram, m, penalty, theta.data());
  }
  // theta = X' S (S X X' S + penalty)^-1 S t with S the roots of the weights.
  scratch.root.resize(n);
  for (size_t i = 0; i < n; ++i) {
    scratch.root[i] = std::sqrt(weight[i]);
    scratch.pull[i] = scratch.root[i] * (target[i] - mean);
  }
  scratch.gram.resize(n * n);
  gram_of_rows(tile, scratch.gram.data());
  for (size_t i = 0; i < n; ++i)
    for (size_t k = 0; k <= i; ++k) scratch.gram[i * n + k] *= scratch.root[i] * scratch.root[k];
  if (!solve(scratch.gram, n, penalty, scratch.pull.data())) return false;
  for (size_t i = 0; i < n; ++i) scratch.pull[i] *= scratch.root[i];
  project_tile(tile, scratch.pull.data(), theta.data());
  return true;
}

}  // namespace boscage::mixed
