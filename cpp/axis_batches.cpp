#include "axis_batches.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "category_scan.hpp"
#include "column_scan.hpp"

namespace boscage {

AxisBatchGrowth::AxisBatchGrowth(Bins bins, int32_t classes, AnyCriterion criterion, Limits limits, Order order,
                                 ColumnSample sample)
    : bins_(std::move(bins)),
      classes_(classes),
      criterion_(std::move(criterion)),
      limits_(limits),
      order_(order),
      sample_(sample),
      columns_(static_cast<size_t>(std::max<int64_t>(0, bins_.columns()))) {
  std::iota(columns_.begin(), columns_.end(), 0);
}

std::optional<std::vector<BinStep>> AxisBatchGrowth::ask(int64_t most_numbers) {
  divisions_.clear();
  std::vector<BinStep> steps;
  if (places_[0].histogram.empty() && !places_[0].is_solved) return steps;
  std::vector<int32_t> parents, nodes;
  const auto unknown = replay(root_, limits_, order_, [&](AxisPlace& place, const Node& node) {
    if (!place.histogram.empty()) solve(place, node);
  });
  if (unknown.empty()) return std::nullopt;
  for (const int32_t node : unknown) parents.push_back(grower_->node(node).parent);
  std::sort(parents.begin(), parents.end());
  parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
  const auto room = static_cast<size_t>(std::max<int64_t>(1, most_numbers / histogram_size()));
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
    step.position = places_[static_cast<size_t>(place_of(id))].position;
    step.missing_left = test.missing_left;
    step.categories = test.categories;
    step.step[0] = step_of(node.left);
    step.step[1] = step_of(node.right);
    if (std::binary_search(parents.begin(), parents.end(), id)) {
      // One child is counted, the other is the difference: the smaller one, or the only one that is open.
      const bool left_open = grower_->is_open(node.left), right_open = grower_->is_open(node.right);
      const bool right =
          left_open && right_open ? grower_->node(node.right).rows <= grower_->node(node.left).rows : right_open;
      step.histogram[right] = static_cast<int32_t>(divisions_.size());
      divisions_.push_back({id, right ? node.right : node.left});
    }
    steps.push_back(step);
  }
  return steps;
}

void AxisBatchGrowth::tell(std::span<const double> histograms) {
  const auto size = static_cast<size_t>(histogram_size());
  if (histograms.size() != size * std::max<size_t>(1, divisions_.size()))
    throw std::invalid_argument("histograms do not fit what was asked for.");
  if (divisions_.empty()) {
    AxisPlace& root = places_[0];
    root.histogram.assign(histograms.begin(), histograms.end());
    root_.class_weights.assign(static_cast<size_t>(classes_), 0.0);
    const int64_t places = bins_.start.back(), first = bins_.start[1];
    for (int64_t place = 0; place < first; ++place) {  // any column holds all rows
      root_.rows += static_cast<int64_t>(root.histogram[static_cast<size_t>(places * classes_ + place)]);
      for (int32_t k = 0; k < classes_; ++k)
        root_.class_weights[static_cast<size_t>(k)] += root.histogram[static_cast<size_t>(place * classes_ + k)];
    }
    return;
  }
  for (size_t i = 0; i < divisions_.size(); ++i) {
    const Node& node = grower_->node(divisions_[i].node);
    const int32_t counted = divisions_[i].counted, other = counted == node.left ? node.right : node.left;
    const auto mine = static_cast<size_t>(place_of(counted)), theirs = static_cast<size_t>(place_of(other));
    AxisPlace& from = places_[static_cast<size_t>(place_of(divisions_[i].node))];
    const auto part = histograms.subspan(i * size, size);
    places_[mine].histogram.assign(part.begin(), part.end());
    if (grower_->is_open(other)) {
      auto& rest = places_[theirs].histogram = std::move(from.histogram);
      for (size_t j = 0; j < size; ++j) rest[j] -= part[j];
    }
    from.histogram = {};
  }
}

std::pair<Side, Side> AxisBatchGrowth::sides(const std::vector<double>& histogram, const Cut& cut) const {
  std::pair<Side, Side> both;
  both.first.class_weights.assign(static_cast<size_t>(classes_), 0.0);
  both.second.class_weights.assign(static_cast<size_t>(classes_), 0.0);
  const int64_t start = bins_.start[static_cast<size_t>(cut.feature)], bins = bins_.bins(cut.feature);
  const auto goes_left = [&](int64_t bin) {
    if (bin == bins) return cut.missing_left;
    return cut.categories.empty() ? bin < cut.position : has_category(cut.categories, bin);
  };
  for (int64_t bin = 0; bin <= bins; ++bin) {
    Side& side = goes_left(bin) ? both.first : both.second;
    side.rows += static_cast<int64_t>(histogram[static_cast<size_t>(bins_.start.back() * classes_ + start + bin)]);
    for (int32_t k = 0; k < classes_; ++k)
      side.class_weights[static_cast<size_t>(k)] += histogram[static_cast<size_t>((start + bin) * classes_ + k)];
  }
  return both;
}

double AxisBatchGrowth::threshold(const Cut& cut) const {
  const int64_t start = bins_.start[static_cast<size_t>(cut.feature)], bins = bins_.bins(cut.feature);
  const double low = bins_.last[static_cast<size_t>(start + cut.position - 1)];
  const int64_t next = bins_.exact[static_cast<size_t>(cut.feature)] ? cut.next_bin : cut.position;
  if (next >= bins) return low;
  const double high = bins_.first[static_cast<size_t>(start + next)];
  return bins_.is_float ? middle(static_cast<float>(low), static_cast<float>(high)) : middle(low, high);
}

// The best test of a node: the scan of growth in memory on the counts of its bins.
void AxisBatchGrowth::solve(AxisPlace& place, const Node& node) {
  place.is_solved = true;
  std::vector<int32_t> present;
  scratch_.total.clear();
  for (int32_t k = 0; k < classes_; ++k) {
    if (!(node.class_weights[static_cast<size_t>(k)] > 0)) continue;
    present.push_back(k);
    scratch_.total.push_back(node.class_weights[static_cast<size_t>(k)]);
  }
  const auto k = scratch_.total.size();
  NodeView view;
  view.total = scratch_.total;
  view.weight = node.weight;
  view.rows = node.rows;
  view.min_samples_leaf = limits_.min_samples_leaf;
  view.min_weight_leaf = limits_.min_weight_leaf;
  const UnitRows<uint8_t> no_rows{nullptr};
  Cut best;
  std::visit(
      [&](const auto& criterion) {
        view.noise = 1e-13 * criterion.total(scratch_.total.data(), static_cast<int>(k));
        const auto search = [&](int32_t feature) {
          const auto start = static_cast<size_t>(bins_.start[static_cast<size_t>(feature)]);
          const auto places = static_cast<size_t>(bins_.bins(feature)) + 1;
          scratch_.sums.resize(places * k);
          scratch_.counts.resize(places);
          const double* counts = place.histogram.data() + bins_.start.back() * classes_;
          for (size_t bin = 0; bin < places; ++bin) {
            scratch_.counts[bin] = static_cast<int64_t>(counts[start + bin]);
            for (size_t c = 0; c < k; ++c)
              scratch_.sums[bin * k + c] =
                  place.histogram[(start + bin) * static_cast<size_t>(classes_) + static_cast<size_t>(present[c])];
          }
          using Criterion = std::decay_t<decltype(criterion)>;
          const ColumnScan<Criterion, UnitRows<uint8_t>> numbers{criterion, no_rows, view, scratch_};
          const CategoryScan<Criterion, UnitRows<uint8_t>> categories{criterion, no_rows, view, scratch_};
          Cut cut = bins_.category[static_cast<size_t>(feature)] ? categories.counted(static_cast<uint32_t>(places - 1))
                                                                 : numbers.counted(places - 1);
          cut.feature = feature;
          const SeenColumns seen{!cut.is_constant, cut.gain >= 0};
          if (cut.is_better_than(best)) best = std::move(cut);
          return seen;
        };
        if (sample_.max_features == 0) {
          for (const int32_t feature : columns_) search(feature);
          return;
        }
        search_sample(sample_, node.path, columns_, [&](std::span<const uint32_t> features) {
          SeenColumns all;
          for (const uint32_t feature : features) all.add(search(static_cast<int32_t>(feature)));
          return all;
        });
      },
      criterion_);
  if (best.gain < 0) return;
  MeasuredTest measured;
  std::tie(measured.left, measured.right) = sides(place.histogram, best);
  measured.gain = best.gain;
  measured.drop = std::visit(
      [&](const auto& g) {
        return g.drop(measured.right.class_weights.data(), measured.left.class_weights.data(), classes_);
      },
      criterion_);
  measured.test.feature = best.feature;
  measured.test.missing_left = best.missing_left;
  place.position = best.position;
  if (!best.categories.empty()) {
    measured.test.categories = std::move(best.categories);
    place.proposal.tests.push_back(std::move(measured));
    return;
  }
  measured.test.threshold = threshold(best);
  const int64_t missing = bins_.start[static_cast<size_t>(best.feature) + 1] - 1;
  if (place.histogram[static_cast<size_t>(bins_.start.back() * classes_ + missing)] == 0) {
    const auto weight = [](const Side& side) {
      return std::accumulate(side.class_weights.begin(), side.class_weights.end(), 0.0);
    };
    measured.test.missing_left = weight(measured.left) > weight(measured.right);
  }
  place.proposal.tests.push_back(std::move(measured));
}

}  // namespace boscage
