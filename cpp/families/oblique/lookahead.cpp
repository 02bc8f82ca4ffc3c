#include "families/oblique/lookahead.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/dot.hpp"
#include "base/index.hpp"
#include "families/oblique/columns.hpp"
#include "families/oblique/soft/two_levels.hpp"
#include "numeric/linear_algebra.hpp"
#include "numeric/minimise.hpp"

namespace boscage {

namespace {

constexpr size_t kMostColumns = 200, kMostClasses = 5, kRefitted = 3;
constexpr int kAngles = 12;
constexpr double kRidge = 1e-6;
// Deviation of the scores at which refinement begins, soft and labelled; share of the potential that three tests must
// gain before leaves are given one class each.
constexpr double kSoftStart = 3, kLabelledStart = 10, kNearlyPure = 0.9;

using Vector = std::vector<double>;

double total_gain(const std::vector<MeasuredTest>& tests) {
  double sum = 0;
  for (const auto& measured : tests) sum += measured.gain;
  return tests.size() == 3 ? sum : -1;
}

// Second moments of the rows about their mean: of all, and of each class against its share or each output about its
// mean.
class Moments {
 public:
  Moments(const ScaledColumns& columns, const NodeCutter& node)
      : d_(columns.columns()), n_(columns.rows()), mean_(d_), centred_(d_ * n_) {
    Vector place;
    for (size_t j = 0; j < d_; ++j) {
      const double* x = columns.column(j, place).data();
      double sum = 0;
      for (size_t i = 0; i < n_; ++i) sum += node.local()[i].weight * x[i];
      mean_[j] = sum / node.weight();
      for (size_t i = 0; i < n_; ++i) centred_[j * n_ + i] = x[i] - mean_[j];
    }
  }

  const Vector& mean() const { return mean_; }

  // If it is over before the end, the rest stays 0.
  template <class Weight>
  Vector matrix(const Weight& weight, const IsOver& is_over) const {
    Vector weighted(n_), out(d_ * d_);
    for (size_t p = 0; p < d_ && !is_over(); ++p) {
      for (size_t i = 0; i < n_; ++i) weighted[i] = weight(i) * centred_[p * n_ + i];
      for (size_t q = p; q < d_; ++q)
        out[p * d_ + q] = out[q * d_ + p] = dot(weighted.data(), &centred_[q * n_], static_cast<int64_t>(n_));
    }
    return out;
  }

 private:
  size_t d_, n_;
  Vector mean_, centred_;
};

// S^(-1/2) of a covariance with a small ridge.
Vector whitener(Vector covariance, size_t d, const IsOver& is_over) {
  double trace = 0;
  for (size_t j = 0; j < d; ++j) trace += covariance[j * d + j];
  for (size_t j = 0; j < d; ++j) covariance[j * d + j] += kRidge * trace / static_cast<double>(d);
  const Eigen eigen = symmetric_eigen(std::move(covariance), d, is_over);
  Vector out(d * d, 0.0);
  for (size_t k = 0; k < d; ++k) {
    const double scale = 1 / std::sqrt(std::max(eigen.values[k], 1e-300));
    const double* v = &eigen.vectors[k * d];
    for (size_t p = 0; p < d; ++p)
      for (size_t q = 0; q < d; ++q) out[p * d + q] += scale * v[p] * v[q];
  }
  return out;
}

Vector product(const Vector& a, const Vector& b, size_t d) {  // b is symmetric
  Vector out(d * d);
  for (size_t p = 0; p < d; ++p)
    for (size_t q = 0; q < d; ++q) out[p * d + q] = dot(&a[p * d], &b[q * d], static_cast<int64_t>(d));
  return out;
}

struct Pair {
  Vector root, child;  // directions of scaled columns
  double gain = -1;    // over two levels
};

// With fewer rows three tests at once would only fit noise.
size_t fewest_rows(size_t d) { return std::max<size_t>(4, 2 * d); }

// A candidate node's work: directions to pairs, pairs to triples of measured tests.
class LookAhead {
 public:
  LookAhead(const ObliqueData& data, const NodeOffers& node, const Control& control)
      : data_(data),
        node_(node),
        control_(control),
        is_over_([&] { return is_over(data, control); }),
        columns_(data, node.rows()),
        moments_(columns_, node.node()) {}

  // An interrupt throws.
  static bool is_over(const ObliqueData& data, const Control& control) {
    control.check();
    return data.deadline != nullptr && data.deadline->is_over();
  }

  std::vector<MeasuredTest> run() {
    // Copies do not count, so that weight 2 is a row twice.
    if (!columns_.has_distinct_rows(fewest_rows(d()))) return {};
    std::vector<Pair> pairs = candidates();
    std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.gain > b.gain; });
    std::vector<MeasuredTest> best;
    const double pure = (1 - 1e-12) * node_.node().potential();
    for (size_t k = 0; k < std::min(kRefitted, pairs.size()) && total_gain(best) < pure; ++k) {
      if (is_over_()) break;
      auto tests = refine(pairs[k]);
      if (total_gain(tests) > total_gain(best) + 1e-11 * node_.node().potential()) best = std::move(tests);
    }
    return best;
  }

 private:
  size_t d() const { return columns_.columns(); }

  std::vector<Pair> candidates() {
    const NodeCutter& node = node_.node();
    const auto weight = [&](size_t i) { return node.local()[i].weight / node.weight(); };
    const Vector whiten = whitener(moments_.matrix(weight, is_over_), d(), is_over_);
    std::vector<Pair> pairs;
    for (const size_t c : looked_at()) {
      const double share = node.total()[c] / node.weight();
      const auto apart = [&](size_t i) {
        if (node.is_numbers()) return node.sums_of(i)[c] / node.weight() - weight(i) * share;
        return weight(i) * ((node.local()[i].label == c ? 1.0 : 0.0) - share);
      };
      const Vector whitened = product(product(whiten, moments_.matrix(apart, is_over_), d()), whiten, d());
      Eigen eigen = symmetric_eigen(whitened, d(), is_over_);
      for (size_t k = 0; k < d(); ++k) make_largest_positive(&eigen.vectors[k * d()], d());
      if (is_over_()) return {};  // what came of it may be half done
      add_pairs(eigen, whiten, pairs);
    }
    return pairs;
  }

  // One of two classes, of more the heaviest; of numbers the places of their sums.
  std::vector<size_t> looked_at() const {
    const NodeCutter& node = node_.node();
    const size_t first = node.is_numbers() ? 1 : 0;
    std::vector<size_t> places;
    for (size_t c = first; c < node.total().size(); ++c) places.push_back(c);
    if (first == 0)
      std::stable_sort(places.begin(), places.end(),
                       [&](size_t a, size_t b) { return node.total()[a] > node.total()[b]; });
    places.resize(first == 0 && places.size() == 2 ? 1 : std::min(kMostClasses, places.size()));
    return places;
  }

  // The planes cos f e+ +- sin f e- for the extreme eigenvectors, over angles f.
  void add_pairs(const Eigen& eigen, const Vector& whiten, std::vector<Pair>& pairs) {
    const size_t ends = std::min<size_t>(2, (d() + 1) / 2);
    for (size_t up = 0; up < ends; ++up) {
      for (size_t down = 0; down < ends; ++down) {
        const double* plus = &eigen.vectors[up * d()];
        const double* minus = &eigen.vectors[(d() - 1 - down) * d()];
        Pair best;
        for (int angle = 0; angle <= kAngles && !is_over_(); ++angle) {
          const double f = 0.5 * std::numbers::pi * angle / kAngles;
          Pair pair{turned(plus, minus, std::cos(f), std::sin(f), whiten),
                    turned(plus, minus, std::cos(f), -std::sin(f), whiten)};
          pair.gain = quick_gain(pair);
          if (pair.gain > best.gain) best = std::move(pair);
        }
        if (best.gain >= 0) pairs.push_back(std::move(best));
      }
    }
  }

  Vector turned(const double* plus, const double* minus, double c, double s, const Vector& whiten) const {
    Vector mixed(d()), out(d());
    for (size_t j = 0; j < d(); ++j) mixed[j] = c * plus[j] + s * minus[j];
    for (size_t j = 0; j < d(); ++j) out[j] = dot(&whiten[j * d()], mixed.data(), static_cast<int64_t>(d()));
    return out;
  }

  // The root through the mean, both children along the other direction at their best thresholds.
  double quick_gain(const Pair& pair) {
    const Vector root = with_bias(pair.root), child = with_bias(pair.child);
    columns_.score(root, root_scores_);
    columns_.score(child, child_scores_);
    MeasuredTest measured;
    if (!node_.node().measure(root_scores_, 0.0, measured)) return -1;
    double gain = measured.gain;
    for (const bool is_right : {false, true}) {
      std::vector<uint32_t> rows;
      Vector scores;
      for (size_t i = 0; i < root_scores_.size(); ++i) {
        if ((root_scores_[i] > 0) != is_right) continue;
        rows.push_back(node_.rows()[i]);
        scores.push_back(child_scores_[i]);
      }
      const NodeCutter side = data_.cutter(rows);
      gain += std::max(0.0, side.find(scores, scratch_).gain);
    }
    return gain;
  }

  Vector with_bias(const Vector& direction) const {
    Vector theta = direction;
    theta.push_back(-dot(direction.data(), moments_.mean().data(), static_cast<int64_t>(d())));
    return theta;
  }

  // All three tests together: first the entropy of soft leaves, or the squared error; where classes end nearly pure,
  // the log-loss of labelled leaves takes away the last rows on a wrong side.
  std::vector<MeasuredTest> refine(const Pair& pair) {
    Vector theta;
    for (const Vector& direction : {pair.root, pair.child, pair.child}) add_part(with_bias(direction), theta);
    scale_parts(theta, kSoftStart);
    LbfgsOptions options;
    options.max_iter = 200;
    options.tolerance = options.gradient_limit = 1e-9;
    options.norm_limit = 1e6;
    SoftLeaves soft(columns_, node_.node());
    theta = minimise(soft, theta, options, is_over_);
    auto tests = measure(theta);
    const double potential = node_.node().potential(), gain = total_gain(tests);
    if (node_.node().is_numbers() || gain < kNearlyPure * potential || gain >= (1 - 1e-12) * potential) return tests;
    std::array<uint32_t, 4> leaf_class;
    if (!label_leaves(theta, leaf_class)) return tests;
    scale_parts(theta, kLabelledStart);
    options.max_iter = 500;
    options.tolerance = options.gradient_limit = 1e-12;
    LabelledLeaves labelled(columns_, node_.node(), leaf_class);
    auto more = measure(minimise(labelled, theta, options, is_over_));
    return total_gain(more) > gain ? more : tests;
  }

  static void add_part(const Vector& part, Vector& theta) { theta.insert(theta.end(), part.begin(), part.end()); }

  // Every test at the length that gives its scores this deviation.
  void scale_parts(Vector& theta, double deviation) {
    const NodeCutter& node = node_.node();
    for (size_t t = 0; t < 3; ++t) {
      const std::span<double> part(theta.data() + t * (d() + 1), d() + 1);
      columns_.score(part, root_scores_);
      double sum = 0, squares = 0;
      for (size_t i = 0; i < root_scores_.size(); ++i) sum += node.local()[i].weight * root_scores_[i];
      const double mean = sum / node.weight();
      for (size_t i = 0; i < root_scores_.size(); ++i)
        squares += node.local()[i].weight * (root_scores_[i] - mean) * (root_scores_[i] - mean);
      const double now = std::sqrt(squares / node.weight());
      if (!(now > 0)) continue;
      for (double& value : part) value *= deviation / now;
    }
  }

  // The most frequent class of each hard leaf; false if some class has none.
  bool label_leaves(const Vector& theta, std::array<uint32_t, 4>& leaf_class) {
    const auto classes = to_size(node_.node().classes());
    std::array<Vector, 3> scores;
    for (size_t t = 0; t < 3; ++t) columns_.score(std::span(theta).subspan(t * (d() + 1), d() + 1), scores[t]);
    std::array<Vector, 4> weight;
    for (Vector& leaf : weight) leaf.assign(classes, 0.0);
    for (size_t i = 0; i < scores[0].size(); ++i) {
      const size_t side = scores[0][i] > 0 ? 1 : 0, leaf = 2 * side + (scores[1 + side][i] > 0 ? 1 : 0);
      weight[leaf][node_.node().local()[i].label] += node_.node().local()[i].weight;
    }
    std::vector<bool> has_leaf(classes, false);
    for (size_t leaf = 0; leaf < 4; ++leaf) {
      const auto most = std::max_element(weight[leaf].begin(), weight[leaf].end()) - weight[leaf].begin();
      leaf_class[leaf] = static_cast<uint32_t>(most);
      has_leaf[to_size(most)] = true;
    }
    return std::find(has_leaf.begin(), has_leaf.end(), false) == has_leaf.end();
  }

  std::vector<MeasuredTest> measure(std::span<const double> theta) {
    const auto root = theta.first(d() + 1), left = theta.subspan(d() + 1, d() + 1), right = theta.last(d() + 1);
    NodeOffers top(data_, node_.rows(), node_.path(), control_);
    if (top.offer(root, root.back()) < 0) return {};
    std::vector<MeasuredTest> tests{top.best()};
    std::vector<uint8_t> goes_left(data_.rows());
    top.mark(goes_left.data());
    for (const bool is_right : {false, true}) {
      std::vector<uint32_t> rows;
      for (const uint32_t row : node_.rows())
        if ((goes_left[row] == 0) == is_right) rows.push_back(row);
      NodeOffers side(data_, rows, node_.path(), control_);
      if (side.offer(is_right ? right : left, kFindThreshold) < 0) return {};
      tests.push_back(side.best());
    }
    return tests;
  }

  const ObliqueData& data_;
  const NodeOffers& node_;
  const Control& control_;
  IsOver is_over_;
  ScaledColumns columns_;
  Moments moments_;
  CutScratch scratch_;
  Vector root_scores_, child_scores_;
};

}  // namespace

std::vector<MeasuredTest> look_ahead(const ObliqueData& data, const NodeOffers& node, const Control& control) {
  const auto d = to_size(data.columns());
  if (d > kMostColumns || node.rows().size() < fewest_rows(d)) return {};
  if (LookAhead::is_over(data, control)) return {};
  return LookAhead(data, node, control).run();
}

}  // namespace boscage
