#include "families/stochastic/batches.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "base/index.hpp"

namespace boscage::stochastic {

namespace {

size_t centred_size(const SumShape& shape, const std::vector<double>& mean) {
  return mean.empty() ? 0 : to_size(shape.decided()) * mean.size() + 1;
}

std::vector<const Division*> divisions_of(const Route& route) {
  std::vector<const Division*> divisions;
  for (const RouteStep& step : route.steps) divisions.push_back(&step.division);
  return divisions;
}

}  // namespace

size_t Route::size(const SumShape& shape) const {
  if (steps.empty()) return root_mean.empty() ? shape.size() : centred_size(shape, root_mean);
  size_t numbers = 0;
  for (const RouteStep& step : steps) {
    if (step.is_wanted) numbers += shape.size() * (to_size(step.division.sum_left) + step.division.sum_right) + 2;
    for (const auto& mean : step.mean) numbers += centred_size(shape, mean);
  }
  return numbers;
}

template <class T>
RouteSums<T>::RouteSums(const Route& route, const Frame& frame, const SumShape& shape)
    : route_(route),
      frame_(frame),
      shape_(shape),
      sums_(frame, shape.classes, shape.numbers ? shape.outputs() : 0, divisions_of(route)),
      reach_(to_size(sums_.most_rows()) * route.steps.size()),
      counts_(2 * route.steps.size()) {
  for (const RouteStep& step : route.steps)
    for (const auto& mean : step.mean)
      if (!mean.empty()) centred_.emplace_back(to_size(kBlockRows));
}

template <class T>
void RouteSums<T>::add(const TrainingRows<Matrix<T>>& rows, int64_t begin, int64_t end, int64_t first, double* out) {
  sums_.clear();
  std::fill(counts_.begin(), counts_.end(), 0);
  for (int64_t at = begin; at < end; at += sums_.most_rows()) {
    sums_.load(rows, nullptr, nullptr, at, std::min(sums_.most_rows(), end - at));
    sums_.measure(frame_, rows.X, at, first);
    divide(at - begin);
    sums_.add();
  }
  const Matrix<T>& X = rows.X;
  const auto from = to_size(begin), n = to_size(end - begin);
  unload({{X.data + begin * X.row_stride, end - begin, X.columns, X.row_stride, X.column_stride},
          rows.label.empty() ? rows.label : rows.label.subspan(from, n),
          rows.weight.empty() ? rows.weight : rows.weight.subspan(from, n),
          rows.classes,
          rows.value.empty() ? rows.value : rows.value.subspan(from * to_size(rows.outputs), n * to_size(rows.outputs)),
          rows.outputs},
         out);
}

template <class T>
void RouteSums<T>::divide(int64_t offset) {
  if (route_.steps.empty()) return sums_.take_all(nullptr);
  const auto reach_of = [&](int32_t step) { return step < 0 ? nullptr : reach_.data() + step * sums_.most_rows(); };
  size_t centred = 0;
  for (size_t i = 0; i < route_.steps.size(); ++i) {
    const RouteStep& step = route_.steps[i];
    // A side that is summed about its mean has no test yet, so it is no step.
    double* left = step.mean[0].empty() ? reach_of(step.left) : centred_[centred++].data() + offset;
    double* right = step.mean[1].empty() ? reach_of(step.right) : centred_[centred++].data() + offset;
    const auto number = static_cast<int32_t>(i);
    sums_.divide(number, i == 0 ? nullptr : reach_of(number), left, right, counts_.data() + 2 * i);
  }
}

// Sums about a mean row, made by the function of growth in memory from the whole block.
template <class T>
double* RouteSums<T>::centre(const TrainingRows<Matrix<T>>& block, const double* reach, const std::vector<double>& mean,
                             double* out) {
  frame_.norm.resize(to_size(frame_.unit_rows ? block.size() : 0));
  if (frame_.unit_rows) measure_norms(frame_, block.X, 0, block.size(), 0, frame_.norm.data());
  NodeBlock node;
  node.count = block.size();
  node.reach = reach;
  add_centred(block, frame_, node, mean.data(), out);
  return out + centred_size(shape_, mean);
}

template <class T>
void RouteSums<T>::unload(const TrainingRows<Matrix<T>>& block, double* out) {
  const auto take = [&](int64_t side) { out = sums_.finish(side, out); };
  if (!route_.root_mean.empty())
    centre(block, nullptr, route_.root_mean, out);
  else if (route_.steps.empty())
    take(0);
  int64_t side = 0;
  size_t centred = 0;
  for (size_t i = 0; i < route_.steps.size(); ++i) {
    const RouteStep& step = route_.steps[i];
    if (step.division.sum_left) take(side++);
    if (step.division.sum_right) take(side++);
    if (step.is_wanted) {
      *out++ = static_cast<double>(counts_[2 * i]);
      *out++ = static_cast<double>(counts_[2 * i + 1]);
    }
    for (const auto& mean : step.mean)
      if (!mean.empty()) out = centre(block, centred_[centred++].data(), mean, out);
  }
}

BatchGrowth::BatchGrowth(Frame frame, SumShape shape, int64_t rows, AnyCriterion criterion, SolveSettings settings,
                         Limits limits, Order order)
    : frame_(std::move(frame)),
      shape_(shape),
      rows_(rows),
      criterion_(std::move(criterion)),
      settings_(settings),
      limits_(limits),
      order_(order) {}

std::optional<Route> BatchGrowth::ask(int64_t most_numbers) {
  route_ = {};
  nodes_.clear();
  if (!root_) return route_;
  std::vector<int32_t> parents, centred;
  const auto unknown = replay(*root_, limits_, order_);
  if (unknown.empty()) return std::nullopt;
  for (const int32_t node : unknown) {
    if (places_[to_size(place_of(node))].mean.empty())
      parents.push_back(grower_->node(node).parent);
    else
      centred.push_back(node);
  }
  if (!centred.empty() && centred[0] == 0) {
    route_.root_mean = places_[0].mean;
    return route_;
  }
  std::sort(parents.begin(), parents.end());
  parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
  // As many nodes as a message can hold; the others wait for the next pass.
  const auto room = to_size(std::max<int64_t>(1, most_numbers / static_cast<int64_t>(shape_.size() + 2)));
  if (parents.size() > room) parents.resize(room);
  if (centred.size() > room) centred.resize(room);
  const auto add_path = [&](int32_t at) {
    for (; at >= 0; at = grower_->node(at).parent) nodes_.push_back(at);
  };
  for (const int32_t parent : parents) add_path(parent);
  for (const int32_t node : centred) add_path(grower_->node(node).parent);
  std::sort(centred.begin(), centred.end());
  std::sort(nodes_.begin(), nodes_.end());
  nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
  const auto step_of = [&](int32_t node) {
    const auto found = std::lower_bound(nodes_.begin(), nodes_.end(), node);
    return found != nodes_.end() && *found == node ? static_cast<int32_t>(found - nodes_.begin()) : -1;
  };
  for (const int32_t node : nodes_) {
    RouteStep step;
    step.division = divide_by_test(*grower_, node, frame_);
    step.weights = grower_->test(node).weights;
    step.left = step_of(grower_->node(node).left);
    step.right = step_of(grower_->node(node).right);
    step.is_wanted = std::binary_search(parents.begin(), parents.end(), node);
    const double summed_at = places_[to_size(place_of(node))].known.summed_at;
    if (step.is_wanted) choose_sides(*grower_, node, summed_at, step.division);
    const int32_t sides[2] = {grower_->node(node).left, grower_->node(node).right};
    for (size_t side = 0; side < 2; ++side)
      if (std::binary_search(centred.begin(), centred.end(), sides[side]))
        step.mean[side] = places_[to_size(place_of(sides[side]))].mean;
    route_.steps.push_back(std::move(step));
  }
  return route_;
}

void BatchGrowth::tell(std::span<const double> sums, Pool& pool, Control& control) {
  if (sums.size() != route_.size(shape_)) throw std::invalid_argument("sums do not fit the route that was asked for.");
  std::vector<int32_t> fresh;
  const double* at = sums.data();
  SolveSettings settings = settings_;
  settings.control = &control;
  // The node was seen before: its sums wait for those about its mean row.
  const auto take_centred = [&](SumsPlace& place) {
    const size_t size = centred_size(shape_, place.mean);
    const NodeSums known = with_centred(finish(place.known.sums, shape_, frame_), {at, at + size});
    at += size;
    solve_place(place, known, settings);
  };
  if (!route_.root_mean.empty()) {
    take_centred(places_[0]);
  } else if (!root_) {
    KnownSums& root = places_[0].known;
    root.sums.assign(sums.begin(), sums.end());
    root.count = rows_;
    root_ = whole_side(sums, shape_, rows_);
    root.summed_at = root_->weight();
    fresh.push_back(0);
  }
  for (size_t i = 0; i < route_.steps.size(); ++i) {
    const RouteStep& step = route_.steps[i];
    if (step.is_wanted) take_sides(i, at, fresh);
    const int32_t sides[2] = {grower_->node(nodes_[i]).left, grower_->node(nodes_[i]).right};
    for (size_t side = 0; side < 2; ++side)
      if (!step.mean[side].empty()) take_centred(places_[to_size(place_of(sides[side]))]);
  }
  solve_places(fresh, pool, control);
}

// The sums of the children of a wanted step; the open ones are then ready to be solved.
void BatchGrowth::take_sides(size_t i, const double*& at, std::vector<int32_t>& fresh) {
  const RouteStep& step = route_.steps[i];
  const int32_t parent = nodes_[i], left = grower_->node(parent).left, right = grower_->node(parent).right;
  const int32_t left_place = place_of(left), right_place = place_of(right);
  SumsPlace& from = places_[to_size(place_of(parent))];
  KnownSums &l = places_[to_size(left_place)].known, &r = places_[to_size(right_place)].known;
  const auto take = [&](KnownSums& side) {
    side.sums.assign(at, at + shape_.size());
    at += shape_.size();
  };
  if (step.division.sum_left) take(l);
  if (step.division.sum_right) take(r);
  l.count = static_cast<int64_t>(*at++);
  r.count = static_cast<int64_t>(*at++);
  share_sums(*grower_, parent, step.division, shape_, from.known, l, r);
  from.known.sums = {};
  if (grower_->is_open(left)) fresh.push_back(left_place);
  if (grower_->is_open(right)) fresh.push_back(right_place);
}

void BatchGrowth::solve_place(SumsPlace& place, const NodeSums& sums, const SolveSettings& settings) {
  place.proposal.tests = measure(sums, boscage::stochastic::solve(sums, criterion_, settings), place.known.count,
                                 criterion_, limits_.min_weight_leaf);
  place.is_solved = true;
  place.mean.clear();
}

void BatchGrowth::solve_places(const std::vector<int32_t>& places, Pool& pool, Control& control) {
  SolveSettings settings = settings_;
  settings.control = &control;
  pool.parallel_for(signed_size(places), [&](int64_t i, int) {
    control.check();
    SumsPlace& place = places_[to_size(places[to_size(i)])];
    const NodeSums sums = finish(place.known.sums, shape_, frame_);
    if (settings.search == Search::exact && needs_direct_sums(sums))
      place.mean = mean_row(sums);
    else
      solve_place(place, sums, settings);
  });
}

template class RouteSums<float>;
template class RouteSums<double>;

}  // namespace boscage::stochastic
