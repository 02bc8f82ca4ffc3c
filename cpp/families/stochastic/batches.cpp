#include "families/stochastic/batches.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "base/index.hpp"

namespace boscage::stochastic {

namespace {

// Numbers of X that stay in the cache while all steps of a route read them.
constexpr int64_t kTileNumbers = 1 << 12, kMostTileRows = 512;

}  // namespace

namespace {

size_t centred_size(const SumShape& shape, const std::vector<double>& mean) {
  return mean.empty() ? 0 : to_size(shape.decided()) * mean.size() + 1;
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
      tile_rows_(std::clamp<int64_t>(kTileNumbers / std::max<int64_t>(frame.columns, 1), kRouteRows, kMostTileRows) /
                 kRouteRows * kRouteRows),
      width_((frame.columns + kRouteLanes) / kRouteLanes * kRouteLanes),
      members_(to_size(shape.channels())) {
  for (const RouteStep& step : route.steps) {
    sides_ += static_cast<int64_t>(step.division.sum_left) + step.division.sum_right;
    for (const auto& mean : step.mean)
      if (!mean.empty()) centred_.emplace_back(to_size(kBlockRows + kRouteRows));
  }
  if (route.steps.empty()) sides_ = 1;
  const auto n = to_size(tile_rows_), sides = to_size(sides_);
  const int64_t places = lane_places(frame.columns);
  by_column_.resize(n * to_size(places));
  theta_.resize(route.steps.size() * to_size(places));
  for (size_t i = 0; i < route.steps.size(); ++i)
    for (int64_t j = 0; j < frame.columns; ++j)
      theta_[i * to_size(places) + to_size(lane_place(j, frame.columns))] =
          route.steps[i].division.test.theta[to_size(j)];
  by_row_.resize(n * to_size(width_));
  norm_.assign(n, 1.0);
  weight_.resize(n);
  reach_.resize(n * route.steps.size());
  side_weight_.resize(n * sides);
  side_multiplier_.resize(n * sides);
  counts_.resize(2 * route.steps.size());
  sums_.resize(sides * to_size(shape.channels() * (width_ + 1)));
  if (shape.numbers) {
    value_.resize(n);
    share_weight_.resize(n * sides);
    share_multiplier_.resize(n * sides);
  }
}

template <class T>
void RouteSums<T>::add(const TrainingRows<Matrix<T>>& rows, int64_t begin, int64_t end, int64_t first, double* out) {
  std::fill(sums_.begin(), sums_.end(), 0.0);
  std::fill(counts_.begin(), counts_.end(), 0);
  for (int64_t at = begin; at < end; at += tile_rows_) {
    load(rows, at, std::min(tile_rows_, end - at), first);
    divide(at - begin);
    add_classes();
  }
  const Matrix<T>& X = rows.X;
  const auto from = to_size(begin), n = to_size(end - begin);
  unload({{X.data + begin * X.row_stride, end - begin, X.columns, X.row_stride, X.column_stride},
          rows.label.empty() ? rows.label : rows.label.subspan(from, n),
          rows.weight.empty() ? rows.weight : rows.weight.subspan(from, n),
          rows.classes,
          rows.value.empty() ? rows.value : rows.value.subspan(from, n)},
         out);
}

// Brings a tile into both forms: as the kernels of dense rows see it, shift taken off unless that is done late.
template <class T>
void RouteSums<T>::load(const TrainingRows<Matrix<T>>& rows, int64_t begin, int64_t count, int64_t first) {
  const Matrix<T>& X = rows.X;
  const int64_t d = X.columns, padded = (count + kRouteRows - 1) / kRouteRows * kRouteRows;
  const bool is_shifted = !frame_.centre_late && !frame_.shift.empty();
  if (d % 8 != 0) std::fill(by_column_.begin() + d / 8 * 8 * padded, by_column_.end(), 0.0);
  for (int64_t j = 0; j < d; ++j) {
    const double shift = is_shifted ? frame_.shift[to_size(j)] : 0.0;
    double* column = by_column_.data() + lane_place(j, d) * padded;
    const T* from = X.data + begin * X.row_stride + j * X.column_stride;
    if (X.row_stride == 1) {  // the loop that the compiler makes wide
      for (int64_t i = 0; i < count; ++i) column[i] = static_cast<double>(from[i]) - shift;
    } else {
      for (int64_t i = 0; i < count; ++i) column[i] = static_cast<double>(from[i * X.row_stride]) - shift;
    }
    std::fill(column + count, column + padded, 0.0);
  }
  for (int64_t i = 0; i < padded; i += kRouteLanes)
    for (int64_t j = 0; j < d; ++j)
      for (int64_t r = 0; r < kRouteLanes; ++r)
        by_row_[to_size((i + r) * width_ + j)] = by_column_[to_size(lane_place(j, d) * padded + i + r)];
  for (auto& members : members_) members.clear();
  for (int64_t i = 0; i < count; ++i) {
    by_row_[to_size(i * width_ + d)] = 1.0;
    weight_[to_size(i)] = rows.weight_of(begin + i);
    const auto row = to_size(begin + i);
    if (rows.is_numbers()) {
      value_[to_size(i)] = rows.value[row];
      for (auto& members : members_) members.push_back(static_cast<int32_t>(i));
    } else {
      members_[to_size(rows.label[row])].push_back(static_cast<int32_t>(i));
    }
  }
  std::fill(weight_.begin() + count, weight_.begin() + padded, 0.0);
  tile_ = {padded, d, width_, by_column_.data(), by_row_.data(), norm_.data(), weight_.data()};
  measure(rows, begin, count, first);
}

// Norms as measure_norms makes them; rows whose squares overflow or vanish are left to it.
template <class T>
void RouteSums<T>::measure(const TrainingRows<Matrix<T>>& rows, int64_t begin, int64_t count, int64_t first) {
  if (!frame_.unit_rows) return measure_norms(frame_, rows.X, begin, begin + count, first, nullptr);
  const bool is_shifted = !frame_.centre_late && !frame_.shift.empty();
  const double* shift = is_shifted || frame_.shift.empty() ? nullptr : frame_.shift.data();
  square_tile(tile_, shift, frame_.factor.empty() ? nullptr : frame_.factor.data(), norm_.data());
  for (int64_t i = 0; i < count; ++i) {
    double& norm = norm_[to_size(i)];
    const double square = norm + frame_.constant * frame_.constant;
    if (square > 1e-200 && square < 1e200)
      norm = 1 / std::sqrt(square);
    else
      measure_norms(frame_, rows.X, begin + i, begin + i + 1, first, &norm);
  }
  std::fill(norm_.begin() + count, norm_.begin() + tile_.rows, 0.0);
}

template <class T>
void RouteSums<T>::divide(int64_t offset) {
  const int64_t n = tile_rows_;
  size_t centred = 0;
  if (route_.steps.empty()) {
    for (int64_t i = 0; i < tile_.rows; ++i) {
      side_weight_[to_size(i)] = weight_[to_size(i)];
      side_multiplier_[to_size(i)] = weight_[to_size(i)] * norm_[to_size(i)];
    }
    return;
  }
  const auto reach_of = [&](int32_t step) { return step < 0 ? nullptr : reach_.data() + step * n; };
  int64_t side = 0;
  for (size_t i = 0; i < route_.steps.size(); ++i) {
    const RouteStep& step = route_.steps[i];
    const Division& division = step.division;
    RouteRun run{};
    run.theta = theta_.data() + static_cast<int64_t>(i) * lane_places(tile_.columns);
    run.offset = division.test.offset;
    run.cut_left = division.cut_left;
    run.cut_right = division.cut_right;
    run.reach = i == 0 ? nullptr : reach_of(static_cast<int32_t>(i));
    // A side that is summed about its mean has no test yet, so it is no step.
    run.left = step.mean[0].empty() ? reach_of(step.left) : centred_[centred++].data() + offset;
    run.right = step.mean[1].empty() ? reach_of(step.right) : centred_[centred++].data() + offset;
    if (division.sum_left) {
      run.left_weight = side_weight_.data() + side * n;
      run.left_multiplier = side_multiplier_.data() + side++ * n;
    }
    if (division.sum_right) {
      run.right_weight = side_weight_.data() + side * n;
      run.right_multiplier = side_multiplier_.data() + side++ * n;
    }
    divide_tile(tile_, run);
    counts_[2 * i] += run.counts[0];
    counts_[2 * i + 1] += run.counts[1];
  }
}

template <class T>
void RouteSums<T>::add_classes() {
  std::vector<const double*> weights, multipliers;
  for (int64_t side = 0; side < sides_; ++side) {
    weights.push_back(side_weight_.data() + side * tile_rows_);
    multipliers.push_back(side_multiplier_.data() + side * tile_rows_);
  }
  std::vector<double*> sums(weights.size());
  for (size_t k = 0; k < members_.size(); ++k) {
    if (members_[k].empty()) continue;
    if (shape_.numbers) {
      share_out(static_cast<int>(k), signed_size(members_[k]));
      for (int64_t side = 0; side < sides_; ++side) {
        weights[to_size(side)] = share_weight_.data() + side * tile_rows_;
        multipliers[to_size(side)] = share_multiplier_.data() + side * tile_rows_;
      }
    }
    for (size_t side = 0; side < sums.size(); ++side)
      sums[side] = sums_.data() + (k * sums.size() + side) * to_size(width_ + 1);
    add_to_sums(tile_, members_[k].data(), signed_size(members_[k]), weights.data(), multipliers.data(), sums.data(),
                sides_);
  }
}

// What the rows of a tile have in one channel of numbers.
template <class T>
void RouteSums<T>::share_out(int channel, int64_t count) {
  for (int64_t side = 0; side < sides_; ++side) {
    for (int64_t i = 0; i < count; ++i) {
      const auto at = to_size(side * tile_rows_ + i);
      const double share = number_share(value_[to_size(i)], channel);
      share_weight_[at] = side_weight_[at] * share;
      share_multiplier_[at] = side_multiplier_[at] * share;
    }
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
  const int64_t d = shape_.columns;
  const auto take = [&](int64_t side) {
    for (int32_t k = 0; k < shape_.channels(); ++k) {
      const double* sums = sums_.data() + (k * sides_ + side) * (width_ + 1);
      *out++ = sums[width_];
      *out++ = sums[d];
      out = std::copy(sums, sums + d, out);
    }
  };
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
