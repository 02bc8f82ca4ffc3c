#include "oblique/family.hpp"

#include <algorithm>
#include <cmath>

#include "dot.hpp"
#include "oblique/lookahead.hpp"

namespace boscage {

namespace {

// A row in the user's units, missing values at their mean: what prediction multiplies.
template <class T>
const double* plain_row(const Matrix<T>& X, const Scaling& scaling, uint32_t row, std::vector<double>& buffer) {
  buffer.resize(static_cast<size_t>(X.columns));
  for (int64_t j = 0; j < X.columns; ++j) {
    const auto x = static_cast<double>(X(row, j));
    buffer[static_cast<size_t>(j)] = std::isnan(x) ? scaling.mean[static_cast<size_t>(j)] : x;
  }
  return buffer.data();
}

template <class T>
double between(double low, double high) {  // in the type of X, so that training and prediction compare the same numbers
  const auto a = static_cast<T>(low), b = static_cast<T>(high), mid = static_cast<T>(a / 2 + b / 2);
  return static_cast<double>(a <= mid && mid < b ? mid : a);
}

}  // namespace

NodeOffers::NodeOffers(const ObliqueData& data, std::span<const uint32_t> rows, uint64_t path)
    : data_(data), rows_(rows), path_(path), cutter_(rows, data.weighted, data.classes, data.criterion, data.limits) {}

void NodeOffers::score(std::span<const double> weights, std::vector<double>& scores) const {
  scores.resize(rows_.size());
  std::visit(
      [&](const auto& X) {
        std::vector<double> buffer;
        for (size_t i = 0; i < rows_.size(); ++i)
          scores[i] = dot(weights.data(), plain_row(X, data_.scaling, rows_[i], buffer), X.columns);
      },
      data_.X);
}

void NodeOffers::read_column(int64_t column, std::vector<double>& values) const {
  values.resize(rows_.size());
  std::visit(
      [&](const auto& X) {
        for (size_t i = 0; i < rows_.size(); ++i) {
          const auto x = static_cast<double>(X(rows_[i], column));
          values[i] = std::isnan(x) ? data_.scaling.mean[static_cast<size_t>(column)] : x;
        }
      },
      data_.X);
}

double NodeOffers::offer(std::span<const double> theta, double bias) {
  const auto d = static_cast<size_t>(data_.columns());
  weights_.resize(d);
  double shift = 0;
  for (size_t j = 0; j < d; ++j) {
    weights_[j] = theta[j] * data_.scaling.inverse[j];
    if (!std::isfinite(weights_[j])) return -1;
    shift += weights_[j] * data_.scaling.mean[j];
  }
  score(weights_, scores_);
  double threshold = shift - bias;
  if (std::isnan(threshold)) {
    const CutPlace place = cutter_.find(scores_, scratch);
    if (!place.is_valid()) return -1;
    threshold = place.threshold();
  }
  MeasuredTest measured;
  if (!cutter_.measure(scores_, threshold, measured)) return -1;
  measured.test.feature = kLinear;
  measured.test.threshold = threshold;
  measured.test.weights = weights_;
  const double gain = measured.gain;
  keep(std::move(measured), scores_);
  return gain;
}

double NodeOffers::offer_axis() {
  CutPlace best;
  int64_t feature = -1;
  for (int64_t j = 0; j < data_.columns(); ++j) {
    read_column(j, scores_);
    const CutPlace place = cutter_.find(scores_, scratch);
    if (place.is_valid() && (feature < 0 || cutter_.is_better(place.gain, best.gain))) {
      best = place;
      feature = j;
    }
  }
  if (feature < 0) return -1;
  read_column(feature, scores_);
  const auto column = static_cast<size_t>(feature);
  MeasuredTest measured;
  measured.test.feature = static_cast<int32_t>(feature);
  measured.test.threshold =
      std::visit([&]<class T>(const Matrix<T>&) { return between<T>(best.low, best.high); }, data_.X);
  measured.test.missing_left = data_.scaling.mean[column] <= measured.test.threshold;
  if (data_.linear_only) {
    measured.test.feature = kLinear;
    measured.test.missing_left = false;
    measured.test.weights.assign(static_cast<size_t>(data_.columns()), 0.0);
    measured.test.weights[column] = 1.0;
  }
  if (!cutter_.measure(scores_, measured.test.threshold, measured)) return -1;
  const double gain = measured.gain;
  keep(std::move(measured), scores_);
  return gain;
}

void NodeOffers::keep(MeasuredTest measured, const std::vector<double>& scores) {
  if (!best_.empty() && !(measured.gain > best_.front().gain)) return;
  best_left_.resize(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) best_left_[i] = !(scores[i] > measured.test.threshold);
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

bool goes_left(const ObliqueData& data, const Test& test, uint32_t row, std::vector<double>& buffer) {
  return std::visit(
      [&](const auto& X) {
        const double* x = plain_row(X, data.scaling, row, buffer);
        const double score = test.feature == kLinear ? dot(test.weights.data(), x, X.columns) : x[test.feature];
        return !(score > test.threshold);
      },
      data.X);
}

namespace {

// Below this many rows x columns a node is one thread's work: starting a round costs more.
constexpr int64_t kSharedWork = 1 << 16;

// Places the rows of a node. A search marked the rows of its node by its own best test; a test that came with the
// parent's, or in place of a triple, is asked row by row.
class Placer {
 public:
  Placer(const Grower& grower, const ObliqueData& data, NodeRows& rows) : grower_(grower), data_(data), rows_(rows) {}

  void place(int32_t id) {
    if (rows_.is_placed(id)) return;
    const int32_t parent = grower_.node(id).parent;
    place(parent);
    if (static_cast<size_t>(parent) >= marked_.size() || !marked_[static_cast<size_t>(parent)])
      for (const uint32_t row : rows_.rows(parent))
        rows_.goes_left()[row] = goes_left(data_, grower_.test(parent), row, buffer_);
    rows_.divide(parent, grower_.node(parent).left, grower_.node(parent).right, scratch_);
  }

  void set_marked(int32_t id) {
    if (marked_.size() <= static_cast<size_t>(id)) marked_.resize(static_cast<size_t>(id) + 1, false);
    marked_[static_cast<size_t>(id)] = true;
  }

 private:
  const Grower& grower_;
  const ObliqueData& data_;
  NodeRows& rows_;
  std::vector<bool> marked_;
  std::vector<uint32_t> scratch_;
  std::vector<double> buffer_;
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
      NodeOffers offers(data, rows.rows(requests[i].node), grower.node(requests[i].node).path);
      family.search(data, offers, inner, control);
      offers.mark(rows.goes_left());
      answers[i] = data.lookahead && requests[i].may_triple ? with_look_ahead(data, offers, control) : offers.take();
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
    pool.parallel_for(static_cast<int64_t>(alone.size()),
                      [&](int64_t i, int) { answer(alone[static_cast<size_t>(i)], nullptr); });
    for (size_t i = 0; i < requests.size(); ++i) {
      if (answers[i].tests.size() == 1) placer.set_marked(requests[i].node);
      grower.tell(requests[i].node, std::move(answers[i]));
    }
  }
}

}  // namespace boscage
