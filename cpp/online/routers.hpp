// The linear tests of the inner nodes, each with its AdaGrad state.
//
// Dense rows: one contiguous vector per router. Sparse rows: one small hash table per router.
// Knows nothing of trees: a router is a number.
#pragma once

#include <string>
#include <utility>

#include "base/array.hpp"
#include "online/hashed_weights.hpp"
#include "online/rows.hpp"
#include "online/state/fields.hpp"

namespace boscage::online {

class Routers {
 public:
  Routers() = default;
  Routers(int64_t stride, bool dense) : stride_(stride), dense_(dense) {}

  int64_t size() const { return size_; }
  void append();
  void clear();
  void reset(int32_t router);

  void margins(const Row& row, const int32_t* routers, int64_t count, float* out) const;
  float margin(const Row& row, int32_t router) const;
  // Asks for a dense router's weights and squares.
  void prefetch(int32_t router) const;
  // A logistic step with the gradient already formed.
  void step(const Row& row, int32_t router, const Step& step);
  // A step of the absolute loss in `direction` (+1 or -1) that moves the margin by at most `limit`; returns the move.
  float median_step(const Row& row, int32_t router, const Step& step, float direction, float limit, Floats& scratch);
  // Starting weights; pairs of (position, weight), increasing.
  void start(int32_t router, const Array<std::pair<int32_t, float>>& weights);

  void save(Archive& archive, const std::string& name, bool resume) const;
  void load(Reader& reader, const std::string& name, int64_t size, bool resume);
  int64_t bytes() const;

 private:
  int64_t stride_ = 0;
  bool dense_ = true;
  int64_t size_ = 0;
  Floats weights_, squares_;    // dense
  Array<HashedWeights> nodes_;  // sparse
};

}  // namespace boscage::online
