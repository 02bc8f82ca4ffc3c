#include "families/mixed/class_target.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include "criteria/running_gain.hpp"
#include "families/axis/category_scan.hpp"
#include "families/axis/column_scan.hpp"
#include "families/oblique/soft/soft_entropy.hpp"
#include "numeric/minimise.hpp"

namespace boscage::mixed {

namespace {

// The best cut of numbers of which classes and rows are counted by value.
template <class Criterion>
CutPlace cut_counts(const Criterion& criterion, const NodeCutter& node, double low, std::span<const double> sums,
                    std::span<const int64_t> counts) {
  const size_t k = node.total().size();
  RunningGain<Criterion> running(criterion, node.total(), node.terms());
  CutPlace best;
  double weight = 0, last = 0;
  int64_t rows = 0;
  for (size_t value = 0; value < counts.size(); ++value) {
    if (counts[value] == 0) continue;
    const double here = low + static_cast<double>(value);
    if (rows > 0 && node.allows(rows, weight)) {
      const double gain = node.above_noise(running.gain());
      if (!best.is_valid() || node.is_better(gain, best.gain)) best = {gain, last, here, rows};
    }
    for (size_t c = 0; c < k; ++c) {
      const double w = sums[value * k + c];
      if (w == 0) continue;
      running.to_left(static_cast<uint32_t>(c), w);
      weight += w;
    }
    rows += counts[value];
    last = here;
  }
  return best;
}

}  // namespace

ClassTarget::ClassTarget(const Data& data, const NodeRows&, const Node&, std::span<const uint32_t> node_rows)
    : data_(data), cutter_(node_rows, data.target, data.criterion, data.limits) {}

double ClassTarget::most_gain() const {
  const bool is_separation = std::holds_alternative<Separation>(data_.criterion);
  return is_separation ? std::numeric_limits<double>::infinity() : cutter_.potential();
}

CutPlace ClassTarget::cut_whole(std::span<const double> values, double low, size_t count, AxisScratch& scratch) const {
  const size_t k = sums();
  scratch.sums.assign(count * k, 0.0);
  scratch.counts.assign(count, 0);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<size_t>(values[i] - low);
    const WeightedRow& row = cutter_.local()[i];
    ++scratch.counts[value];
    scratch.sums[value * k + row.label] += row.weight;
  }
  return visit_classes([&](const auto& g) { return cut_counts(g, cutter_, low, scratch.sums, scratch.counts); },
                       data_.criterion);
}

Cut ClassTarget::cut_with_missing(std::span<const uint32_t> order, size_t present, AxisScratch& scratch) const {
  return visit_classes(
      [&](const auto& g) {
        const WeightedRows rows(cutter_.local().data());
        return ColumnScan<std::decay_t<decltype(g)>, WeightedRows>{g, rows, cutter_.view(), scratch}.scan_order(
            order, present);
      },
      data_.criterion);
}

Cut ClassTarget::cut_categories(std::span<const double> values, uint32_t categories, AxisScratch& scratch) const {
  const WeightedRows rows(cutter_.local().data());
  count_categories(rows, values, categories, cutter_.view(), scratch);
  return visit_classes(
      [&](const auto& g) {
        return CategoryScan<std::decay_t<decltype(g)>, WeightedRows>{g, rows, cutter_.view(), scratch}.counted(
            categories);
      },
      data_.criterion);
}

// All classes of the node, or two groups of them at random; with large tiles one class after the other, as single
// precision wants them.
bool ClassTarget::choose(Finder finder, const OfferDraws& draws, Scratch& s) {
  const auto local = cutter_.local();
  const auto classes = static_cast<uint32_t>(cutter_.classes());
  std::vector<uint32_t> group(classes);
  std::iota(group.begin(), group.end(), 0U);
  classes_ = static_cast<int>(classes);
  if (classes > 2 && (finder == Finder::ridge || draws.uniform(Draw::groups) < data_.options.super_classes)) {
    uint64_t number = 0;
    uint32_t ones = 0;
    do {
      ones = 0;
      for (uint32_t& value : group) ones += value = static_cast<uint32_t>(draws.bits(Draw::groups, ++number) & 1);
    } while (ones == 0 || ones == classes);
    classes_ = 2;
  }
  const auto class_of = [&](uint32_t position) { return group[local[position].label]; };
  const auto n = static_cast<int64_t>(s.positions.size()), m = static_cast<int64_t>(s.columns.size());
  if (finder == Finder::wodt && is_large_tile(n, m, classes_)) {
    std::vector<uint32_t> first(static_cast<size_t>(classes_) + 1, 0);
    for (const uint32_t position : s.positions) ++first[class_of(position) + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    s.rows.resize(s.positions.size());
    for (const uint32_t position : s.positions) s.rows[first[class_of(position)]++] = position;
    s.positions.swap(s.rows);
  }
  chosen_.clear();
  for (const uint32_t position : s.positions) chosen_.push_back({local[position].weight, class_of(position)});
  return classes_ > 1;
}

bool ClassTarget::wodt(std::span<const double> start, const LbfgsOptions& options, Scratch& s,
                       const Control& control) const {
  const auto find = [&]<class T>(Tile<T>& tile) {
    s.scale(tile);
    SoftEntropy<T> objective(tile, chosen_, classes_, data_.options.l2, nullptr, control);
    s.theta = minimise(objective, start, options);
  };
  is_large_tile(s.raw.rows(), s.raw.columns(), classes_) ? find(s.single) : find(s.scaled);
  return true;
}

bool ClassTarget::ridge(Scratch& s) const {
  double all = 0;
  s.target.assign(to_size(s.weight.size()), 0.0);
  for (size_t i = 0; i < chosen_.size(); ++i) {
    s.target[i] = chosen_[i].label;
    all += chosen_[i].weight;
  }
  return solve_ridge(s.scaled_view(), s.weight, s.target, data_.options.l2 * std::sqrt(all), s.ridge, s.theta);
}

}  // namespace boscage::mixed
