#include "axis.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "category_scan.hpp"
#include "column_scan.hpp"

namespace boscage {

namespace {

// Below this many rows x columns a node is one thread's work: starting a round costs more.
constexpr int64_t kParallelWork = 1 << 14;

}  // namespace

AxisSearch::AxisSearch(const AnyMatrix& X, std::span<const int64_t> n_categories, int64_t max_bins, NodeRows& rows,
                       std::span<const double> weight, const AnyCriterion& criterion, const Limits& limits, Pool& pool,
                       const Control& control)
    : X_(X), rows_(rows), criterion_(criterion), limits_(limits), control_(control) {
  columns_ = std::visit(
      [&](const auto& matrix) { return make_columns(matrix, n_categories, max_bins, weight, pool, control); }, X);
  has_bins_ = std::any_of(columns_.begin(), columns_.end(),
                          [](const Column& column) { return column.kind != Column::Kind::sorted; });
  const auto n = static_cast<uint32_t>(rows.size());
  if (rows.is_weighted()) {
    weighted_.resize(n);
    for (uint32_t row = 0; row < n; ++row) weighted_[row] = {rows.weight(row), static_cast<uint32_t>(rows.label(row))};
  } else if (rows.classes() <= 256) {
    small_labels_.resize(n);
    for (uint32_t row = 0; row < n; ++row) small_labels_[row] = static_cast<uint8_t>(rows.label(row));
  } else {
    large_labels_.resize(n);
    for (uint32_t row = 0; row < n; ++row) large_labels_[row] = static_cast<uint32_t>(rows.label(row));
  }
  auto all = std::make_shared<std::vector<int32_t>>(columns_.size());
  std::iota(all->begin(), all->end(), 0);
  features_.push_back(std::move(all));
}

int64_t AxisSearch::work(int32_t id) const {
  return rows_.segment(id).size() * static_cast<int64_t>(features_[static_cast<size_t>(id)]->size());
}

void AxisSearch::reserve_nodes(size_t count) {
  rows_.reserve_nodes(count);
  if (features_.size() < count) features_.resize(count);
}

NodeView AxisSearch::view(const Node& node, int32_t id, AxisScratch& scratch) const {
  if (scratch.node != id) prepare(node, id, scratch);
  NodeView view;
  view.local = scratch.local;
  view.total = scratch.total;
  view.weight = node.weight;
  view.rows = node.rows;
  view.min_samples_leaf = limits_.min_samples_leaf;
  view.min_weight_leaf = limits_.min_weight_leaf;
  // Differences this small are rounding: a cut worth no more counts as worth nothing.
  view.noise = 1e-13 * scratch.potential;
  return view;
}

// Once per node and thread: the classes present, and the rows' classes side by side for counting.
void AxisSearch::prepare(const Node& node, int32_t id, AxisScratch& scratch) const {
  scratch.node = id;
  scratch.local.assign(node.class_weights.size(), 0);
  scratch.total.clear();
  for (size_t c = 0; c < node.class_weights.size(); ++c) {
    if (!(node.class_weights[c] > 0)) continue;
    scratch.local[c] = static_cast<uint32_t>(scratch.total.size());
    scratch.total.push_back(node.class_weights[c]);
  }
  const auto classes = static_cast<int>(scratch.total.size());
  scratch.potential = std::visit([&](const auto& g) { return g.total(scratch.total.data(), classes); }, criterion_);
  if (!has_bins_) return;
  const auto rows = rows_.rows(id);
  scratch.labels.resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) scratch.labels[i] = scratch.local[static_cast<size_t>(rows_.label(rows[i]))];
}

template <class Rows>
Cut AxisSearch::search_column(const Rows& rows, int32_t id, int32_t feature, const NodeView& view,
                              AxisScratch& scratch) const {
  control_.check();
  const Column& column = columns_[static_cast<size_t>(feature)];
  const Segment segment = rows_.segment(id);
  return std::visit(
      [&](const auto& criterion) {
        using Criterion = std::decay_t<decltype(criterion)>;
        if (column.kind == Column::Kind::category) {
          CategoryScan<Criterion, Rows> scan{criterion, rows, view, scratch};
          return scan.search(column, rows_.rows(id));
        }
        ColumnScan<Criterion, Rows> scan{criterion, rows, view, scratch};
        if (column.kind == Column::Kind::binned) return scan.binned(column, rows_.rows(id));
        const auto order =
            std::span(column.order).subspan(static_cast<size_t>(segment.begin), static_cast<size_t>(segment.size()));
        return scan.sorted(column, order);
      },
      criterion_);
}

Proposal AxisSearch::search(const Node& node, int32_t id, std::vector<AxisScratch>& scratch, int thread, Pool* inner) {
  const auto& features = *features_[static_cast<size_t>(id)];
  std::vector<Cut> cuts(features.size());
  const auto search_features = [&](const auto& rows) {
    if (inner == nullptr) {
      auto& mine = scratch[static_cast<size_t>(thread)];
      const NodeView seen = view(node, id, mine);
      for (size_t i = 0; i < features.size(); ++i) cuts[i] = search_column(rows, id, features[i], seen, mine);
      return;
    }
    inner->parallel_for(static_cast<int64_t>(features.size()), [&](int64_t i, int worker) {
      auto& mine = scratch[static_cast<size_t>(worker)];
      const NodeView seen = view(node, id, mine);
      cuts[static_cast<size_t>(i)] = search_column(rows, id, features[static_cast<size_t>(i)], seen, mine);
    });
  };
  if (!weighted_.empty()) {
    search_features(WeightedRows{weighted_.data()});
  } else if (!small_labels_.empty()) {
    search_features(UnitRows<uint8_t>{small_labels_.data()});
  } else {
    search_features(UnitRows<uint32_t>{large_labels_.data()});
  }
  const Cut* best = nullptr;
  auto kept = std::make_shared<std::vector<int32_t>>();
  for (size_t i = 0; i < cuts.size(); ++i) {  // the first column keeps a tie
    cuts[i].feature = features[i];
    if (!cuts[i].is_constant) kept->push_back(features[i]);
    if (cuts[i].gain >= 0 && (best == nullptr || cuts[i].gain > best->gain)) best = &cuts[i];
  }
  if (kept->size() < features.size()) features_[static_cast<size_t>(id)] = std::move(kept);
  Proposal proposal;
  if (best == nullptr) return proposal;
  mark(id, *best);
  auto sides = rows_.measure(id);
  MeasuredTest measured;
  measured.test = make_test(id, *best, sides);
  measured.gain = best->gain;
  measured.drop = std::visit(
      [&](const auto& g) {
        return g.drop(sides.second.class_weights.data(), sides.first.class_weights.data(), rows_.classes());
      },
      criterion_);
  measured.left = std::move(sides.first);
  measured.right = std::move(sides.second);
  proposal.tests.push_back(std::move(measured));
  return proposal;
}

void AxisSearch::mark(int32_t id, const Cut& cut) {
  const Column& column = columns_[static_cast<size_t>(cut.feature)];
  uint8_t* goes_left = rows_.goes_left();
  if (column.kind == Column::Kind::sorted) {
    const Segment segment = rows_.segment(id);
    const uint32_t* order = column.order.data() + segment.begin;
    int64_t present = segment.size();
    if (column.has_missing)
      while (present > 0 && column.is_missing[order[present - 1] & kRowMask]) --present;
    for (int64_t i = 0; i < segment.size(); ++i)
      goes_left[order[i] & kRowMask] = i < present ? i < cut.position : cut.missing_left;
    return;
  }
  for (uint32_t row : rows_.rows(id)) {
    const uint32_t bin = column.bin(row);
    if (bin == column.bins) {
      goes_left[row] = cut.missing_left;
    } else if (column.kind == Column::Kind::category) {
      goes_left[row] = has_category(cut.categories, bin);
    } else {
      goes_left[row] = bin < cut.position;
    }
  }
}

double AxisSearch::threshold_between(int32_t id, const Cut& cut) const {
  const Column& column = columns_[static_cast<size_t>(cut.feature)];
  return std::visit(
      [&]<class T>(const Matrix<T>& X) {
        if (column.kind == Column::Kind::binned) {
          const auto low = column.last[static_cast<size_t>(cut.position - 1)];
          // Exact bins: between the neighbours present here. Coarse ones: the edge of the bin.
          const int64_t next = column.exact ? cut.next_bin : cut.position;
          if (next >= static_cast<int64_t>(column.bins)) return low;
          return middle(static_cast<T>(low), static_cast<T>(column.first[static_cast<size_t>(next)]));
        }
        const Segment segment = rows_.segment(id);
        const uint32_t* order = column.order.data() + segment.begin;
        const T low = X(order[cut.position - 1] & kRowMask, cut.feature);
        if (cut.position >= segment.size()) return static_cast<double>(low);
        const T high = X(order[cut.position] & kRowMask, cut.feature);
        return std::isnan(high) ? static_cast<double>(low) : middle(low, high);
      },
      X_);
}

Test AxisSearch::make_test(int32_t id, const Cut& cut, const std::pair<Side, Side>& sides) const {
  const Column& column = columns_[static_cast<size_t>(cut.feature)];
  Test test;
  test.feature = cut.feature;
  test.missing_left = cut.missing_left;
  const auto weight = [](const Side& side) {
    return std::accumulate(side.class_weights.begin(), side.class_weights.end(), 0.0);
  };
  if (column.kind == Column::Kind::category) {
    test.categories = cut.categories;
    return test;
  }
  test.threshold = threshold_between(id, cut);
  // No value was missing here: a missing one goes with the heavier side.
  bool seen_missing = column.has_missing;
  if (seen_missing && column.kind == Column::Kind::sorted) {
    const Segment segment = rows_.segment(id);
    seen_missing = column.is_missing[column.order[static_cast<size_t>(segment.end - 1)] & kRowMask] != 0;
  } else if (seen_missing) {
    const auto rows = rows_.rows(id);
    seen_missing = std::any_of(rows.begin(), rows.end(), [&](uint32_t row) { return column.bin(row) == column.bins; });
  }
  if (!seen_missing) test.missing_left = weight(sides.first) > weight(sides.second);
  return test;
}

namespace {

// Stable division of a sorted column. "New value" survives on a side if it lay on any entry passed over since
// the side's last one. A right side that nobody will search is not written back.
void divide_column(std::span<uint32_t> order, const uint8_t* goes_left, bool right_open, std::vector<uint32_t>& moved) {
  moved.resize(order.size());
  uint32_t *left = order.data(), *right = moved.data();
  uint32_t left_new = 0, right_new = 0;
  for (const uint32_t entry : order) {
    const uint32_t row = entry & kRowMask, is_left = goes_left[row];
    left_new |= entry & kNewValue;
    right_new |= entry & kNewValue;
    *left = row | left_new;
    *right = row | right_new;
    left += is_left;
    right += 1 - is_left;
    left_new = is_left ? 0 : left_new;
    right_new = is_left ? right_new : 0;
  }
  if (right_open) std::copy(moved.data(), right, left);
}

}  // namespace

void AxisSearch::divide(int32_t id, int32_t left, int32_t right, bool right_open, std::vector<AxisScratch>& scratch,
                        int thread, Pool* inner) {
  const Segment segment = rows_.segment(id);
  const auto& features = *features_[static_cast<size_t>(id)];
  const auto divide_one = [&](size_t i, AxisScratch& mine) {
    control_.check();
    Column& column = columns_[static_cast<size_t>(features[i])];
    if (column.kind != Column::Kind::sorted) return;
    divide_column(
        std::span(column.order).subspan(static_cast<size_t>(segment.begin), static_cast<size_t>(segment.size())),
        rows_.goes_left(), right_open, mine.moved);
  };
  if (inner == nullptr) {
    for (size_t i = 0; i < features.size(); ++i) divide_one(i, scratch[static_cast<size_t>(thread)]);
  } else {
    inner->parallel_for(static_cast<int64_t>(features.size()), [&](int64_t i, int worker) {
      divide_one(static_cast<size_t>(i), scratch[static_cast<size_t>(worker)]);
    });
  }
  rows_.divide(id, left, right, scratch[static_cast<size_t>(thread)].moved);
  features_[static_cast<size_t>(left)] = features_[static_cast<size_t>(right)] = features_[static_cast<size_t>(id)];
}

namespace {

// The open children of one divided node: one thread's work unless the node is large.
struct Family {
  int32_t parent = -1;
  std::vector<size_t> requests;  // positions among the requests of this round
};

std::vector<Family> families(const Grower& grower, const std::vector<Request>& requests) {
  std::vector<Family> all;
  for (size_t i = 0; i < requests.size(); ++i) {
    const int32_t parent = grower.node(requests[i].node).parent;
    if (all.empty() || parent < 0 || all.back().parent != parent) all.push_back({parent, {}});
    all.back().requests.push_back(i);
  }
  return all;
}

}  // namespace

void grow_in_memory(Grower& grower, AxisSearch& search, Pool& pool, Control& control) {
  std::vector<AxisScratch> scratch(static_cast<size_t>(pool.threads()));
  std::vector<Request> requests;
  while (!(requests = grower.ask()).empty()) {
    int32_t last = 0;
    for (const Request& request : requests) last = std::max(last, request.node);
    search.reserve_nodes(static_cast<size_t>(last) + 2);
    std::vector<Proposal> answers(requests.size());
    const auto all = families(grower, requests);
    const auto answer = [&](const Family& family, int thread, Pool* inner) {
      if (family.parent >= 0) {
        const Node& parent = grower.node(family.parent);
        search.divide(family.parent, parent.left, parent.right, grower.is_open(parent.right), scratch, thread, inner);
      }
      for (size_t i : family.requests)
        answers[i] = search.search(grower.node(requests[i].node), requests[i].node, scratch, thread, inner);
    };
    std::vector<size_t> small;
    for (size_t i = 0; i < all.size(); ++i) {
      const int32_t id = all[i].parent < 0 ? requests[all[i].requests.front()].node : all[i].parent;
      if (pool.threads() > 1 && search.work(id) < kParallelWork) {
        small.push_back(i);
      } else {
        answer(all[i], 0, pool.threads() > 1 ? &pool : nullptr);
      }
    }
    pool.parallel_for(static_cast<int64_t>(small.size()),
                      [&](int64_t i, int thread) { answer(all[small[static_cast<size_t>(i)]], thread, nullptr); });
    for (size_t i = 0; i < requests.size(); ++i) {
      grower.tell(requests[i].node, std::move(answers[i]));
      control.advance(1);
    }
  }
}

}  // namespace boscage
