#include "families/axis/axis.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/index.hpp"
#include "families/axis/category_scan.hpp"
#include "families/axis/column_scan.hpp"

namespace boscage {

AxisSearch::AxisSearch(const DataTable& X, std::span<const int64_t> n_categories, int64_t max_bins, NodeRows& rows,
                       const AnyCriterion& criterion, const Limits& limits, Pool& pool, const Control& control,
                       ColumnSample sample, std::span<const uint32_t> row_of)
    : X_(X.rows()),
      row_of_(row_of),
      rows_(rows),
      criterion_(criterion),
      limits_(limits),
      control_(control),
      sample_(sample) {
  if (max_bins > 0 && !row_of.empty())
    throw std::invalid_argument("bins want rows without weight to be left out of X.");
  const bool is_own = row_of.empty() && !X.is_shared();  // nobody else wants columns of these rows
  std::vector<uint32_t> every;
  if (row_of.empty() && X.is_shared()) {
    every.resize(to_size(X.size()));
    std::iota(every.begin(), every.end(), 0U);
    row_of = every;
  }
  auto all = std::make_shared<std::vector<int32_t>>();
  std::vector<SparseSlice> slices;
  std::visit(
      [&](const auto& table) {
        if constexpr (requires { table.column_stride; }) {
          columns_ = max_bins > 0 || is_own
                         ? make_columns(table, n_categories, max_bins, rows.target().weight, pool, control)
                         : columns_of_rows(*X.exact_columns(n_categories, pool, control), row_of, pool);
          all->resize(columns_.size());
          std::iota(all->begin(), all->end(), 0);
        } else {
          sparse_ = is_own ? make_sparse_columns(table, pool, control)
                           : columns_of_rows(*X.sparse_columns(pool, control), row_of, X.size());
          for (size_t j = 0; j < sparse_.slices.size(); ++j) {
            if (sparse_.slices[j].size() == 0) continue;
            all->push_back(static_cast<int32_t>(j));
            slices.push_back(sparse_.slices[j]);
          }
          sparse_.slices = {};
        }
      },
      X_);
  open_.emplace_back() = {std::move(all), std::move(slices)};
  has_bins_ = std::any_of(columns_.begin(), columns_.end(),
                          [](const Column& column) { return column.kind != Column::Kind::sorted; });
  const auto n = static_cast<uint32_t>(rows.size());
  if (rows.numbers() != nullptr) {
    root_exponent_ = rows.total().numbers->grid->exponent;
    return;
  }
  const auto weights = rows.target().weight;
  const bool is_counted = std::all_of(weights.begin(), weights.end(), [](double weight) {
    return weight <= SmallRow::kMost && weight == std::floor(weight);
  });
  if (rows.is_weighted() && is_counted && rows.classes() <= SmallRow::kMost) {
    small_rows_.resize(n);
    for (uint32_t row = 0; row < n; ++row)
      small_rows_[row] = {static_cast<uint16_t>(rows.weight(row)), static_cast<uint16_t>(rows.label(row))};
  } else if (rows.is_weighted()) {
    weighted_.resize(n);
    for (uint32_t row = 0; row < n; ++row) weighted_[row] = {rows.weight(row), static_cast<uint32_t>(rows.label(row))};
  } else if (rows.classes() <= 256) {
    small_labels_.resize(n);
    for (uint32_t row = 0; row < n; ++row) small_labels_[row] = static_cast<uint8_t>(rows.label(row));
  } else {
    large_labels_.resize(n);
    for (uint32_t row = 0; row < n; ++row) large_labels_[row] = static_cast<uint32_t>(rows.label(row));
  }
}

int64_t AxisSearch::work(int32_t id) const {
  const NodeColumns& open = open_[id];
  if (!is_sparse()) return rows_.segment(id).size() * signed_size(*open.features);
  int64_t entries = 0;
  for (const SparseSlice& slice : open.slices) entries += signed_size(slice) + 1;
  return entries;
}

void AxisSearch::reserve_nodes(int64_t count) {
  rows_.reserve_nodes(count);
  open_.extend(count);
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
  view.noise = scratch.noise;
  return view;
}

// Once per node and thread: the classes present, and the rows' classes side by side for counting.
void AxisSearch::prepare(const Node& node, int32_t id, AxisScratch& scratch) const {
  scratch.node = id;
  scratch.local.assign(node.sums.size(), 0);
  scratch.total.clear();
  for (size_t c = 0; c < node.sums.size(); ++c) {
    if (!node.numbers && !(node.sums[c] > 0)) continue;
    scratch.local[c] = static_cast<uint32_t>(scratch.total.size());
    scratch.total.push_back(node.sums[c]);
  }
  scratch.noise = noise_of(criterion_, scratch.total);
  if (rows_.numbers() != nullptr && rows_.numbers()->has_ranks())
    rows_.numbers()->load(rows_.ordered(id), scratch.ranked);
  if (!has_bins_ || node.numbers) return;
  const auto rows = rows_.rows(id);
  scratch.labels.resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) scratch.labels[i] = scratch.local[to_size(rows_.label(rows[i]))];
}

template <class Criterion, class Rows>
Cut AxisSearch::search_column(const Criterion& criterion, const Rows& rows, int32_t id, size_t place,
                              const NodeView& view, AxisScratch& scratch) const {
  control_.check();
  const NodeColumns& open = open_[id];
  const ColumnScan<Criterion, Rows> scan{criterion, rows, view, scratch};
  if (is_sparse()) return scan.sparse(open.slices[place], entries(open.slices[place]), rows_.rows(id));
  const Column& column = columns_[to_size((*open.features)[place])];
  if (column.kind == Column::Kind::category) {
    const CategoryScan<Criterion, Rows> categories{criterion, rows, view, scratch};
    const bool has_ranks = std::is_same_v<typename Rows::Target, Ranks>;
    return categories.search(column, rows_.rows(id), has_ranks ? rows_.ordered(id) : std::span<const uint32_t>{});
  }
  if (column.kind == Column::Kind::binned) return scan.binned(column, rows_.rows(id));
  const Segment segment = rows_.segment(id);
  return scan.sorted(column, std::span(column.order).subspan(to_size(segment.begin), to_size(segment.size())));
}

// The best cut of the columns at(0), …, at(count - 1), which are positions among the node's columns.
template <class At>
Cut AxisSearch::best_of(const Node& node, int32_t id, size_t count, const At& at, std::vector<uint8_t>& constant,
                        std::vector<AxisScratch>& scratch, int thread, Pool* inner) {
  const auto& features = *open_[id].features;
  // Two rows can be told apart in one way only, and the gain is the same bits for either side: the first column wins.
  // A sample of columns must know which of them are constant.
  const bool is_pair = node.rows == 2 && sample_.max_features == 0 && std::holds_alternative<SquaredError>(criterion_);
  const auto search_range = [&](auto rows, size_t begin, size_t end, AxisScratch& mine) {
    const NodeView seen = view(node, id, mine);
    if constexpr (requires { rows.node; }) rows.node = &mine.ranked;
    return visit_for<typename decltype(rows)::Target>(
        [&](const auto& criterion) {
          Cut best;
          for (size_t i = begin; i < end; ++i) {
            const size_t place = at(i);
            Cut cut = search_column(criterion, rows, id, place, seen, mine);
            cut.feature = features[place];
            constant[place] = cut.is_constant;
            if (cut.is_better_than(best)) best = std::move(cut);
            if (is_pair && best.gain >= 0) break;
          }
          return best;
        },
        criterion_);
  };
  const auto search_all = [&](const auto& rows) {
    if (inner == nullptr) return search_range(rows, 0, count, scratch[to_size(thread)]);
    const size_t together = columns_together();
    std::vector<Cut> cuts((count + together - 1) / together);
    inner->parallel_for(signed_size(cuts), [&](int64_t chunk, int worker) {
      const size_t begin = to_size(chunk) * together, end = std::min(count, begin + together);
      cuts[to_size(chunk)] = search_range(rows, begin, end, scratch[to_size(worker)]);
    });
    Cut best;
    for (Cut& cut : cuts)
      if (cut.is_better_than(best)) best = std::move(cut);
    return best;
  };
  if (const NumberRows* numbers = rows_.numbers()) {
    if (numbers->has_ranks()) return search_all(RankedRows{numbers->rank(), nullptr});
    if (numbers->outputs() > 1) return search_all(ManyValues{numbers->data(), numbers->outputs()});
    if (numbers->is_weighted()) return search_all(WeightedValues{numbers->data()});
    return search_all(UnitValues{numbers->data()});
  }
  if (!small_rows_.empty()) return search_all(SmallRows(small_rows_.data()));
  if (!weighted_.empty()) return search_all(WeightedRows(weighted_.data()));
  if (!small_labels_.empty()) return search_all(UnitRows<uint8_t>(small_labels_.data()));
  return search_all(UnitRows<uint32_t>(large_labels_.data()));
}

Cut AxisSearch::search_columns(const Node& node, int32_t id, std::vector<uint8_t>& constant,
                               std::vector<AxisScratch>& scratch, int thread, Pool* inner) {
  const auto& features = *open_[id].features;
  if (sample_.max_features == 0)
    return best_of(node, id, features.size(), [](size_t i) { return i; }, constant, scratch, thread, inner);
  Cut best;
  search_sample(sample_, node.path, features, [&](std::span<const uint32_t> places) {
    Cut cut =
        best_of(node, id, places.size(), [&](size_t i) { return size_t{places[i]}; }, constant, scratch, thread, inner);
    SeenColumns seen{0, cut.gain >= 0};
    for (const uint32_t place : places) seen.varying += !constant[place];
    if (cut.is_better_than(best)) best = std::move(cut);
    return seen;
  });
  return best;
}

void AxisSearch::drop_constant(int32_t id, const std::vector<uint8_t>& constant) {
  if (std::none_of(constant.begin(), constant.end(), [](uint8_t is) { return is != 0; })) return;
  NodeColumns& open = open_[id];
  auto kept = std::make_shared<std::vector<int32_t>>();
  kept->reserve(constant.size());
  std::vector<SparseSlice> slices;
  for (size_t i = 0; i < constant.size(); ++i) {
    if (constant[i]) continue;
    kept->push_back((*open.features)[i]);
    if (is_sparse()) slices.push_back(open.slices[i]);
  }
  open = {std::move(kept), std::move(slices)};
}

Proposal AxisSearch::search(const Node& node, int32_t id, std::vector<AxisScratch>& scratch, int thread, Pool* inner) {
  std::vector<uint8_t>& constant = scratch[to_size(thread)].constant;
  constant.assign(open_[id].features->size(), 0);
  const Cut best = search_columns(node, id, constant, scratch, thread, inner);
  drop_constant(id, constant);
  Proposal proposal;
  if (best.gain < 0) return proposal;
  mark(id, best);
  auto sides = rows_.measure(id);
  MeasuredTest& measured = proposal.tests.emplace_back();
  measured.test = make_test(id, best, sides);
  if (node.numbers) {
    measured.gain = in_units(criterion_, best.gain, node.numbers->grid->exponent - root_exponent_);
    measured.drop = measured.gain;
  } else {
    measured.gain = best.gain;
    measured.drop = visit_classes(
        [&](const auto& g) { return g.drop(sides.second.sums.data(), sides.first.sums.data(), rows_.classes()); },
        criterion_);
  }
  measured.left = std::move(sides.first);
  measured.right = std::move(sides.second);
  return proposal;
}

const SparseSlice& AxisSearch::slice(int32_t id, int32_t feature) const {
  const NodeColumns& open = open_[id];
  const auto found = std::lower_bound(open.features->begin(), open.features->end(), feature);
  return open.slices[to_size(found - open.features->begin())];
}

void AxisSearch::mark(int32_t id, const Cut& cut) {
  uint8_t* goes_left = rows_.goes_left();
  if (is_sparse()) {
    const SparseSlice& found = slice(id, cut.feature);
    const auto order = std::as_const(*this).entries(found);
    for (uint32_t row : rows_.rows(id)) goes_left[row] = cut.zeros_left;
    for (size_t i = 0; i < order.size(); ++i)
      goes_left[order[i] & kRowMask] = i < found.present() ? static_cast<int64_t>(i) < cut.position : cut.missing_left;
    return;
  }
  const Column& column = columns_[to_size(cut.feature)];
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
  return std::visit(
      [&](const auto& X) {
        using T = std::decay_t<decltype(X(0, 0))>;
        if (is_sparse()) {
          const SparseSlice& found = slice(id, cut.feature);
          const auto order = entries(found);
          const auto left = to_size(cut.position);
          const auto value = [&](size_t i) { return X(row_in_X(order[i]), cut.feature); };
          const bool at_zeros = left == found.negative && rows_.segment(id).size() > signed_size(found);
          const T low = at_zeros && cut.zeros_left ? T{0} : value(left - 1);
          if (at_zeros && !cut.zeros_left) return middle(low, T{0});
          return left < found.present() ? middle(low, value(left)) : static_cast<double>(low);
        }
        const Column& column = columns_[to_size(cut.feature)];
        if (column.kind == Column::Kind::binned) {
          const auto low = column.last[to_size(cut.position - 1)];
          // Exact bins: between the neighbours present here. Coarse ones: the edge of the bin.
          const int64_t next = column.exact ? cut.next_bin : cut.position;
          if (next >= static_cast<int64_t>(column.bins)) return low;
          return middle(static_cast<T>(low), static_cast<T>(column.first[to_size(next)]));
        }
        const Segment segment = rows_.segment(id);
        const uint32_t* order = column.order.data() + segment.begin;
        const T low = X(row_in_X(order[cut.position - 1]), cut.feature);
        if (cut.position >= segment.size()) return static_cast<double>(low);
        const T high = X(row_in_X(order[cut.position]), cut.feature);
        return std::isnan(high) ? static_cast<double>(low) : middle(low, high);
      },
      X_);
}

bool AxisSearch::sees_missing(int32_t id, int32_t feature) const {
  if (is_sparse()) return slice(id, feature).missing > 0;
  const Column& column = columns_[to_size(feature)];
  if (!column.has_missing) return false;
  if (column.kind == Column::Kind::sorted) {
    const Segment segment = rows_.segment(id);
    return column.is_missing[column.order[to_size(segment.end - 1)] & kRowMask] != 0;
  }
  const auto rows = rows_.rows(id);
  return std::any_of(rows.begin(), rows.end(), [&](uint32_t row) { return column.bin(row) == column.bins; });
}

Test AxisSearch::make_test(int32_t id, const Cut& cut, const std::pair<Side, Side>& sides) const {
  Test test;
  test.feature = cut.feature;
  test.missing_left = cut.missing_left;
  if (!cut.categories.empty()) {
    test.categories = cut.categories;
    return test;
  }
  test.threshold = threshold_between(id, cut) + 0.0;  // never -0
  // No value was missing here: a missing one goes with the heavier side.
  if (!sees_missing(id, cut.feature)) test.missing_left = sides.first.weight() > sides.second.weight();
  return test;
}

}  // namespace boscage
