#include "families/oblique/soft/descent.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "base/index.hpp"
#include "base/rng.hpp"
#include "families/oblique/soft/soft_entropy.hpp"
#include "grow/number_side.hpp"

namespace boscage {

namespace {

// Starts tried beyond n_init while no start has led to a valid cut.
constexpr size_t kMoreStarts = 2;
// Bins of the question where the weight lies.
constexpr size_t kMassBins = 256;
// Bins are made afresh while one that holds several classes has more than this many times its share of the weight, a
// few times at most; more often while no edge is allowed.
constexpr double kHeavy = 8;
constexpr int kMostCuts = 3, kMostForbidden = 12;
// A column whose variance is less than this share of its mean square does not vary: the rest is rounding.
constexpr double kRelativeNoise = 1e-11;

// Numbers of this much variance, in units of half their range squared, count as equal: sums say no more.
constexpr double kNoVariance = 1e-15;

double between(double low, double high, double share) { return low * (1 - share) + high * share; }

// The ends of a bin, where those of the outermost are not edges.
double lower_end(std::span<const double> edges, size_t bin, double low) { return bin == 0 ? low : edges[bin - 1]; }
double upper_end(std::span<const double> edges, size_t bin, double high) {
  return bin == edges.size() ? high : edges[bin];
}

// Edges between bins of equal width.
std::vector<double> even_edges(double low, double high, size_t bins) {
  std::vector<double> edges;
  for (size_t i = 1; i < bins; ++i)
    edges.push_back(between(low, high, static_cast<double>(i) / static_cast<double>(bins)));
  return edges;
}

// Edges between bins of about equal weight, as if it were spread evenly inside each old bin.
std::vector<double> mass_edges(std::span<const double> old, std::span<const double> mass, double low, double high,
                               size_t bins) {
  const double all = std::accumulate(mass.begin(), mass.end(), 0.0);
  std::vector<double> edges;
  double below = 0;
  size_t next = 1;
  for (size_t bin = 0; bin < mass.size(); ++bin) {
    for (; next < bins; ++next) {
      const double wanted = all * (static_cast<double>(next) / static_cast<double>(bins)) - below;
      if (!(wanted <= mass[bin]) || !(mass[bin] > 0)) break;
      const double share = std::clamp(wanted / mass[bin], 0.0, 1.0);
      edges.push_back(between(lower_end(old, bin, low), upper_end(old, bin, high), share));
    }
    below += mass[bin];
  }
  return edges;
}

}  // namespace

NodeDescent::NodeDescent(const DescentFrame& frame, const Node& node)
    : frame_(frame), path_(node.path), weight_(node.weight), rows_(node.rows), all_classes_(node.sums.size()) {
  if (is_numbers()) {
    total_.assign(node.sums.begin(), node.sums.end());
    soft_ = SoftNumbers(total_.size() - 1);
    soft_.all = weight_;
    soft_.error = node.numbers->report;
    for (size_t j = 0; j < soft_.outputs(); ++j) soft_.mean[j] = total_[j + 1];
    soft_.finish();
    factor_.assign(2 * soft_.outputs(), 0.0);
  } else {
    for (size_t k = 0; k < all_classes_; ++k) {
      if (!(node.sums[k] > 0)) continue;
      present_.push_back(static_cast<int32_t>(k));
      total_.push_back(node.sums[k]);
    }
    potential_ = visit_classes([&](const auto& g) { return g.total(total_.data(), static_cast<int>(total_.size())); },
                               frame.criterion);
    factor_.assign(total_.size(), 0.0);
  }
  for (size_t j = 0; j < frame.columns(); ++j)
    if (frame.scaling.inverse[j] > 0) columns_.push_back(j);
  begin_starts();
}

ObliqueLeaf NodeDescent::leaf() const {
  ObliqueLeaf leaf;
  if (is_numbers()) return leaf;
  leaf.number.assign(all_classes_, -1);
  leaf.classes = static_cast<int32_t>(present_.size());
  for (size_t c = 0; c < present_.size(); ++c) leaf.number[to_size(present_[c])] = static_cast<int32_t>(c);
  return leaf;
}

void NodeDescent::ask(int32_t leaf, std::vector<ObliqueTask>& tasks) const {
  if (phase_ == Phase::spread) tasks.push_back({Wanted::spread, leaf, {}, {}});
  for (const Start& start : starts_) {
    if (start.step == Step::done) continue;
    if (start.step == Step::descend) {
      std::vector<double> theta = spread_out(start.optimiser.point());
      theta.push_back(start.optimiser.point().back());
      tasks.push_back({Wanted::sides, leaf, std::move(theta), {}});
    } else {
      tasks.push_back(start.count);
      tasks.back().leaf = leaf;
    }
  }
}

size_t NodeDescent::answer_size(const Start& start) const {
  if (start.step == Step::descend) return factor_.size() * (frame_.columns() + 3);
  return start.count.bins() * (start.step == Step::mass ? 1 : total_.size() + (is_numbers() ? 2 : 1));
}

void NodeDescent::tell(std::span<const double> sums) {
  if (phase_ == Phase::spread) {
    const size_t size = 2 * frame_.columns();
    if (sums.size() < size) throw std::invalid_argument("sums do not fit what was asked for.");
    if (!find_columns(sums.first(size))) return;
    sums = sums.subspan(size);
  }
  for (Start& start : starts_) {
    if (start.step == Step::done) continue;
    const size_t size = answer_size(start);
    if (sums.size() < size) throw std::invalid_argument("sums do not fit what was asked for.");
    const double* mine = sums.data();
    sums = sums.subspan(size);
    if (start.step == Step::descend) {
      tell_sides(start, mine);
    } else if (start.step == Step::mass) {
      cut_evenly(start, {mine, size});
    } else if (start.step == Step::half) {
      tell_half(start, mine);
    } else {
      tell_cut(start, mine);
    }
  }
  settle();
}

// Columns that vary among the rows; the others get no weight. False if not all do that were taken to: the starts are
// then made again.
bool NodeDescent::find_columns(std::span<const double> spread) {
  const size_t d = frame_.columns();
  std::vector<size_t> vary;
  for (const size_t j : columns_) {
    const double mean = spread[j] / weight_, square = spread[d + j] / weight_;
    if (square - mean * mean > kRelativeNoise * square) vary.push_back(j);
  }
  phase_ = vary.empty() ? Phase::done : Phase::starts;
  if (vary.size() == columns_.size()) return phase_ == Phase::starts;
  columns_ = std::move(vary);
  begin_starts();
  return false;
}

void NodeDescent::begin_starts() {
  starts_.clear();
  for (int s = 0; s < frame_.options.n_init && !columns_.empty(); ++s) begin_start();
}

void NodeDescent::begin_start() {
  const size_t size = columns_.size(), all = frame_.columns() + 1;
  const double length = start_length(frame_.options.scale, size + 1);
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
  if (!has_test && starts_.size() < to_size(frame_.options.n_init) + kMoreStarts) return begin_start();
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
  const size_t classes = factor_.size(), d = frame_.columns(), width = d + 3, size = columns_.size();
  std::vector<double>& sides = scratch_;
  sides.clear();
  for (size_t c = 0; c < classes; ++c) sides.insert(sides.end(), {sums[c * width], sums[c * width + 1]});
  const std::vector<double> theta(start.optimiser.point().begin(), start.optimiser.point().end());
  const double penalty = frame_.options.l2 / std::sqrt(weight_);
  double squares = 0;
  for (size_t j = 0; j < size; ++j) squares += theta[j] * theta[j];
  const double left =
      is_numbers() ? error_of_sides(sides.data(), soft_, factor_) : entropy_of_sides(sides.data(), weight_, factor_);
  start.optimiser.tell_value(left + 0.5 * penalty * squares);
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
    shift += weights[j] * frame_.scaling.centre[j];
    const auto [least, most] = std::minmax({weights[j] * frame_.low[j], weights[j] * frame_.high[j]});
    low += least;
    high += most;
  }
  start.count.vector = std::move(weights);
  start.step = Step::done;
  if (!std::isfinite(low) || !std::isfinite(high)) return;
  start.low = low;
  start.high = high;
  if (frame_.options.recut) return find_mass(start);
  wait_for(start, Wanted::cut, {shift - start.optimiser.best().back()}, Step::half);
}

// Edges that lie inside the known range; without any there is nothing to wait for.
void NodeDescent::wait_for(Start& start, Wanted wanted, std::vector<double> edges, Step step) {
  if (step != Step::half) std::erase_if(edges, [&](double edge) { return edge < start.low || edge >= start.high; });
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  start.count.wanted = wanted;
  start.step = edges.empty() ? Step::done : step;
  start.count.edges = std::move(edges);
}

void NodeDescent::find_mass(Start& start) {
  wait_for(start, Wanted::mass, even_edges(start.low, start.high, kMassBins), Step::mass);
}

// Bins of about equal weight, given the weight in the present ones.
void NodeDescent::cut_evenly(Start& start, std::span<const double> mass) {
  const std::vector<double> old = std::move(start.count.edges);
  const auto is_full = [](double weight) { return weight > 0; };
  const auto first = to_size(std::find_if(mass.begin(), mass.end(), is_full) - mass.begin());
  const auto after = to_size(std::find_if(mass.rbegin(), mass.rend(), is_full).base() - mass.begin());
  if (first >= after) throw std::invalid_argument("a node has no rows: the rows have changed.");
  const double low = lower_end(old, first, start.low), high = upper_end(old, after - 1, start.high);
  auto edges = mass_edges(old, mass, start.low, start.high, to_size(frame_.options.bins));
  start.low = low;
  start.high = high;
  wait_for(start, Wanted::cut, std::move(edges), Step::cut);
}

void NodeDescent::zoom(Start& start, double low, double high) {
  wait_for(start, Wanted::cut, even_edges(low, high, to_size(frame_.options.bins)), Step::zoom);
}

void NodeDescent::sum_sides(const Start& start, const double* sums, size_t left_bins, MeasuredTest& measured) const {
  const size_t classes = total_.size(), bins = start.count.bins();
  const double* counts = sums + bins * classes;
  if (is_numbers()) {
    NumberSums sides[2] = {NumberSums(soft_.outputs()), NumberSums(soft_.outputs())};
    for (size_t bin = 0; bin < bins; ++bin) {
      NumberSums& side = sides[bin >= left_bins];
      side.rows += static_cast<int64_t>(counts[bin]);
      side.report += counts[bins + bin];
      for (size_t k = 0; k < classes; ++k) side.sums[k] += sums[bin * classes + k];
    }
    for (const bool is_right : {false, true}) {
      const NumberSums& found = sides[is_right];
      const double weight = found.sums[0];
      if (!(weight > 0)) continue;
      const bool is_constant =
          SquaredError{}.total(found.sums.data(), static_cast<int>(classes), found.report) <= kNoVariance * weight;
      Side& side = is_right ? measured.right : measured.left;
      sides[is_right].outputs = frame_.numbers->outputs;
      side = number_side(std::move(sides[is_right]), frame_.numbers->grid);
      if (!is_constant) continue;
      for (OutputFacts& output : side.numbers->outputs) output.low = output.high = output.value;
    }
    return;
  }
  for (Side* side : {&measured.left, &measured.right}) side->sums.assign(all_classes_, 0.0);
  for (size_t bin = 0; bin < bins; ++bin) {
    Side& side = bin < left_bins ? measured.left : measured.right;
    side.rows += static_cast<int64_t>(counts[bin]);
    for (size_t c = 0; c < classes; ++c) side.sums[to_size(present_[c])] += sums[bin * classes + c];
  }
}

// The test with the first `left_bins` bins on the left; kept if it is not worse than the one that is known.
bool NodeDescent::measure(Start& start, const double* sums, size_t left_bins, double threshold) {
  MeasuredTest measured;
  sum_sides(start, sums, left_bins, measured);
  const Limits& limits = frame_.limits;
  for (const Side* side : {&measured.left, &measured.right}) {
    const double weight = side->weight();
    if (side->rows < std::max<int64_t>(1, limits.min_samples_leaf) || weight < limits.min_weight_leaf) return false;
  }
  const double *right = measured.right.sums.data(), *left = measured.left.sums.data();
  const auto size = static_cast<int>(all_classes_);
  if (is_numbers()) {
    measured.gain = SquaredError{}.gain(right, left, size);
    if (measured.gain <= SquaredError{}.noise(total_.data(), size)) measured.gain = 0;
    measured.drop = measured.gain;
  } else {
    visit_classes(
        [&](const auto& g) {
          measured.gain = g.gain(right, left, size);
          measured.drop = g.drop(right, left, size);
        },
        frame_.criterion);
    if (measured.gain <= 1e-13 * potential_) measured.gain = 0;
  }
  if (start.has_test && measured.gain < start.best.gain) return true;
  measured.test.feature = kLinear;
  measured.test.threshold = threshold;
  measured.test.weights = start.count.vector;
  start.best = std::move(measured);
  start.has_test = true;
  return true;
}

// Does a bin hold rows that a test could tell apart?
bool NodeDescent::is_mixed(const Start& start, const double* sums, size_t bin) const {
  const size_t classes = total_.size(), bins = start.count.bins();
  const double* here = sums + bin * classes;
  if (!is_numbers()) return std::count_if(here, here + classes, [](double w) { return w > 0; }) > 1;
  const double report = sums[bins * (classes + 1) + bin];
  return here[0] > 0 && SquaredError{}.total(here, static_cast<int>(classes), report) > kNoVariance * here[0];
}

void NodeDescent::tell_half(Start& start, const double* sums) {
  if (measure(start, sums, 1, start.count.edges.front())) {
    start.step = Step::done;
  } else {
    find_mass(start);
  }
}

void NodeDescent::tell_cut(Start& start, const double* sums) {
  const size_t classes = total_.size(), bins = start.count.bins();
  const double* counts = sums + bins * classes;
  const std::vector<int64_t> rows(counts, counts + bins);
  NodeView view;
  view.total = total_;
  view.weight = weight_;
  view.rows = rows_;
  view.min_samples_leaf = frame_.limits.min_samples_leaf;
  view.min_weight_leaf = frame_.limits.min_weight_leaf;
  const Groups groups{{sums, bins * classes}, rows};
  Best best;
  if (is_numbers()) {
    view.noise = SquaredError{}.noise(total_.data(), static_cast<int>(classes));
    best = scan_groups(SquaredError{}, groups, {}, view, boscage::Start{}, scratch_);
  } else {
    view.noise = 1e-13 * potential_;
    best = visit_classes([&](const auto& g) { return scan_groups(g, groups, {}, view, boscage::Start{}, scratch_); },
                         frame_.criterion);
  }
  const bool is_zoomed = start.step == Step::zoom;
  start.step = Step::done;
  double low = 0, high = 0;  // of the bins beside the best edge
  if (best.gain >= 0) {
    const auto left = to_size(best.position) - 1;
    size_t right = left + 1;
    while (right + 1 < bins && rows[right] == 0) ++right;
    const std::vector<double>& edges = start.count.edges;
    low = lower_end(edges, left, start.low);
    high = upper_end(edges, right, start.high);
    // Every threshold from one edge to the other divides the rows alike.
    measure(start, sums, left + 1,
            std::clamp(between(edges[left], edges[right - 1], 0.5), edges[left], edges[right - 1]));
  }
  if (is_zoomed) return;
  std::vector<double> mass(bins, 0.0);
  bool is_heavy = false;
  for (size_t bin = 0; bin < bins; ++bin) {
    const std::span<const double> here{sums + bin * classes, classes};
    mass[bin] = is_numbers() ? here.front() : std::accumulate(here.begin(), here.end(), 0.0);
    is_heavy |= is_mixed(start, sums, bin) && mass[bin] * static_cast<double>(frame_.options.bins) > kHeavy * weight_;
  }
  ++start.cuts;
  if (start.cuts < (start.has_test ? (is_heavy ? kMostCuts : 0) : kMostForbidden)) return cut_evenly(start, mass);
  if (start.has_test) zoom(start, low, high);
}

}  // namespace boscage
