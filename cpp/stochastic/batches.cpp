#include "stochastic/batches.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace boscage::stochastic {

namespace {

// Numbers of X that stay in the cache while all steps of a route read them.
constexpr int64_t kTileNumbers = 1 << 13;

}  // namespace

size_t Route::size(const SumShape& shape) const {
  if (steps.empty()) return shape.size();
  size_t numbers = 0;
  for (const RouteStep& step : steps) {
    if (!step.is_wanted) continue;
    numbers += shape.size() * (static_cast<size_t>(step.division.sum_left) + step.division.sum_right) + 2;
  }
  return numbers;
}

template <class T>
RouteSums<T>::RouteSums(const Route& route, const Frame& frame, const SumShape& shape)
    : route_(route),
      frame_(frame),
      shape_(shape),
      tile_rows_(std::clamp<int64_t>(kTileNumbers / std::max<int64_t>(frame.columns, 1), 16, kBlockRows)),
      reach_(route.steps.size() * static_cast<size_t>(tile_rows_)) {
  frame_.norm.resize(static_cast<size_t>(frame.unit_rows ? tile_rows_ : 0));
}

template <class T>
void RouteSums<T>::add(const TrainingRows<Matrix<T>>& rows, int64_t begin, int64_t end, int64_t first, double* out) {
  const Matrix<T>& X = rows.X;
  for (int64_t at = begin; at < end; at += tile_rows_) {
    const int64_t count = std::min(tile_rows_, end - at);
    Matrix<T> tile{X.data + at * X.row_stride, count, X.columns, X.row_stride, 1};
    if (X.column_stride != 1) {
      copy_.resize(static_cast<size_t>(count * X.columns));
      for (int64_t j = 0; j < X.columns; ++j)
        for (int64_t i = 0; i < count; ++i) copy_[static_cast<size_t>(i * X.columns + j)] = X(at + i, j);
      tile = {copy_.data(), count, X.columns, X.columns, 1};
    }
    measure_norms(frame_, tile, 0, count, first + at, frame_.norm.data());
    const auto from = static_cast<size_t>(at), n = static_cast<size_t>(count);
    const auto weight = rows.weight.empty() ? rows.weight : rows.weight.subspan(from, n);
    add_tile({tile, rows.label.subspan(from, n), weight, rows.classes}, out);
  }
}

template <class T>
void RouteSums<T>::add_tile(const TrainingRows<Matrix<T>>& tile, double* out) {
  NodeBlock all;
  all.count = tile.size();
  if (route_.steps.empty()) {
    add_block(tile, frame_, all, out);
    return;
  }
  const auto reach_of = [&](int32_t step) {
    return step < 0 ? nullptr : reach_.data() + static_cast<int64_t>(step) * tile_rows_;
  };
  for (size_t i = 0; i < route_.steps.size(); ++i) {
    const RouteStep& step = route_.steps[i];
    NodeBlock node = all;
    node.reach = i == 0 ? nullptr : reach_of(static_cast<int32_t>(i));
    node.left = reach_of(step.left);
    node.right = reach_of(step.right);
    if (step.division.sum_left) node.left_sums = std::exchange(out, out + shape_.size());
    if (step.division.sum_right) node.right_sums = std::exchange(out, out + shape_.size());
    divide_block(tile, frame_, std::span<const Division>(&step.division, 1), std::span<NodeBlock>(&node, 1));
    if (!step.is_wanted) continue;
    *out++ += static_cast<double>(node.counts[0]);
    *out++ += static_cast<double>(node.counts[1]);
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

int32_t BatchGrowth::place_of(int32_t node) {
  const Node& here = grower_->node(node);
  place_of_.resize(grower_->size(), -1);
  if (node == 0) return place_of_[0] = 0;
  if (place_of_[static_cast<size_t>(node)] >= 0) return place_of_[static_cast<size_t>(node)];
  const auto above = static_cast<size_t>(place_of(here.parent));
  int32_t place = here.is_right ? places_[above].right : places_[above].left;
  if (place < 0) {
    place = static_cast<int32_t>(places_.size());
    (here.is_right ? places_[above].right : places_[above].left) = place;
    places_.emplace_back();
  }
  return place_of_[static_cast<size_t>(node)] = place;
}

// Grows from the root with what is known, taking leaves of unknown sums for final. A leaf that can be split in the
// end is among those met: knowing more can only bring others before it.
void BatchGrowth::replay(std::vector<int32_t>& unknown) {
  Side root;
  root.rows = rows_;
  root.class_weights = root_weights_;
  grower_.emplace(std::move(root), limits_, order_);
  place_of_.clear();
  std::vector<Request> requests;
  while (!(requests = grower_->ask()).empty()) {
    for (const Request& request : requests) {
      const Place& place = places_[static_cast<size_t>(place_of(request.node))];
      if (!place.is_solved) unknown.push_back(request.node);
      grower_->tell(request.node, place.is_solved ? place.proposal : Proposal{});
    }
  }
}

std::optional<Route> BatchGrowth::ask(int64_t most_numbers) {
  route_ = {};
  nodes_.clear();
  if (root_weights_.empty()) return route_;
  std::vector<int32_t> unknown, parents;
  replay(unknown);
  if (unknown.empty()) return std::nullopt;
  for (const int32_t node : unknown) parents.push_back(grower_->node(node).parent);
  std::sort(parents.begin(), parents.end());
  parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
  // As many nodes as a message can hold; the others wait for the next pass.
  const auto room = static_cast<size_t>(std::max<int64_t>(1, most_numbers / static_cast<int64_t>(shape_.size() + 2)));
  if (parents.size() > room) parents.resize(room);
  for (const int32_t parent : parents)
    for (int32_t at = parent; at >= 0; at = grower_->node(at).parent) nodes_.push_back(at);
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
    const double summed_at = places_[static_cast<size_t>(place_of(node))].known.summed_at;
    if (step.is_wanted) choose_sides(*grower_, node, summed_at, step.division);
    route_.steps.push_back(std::move(step));
  }
  return route_;
}

void BatchGrowth::tell(std::span<const double> sums, Pool& pool, Control& control) {
  if (sums.size() != route_.size(shape_)) throw std::invalid_argument("sums do not fit the route that was asked for.");
  std::vector<int32_t> fresh;
  if (root_weights_.empty()) {
    KnownSums& root = places_[0].known;
    root.sums.assign(sums.begin(), sums.end());
    root.count = rows_;
    for (int32_t k = 0; k < shape_.classes; ++k)
      root_weights_.push_back(sums[static_cast<size_t>(k * shape_.stride())]);
    for (const double weight : root_weights_) root.summed_at += weight;
    fresh.push_back(0);
  }
  const double* at = sums.data();
  for (size_t i = 0; i < route_.steps.size(); ++i) {
    const RouteStep& step = route_.steps[i];
    if (!step.is_wanted) continue;
    const int32_t parent = nodes_[i], left = grower_->node(parent).left, right = grower_->node(parent).right;
    const int32_t left_place = place_of(left), right_place = place_of(right);
    Place& from = places_[static_cast<size_t>(place_of(parent))];
    KnownSums &l = places_[static_cast<size_t>(left_place)].known, &r = places_[static_cast<size_t>(right_place)].known;
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
  solve_places(fresh, pool, control);
}

void BatchGrowth::solve_places(const std::vector<int32_t>& places, Pool& pool, Control& control) {
  SolveSettings settings = settings_;
  settings.control = &control;
  pool.parallel_for(static_cast<int64_t>(places.size()), [&](int64_t i, int) {
    control.check();
    Place& place = places_[static_cast<size_t>(places[static_cast<size_t>(i)])];
    const NodeSums sums = finish(place.known.sums, shape_, frame_);
    place.proposal.tests =
        measure(sums, solve(sums, criterion_, settings), place.known.count, criterion_, limits_.min_weight_leaf);
    place.is_solved = true;
  });
}

template class RouteSums<float>;
template class RouteSums<double>;

}  // namespace boscage::stochastic
