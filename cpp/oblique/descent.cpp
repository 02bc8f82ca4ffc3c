#include "oblique/descent.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "oblique/soft_entropy.hpp"
#include "rng.hpp"

namespace boscage {

namespace {

// Starts tried beyond n_init while no start has led to a valid cut.
constexpr size_t kMoreStarts = 2;
// Edges of the question where projections lie, and how often it is asked while they fill but a small part of the range.
constexpr int64_t kRangeEdges = 256;
constexpr int kMostRounds = 8;
// How often a bin is cut again while no edge is allowed.
constexpr int kMostZooms = 4;
// A column whose variance is less than this share of its mean square does not vary: the rest is rounding.
constexpr double kRelativeNoise = 1e-11;

}  // namespace

NodeDescent::NodeDescent(const DescentFrame& frame, const Node& node)
    : frame_(frame), path_(node.path), weight_(node.weight), rows_(node.rows), all_classes_(node.class_weights.size()) {
  for (size_t k = 0; k < all_classes_; ++k) {
    if (!(node.class_weights[k] > 0)) continue;
    present_.push_back(static_cast<int32_t>(k));
    total_.push_back(node.class_weights[k]);
  }
  potential_ = std::visit([&](const auto& g) { return g.total(total_.data(), static_cast<int>(total_.size())); },
                          frame.criterion);
  factor_.assign(total_.size(), 0.0);
}

ObliqueLeaf NodeDescent::leaf() const {
  ObliqueLeaf leaf;
  leaf.number.assign(all_classes_, -1);
  leaf.classes = static_cast<int32_t>(present_.size());
  for (size_t c = 0; c < present_.size(); ++c) leaf.number[static_cast<size_t>(present_[c])] = static_cast<int32_t>(c);
  return leaf;
}

void NodeDescent::ask(int32_t leaf, std::vector<ObliqueTask>& tasks) const {
  if (phase_ == Phase::spread) tasks.push_back({Wanted::spread, leaf, {}, 0, 0, 0});
  for (const Start& start : starts_) {
    if (start.step == Step::done) continue;
    if (start.step == Step::descend) {
      std::vector<double> theta = spread_out(start.optimiser.point());
      theta.push_back(start.optimiser.point().back());
      tasks.push_back({Wanted::sides, leaf, std::move(theta), 0, 0, 0});
    } else {
      tasks.push_back(start.count);
      tasks.back().leaf = leaf;
    }
  }
}

size_t NodeDescent::answer_size(const Start& start) const {
  const auto bins = static_cast<size_t>(start.count.edges) + 1;
  if (start.step == Step::descend) return total_.size() * (frame_.columns() + 3);
  return start.step == Step::range ? bins : bins * (total_.size() + 1);
}

void NodeDescent::tell(std::span<const double> sums) {
  if (phase_ == Phase::spread) {
    if (sums.size() != 2 * frame_.columns()) throw std::invalid_argument("sums do not fit what was asked for.");
    return find_columns(sums);
  }
  for (Start& start : starts_) {
    if (start.step == Step::done) continue;
    const size_t size = answer_size(start);
    if (sums.size() < size) throw std::invalid_argument("sums do not fit what was asked for.");
    const double* mine = sums.data();
    sums = sums.subspan(size);
    if (start.step == Step::descend) {
      tell_sides(start, mine);
    } else if (start.step == Step::range) {
      tell_range(start, mine);
    } else if (start.step == Step::half) {
      tell_half(start, mine);
    } else {
      tell_cut(start, mine);
    }
  }
  settle();
}

// Columns that vary among the rows; the others get no weight.
void NodeDescent::find_columns(std::span<const double> spread) {
  const size_t d = frame_.columns();
  for (size_t j = 0; j < d; ++j) {
    const double mean = spread[j] / weight_, square = spread[d + j] / weight_;
    if (frame_.scaling.inverse[j] > 0 && square - mean * mean > kRelativeNoise * square) columns_.push_back(j);
  }
  phase_ = columns_.empty() ? Phase::done : Phase::starts;
  if (phase_ == Phase::starts)
    for (int s = 0; s < frame_.options.n_init; ++s) begin_start();
}

void NodeDescent::begin_start() {
  const size_t size = columns_.size(), all = frame_.columns() + 1;
  const double length = 1.0 / std::sqrt(static_cast<double>(size + 1));
  std::vector<double> point(size + 1);
  for (size_t j = 0; j <= size; ++j) {
    const uint64_t draw = starts_.size() * all + (j < size ? columns_[j] : all - 1);
    point[j] = length * normal(frame_.options.seed, path_, draw);
  }
  starts_.push_back({Lbfgs(point, frame_.options.lbfgs)});
}

// Ends the search when every start has, unless none of them led to a test.
void NodeDescent::settle() {
  if (std::any_of(starts_.begin(), starts_.end(), [](const Start& start) { return start.step != Step::done; })) return;
  const bool has_test = std::any_of(starts_.begin(), starts_.end(), [](const Start& start) { return start.has_test; });
  if (!has_test && starts_.size() < static_cast<size_t>(frame_.options.n_init) + kMoreStarts) return begin_start();
  phase_ = Phase::done;
}

Proposal NodeDescent::take() {
  Proposal proposal;
  Start* best = nullptr;
  for (Start& start : starts_)
    if (start.has_test && (best == nullptr || start.best.gain > best->best.gain)) best = &start;
  if (best != nullptr) proposal.tests.push_back(std::move(best->best));
  starts_.clear();
  return proposal;
}

std::vector<double> NodeDescent::spread_out(std::span<const double> theta) const {
  std::vector<double> all(frame_.columns(), 0.0);
  for (size_t j = 0; j < columns_.size(); ++j) all[columns_[j]] = theta[j];
  return all;
}

void NodeDescent::tell_sides(Start& start, const double* sums) {
  const size_t classes = total_.size(), d = frame_.columns(), width = d + 3, size = columns_.size();
  std::vector<double>& sides = scratch_;
  sides.clear();
  for (size_t c = 0; c < classes; ++c) sides.insert(sides.end(), {sums[c * width], sums[c * width + 1]});
  const std::vector<double> theta(start.optimiser.point().begin(), start.optimiser.point().end());
  const double penalty = frame_.options.l2 / std::sqrt(weight_);
  double squares = 0;
  for (size_t j = 0; j < size; ++j) squares += theta[j] * theta[j];
  start.optimiser.tell_value(entropy_of_sides(sides.data(), weight_, factor_) + 0.5 * penalty * squares);
  if (start.optimiser.need() == Lbfgs::Need::gradient) {
    gradient_.assign(size + 1, 0.0);
    for (size_t c = 0; c < classes; ++c) {
      const double* moments = sums + c * width + 2;
      for (size_t j = 0; j < size; ++j) gradient_[j] += factor_[c] * moments[columns_[j]];
      gradient_[size] += factor_[c] * moments[d];
    }
    for (size_t j = 0; j < size; ++j) gradient_[j] += penalty * theta[j];
    start.optimiser.tell_gradient(gradient_);
  }
  if (start.optimiser.need() == Lbfgs::Need::done) begin_cut(start);
}

// The direction in the user's units, and where projections can lie at all.
void NodeDescent::begin_cut(Start& start) {
  std::vector<double> weights = spread_out(start.optimiser.best());
  double shift = 0, low = 0, high = 0;
  for (size_t j = 0; j < weights.size(); ++j) {
    weights[j] *= frame_.scaling.inverse[j];
    if (weights[j] == 0) continue;
    shift += weights[j] * frame_.scaling.mean[j];
    const auto [least, most] = std::minmax({weights[j] * frame_.low[j], weights[j] * frame_.high[j]});
    low += least;
    high += most;
  }
  start.count.vector = std::move(weights);
  start.step = Step::done;
  if (!std::isfinite(low) || !std::isfinite(high)) return;
  start.low = low;
  start.high = high;
  if (frame_.options.recut) return look_between(start, low, high);
  start.count.wanted = Wanted::cut;
  start.count.low = shift - start.optimiser.best().back();
  start.count.step = 0;
  start.count.edges = 1;
  start.step = Step::half;
}

void NodeDescent::look_between(Start& start, double low, double high) {
  start.low = low;
  start.high = high;
  start.count.wanted = Wanted::rows;
  start.count.low = low;
  start.count.step = high / (kRangeEdges - 1) - low / (kRangeEdges - 1);
  start.count.edges = kRangeEdges;
  start.step = low + start.count.step > low ? Step::range : Step::done;
}

void NodeDescent::cut_between(Start& start, double low, double high, Step step) {
  const auto bins = static_cast<double>(frame_.options.bins);
  start.low = low;
  start.high = high;
  start.count.wanted = Wanted::cut;
  start.count.step = high / bins - low / bins;
  start.count.low = low + start.count.step;
  start.count.edges = frame_.options.bins - 1;
  start.step = start.count.low > low ? step : Step::done;
}

void NodeDescent::tell_range(Start& start, const double* counts) {
  const int64_t last_edge = start.count.edges - 1;
  int64_t first = 0, last = start.count.edges;
  while (first < last && counts[first] == 0) ++first;
  while (last > first && counts[last] == 0) --last;
  const double low = start.count.edge(std::max<int64_t>(first - 1, 0));
  const double high = start.count.edge(std::min(last, last_edge));
  const bool is_narrow = 2 * (last - first + 1) < start.count.edges;
  if (is_narrow && ++start.rounds < kMostRounds) return look_between(start, low, high);
  start.rounds = 0;
  if (first == last) {
    start.step = Step::done;
  } else {
    cut_between(start, low, high, Step::cut);
  }
}

// The test with the first `left_bins` bins on the left; kept if it is not worse than the one that is known.
bool NodeDescent::measure(Start& start, const double* sums, int64_t left_bins, double threshold) {
  const size_t classes = total_.size();
  const int64_t bins = start.count.edges + 1;
  const double* counts = sums + static_cast<size_t>(bins) * classes;
  MeasuredTest measured;
  for (Side* side : {&measured.left, &measured.right}) side->class_weights.assign(all_classes_, 0.0);
  for (int64_t bin = 0; bin < bins; ++bin) {
    Side& side = bin < left_bins ? measured.left : measured.right;
    side.rows += static_cast<int64_t>(counts[bin]);
    for (size_t c = 0; c < classes; ++c)
      side.class_weights[static_cast<size_t>(present_[c])] += sums[static_cast<size_t>(bin) * classes + c];
  }
  const Limits& limits = frame_.limits;
  for (const Side* side : {&measured.left, &measured.right}) {
    const double weight = std::accumulate(side->class_weights.begin(), side->class_weights.end(), 0.0);
    if (side->rows < std::max<int64_t>(1, limits.min_samples_leaf) || weight < limits.min_weight_leaf) return false;
  }
  const double *right = measured.right.class_weights.data(), *left = measured.left.class_weights.data();
  std::visit(
      [&](const auto& g) {
        measured.gain = g.gain(right, left, static_cast<int>(all_classes_));
        measured.drop = g.drop(right, left, static_cast<int>(all_classes_));
      },
      frame_.criterion);
  if (measured.gain <= 1e-13 * potential_) measured.gain = 0;
  if (start.has_test && measured.gain < start.best.gain) return true;
  measured.test.feature = kLinear;
  measured.test.threshold = threshold;
  measured.test.weights = start.count.vector;
  start.best = std::move(measured);
  start.has_test = true;
  return true;
}

void NodeDescent::tell_half(Start& start, const double* sums) {
  if (measure(start, sums, 1, start.count.low)) {
    start.step = Step::done;
  } else {
    look_between(start, start.low, start.high);
  }
}

void NodeDescent::tell_cut(Start& start, const double* sums) {
  const size_t classes = total_.size();
  const int64_t bins = start.count.edges + 1;
  const double* counts = sums + static_cast<size_t>(bins) * classes;
  const std::vector<uint32_t> rows(counts, counts + bins);
  NodeView view;
  view.total = total_;
  view.weight = weight_;
  view.rows = rows_;
  view.min_samples_leaf = frame_.limits.min_samples_leaf;
  view.min_weight_leaf = frame_.limits.min_weight_leaf;
  view.noise = 1e-13 * potential_;
  const Groups groups{{sums, static_cast<size_t>(bins) * classes}, rows};
  const Best best = std::visit(
      [&](const auto& g) { return scan_groups(g, groups, {}, view, boscage::Start{}, scratch_); }, frame_.criterion);
  const bool zoomed = start.step == Step::zoom;
  const auto edge = [&](int64_t i) {
    return i < 0 ? start.low : i >= start.count.edges ? start.high : start.count.edge(i);
  };
  start.step = Step::done;
  if (best.gain < 0) {  // no edge is allowed: there may be one inside the fullest bin
    if (start.has_test || ++start.rounds > kMostZooms) return;
    const int64_t fullest = std::max_element(rows.begin(), rows.end()) - rows.begin();
    return cut_between(start, edge(fullest - 1), edge(fullest), Step::cut);
  }
  const int64_t left = best.position - 1;
  int64_t right = best.position;
  while (right + 1 < bins && rows[static_cast<size_t>(right)] == 0) ++right;
  const double low = edge(left), high = edge(right - 1), mid = low / 2 + high / 2;
  measure(start, sums, best.position, low <= mid && mid <= high ? mid : low);
  const bool is_exact = rows[static_cast<size_t>(left)] <= 1 && rows[static_cast<size_t>(right)] <= 1;
  if (!zoomed && !is_exact) cut_between(start, edge(left - 1), edge(right), Step::zoom);
}

}  // namespace boscage
