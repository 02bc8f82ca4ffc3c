#include "numeric/lbfgs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/dot.hpp"
#include "base/index.hpp"

namespace boscage {

namespace {

constexpr double kArmijo = 1e-4, kWolfe = 0.9;
constexpr int kMostTrials = 20;

double inner(const std::vector<double>& a, std::span<const double> b) {
  return wide_dot(a.data(), b.data(), signed_size(a));
}

}  // namespace

Lbfgs::Lbfgs(std::span<const double> start, const LbfgsOptions& options)
    : options_(options), point_(start.begin(), start.end()), base_(point_) {}

void Lbfgs::tell_value(double value) {
  value_ = value;
  if (!started_) {
    base_value_ = value;
    need_ = std::isfinite(value) ? Need::gradient : Need::done;
    return;
  }
  if (value <= base_value_ + kArmijo * step_ * slope_) {
    need_ = Need::gradient;
    return;
  }
  // Too far: the lowest point of the parabola through value, slope and this value, kept away from the ends.
  if (++trials_ >= kMostTrials) return finish();
  high_ = step_;
  const double rise = value - base_value_ - slope_ * step_;
  const double lowest = rise > 0 && std::isfinite(rise) ? -slope_ * step_ * step_ / (2 * rise) : 0.0;
  move_to(std::clamp(lowest, low_ + 0.1 * (high_ - low_), low_ + 0.5 * (high_ - low_)));
}

void Lbfgs::tell_gradient(std::span<const double> gradient) {
  if (!started_) {
    started_ = true;
    base_gradient_.assign(gradient.begin(), gradient.end());
    if (is_over(std::numeric_limits<double>::infinity())) return finish();
    return start_line();
  }
  if (inner(direction_, gradient) < kWolfe * slope_ && ++trials_ < kMostTrials) {  // still falling: go on
    low_ = step_;
    return move_to(high_ > 0 ? 0.5 * (low_ + high_) : 2 * step_);
  }
  accept(gradient);
}

void Lbfgs::accept(std::span<const double> gradient) {
  Pair pair{point_, {gradient.begin(), gradient.end()}, 0.0};
  for (size_t i = 0; i < point_.size(); ++i) {
    pair.step[i] -= base_[i];
    pair.change[i] -= base_gradient_[i];
  }
  pair.curvature = inner(pair.step, pair.change);
  if (pair.curvature > 1e-10 * inner(pair.change, pair.change)) {
    pairs_.push_back(std::move(pair));
    if (pairs_.size() > to_size(options_.memory)) pairs_.pop_front();
  }
  const double decrease = base_value_ - value_;
  base_ = point_;
  base_value_ = value_;
  base_gradient_.assign(gradient.begin(), gradient.end());
  ++iterations_;
  if (is_over(decrease)) return finish();
  start_line();
}

bool Lbfgs::is_over(double decrease) const {
  double largest = 0;
  for (const double g : base_gradient_) largest = std::max(largest, std::abs(g));
  return iterations_ >= options_.max_iter || decrease < options_.tolerance || largest <= options_.gradient_limit ||
         base_value_ <= options_.value_limit || inner(base_, base_) >= options_.norm_limit * options_.norm_limit;
}

void Lbfgs::start_line() {
  direction_ = direction();
  slope_ = inner(direction_, base_gradient_);
  if (!(slope_ < 0)) {  // the memory is no use: start afresh downhill
    pairs_.clear();
    direction_ = base_gradient_;
    for (double& value : direction_) value = -value;
    slope_ = -inner(base_gradient_, base_gradient_);
    if (!(slope_ < 0)) return finish();
  }
  low_ = high_ = 0;
  trials_ = 0;
  // Without curvature the length of the gradient means nothing: a first step of length 1.
  move_to(pairs_.empty() ? 1.0 / std::sqrt(inner(direction_, direction_)) : 1.0);
}

void Lbfgs::move_to(double step) {
  step_ = step;
  for (size_t i = 0; i < point_.size(); ++i) point_[i] = base_[i] + step * direction_[i];
  need_ = Need::value;
}

// The two loops of Nocedal: minus the inverse Hessian estimate times the gradient.
std::vector<double> Lbfgs::direction() const {
  std::vector<double> q(base_gradient_), share(pairs_.size());
  const auto size = signed_size(q);
  for (double& value : q) value = -value;
  for (size_t k = pairs_.size(); k-- > 0;) {
    share[k] = inner(pairs_[k].step, q) / pairs_[k].curvature;
    add_scaled(-share[k], pairs_[k].change.data(), size, q.data());
  }
  if (!pairs_.empty()) {
    const Pair& last = pairs_.back();
    const double scale = last.curvature / inner(last.change, last.change);
    for (double& value : q) value *= scale;
  }
  for (size_t k = 0; k < pairs_.size(); ++k) {
    const double back = share[k] - inner(pairs_[k].change, q) / pairs_[k].curvature;
    add_scaled(back, pairs_[k].step.data(), size, q.data());
  }
  return q;
}

}  // namespace boscage
