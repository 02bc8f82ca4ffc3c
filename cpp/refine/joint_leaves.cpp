#include "refine/joint_leaves.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/index.hpp"
#include "numeric/minimise.hpp"
#include "numeric/pairwise_sum.hpp"

namespace boscage::refine {

namespace {

constexpr double kBend = 0.25;  // of the logarithmic loss of one class, at most

// The loss over the total weight, at B in units of its own for each leaf.
class JointLoss {
 public:
  JointLoss(const ForestRows& rows, double l2, Pool& pool, Control& control)
      : rows_(rows), pool_(pool), control_(control), unit_(to_size(rows.leaves())) {
    for (const double w : rows.weight) total_ += w;
    l2_ = l2 / total_;
    std::vector<double> mass(unit_.size(), 0.0);
    for (int64_t t = 0; t < rows.trees(); ++t)
      for (int64_t i = 0; i < rows.rows(); ++i) mass[leaf(t, i)] += rows.weight[to_size(i)];
    const double bend = rows.label.empty() ? 1.0 : kBend;
    for (size_t l = 0; l < unit_.size(); ++l) unit_[l] = 1 / std::sqrt(bend * mass[l] / total_ + l2_);
    values_.resize(to_size(rows.leaves() * rows.outputs()));
    gradient_.resize(values_.size());
    slopes_.resize(to_size(rows.rows() * rows.outputs()));
    losses_.resize(to_size(block_count(rows.rows())));
  }

  int64_t size() const { return signed_size(values_); }

  // B at a point of the search, which is how far it is from the start.
  const std::vector<double>& values(std::span<const double> point) {
    const auto k = to_size(rows_.outputs());
    for (size_t i = 0; i < values_.size(); ++i) values_[i] = rows_.start[i] + point[i] * unit_[i / k];
    return values_;
  }

  double value(std::span<const double> point) {
    values(point);
    pool_.parallel_for(signed_size(losses_), [&](int64_t block, int) {
      control_.check();
      const int64_t begin = block * kBlockRows, end = std::min(begin + kBlockRows, rows_.rows());
      double* slope = slopes_.data() + begin * rows_.outputs();
      double loss = 0;
      for (int64_t i = begin; i < end; ++i, slope += rows_.outputs()) loss += row_loss(i, slope);
      losses_[to_size(block)] = loss;
    });
    double loss = 0, squares = 0;
    for (const double part : losses_) loss += part;
    for (size_t i = 0; i < values_.size(); ++i) {
      const double away = point[i] * unit_[i / to_size(rows_.outputs())];
      squares += away * away;
    }
    return loss / total_ + l2_ / 2 * squares;
  }

  // At the point of the last value.
  std::span<const double> gradient() {
    const int64_t k = rows_.outputs();
    pool_.parallel_for(rows_.trees(), [&](int64_t tree, int) {
      control_.check();
      const int64_t begin = rows_.first[to_size(tree)] * k, end = rows_.first[to_size(tree) + 1] * k;
      std::fill(gradient_.begin() + begin, gradient_.begin() + end, 0.0);
      const double* slope = slopes_.data();
      for (int64_t i = 0; i < rows_.rows(); ++i, slope += k) {
        double* sum = gradient_.data() + leaf(tree, i) * to_size(k);
        for (int64_t c = 0; c < k; ++c) sum[c] += slope[c];
      }
      for (int64_t j = begin; j < end; ++j) {
        const auto at = to_size(j);
        const double away = values_[at] - rows_.start[at];
        gradient_[at] = (gradient_[at] / total_ + l2_ * away) * unit_[at / to_size(k)];
      }
    });
    control_.advance(1);
    return gradient_;
  }

 private:
  size_t leaf(int64_t tree, int64_t row) const {
    return static_cast<size_t>(rows_.leaf[to_size(tree * rows_.rows() + row)]);
  }

  // Weighted loss of a row; `slope` becomes its slopes by the scores.
  double row_loss(int64_t i, double* slope) const {
    const int64_t k = rows_.outputs();
    std::copy(rows_.base.begin(), rows_.base.end(), slope);
    for (int64_t t = 0; t < rows_.trees(); ++t) {
      const double* b = values_.data() + leaf(t, i) * to_size(k);
      for (int64_t c = 0; c < k; ++c) slope[c] += b[c];
    }
    const double weight = rows_.weight[to_size(i)];
    return weight * (rows_.label.empty() ? squares(i, weight, slope) : logarithmic(i, weight, slope));
  }

  double squares(int64_t i, double weight, double* slope) const {
    double loss = 0;
    for (int64_t c = 0; c < rows_.outputs(); ++c) {
      const double away = slope[c] - rows_.y[to_size(i * rows_.outputs() + c)];
      loss += away * away / 2;
      slope[c] = weight * away;
    }
    return loss;
  }

  double logarithmic(int64_t i, double weight, double* slope) const {
    const int64_t k = rows_.outputs(), label = rows_.label[to_size(i)];
    const double top = *std::max_element(slope, slope + k), own = slope[label];
    double sum = 0;
    for (int64_t c = 0; c < k; ++c) sum += slope[c] = std::exp(slope[c] - top);
    for (int64_t c = 0; c < k; ++c) slope[c] = weight * (slope[c] / sum - (c == label ? 1.0 : 0.0));
    return top + std::log(sum) - own;
  }

  const ForestRows& rows_;
  Pool& pool_;
  Control& control_;
  double total_ = 0, l2_ = 0;
  std::vector<double> unit_, values_, gradient_, slopes_, losses_;
};

}  // namespace

std::vector<double> fit_joint_leaves(const ForestRows& rows, const JointLeafOptions& options, Pool& pool,
                                     Control& control) {
  JointLoss loss(rows, options.l2, pool, control);
  LbfgsOptions settings;
  settings.max_iter = options.max_iter;
  settings.tolerance = 1e-15;  // of the mean loss: less is rounding
  settings.gradient_limit = 1e-9;
  settings.value_limit = -std::numeric_limits<double>::infinity();
  settings.norm_limit = std::numeric_limits<double>::infinity();
  const std::vector<double> start(to_size(loss.size()), 0.0);
  return loss.values(minimise(loss, start, settings));
}

}  // namespace boscage::refine
