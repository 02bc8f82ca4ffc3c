// Eigenvectors of small symmetric matrices, always in the same order of operations.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace boscage {

// Asked every few thousand operations; after true the answer may be half done.
using IsOver = std::function<bool()>;

struct Eigen {
  std::vector<double> values;   // from the largest down
  std::vector<double> vectors;  // row k belongs to values[k]; its largest component is positive
};

// All eigenvectors of a symmetric d x d matrix (row after row), by Jacobi's rotations.
Eigen eigen_of(std::vector<double> matrix, size_t d, const IsOver& is_over);

// The eigenvector of the largest eigenvalue of a positive semi-definite matrix; empty if the matrix is 0. Small
// matrices by Jacobi, others by powers.
std::vector<double> leading_vector(std::vector<double> matrix, size_t d, const IsOver& is_over);

}  // namespace boscage
