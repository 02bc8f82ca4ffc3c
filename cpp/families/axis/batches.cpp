#include "families/axis/batches.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/index.hpp"
#include "families/axis/category_scan.hpp"
#include "families/axis/column_scan.hpp"
#include "grow/number_side.hpp"

namespace boscage {

AxisBatchGrowth::AxisBatchGrowth(Bins bins, int32_t classes, const NumberRange& range, AnyCriterion criterion,
                                 Limits limits, Order order, ColumnSample sample)
    : bins_(std::move(bins)),
      sums_(classes > 0 ? classes : static_cast<int32_t>(range.outputs.size()) + 2),
      outputs_(range.outputs.size()),
      has_whole_weights_(range.has_whole_weights),
      criterion_(std::move(criterion)),
      limits_(limits),
      order_(order),
      sample_(sample),
      columns_(to_size(std::max<int64_t>(0, bins_.columns()))) {
  std::iota(columns_.begin(), columns_.end(), 0);
  if (!is_numbers()) return;
  root_grid_ = range.grid(criterion_);
  limits_.min_drop = in_units(criterion_, limits_.min_drop, -root_grid_->exponent);
}

std::optional<BinRoute> AxisBatchGrowth::ask(int64_t most_numbers) {
  divisions_.clear();
  BinRoute route;
  if (!root_) {
    if (is_numbers()) route.grids.push_back(root_grid_);
    return route;
  }
  std::vector<int32_t> parents, nodes;
  auto unknown = replay(*root_, limits_, order_, [&](AxisPlace& place, const Node& node) {
    if (!place.histogram.empty()) solve(place, node);
  });
  // Children with a grid of their own are counted on it even if they are never split.
  for (int32_t node = 1; is_numbers() && node < grower_->size(); ++node) {
    const Node& child = grower_->node(node);
    if (places_[to_size(place_of(child.parent))].needs_sums[child.is_right]) unknown.push_back(node);
  }
  if (unknown.empty()) return std::nullopt;
  std::sort(unknown.begin(), unknown.end());
  unknown.erase(std::unique(unknown.begin(), unknown.end()), unknown.end());
  for (const int32_t node : unknown) parents.push_back(grower_->node(node).parent);
  std::sort(parents.begin(), parents.end());
  parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
  const int64_t counted = is_numbers() ? 2 : 1;  // of the two children
  const auto room = to_size(std::max<int64_t>(1, most_numbers / (counted * histogram_size())));
  if (parents.size() > room) parents.resize(room);  // the others wait for the next pass
  for (const int32_t parent : parents)
    for (int32_t at = parent; at >= 0; at = grower_->node(at).parent) nodes.push_back(at);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  const auto step_of = [&](int32_t node) {
    const auto found = std::lower_bound(nodes.begin(), nodes.end(), node);
    return found != nodes.end() && *found == node ? static_cast<int32_t>(found - nodes.begin()) : -1;
  };
  for (const int32_t id : nodes) {
    const Node& node = grower_->node(id);
    const Test& test = grower_->test(id);
    BinStep step;
    step.feature = test.feature;
    step.position = places_[to_size(place_of(id))].position;
    step.missing_left = test.missing_left;
    step.categories = test.categories;
    step.step[0] = step_of(node.left);
    step.step[1] = step_of(node.right);
    if (std::binary_search(parents.begin(), parents.end(), id)) choose_counted(id, unknown, step, route.grids);
    route.steps.push_back(step);
  }
  return route;
}

// Of classes one child is counted, the other is the difference: the smaller one, or the only one that is open. Of
// numbers each child that is wanted: ranges have no differences.
void AxisBatchGrowth::choose_counted(int32_t id, const std::vector<int32_t>& unknown, BinStep& step,
                                     std::vector<std::shared_ptr<const NumberGrid>>& grids) {
  const Node& node = grower_->node(id);
  const auto count = [&](bool right) {
    step.histogram[right] = static_cast<int32_t>(divisions_.size());
    divisions_.push_back({id, right ? node.right : node.left});
  };
  if (is_numbers()) {
    for (const bool right : {false, true}) {
      const int32_t child = right ? node.right : node.left;
      if (!std::binary_search(unknown.begin(), unknown.end(), child)) continue;
      count(right);
      grids.push_back(grower_->node(child).numbers->grid);
    }
    return;
  }
  const bool left_open = grower_->is_open(node.left), right_open = grower_->is_open(node.right);
  count(left_open && right_open ? grower_->node(node.right).rows <= grower_->node(node.left).rows : right_open);
}

void AxisBatchGrowth::tell(std::span<const double> histograms, std::span<const double> extremes) {
  const auto size = to_size(histogram_size()), places = to_size(bins_.start.back());
  const size_t count = std::max<size_t>(1, divisions_.size()), ranges = places * 2 * outputs_;
  if (histograms.size() != size * count || extremes.size() != ranges * count)
    throw std::invalid_argument("histograms do not fit what was asked for.");
  const auto everything = [](int64_t) { return true; };
  if (divisions_.empty()) {
    AxisPlace& root = places_[0];
    root.histogram.assign(histograms.begin(), histograms.end());
    root.extremes.assign(extremes.begin(), extremes.end());
    root_ = side(root, 0, everything, root_grid_);  // any column holds all rows
    return;
  }
  for (size_t i = 0; i < divisions_.size(); ++i) {
    const Node& node = grower_->node(divisions_[i].node);
    const int32_t counted = divisions_[i].counted, other = counted == node.left ? node.right : node.left;
    const auto mine = to_size(place_of(counted)), theirs = to_size(place_of(other));
    AxisPlace& from = places_[to_size(place_of(divisions_[i].node))];
    const auto part = histograms.subspan(i * size, size);
    places_[mine].histogram.assign(part.begin(), part.end());
    if (is_numbers()) {
      const auto range = extremes.subspan(i * ranges, ranges);
      places_[mine].extremes.assign(range.begin(), range.end());
      if (!std::exchange(from.needs_sums[counted == node.right], false)) continue;
      MeasuredTest& test = from.proposal.tests.front();
      (counted == node.right ? test.right : test.left) =
          side(places_[mine], 0, everything, grower_->node(counted).numbers->grid);
      continue;
    }
    if (grower_->is_open(other)) {
      auto& rest = places_[theirs].histogram = std::move(from.histogram);
      for (size_t j = 0; j < size; ++j) rest[j] -= part[j];
    }
    from.histogram = {};
  }
}

template <class Chosen>
Side AxisBatchGrowth::side(const AxisPlace& place, int32_t column, const Chosen& chosen,
                           std::shared_ptr<const NumberGrid> grid) const {
  const int64_t start = bins_.start[to_size(column)], bins = bins_.bins(column);
  NumberSums found(outputs_);
  std::vector<double> sums(to_size(sums_), 0.0);
  for (int64_t bin = 0; bin <= bins; ++bin) {
    if (!chosen(bin)) continue;
    found.rows += static_cast<int64_t>(place.histogram[to_size(bins_.start.back() * sums_ + start + bin)]);
    for (int32_t k = 0; k < sums_; ++k) sums[to_size(k)] += place.histogram[to_size((start + bin) * sums_ + k)];
    const double* range = place.extremes.data() + to_size(start + bin) * 2 * outputs_;
    for (size_t j = 0; j < outputs_; ++j) {
      found.outputs[j].low = std::min(found.outputs[j].low, range[j]);
      found.outputs[j].high = std::max(found.outputs[j].high, -range[outputs_ + j]);
    }
  }
  if (!is_numbers()) return {found.rows, sums, {}};
  found.report = sums.back();
  sums.pop_back();
  found.sums = sums;
  return number_side(std::move(found), std::move(grid));
}

double AxisBatchGrowth::threshold(const Cut& cut) const {
  const int64_t start = bins_.start[to_size(cut.feature)], bins = bins_.bins(cut.feature);
  const double low = bins_.last[to_size(start + cut.position - 1)];
  const int64_t next = bins_.exact[to_size(cut.feature)] ? cut.next_bin : cut.position;
  if (next >= bins) return low;
  const double high = bins_.first[to_size(start + next)];
  return bins_.is_float ? middle(static_cast<float>(low), static_cast<float>(high)) : middle(low, high);
}

// Columns as the scan of growth in memory sees them, from the counts of their bins.
template <class Criterion, class Rows>
Cut AxisBatchGrowth::search_with(const Criterion& criterion, const Rows& rows, const AxisPlace& place,
                                 const Node& node) {
  std::vector<size_t> present;
  scratch_.total.clear();
  for (size_t k = 0; k < node.sums.size(); ++k) {
    if (!is_numbers() && !(node.sums[k] > 0)) continue;
    present.push_back(k);
    scratch_.total.push_back(node.sums[k]);
  }
  const size_t k = present.size();
  NodeView view;
  view.total = scratch_.total;
  view.weight = node.weight;
  view.rows = node.rows;
  view.min_samples_leaf = limits_.min_samples_leaf;
  view.min_weight_leaf = limits_.min_weight_leaf;
  view.noise = noise_of(criterion_, scratch_.total);
  Cut best;
  const auto search = [&](int32_t feature) {
    const auto start = to_size(bins_.start[to_size(feature)]);
    const auto places = to_size(bins_.bins(feature)) + 1;
    scratch_.sums.resize(places * k);
    scratch_.counts.resize(places);
    const double* counts = place.histogram.data() + bins_.start.back() * sums_;
    for (size_t bin = 0; bin < places; ++bin) {
      scratch_.counts[bin] = static_cast<int64_t>(counts[start + bin]);
      for (size_t c = 0; c < k; ++c)
        scratch_.sums[bin * k + c] = place.histogram[(start + bin) * to_size(sums_) + present[c]];
    }
    const ColumnScan<Criterion, Rows> numbers{criterion, rows, view, scratch_};
    const CategoryScan<Criterion, Rows> categories{criterion, rows, view, scratch_};
    Cut cut = bins_.category[to_size(feature)] ? categories.counted(static_cast<uint32_t>(places - 1))
                                               : numbers.counted(places - 1);
    cut.feature = feature;
    const SeenColumns seen{!cut.is_constant, cut.gain >= 0};
    if (cut.is_better_than(best)) best = std::move(cut);
    return seen;
  };
  if (sample_.max_features == 0) {
    for (const int32_t feature : columns_) search(feature);
    return best;
  }
  search_sample(sample_, node.path, columns_, [&](std::span<const uint32_t> features) {
    SeenColumns all;
    for (const uint32_t feature : features) all.add(search(static_cast<int32_t>(feature)));
    return all;
  });
  return best;
}

Cut AxisBatchGrowth::search(const AxisPlace& place, const Node& node) {
  if (is_numbers())
    return visit_for<Numbers>([&](const auto& g) { return search_with(g, ManyValues{nullptr}, place, node); },
                              criterion_);
  return visit_classes([&](const auto& g) { return search_with(g, UnitRows<uint8_t>(nullptr), place, node); },
                       criterion_);
}

// Both sides of a cut. A side of numbers that needs a grid of its own is counted on it in the next pass.
void AxisBatchGrowth::set_sides(AxisPlace& place, const Node& node, const Cut& cut, MeasuredTest& measured) {
  const int64_t bins = bins_.bins(cut.feature);
  const auto goes_left = [&](int64_t bin) {
    if (bin == bins) return cut.missing_left;
    return cut.categories.empty() ? bin < cut.position : has_category(cut.categories, bin);
  };
  const auto grid = node.numbers ? node.numbers->grid : nullptr;
  measured.left = side(place, cut.feature, goes_left, grid);
  measured.right = side(place, cut.feature, [&](int64_t bin) { return !goes_left(bin); }, grid);
  measured.gain = cut.gain;
  if (!is_numbers()) {
    measured.drop = visit_classes(
        [&](const auto& g) { return g.drop(measured.right.sums.data(), measured.left.sums.data(), sums_); },
        criterion_);
    return;
  }
  measured.gain = measured.drop = in_units(criterion_, cut.gain, grid->exponent - root_grid_->exponent);
  for (const bool right : {false, true}) {
    Side& part = right ? measured.right : measured.left;
    if (!grid->is_coarse_for(part.numbers->outputs, part.weight())) continue;
    part.numbers->grid = NumberRange{part.numbers->outputs, part.weight(), has_whole_weights_}.grid(criterion_);
    place.needs_sums[right] = true;
  }
}

void AxisBatchGrowth::solve(AxisPlace& place, const Node& node) {
  place.is_solved = true;
  Cut best = search(place, node);
  if (best.gain >= 0) {
    MeasuredTest measured;
    set_sides(place, node, best, measured);
    measured.test.feature = best.feature;
    measured.test.missing_left = best.missing_left;
    place.position = best.position;
    if (best.categories.empty()) {
      measured.test.threshold = threshold(best);
      const int64_t missing = bins_.start[to_size(best.feature) + 1] - 1;
      if (place.histogram[to_size(bins_.start.back() * sums_ + missing)] == 0)
        measured.test.missing_left = measured.left.weight() > measured.right.weight();
    } else {
      measured.test.categories = std::move(best.categories);
    }
    place.proposal.tests.push_back(std::move(measured));
  }
  if (is_numbers()) place.histogram = place.extremes = {};
}

}  // namespace boscage
