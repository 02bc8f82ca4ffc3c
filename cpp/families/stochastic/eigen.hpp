// Small dense linear algebra for the split solver: symmetric eigenpairs, Cholesky, a linear system.
//
// Matrices are square, row by row in one vector. Deterministic: no random starts, fixed order of operations.
#pragma once

#include <cstddef>
#include <vector>

namespace boscage::stochastic {

using Vector = std::vector<double>;

struct Eigen {
  Vector values;   // from largest to smallest
  Vector vectors;  // row i belongs to values[i]
};

// All eigenpairs of a symmetric matrix, by Jacobi rotations.
Eigen symmetric_eigen(Vector matrix, size_t n);

// The `count` eigenpairs of largest |value|, by subspace iteration from fixed starts; sorted by |value|.
Eigen leading_eigen(const Vector& matrix, size_t n, size_t count);

// Lower factor L of matrix = L Lᵀ; false if the matrix is not positive definite.
bool cholesky(Vector& matrix, size_t n);
// Solves L x = b, or Lᵀ x = b, in place.
void solve_lower(const Vector& factor, size_t n, double* x);
void solve_upper(const Vector& factor, size_t n, double* x);

// Solves matrix · x = b by elimination with pivots; false if singular.
bool solve_linear(Vector matrix, size_t n, Vector& x);

}  // namespace boscage::stochastic
