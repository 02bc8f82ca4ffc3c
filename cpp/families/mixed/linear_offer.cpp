// Offers of linear tests: random columns, a direction from the rows of the node, the best cut along it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/rng.hpp"
#include "families/mixed/node_search.hpp"

namespace boscage::mixed {

namespace {

// Numbers in a tile, at most; fewer columns are drawn where rows are many.
constexpr int64_t kMostValues = 1 << 22;
// Ridge regression takes rows x columns^2.
constexpr int64_t kMostRidgeColumns = 128;
constexpr int64_t kScoredRows = 512;  // at a time, where directions are found from some of the rows

// The nearest number of 24 significant bits: files of forests can hold it in four bytes.
double short_number(double x) {
  constexpr uint64_t half = 1ULL << 28, mask = ~((1ULL << 29) - 1);
  const double rounded = std::bit_cast<double>((std::bit_cast<uint64_t>(x) + half) & mask);
  return std::isfinite(rounded) ? rounded : x;
}

}  // namespace

template <class Target>
int64_t NodeSearch<Target>::column_count(Finder finder) const {
  const auto all = static_cast<uint64_t>(data_.columns());
  int64_t count = data_.options.linear_columns;
  if (count == 0) count = 1 + static_cast<int64_t>(draws_.bits(Draw::column_count, 0) % all);
  if (finder == Finder::ridge) count = std::min(count, kMostRidgeColumns);
  auto rows = static_cast<int64_t>(rows_.size());
  if (data_.options.max_rows > 0) rows = std::min(rows, data_.options.max_rows);
  return std::min(count, std::max<int64_t>(1, kMostValues / rows));
}

template <class Target>
void NodeSearch<Target>::offer_linear(Finder finder) {
  draw_columns(column_count(finder));
  if (s_.columns.empty()) return;
  choose_rows();
  if (!target_.choose(finder, draws_, s_) || !read_tile() || !find_direction(finder) || !make_weights()) return;
  score_rows();
  const CutPlace place = target_.cut(s_.values, s_.cut);
  if (!place.is_valid() || !is_better(place.gain)) return;
  begin_best(place.gain, kLinear);
  best_.test.threshold = place.threshold();
  std::vector<size_t> order(s_.columns.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return s_.columns[a] < s_.columns[b]; });
  for (const size_t j : order) {
    if (s_.weights[j] == 0) continue;
    best_.test.columns.push_back(s_.columns[j]);
    best_.test.weights.push_back(s_.weights[j]);
  }
  for (size_t i = 0; i < rows_.size(); ++i) best_.goes_left[i] = !(s_.values[i] > best_.test.threshold);
}

// The direction in scaled columns, in s_.theta.
template <class Target>
bool NodeSearch<Target>::find_direction(Finder finder) {
  if (finder == Finder::wodt) return find_wodt();
  s_.scale(s_.scaled);
  return target_.ridge(s_);
}

// Random columns that vary here, those of lane 0 first.
template <class Target>
void NodeSearch<Target>::draw_columns(int64_t wanted) {
  RandomColumns order(draws_.seed(Draw::columns), draws_.path, columns_);
  s_.columns.clear();
  while (!order.empty() && static_cast<int64_t>(s_.columns.size()) < wanted) {
    const int32_t column = columns_[order.next()];
    uint8_t& known = s_.known[static_cast<size_t>(column)];
    if (known == kUnknown) known = data_.is_sparse() || s_.reader.varies(rows_, column) ? kVaries : kConstant;
    if (known == kVaries) s_.columns.push_back(column);
  }
  std::sort(s_.columns.begin(), s_.columns.end(),
            [](int32_t a, int32_t b) { return (a & 7) != (b & 7) ? (a & 7) < (b & 7) : a < b; });
  for (int32_t lane = 0; lane <= 8; ++lane) {
    const auto begins = [&](int32_t column) { return (column & 7) >= lane; };
    first_in_lane_[lane] = std::find_if(s_.columns.begin(), s_.columns.end(), begins) - s_.columns.begin();
  }
}

// Positions of the rows of the direction: all, or one from each of max_rows equal stretches.
template <class Target>
void NodeSearch<Target>::choose_rows() {
  const size_t n = rows_.size();
  const auto most = static_cast<size_t>(data_.options.max_rows);
  s_.positions.resize(most > 0 ? std::min(n, most) : n);
  if (s_.positions.size() == n) {
    std::iota(s_.positions.begin(), s_.positions.end(), 0U);
  } else {
    const double stretch = static_cast<double>(n) / static_cast<double>(most);
    for (size_t i = 0; i < most; ++i) {
      const double at = (static_cast<double>(i) + draws_.uniform(Draw::rows, i)) * stretch;
      s_.positions[i] = static_cast<uint32_t>(std::min(n - 1, static_cast<size_t>(at)));
    }
  }
}

// The values of the chosen rows in s_.raw, mean and deviation of the columns; false if no column can be scaled.
template <class Target>
bool NodeSearch<Target>::read_tile() {
  s_.rows.resize(s_.positions.size());
  for (size_t i = 0; i < s_.rows.size(); ++i) s_.rows[i] = rows_[s_.positions[i]];
  s_.reader.read(s_.rows, s_.columns, s_.raw);
  double all = 0;
  for (const uint32_t position : s_.positions) all += target_.weight(position);
  const auto filled = static_cast<size_t>(s_.raw.groups() * kLanes);
  s_.share.assign(filled, 0.0);
  s_.weight.assign(filled, 0.0);
  for (size_t i = 0; i < s_.positions.size(); ++i) {
    s_.weight[i] = target_.weight(s_.positions[i]);
    s_.share[i] = s_.weight[i] / all;
  }
  const size_t m = s_.columns.size();
  s_.mean.resize(m);
  s_.inverse.resize(m);
  s_.memory.resize(m * static_cast<size_t>(kLanes));
  column_scales(s_.raw_view(), s_.share.data(), s_.memory.data(), s_.mean.data(), s_.inverse.data());
  return std::any_of(s_.inverse.begin(), s_.inverse.end(), [](double inverse) { return inverse > 0; });
}

template <class Target>
bool NodeSearch<Target>::find_wodt() {
  const size_t m = s_.columns.size();
  const uint64_t own = draws_.seed(Draw::start);
  const double length = 1.0 / std::sqrt(static_cast<double>(m + 1));
  std::vector<double> start(m + 1);
  for (size_t j = 0; j < m; ++j) start[j] = length * normal(own, draws_.path, s_.columns[j] + 1);
  start[m] = length * normal(own, draws_.path, 0);
  LbfgsOptions options;
  options.max_iter = data_.options.max_iter;
  options.memory = 6;
  if (!target_.wodt(start, options, s_, control_)) return false;
  s_.theta.pop_back();  // the bias: thresholds are found again
  return true;
}

// From the direction in scaled columns to weights in the units of X, the largest of size 1; false if there is none.
template <class Target>
bool NodeSearch<Target>::make_weights() {
  s_.weights.resize(s_.theta.size());
  double largest = 0;
  for (size_t j = 0; j < s_.theta.size(); ++j) {
    s_.weights[j] = s_.theta[j] * s_.inverse[j];
    largest = std::max(largest, std::abs(s_.weights[j]));
    if (!std::isfinite(s_.weights[j])) return false;
  }
  if (!(largest > 0)) return false;
  for (double& weight : s_.weights) weight = short_number(weight / largest);
  return true;
}

// The scores of all rows of the node as prediction computes them.
template <class Target>
void NodeSearch<Target>::score_rows() {
  s_.values.resize(rows_.size());
  const auto score = [&](const Tile<double>& tile) {
    s_.tile_scores.resize(static_cast<size_t>(tile.groups() * kLanes));
    score_tile({tile.group(0), tile.groups(), tile.columns()}, s_.weights.data(), first_in_lane_,
               s_.tile_scores.data());
  };
  if (s_.positions.size() == rows_.size()) {
    score(s_.raw);
    for (size_t i = 0; i < rows_.size(); ++i) s_.values[s_.positions[i]] = s_.tile_scores[i];
    return;
  }
  for (size_t begin = 0; begin < rows_.size(); begin += kScoredRows) {
    control_.check();
    const size_t count = std::min<size_t>(kScoredRows, rows_.size() - begin);
    s_.reader.read(rows_.subspan(begin, count), s_.columns, s_.block);
    score(s_.block);
    std::copy_n(s_.tile_scores.begin(), count, s_.values.begin() + static_cast<std::ptrdiff_t>(begin));
  }
}

template void NodeSearch<ClassTarget>::offer_linear(Finder finder);
template void NodeSearch<NumberTarget>::offer_linear(Finder finder);

}  // namespace boscage::mixed
