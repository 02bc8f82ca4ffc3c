#include "families/oblique/family.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/dot.hpp"
#include "base/index.hpp"
#include "families/oblique/lookahead.hpp"

namespace boscage {

namespace {

constexpr size_t kRowsPerCheck = 1024;  // whether the caller asked to stop
constexpr double kEqualGaps = 1e-9;     // gaps of two columns that differ by less, relatively, count as equal

// w.x of rows that need no conversion, NaN where a value is missing; false if they do.
template <class Rows>
bool dot_in_place(const Rows& X, std::span<const uint32_t> rows, const double* weights, double* scores) {
  if constexpr (std::is_same_v<Rows, Matrix<double>>) {
    if (X.column_stride == 1) {
      dot_rows(weights, X.data, X.row_stride, X.columns, rows, scores);
      return true;
    }
  }
  return false;
}

// w.x of a row as prediction computes it: in the user's units, missing values at their mean.
template <class T>
double score_of(const Matrix<T>& X, const Scaling& scaling, uint32_t row, const double* weights,
                std::vector<double>& buffer) {
  double score = 0;
  if (dot_in_place(X, {&row, 1}, weights, &score) && score == score) return score;  // no value is missing
  buffer.resize(to_size(X.columns));
  for (int64_t j = 0; j < X.columns; ++j)
    buffer[to_size(j)] = scaling.plain(static_cast<double>(X(row, j)), to_size(j));
  return dot(weights, buffer.data(), X.columns);
}

template <class T, class Index>
double score_of(const SparseRows<T, Index>& X, const Scaling& scaling, uint32_t row, const double* weights,
                std::vector<double>&) {
  LaneSum sum;
  const auto [begin, end] = X.range(row);
  for (int64_t k = begin; k < end; ++k) {
    const int64_t j = X.column(k);
    sum.add(j, scaling.plain(static_cast<double>(X.data[k]), to_size(j)) * weights[j]);
  }
  return sum.total();
}

template <class T>
std::vector<uint32_t> columns_that_vary(const Matrix<T>& X, const Scaling& scaling, std::span<const uint32_t> rows,
                                        const Control& control) {
  const auto d = to_size(X.columns);
  std::vector<uint32_t> same(d), vary;
  for (uint32_t j = 0; j < d; ++j) same[j] = j;
  const auto value = [&](size_t i, uint32_t j) { return scaling.plain(static_cast<double>(X(rows[i], j)), j); };
  for (size_t i = 1; i < rows.size() && !same.empty(); ++i) {
    if (i % kRowsPerCheck == 0) control.check();
    std::erase_if(same, [&](uint32_t j) { return value(i, j) != value(0, j); });
  }
  auto next = same.begin();
  for (uint32_t j = 0; j < d; ++j) {
    const bool is_same = next != same.end() && *next == j;
    next += is_same;
    if (!is_same) vary.push_back(j);
  }
  return vary;
}

template <class T, class Index>
std::vector<uint32_t> columns_that_vary(const SparseRows<T, Index>& X, const Scaling& scaling,
                                        std::span<const uint32_t> rows, const Control& control) {
  struct Seen {
    double first = 0;
    size_t count = 0;
    bool differs = false;
  };
  std::vector<Seen> seen(to_size(X.columns));
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i % kRowsPerCheck == 0) control.check();
    const auto [begin, end] = X.range(rows[i]);
    for (int64_t k = begin; k < end; ++k) {
      const auto j = to_size(X.column(k));
      const double value = scaling.plain(static_cast<double>(X.data[k]), j);
      Seen& column = seen[j];
      if (column.count++ == 0) column.first = value;
      column.differs |= value != column.first;
    }
  }
  std::vector<uint32_t> vary;
  for (uint32_t j = 0; j < seen.size(); ++j) {
    const bool has_zeros = seen[j].count < rows.size();
    if (seen[j].differs || (has_zeros && seen[j].first != 0)) vary.push_back(j);
  }
  return vary;
}

template <class T>
double between(double low, double high) {
  const auto a = static_cast<T>(low), b = static_cast<T>(high), mid = static_cast<T>(a / 2 + b / 2);
  return static_cast<double>(a <= mid && mid < b ? mid : a);
}

// A threshold in the type of X, so that training and prediction compare the same numbers.
double threshold_of(const AnyRows& X, const CutPlace& place) {
  return std::visit(
      [&](const auto& rows) { return between<std::remove_cvref_t<decltype(rows(0, 0))>>(place.low, place.high); }, X);
}

// Rounding may take a cut away: between a value and the mean that stands for missing ones there may be no number of
// the type of X.
bool can_be_told(const AnyRows& X, const CutPlace& place) {
  const double threshold = threshold_of(X, place);
  return place.low <= threshold && threshold < place.high;
}

}  // namespace

NodeOffers::NodeOffers(const ObliqueData& data, std::span<const uint32_t> rows, uint64_t path, const Control& control)
    : data_(data), rows_(rows), path_(path), control_(control), cutter_(data.cutter(rows)) {}

void NodeOffers::score(std::span<const double> weights, std::vector<double>& scores) const {
  const auto score_rows = [&](const auto& X) {
    std::vector<double> buffer;
    const bool plain = dot_in_place(X, rows_, weights.data(), scores.data());
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (plain && scores[i] == scores[i]) continue;  // else a value is missing
      scores[i] = score_of(X, data_.scaling, rows_[i], weights.data(), buffer);
    }
  };
  scores.resize(rows_.size());
  std::visit(score_rows, data_.X);
}

void NodeOffers::read_column(int64_t column, std::vector<double>& values) const {
  values.resize(rows_.size());
  std::visit(
      [&](const auto& X) {
        for (size_t i = 0; i < rows_.size(); ++i)
          values[i] = data_.scaling.plain(static_cast<double>(X(rows_[i], column)), to_size(column));
      },
      data_.X);
}

// Cuts along theta into `measured`, the scores in scores_; false if there is no valid cut.
bool NodeOffers::measure(std::span<const double> theta, double bias, MeasuredTest& measured) {
  const auto d = to_size(data_.columns());
  weights_.resize(d);
  double shift = 0;
  for (size_t j = 0; j < d; ++j) {
    weights_[j] = theta[j] * data_.scaling.inverse[j];
    if (!std::isfinite(weights_[j])) return false;
    shift += weights_[j] * data_.scaling.centre[j];
  }
  score(weights_, scores_);
  double threshold = shift - bias;
  if (std::isnan(threshold)) {
    const CutPlace place = cutter_.find(scores_, scratch);
    if (!place.is_valid()) return false;
    threshold = place.threshold();
  }
  if (!cutter_.measure(scores_, threshold, measured)) return false;
  measured.test.feature = kLinear;
  measured.test.threshold = threshold;
  measured.test.weights = weights_;
  return true;
}

double NodeOffers::offer(std::span<const double> theta, double bias) {
  MeasuredTest measured;
  if (!measure(theta, bias, measured)) return -1;
  const double gain = measured.gain;
  if (best_.empty() || gain > best_.front().gain) keep(std::move(measured));
  return gain;
}

bool NodeOffers::offer_instead(std::span<const double> theta, double bias, double least) {
  MeasuredTest measured;
  if (!measure(theta, bias, measured) || measured.gain < least) return false;
  keep(std::move(measured));
  return true;
}

double NodeOffers::offer_axis() {
  CutPlace best;
  double widest = 0;  // the gap of the best, in deviations of its column
  int64_t feature = -1;
  for (const uint32_t j : varying_columns(data_, rows_, control_)) {
    control_.check();
    read_column(j, scores_);
    const CutPlace place = cutter_.find(scores_, scratch);
    if (!place.is_valid() || !can_be_told(data_.X, place)) continue;
    // In small nodes many columns part the classes equally well: the one that does it most clearly is taken.
    const double gap = data_.scaling.scaled(place.high, j) - data_.scaling.scaled(place.low, j);
    const bool is_clearer = !cutter_.is_better(best.gain, place.gain) && gap > widest * (1 + kEqualGaps);
    if (feature >= 0 && !cutter_.is_better(place.gain, best.gain) && !is_clearer) continue;
    best = place;
    widest = gap;
    feature = j;
  }
  if (feature < 0) return -1;
  read_column(feature, scores_);
  const auto column = to_size(feature);
  MeasuredTest measured;
  measured.test.feature = static_cast<int32_t>(feature);
  measured.test.threshold = threshold_of(data_.X, best);
  measured.test.missing_left = data_.scaling.mean[column] <= measured.test.threshold;
  if (data_.linear_only) {
    measured.test.feature = kLinear;
    measured.test.missing_left = false;
    measured.test.weights.assign(to_size(data_.columns()), 0.0);
    measured.test.weights[column] = 1.0;
  }
  if (!cutter_.measure(scores_, measured.test.threshold, measured)) return -1;
  const double gain = measured.gain;
  if (best_.empty() || gain > best_.front().gain) keep(std::move(measured));
  return gain;
}

// The scores of the test are in scores_.
void NodeOffers::keep(MeasuredTest measured) {
  best_left_.resize(scores_.size());
  for (size_t i = 0; i < scores_.size(); ++i) best_left_[i] = !(scores_[i] > measured.test.threshold);
  best_.clear();
  best_.push_back(std::move(measured));
}

Proposal NodeOffers::take() {
  Proposal proposal;
  proposal.tests = std::move(best_);
  return proposal;
}

void NodeOffers::mark(uint8_t* left) const {
  for (size_t i = 0; i < best_left_.size(); ++i) left[rows_[i]] = best_left_[i];
}

std::vector<uint32_t> varying_columns(const ObliqueData& data, std::span<const uint32_t> rows, const Control& control) {
  return std::visit([&](const auto& X) { return columns_that_vary(X, data.scaling, rows, control); }, data.X);
}

bool goes_left(const ObliqueData& data, const Test& test, uint32_t row, std::vector<double>& buffer) {
  return std::visit(
      [&](const auto& X) {
        const auto column = to_size(std::max(test.feature, 0));
        const double score = test.feature == kLinear
                                 ? score_of(X, data.scaling, row, test.weights.data(), buffer)
                                 : data.scaling.plain(static_cast<double>(X(row, test.feature)), column);
        return !(score > test.threshold);
      },
      data.X);
}

namespace {

// Below this many rows x columns a node is one thread's work: starting a round costs more.
constexpr int64_t kSharedWork = 1 << 16;

void mark(const ObliqueData& data, const Test& test, std::span<const uint32_t> members, NodeRows& rows) {
  std::vector<double> buffer;
  for (const uint32_t row : members) rows.goes_left()[row] = goes_left(data, test, row, buffer);
}

// Places the rows of a node. A search marked the rows of its node by its own best test; a test that came with the
// parent's, or in place of a triple, is asked row by row.
class Placer {
 public:
  Placer(const Grower& grower, const ObliqueData& data, NodeRows& rows) : grower_(grower), data_(data), rows_(rows) {}

  void place(int32_t id) {
    if (rows_.is_placed(id)) return;
    const int32_t parent = grower_.node(id).parent;
    place(parent);
    if (to_size(parent) >= marked_.size() || !marked_[to_size(parent)]) {
      mark(data_, grower_.test(parent), rows_.rows(parent), rows_);
      if (data_.numbers != nullptr) rows_.measure(parent);
    }
    rows_.divide(parent, grower_.node(parent).left, grower_.node(parent).right, scratch_);
  }

  void set_marked(int32_t id) {
    if (marked_.size() <= to_size(id)) marked_.resize(to_size(id) + 1, false);
    marked_[to_size(id)] = true;
  }

 private:
  const Grower& grower_;
  const ObliqueData& data_;
  NodeRows& rows_;
  std::vector<bool> marked_;
  std::vector<uint32_t> scratch_;
};

// The better of a single test and three at once, by gain per split. Three cannot win against a third of everything.
Proposal with_look_ahead(const ObliqueData& data, NodeOffers& offers, const Control& control) {
  std::vector<MeasuredTest> triple;
  if (3 * std::max(offers.best_gain(), 0.0) < offers.node().potential()) triple = look_ahead(data, offers, control);
  Proposal single = offers.take(), three;
  three.tests = std::move(triple);
  if (three.tests.empty() || single.priority() >= three.priority()) return single;
  three.single = std::move(single.tests);
  return three;
}

// The sides of the tests proposed for a node of numbers, and their gains in the units of the root. The rows are marked
// by a single test.
void measure_numbers(const ObliqueData& data, NodeRows& rows, int32_t id, const Grower& grower, Proposal& proposal) {
  const auto here = rows.rows(id);
  const int exponent = grower.node(id).numbers->grid->exponent - grower.node(0).numbers->grid->exponent;
  const auto set = [&](MeasuredTest& found, std::pair<Side, Side> sides) {
    std::tie(found.left, found.right) = std::move(sides);
    found.gain = found.drop = in_units(data.criterion, found.gain, exponent);
  };
  if (proposal.tests.size() == 1) set(proposal.tests.front(), rows.measure(id));
  if (proposal.tests.size() != 3) return;
  if (!proposal.single.empty()) set(proposal.single.front(), rows.measure(id));
  MeasuredTest& root = proposal.tests.front();
  mark(data, root.test, here, rows);
  set(root, rows.measure(id));
  std::vector<uint32_t> members[2];
  for (const uint32_t row : here) members[rows.goes_left()[row] != 0 ? 0 : 1].push_back(row);
  for (const size_t side : {0U, 1U}) {
    MeasuredTest& child = proposal.tests[side + 1];
    const auto& grid = (side == 0 ? root.left : root.right).numbers->grid;
    mark(data, child.test, members[side], rows);
    set(child, data.numbers->measure_ahead(members[side], rows.goes_left(), grid));
  }
}

}  // namespace

void grow_oblique(Grower& grower, const ObliqueData& data, NodeRows& rows, const ObliqueFamily& family, Pool& pool,
                  Control& control) {
  std::vector<Request> requests;
  Placer placer(grower, data, rows);
  const bool shares = family.shares_node() && pool.threads() > 1;
  while (!(requests = grower.ask()).empty()) {
    for (const Request& request : requests) placer.place(request.node);
    std::vector<Proposal> answers(requests.size());
    const auto answer = [&](size_t i, Pool* inner) {
      control.check();
      NodeOffers offers(data, rows.rows(requests[i].node), grower.node(requests[i].node).path, control);
      family.search(data, offers, inner, control);
      offers.mark(rows.goes_left());
      answers[i] = data.lookahead && requests[i].may_triple ? with_look_ahead(data, offers, control) : offers.take();
      if (data.numbers != nullptr) measure_numbers(data, rows, requests[i].node, grower, answers[i]);
      control.advance(1);
    };
    std::vector<size_t> alone;
    for (size_t i = 0; i < requests.size(); ++i) {
      if (shares && rows.segment(requests[i].node).size() * data.columns() >= kSharedWork) {
        answer(i, &pool);
      } else {
        alone.push_back(i);
      }
    }
    pool.parallel_for(signed_size(alone), [&](int64_t i, int) { answer(alone[to_size(i)], nullptr); });
    for (size_t i = 0; i < requests.size(); ++i) {
      if (answers[i].tests.size() == 1) placer.set_marked(requests[i].node);
      grower.tell(requests[i].node, std::move(answers[i]));
    }
  }
}

}  // namespace boscage
