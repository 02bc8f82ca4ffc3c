// Growing a weighted oblique tree over rows that are never all in memory: what a pass must bring, and what it tells.
//
// Every leaf that could still be split has a search of its own (NodeDescent); a pass serves all of them together,
// whatever each needs next, so children begin as soon as their parent is done. A search depends on its leaf alone:
// neither the company in a pass nor the order in time changes a tree. Must not know where rows come from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "families/oblique/pass.hpp"
#include "families/oblique/soft/descent.hpp"
#include "grow/pass_growth.hpp"

namespace boscage {

struct ObliquePlace : KnownPlace {
  std::unique_ptr<NodeDescent> descent;  // while it is searched
};

class ObliqueBatchGrowth : public PassGrowth<ObliquePlace> {
 public:
  ObliqueBatchGrowth(DescentFrame frame, Side root, Order order);
  ObliqueBatchGrowth(const ObliqueBatchGrowth&) = delete;  // searches look into the frame
  ObliqueBatchGrowth& operator=(const ObliqueBatchGrowth&) = delete;

  // The next pass, with at most this many numbers unless one node needs more; nothing when the tree is done.
  std::optional<ObliquePass> ask(int64_t most_numbers);
  void tell(std::span<const double> sums, Pool& pool);

  const DescentFrame& frame() const { return frame_; }
  int64_t searched() const { return searched_; }

 private:
  struct Asked {
    int32_t place;
    size_t begin, end;  // of its sums
  };

  void add_route(const std::vector<int32_t>& leaves, ObliquePass& pass);

  DescentFrame frame_;
  Side root_;
  Order order_;
  bool is_current_ = false;  // does grower_ know every place that is solved?
  int64_t searched_ = 0;
  std::vector<int32_t> unknown_;
  std::vector<Asked> asked_;
};

}  // namespace boscage
