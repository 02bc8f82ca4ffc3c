// Small dense linear algebra: symmetric eigenpairs, Cholesky, a linear system.
//
// Matrices are square, row by row in one vector. Deterministic: no random starts, fixed order of operations.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/array.hpp"

namespace boscage {

// Asked every few thousand operations; after true the answer may be half done.
using IsOver = std::function<bool()>;

struct Eigen {
  Array<double> values;   // from largest to smallest
  Array<double> vectors;  // row i belongs to values[i]
};

// All eigenpairs of a symmetric matrix, by Jacobi rotations.
Eigen symmetric_eigen(std::vector<double> matrix, size_t n, const IsOver& is_over = {});

// The `count` eigenpairs of largest |value|, by subspace iteration from fixed starts; sorted by |value|.
Eigen leading_eigen(const std::vector<double>& matrix, size_t n, size_t count, const IsOver& is_over = {});

// Turns a vector so that its largest component is positive: an eigenvector is known but for its sign.
void make_largest_positive(double* v, size_t n);

// Lower factor L of matrix = L Lᵀ; false if the matrix is not positive definite.
bool cholesky(std::vector<double>& matrix, size_t n);
// Solves L x = b, or Lᵀ x = b, in place.
void solve_lower(const std::vector<double>& factor, size_t n, double* x);
void solve_upper(const std::vector<double>& factor, size_t n, double* x);

// Solves matrix · x = b by elimination with pivots; false if singular.
bool solve_linear(std::vector<double> matrix, size_t n, std::vector<double>& x);

}  // namespace boscage
