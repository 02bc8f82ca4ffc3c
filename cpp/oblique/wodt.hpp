// Weighted oblique trees: a direction from the soft entropy, by L-BFGS from random starts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "oblique/family.hpp"
#include "oblique/lbfgs.hpp"

namespace boscage {

struct WodtOptions {
  double l2 = 0;
  int n_init = 1;
  bool recut = true;
  uint64_t seed = 0;
  LbfgsOptions lbfgs;
};

// The hyperplane (bias last, scaled columns) of least soft entropy near `start`, for rows with labels of their own.
std::vector<double> fit_plane(const ObliqueData& data, std::span<const uint32_t> rows,
                              std::span<const WeightedRow> labels, int classes, std::span<const double> start,
                              const Control& control);

class Wodt : public ObliqueFamily {
 public:
  explicit Wodt(const WodtOptions& options) : options_(options) {}
  bool shares_node() const override { return true; }
  void search(const ObliqueData& data, NodeOffers& offers, Pool* inner, const Control& control) const override;

 private:
  template <class T>
  void search_rows(const Matrix<T>& X, const ObliqueData& data, NodeOffers& offers, Pool* inner,
                   const Control& control) const;

  WodtOptions options_;
};

}  // namespace boscage
