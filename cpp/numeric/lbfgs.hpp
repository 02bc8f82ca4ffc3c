// L-BFGS as a question-and-answer machine: it asks for the value and, where a step is good, the gradient at point().
//
// Who computes them (one thread, many, batches on disk) is not known here. Steps satisfy the weak Wolfe conditions.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace boscage {

struct LbfgsOptions {
  int max_iter = 100;
  double tolerance = 1e-5;       // stop when a step lowers the value by less than this
  double gradient_limit = 1e-6;  // ... or no component of the gradient is larger
  double value_limit = 1e-9;     // ... or the value is as low as this
  double norm_limit = 1e3;       // ... or the point is this far out
  int memory = 10;
};

class Lbfgs {
 public:
  enum class Need { value, gradient, done };

  Lbfgs(std::span<const double> start, const LbfgsOptions& options);

  Need need() const { return need_; }
  std::span<const double> point() const { return point_; }
  void tell_value(double value);
  void tell_gradient(std::span<const double> gradient);

  // The best point so far, when need() is done.
  std::span<const double> best() const { return base_; }
  double best_value() const { return base_value_; }
  int iterations() const { return iterations_; }

 private:
  struct Pair {
    std::vector<double> step, change;
    double curvature;
  };

  void start_line();
  void move_to(double step);
  void accept(std::span<const double> gradient);
  void finish() { need_ = Need::done; }
  bool is_over(double decrease) const;
  std::vector<double> direction() const;

  LbfgsOptions options_;
  Need need_ = Need::value;
  bool started_ = false;
  int iterations_ = 0, trials_ = 0;
  std::vector<double> point_, base_, base_gradient_, direction_;
  double value_ = 0, base_value_ = 0, slope_ = 0;
  double step_ = 1, low_ = 0, high_ = 0;  // high 0: no upper end yet
  std::deque<Pair> pairs_;
};

}  // namespace boscage
