#include "oblique/lookahead.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "dot.hpp"
#include "oblique/columns.hpp"
#include "oblique/eigen.hpp"
#include "oblique/wodt.hpp"

namespace boscage {

namespace {

constexpr size_t kMostColumns = 200, kMostClasses = 5, kRefitted = 3;
constexpr int kAngles = 12, kRounds = 12, kVainRounds = 3;
constexpr double kRidge = 1e-6;

using Vector = std::vector<double>;

double total_gain(const std::vector<MeasuredTest>& tests) {
  double sum = 0;
  for (const auto& measured : tests) sum += measured.gain;
  return tests.size() == 3 ? sum : -1;
}

// Second moments of the rows about their mean: of all, and of each class against its share.
class Moments {
 public:
  Moments(const ScaledColumns& columns, const NodeCutter& node)
      : d_(columns.columns()), n_(columns.rows()), mean_(d_), centred_(d_ * n_) {
    for (size_t j = 0; j < d_; ++j) {
      const double* x = columns.column(j).data();
      double sum = 0;
      for (size_t i = 0; i < n_; ++i) sum += node.local()[i].weight * x[i];
      mean_[j] = sum / node.weight();
      for (size_t i = 0; i < n_; ++i) centred_[j * n_ + i] = x[i] - mean_[j];
    }
  }

  const Vector& mean() const { return mean_; }

  template <class Weight>
  Vector matrix(const Weight& weight) const {
    Vector weighted(n_), out(d_ * d_);
    for (size_t p = 0; p < d_; ++p) {
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
Vector whitener(Vector covariance, size_t d) {
  double trace = 0;
  for (size_t j = 0; j < d; ++j) trace += covariance[j * d + j];
  for (size_t j = 0; j < d; ++j) covariance[j * d + j] += kRidge * trace / static_cast<double>(d);
  const Eigen eigen = eigen_of(std::move(covariance), d);
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

// A candidate node's work: directions to pairs, pairs to triples of measured tests.
class LookAhead {
 public:
  LookAhead(const ObliqueData& data, const NodeOffers& node, const Control& control)
      : data_(data), node_(node), control_(control), columns_(data, node.rows()), moments_(columns_, node.node()) {}

  std::vector<MeasuredTest> run() {
    std::vector<Pair> pairs = candidates();
    std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.gain > b.gain; });
    std::vector<MeasuredTest> best;
    for (size_t k = 0; k < std::min(kRefitted, pairs.size()); ++k) {
      auto tests = refit(pairs[k]);
      if (total_gain(tests) > total_gain(best) + 1e-11 * node_.node().potential()) best = std::move(tests);
    }
    return best;
  }

 private:
  size_t d() const { return columns_.columns(); }

  std::vector<Pair> candidates() {
    const NodeCutter& node = node_.node();
    const auto weight = [&](size_t i) { return node.local()[i].weight / node.weight(); };
    const Vector whiten = whitener(moments_.matrix(weight), d());
    std::vector<size_t> classes(node.total().size());
    for (size_t c = 0; c < classes.size(); ++c) classes[c] = c;
    std::stable_sort(classes.begin(), classes.end(),
                     [&](size_t a, size_t b) { return node.total()[a] > node.total()[b]; });
    classes.resize(classes.size() == 2 ? 1 : std::min(kMostClasses, classes.size()));
    std::vector<Pair> pairs;
    for (const size_t c : classes) {
      control_.check();
      const double share = node.total()[c] / node.weight();
      const auto apart = [&](size_t i) { return weight(i) * ((node.local()[i].label == c ? 1.0 : 0.0) - share); };
      const Eigen eigen = eigen_of(product(product(whiten, moments_.matrix(apart), d()), whiten, d()), d());
      add_pairs(eigen, whiten, pairs);
    }
    return pairs;
  }

  // The planes cos f e+ +- sin f e- for the extreme eigenvectors, over angles f.
  void add_pairs(const Eigen& eigen, const Vector& whiten, std::vector<Pair>& pairs) {
    const size_t ends = std::min<size_t>(2, (d() + 1) / 2);
    for (size_t up = 0; up < ends; ++up) {
      for (size_t down = 0; down < ends; ++down) {
        const double* plus = &eigen.vectors[up * d()];
        const double* minus = &eigen.vectors[(d() - 1 - down) * d()];
        Pair best;
        for (int angle = 0; angle <= kAngles; ++angle) {
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
      const NodeCutter side(rows, data_.weighted, data_.classes, data_.criterion, data_.limits);
      gain += std::max(0.0, side.find(scores, scratch_).gain);
    }
    return gain;
  }

  Vector with_bias(const Vector& direction) const {
    Vector theta = direction;
    theta.push_back(-dot(direction.data(), moments_.mean().data(), static_cast<int64_t>(d())));
    return theta;
  }

  // Turns: both children on their rows, then the root on what either side would cost each row.
  std::vector<MeasuredTest> refit(const Pair& pair) {
    Vector root = with_bias(pair.root), child[2] = {with_bias(pair.child), with_bias(pair.child)};
    std::vector<MeasuredTest> best;
    int vain = 0;
    for (int round = 0; round < kRounds; ++round) {
      control_.check();
      columns_.score(root, root_scores_);
      for (const bool is_right : {false, true}) {
        std::vector<uint32_t> rows;
        std::vector<WeightedRow> labels;
        for (size_t i = 0; i < root_scores_.size(); ++i) {
          if ((root_scores_[i] > 0) != is_right) continue;
          rows.push_back(node_.rows()[i]);
          labels.push_back(node_.node().local()[i]);
        }
        if (rows.empty()) return best;
        child[is_right] = fit_plane(data_, rows, labels, node_.node().classes(), child[is_right], control_);
      }
      auto tests = measure(root, child[0], child[1]);
      const bool rises = total_gain(tests) > total_gain(best);
      vain = rises ? 0 : vain + 1;
      if (rises) best = std::move(tests);
      const bool perfect = total_gain(best) >= (1 - 1e-12) * node_.node().potential();
      if (perfect || vain == kVainRounds || !refit_root(root, child)) break;
    }
    return best;
  }

  // Each row prefers the side whose child puts it where its class is more frequent; the root follows the preferences.
  bool refit_root(Vector& root, const Vector (&child)[2]) {
    const auto classes = static_cast<size_t>(node_.node().classes());
    const auto local = node_.node().local();
    Vector side_scores[2];
    for (int side = 0; side < 2; ++side) columns_.score(child[side], side_scores[side]);
    std::vector<Vector> cells(4, Vector(classes, 0.0));
    Vector weight(4, 0.0);
    const auto cell = [&](size_t side, size_t i) { return 2 * side + (side_scores[side][i] > 0 ? 1 : 0); };
    for (size_t i = 0; i < local.size(); ++i) {
      const size_t at = cell(root_scores_[i] > 0 ? 1 : 0, i);
      cells[at][local[i].label] += local[i].weight;
      weight[at] += local[i].weight;
    }
    const double more = 0.01 * node_.node().weight();
    const auto log_share = [&](size_t at, uint32_t c) {
      return std::log((cells[at][c] + 0.01 * node_.node().total()[c]) / (weight[at] + more));
    };
    std::vector<WeightedRow> wish(local.size());
    bool both[2] = {false, false};
    for (size_t i = 0; i < local.size(); ++i) {
      const double gain = log_share(cell(1, i), local[i].label) - log_share(cell(0, i), local[i].label);
      wish[i] = {local[i].weight * std::abs(gain), gain > 0 ? 1U : 0U};
      if (wish[i].weight > 0) both[wish[i].label] = true;
    }
    if (!both[0] || !both[1]) return false;
    root = fit_plane(data_, node_.rows(), wish, 2, root, control_);
    return true;
  }

  std::vector<MeasuredTest> measure(const Vector& root, const Vector& left, const Vector& right) {
    NodeOffers top(data_, node_.rows(), node_.path());
    if (top.offer(root, root.back()) < 0) return {};
    std::vector<MeasuredTest> tests{top.best()};
    std::vector<uint8_t> goes_left(data_.weighted.size());
    top.mark(goes_left.data());
    for (const bool is_right : {false, true}) {
      std::vector<uint32_t> rows;
      for (const uint32_t row : node_.rows())
        if ((goes_left[row] == 0) == is_right) rows.push_back(row);
      NodeOffers side(data_, rows, node_.path());
      if (side.offer(is_right ? right : left, kFindThreshold) < 0) return {};
      tests.push_back(side.best());
    }
    return tests;
  }

  const ObliqueData& data_;
  const NodeOffers& node_;
  const Control& control_;
  ScaledColumns columns_;
  Moments moments_;
  CutScratch scratch_;
  Vector root_scores_, child_scores_;
};

}  // namespace

std::vector<MeasuredTest> look_ahead(const ObliqueData& data, const NodeOffers& node, const Control& control) {
  const auto d = static_cast<size_t>(data.columns());
  if (d > kMostColumns || node.rows().size() < std::max<size_t>(4, 2 * d)) return {};
  return LookAhead(data, node, control).run();
}

}  // namespace boscage
