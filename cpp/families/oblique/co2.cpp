#include "families/oblique/co2.hpp"

#include <algorithm>
#include <cmath>

#include "base/dot.hpp"
#include "base/index.hpp"
#include "families/oblique/plane_search.hpp"

namespace boscage {

namespace {

// The sides are measured again after so many steps; a search ends when so many measurements brought nothing.
constexpr int kStepsPerSide = 10, kPatience = 8;
// Weight, as a share of the node's, that is added to both sides in the node's class shares.
constexpr double kSmoothing = 0.01;

class Descent {
 public:
  Descent(const ScaledColumns& columns, const NodeCutter& node, const Co2Options& options)
      : columns_(columns), node_(node), options_(options) {}

  // Improves theta (the bias last) and returns the gain of the best hyperplane met.
  double run(std::vector<double>& theta, const Deadline& deadline, const Control& control) {
    std::vector<double> best = theta;
    double best_gain = -1;
    shrink(theta);
    int vain = 0;
    for (int step = 0; step <= options_.max_iter; ++step) {
      control.check();
      columns_.score(theta, scores_);
      if (step % kStepsPerSide == 0) {
        const double gain = measure_sides();
        if (gain > best_gain * (1 + 1e-9)) {
          best = theta;
          best_gain = gain;
          vain = 0;
        } else if (++vain >= kPatience) {
          break;
        }
        if (deadline.is_over()) break;
      }
      descend(theta);
      shrink(theta);
    }
    theta = best;
    return best_gain;
  }

 private:
  // Losses -ln p of every class on both sides of the hyperplane as it stands, p smoothed.
  double measure_sides() {
    const size_t k = node_.total().size();
    std::vector<double> right(k, 0.0), left(k, 0.0);
    for (size_t i = 0; i < scores_.size(); ++i) {
      const WeightedRow& row = node_.local()[i];
      (scores_[i] > 0 ? right : left)[row.label] += row.weight;
    }
    advantage_.resize(k);
    double right_weight = 0, left_weight = 0;
    for (size_t c = 0; c < k; ++c) {
      right_weight += right[c];
      left_weight += left[c];
    }
    const double one = kSmoothing * node_.weight();
    for (size_t c = 0; c < k; ++c) {
      const double prior = kSmoothing * node_.total()[c];
      const double p = (right[c] + prior) / (right_weight + one), q = (left[c] + prior) / (left_weight + one);
      advantage_[c] = std::log(p) - std::log(q);  // loss on the left minus loss on the right
    }
    MeasuredTest measured;
    return node_.measure(scores_, 0.0, measured) ? measured.gain : -1;
  }

  // Row i pulls where the side of the larger bound is not its own: by (g - sign) x, g maximising g z + loss_g.
  void descend(std::vector<double>& theta) {
    pull_.resize(scores_.size());
    const double scale = options_.eta / node_.weight();
    double bias = 0;
    for (size_t i = 0; i < scores_.size(); ++i) {
      const WeightedRow& row = node_.local()[i];
      const double own = scores_[i] >= 0 ? 1.0 : -1.0;
      const double other = 2 * scores_[i] >= advantage_[row.label] ? 1.0 : -1.0;
      pull_[i] = scale * row.weight * (other - own);
      bias += pull_[i];
    }
    columns_.project(pull_, sums_);
    for (size_t j = 0; j < columns_.columns(); ++j) theta[j] -= sums_[j];
    theta.back() -= bias;
  }

  void shrink(std::vector<double>& theta) const {
    const double squares = dot(theta.data(), theta.data(), signed_size(theta));
    if (squares <= options_.nu) return;
    for (double& value : theta) value *= std::sqrt(options_.nu / squares);
  }

  const ScaledColumns& columns_;
  const NodeCutter& node_;
  const Co2Options& options_;
  std::vector<double> scores_, pull_, sums_, advantage_;
};

}  // namespace

void Co2::search(const ObliqueData& data, NodeOffers& offers, Pool*, const Control& control) const {
  PlaneSearch search(data, offers, options_.start, options_.seed, deadline_);
  if (!search.begin()) return;
  const ScaledColumns columns(data, offers.rows());
  Plane plane(columns, offers.node(), offers.scratch);
  search.place(plane, 0);
  auto theta = plane.theta();
  const double length = std::sqrt(dot(theta.data(), theta.data(), signed_size(theta)));
  if (length > 1)
    for (double& value : theta) value /= length;
  const double gain = Descent(columns, offers.node(), options_).run(theta, deadline_, control);
  const bool stands = !options_.recut && gain >= 0 && offers.offer(theta, theta.back()) >= 0;
  if (!stands) offers.offer(theta, kFindThreshold);
  search.end();
}

}  // namespace boscage
