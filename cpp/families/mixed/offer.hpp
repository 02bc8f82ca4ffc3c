// What the offers of a node share: the random draws of an offer, and buffers of one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.hpp"
#include "families/axis/axis.hpp"
#include "families/mixed/read_rows.hpp"
#include "families/mixed/ridge.hpp"
#include "grow/cut.hpp"

namespace boscage::mixed {

// What a draw decides; each has random numbers of its own, for every offer of a node.
enum class Draw : uint64_t { kind, column_count, columns, start, groups, rows };

// The random numbers of one offer: functions of the tree's seed, the node's path and the number of the offer.
struct OfferDraws {
  uint64_t tree_seed = 0, path = 1;
  uint64_t offer = 0;  // 0: that of nodes without linear offers

  uint64_t seed(Draw draw) const {
    constexpr uint64_t stream_of_mix = 0x666f726573746d78ULL;
    return mix(mix(tree_seed ^ stream_of_mix) + 16 * offer + static_cast<uint64_t>(draw));
  }
  uint64_t bits(Draw draw, uint64_t number) const { return draw_bits(seed(draw), path, number); }
  double uniform(Draw draw, uint64_t number = 0) const { return boscage::uniform(seed(draw), path, number); }
};

// Buffers of one thread, reused from node to node.
struct Scratch {
  explicit Scratch(const Data& data) : reader(data) {}

  RowReader reader;
  CutScratch cut;
  AxisScratch axis;
  RidgeScratch ridge;
  Tile<double> raw, block, scaled;
  Tile<float> single;
  std::vector<uint8_t> known;  // by column: not known, varies or constant here
  std::vector<int32_t> columns;
  std::vector<uint32_t> positions, rows;
  std::vector<double> values;  // of a column, or scores, by row of the node
  std::vector<double> tile_scores, mean, inverse, memory, theta, weights, target;
  LineVector<double> share, weight;

  TileView raw_view() const { return {raw.group(0), raw.groups(), raw.columns()}; }
  TileView scaled_view() const { return {scaled.group(0), scaled.groups(), scaled.columns()}; }
  // The raw tile with its columns centred and scaled.
  template <class T>
  void scale(Tile<T>& out) const {
    out.resize(raw.rows(), raw.columns());
    scale_tile(raw_view(), mean.data(), inverse.data(), out.place(0, 0));
  }
};

// Sums and rows by category, those of missing values last, as CategoryScan wants them.
template <class Rows>
void count_categories(const Rows& rows, std::span<const double> values, uint32_t categories, const NodeView& view,
                      AxisScratch& scratch) {
  const size_t k = view.total.size();
  scratch.sums.assign((categories + size_t{1}) * k, 0.0);
  scratch.counts.assign(categories + size_t{1}, 0);
  for (uint32_t i = 0; i < values.size(); ++i) {
    const size_t category = values[i] == values[i] ? static_cast<size_t>(values[i]) : size_t{categories};
    ++scratch.counts[category];
    rows.add(i, view.local, scratch.sums.data() + category * k);
  }
}

}  // namespace boscage::mixed
