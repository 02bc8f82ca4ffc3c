// WODT's objective at one node of sparse rows: as in soft_entropy.hpp, with the scaling moved out of the sums.
//
// With u_j = theta_j inverse_j a score is sum u_j x_j - sum u_j centre_j + bias, so absent entries cost nothing; the
// gradient is corrected by the centres in the same way. Rows are added in order: it knows no threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "base/parallel.hpp"
#include "families/oblique/scaling.hpp"
#include "grow/cut.hpp"
#include "grow/scan.hpp"

namespace boscage {

class SparseEntropy {
 public:
  // `local` are the classes and weights of `rows`; `columns` (increasing) those with a weight in theta.
  template <class T, class Index>
  SparseEntropy(const SparseRows<T, Index>& X, const Scaling& scaling, std::span<const uint32_t> rows,
                std::span<const uint32_t> columns, std::span<const WeightedRow> local, int classes, double l2,
                const Control& control, const SoftNumbers* numbers = nullptr);

  int64_t size() const { return signed_size(centre_) + 1; }  // theta, then the bias
  double value(std::span<const double> theta);
  // At the point of the last value().
  std::span<const double> gradient();

 private:
  std::span<const WeightedRow> local_;
  const SoftNumbers* numbers_;
  double l2_, all_ = 0;
  const Control& control_;
  std::vector<size_t> offsets_;
  std::vector<uint32_t> column_;  // of each entry, numbered among the columns kept
  std::vector<double> entry_, centre_, inverse_, theta_, slope_, factor_, gradient_;
};

}  // namespace boscage
