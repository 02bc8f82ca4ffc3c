// Weighted oblique trees: a direction from the soft entropy, by L-BFGS from random starts.
#pragma once

#include <cstdint>

#include "families/oblique/column_scale.hpp"
#include "families/oblique/family.hpp"
#include "numeric/lbfgs.hpp"

namespace boscage {

struct WodtOptions {
  ColumnScale scale = ColumnScale::standard;
  double l2 = 0;
  int n_init = 1;
  bool recut = true;
  double sparsity_tolerance = -1;  // share of the gain that may go with small terms; below 0: keep all terms
  int64_t max_terms = 0;           // most columns of a test; 0: no limit
  uint64_t seed = 0;
  LbfgsOptions lbfgs;
};

class Wodt : public ObliqueFamily {
 public:
  explicit Wodt(const WodtOptions& options) : options_(options) {}
  bool shares_node() const override { return true; }
  void search(const ObliqueData& data, NodeOffers& offers, Pool* inner, const Control& control) const override;

 private:
  WodtOptions options_;
};

}  // namespace boscage
