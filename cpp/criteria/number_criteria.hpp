// Criteria of numbers: functions of a node's sums (w, w·v_1, …, w·v_m) and of one more sum that reports need.
//
// Values v are in the node's units (data/number_grid.hpp), where their size is at most 1.
// gain(right, left, k)  what a test is worth, computed as a sum of non-negative terms; below 0: not a valid test.
// noise(sums, k)        a gain up to this is rounding.
// report(v, m)          what a row of weight 1 adds to the sum that `total` needs beside the others. Never decides.
// total(sums, k, report) weight times impurity.
// degree()              gains of values that are twice as large are 2^degree times as large.
#pragma once

#include <cmath>
#include <string_view>

#include "criteria/class_criteria.hpp"
#include "criteria/sums.hpp"

namespace boscage {

// Mean squared deviation from the mean, averaged over the outputs.
struct SquaredError {
  using Target = Numbers;
  static constexpr std::string_view name = "squared_error";
  static constexpr bool is_centred = true;  // a shift of all values changes nothing
  static constexpr bool may_refuse = false;
  double degree() const { return 2; }

  double gain(const double* right, const double* left, int k) const {
    const double p = right[0], q = left[0];
    if (!(p > 0 && q > 0)) return 0;
    if (k == 2) return pair_gain(p, right[1], q, left[1]);
    double squares = 0;
    for (int j = 1; j < k; ++j) {
      const double d = right[j] * q - left[j] * p;
      squares += d * d;
    }
    return squares / (p * q * (p + q) * (k - 1));
  }

  // gain() of one output, for one cut or many at once: where sides weigh at least `lightest`.
  bool has_pair_gain(double lightest, double) const { return lightest > 0; }
  double pair_gain(double p, double right, double q, double left) const {
    const double d = right * q - left * p;
    return d * d / (p * q * (p + q));
  }

  double noise(const double* sums, int) const { return 1e-26 * sums[0]; }

  double report(const double* v, int m) const {
    double squares = 0;
    for (int j = 0; j < m; ++j) squares += v[j] * v[j];
    return squares;
  }

  int report_exponent(int m) const { return std::ilogb(m) + 1; }

  double total(const double* sums, int k, double report) const {
    double squares = report;
    for (int j = 1; j < k; ++j) squares -= sums[j] * (sums[j] / sums[0]);
    return std::max(squares, 0.0) / (k - 1);
  }
};

// Half the Tweedie deviance: Poisson for power 1, gamma for power 2, compound Poisson-gamma between. One output, no
// value below 0. A side whose values are all 0 would predict 0, with which no other value is possible: it is refused.
struct Deviance {
  using Target = Numbers;
  static constexpr bool is_centred = false;
  static constexpr bool may_refuse = true;
  double a = 1;  // 2 - power

  double degree() const { return a; }

  double gain(const double* right, const double* left, int) const {
    const double p = right[0], q = left[0], all = right[1] + left[1];
    if (!(right[1] > 0 && left[1] > 0)) return -1;
    const double d = right[1] * q - left[1] * p;
    return scale(p + q, all) * (p * gap(d / (p * all)) + q * gap(-d / (q * all)));
  }

  double noise(const double* sums, int) const { return 1e-26 * sums[0] * scale(sums[0], sums[1]); }

  double report(const double* v, int) const {
    const double y = *v;
    if (a == 1) return y > 0 ? y * std::log(y) : 0.0;
    if (a == 0) return std::log(y);
    return y > 0 ? std::pow(y, a) : 0.0;
  }

  int report_exponent(int) const { return a == 0 ? 11 : 0; }  // the logarithm of a double is below 2^11

  double total(const double* sums, int, double report) const {
    const double mean = sums[1] / sums[0];
    if (!(mean > 0)) return 0;
    if (a == 1) return std::max(report - sums[1] * std::log(mean), 0.0);
    if (a == 0) return std::max(sums[0] * std::log(mean) - report, 0.0);
    return std::max(sums[0] * std::pow(mean, a) - report, 0.0) / (a * (1 - a));
  }

 private:
  // mean^a
  double scale(double weight, double sum) const {
    return a == 1 ? sum / weight : a == 0 ? 1.0 : sum > 0 ? std::pow(sum / weight, a) : 0.0;
  }

  // (1 + a x - (1 + x)^a) / (a (1 - a)) and its limits, >= 0 for x > -1; the series where differences lose digits.
  double gap(double x) const {
    if (std::abs(x) < 0.01) {
      double series = 1;
      for (int n = 8; n >= 3; --n) series = 1 - (n - 1 - a) * x / n * series;
      return 0.5 * x * x * series;
    }
    if (a == 1) return detail::entropy_gap(x);
    if (!(x > -1)) x = -1 + 0x1p-53;
    return a == 0 ? x - std::log1p(x) : (1 + a * x - std::pow(1 + x, a)) / (a * (1 - a));
  }
};

// Pinball loss at the q-quantile, times `factor`: 2 makes the absolute error of q = 1/2. Its search is its own
// (families/axis/quantile_scan.hpp): what a side loses is no function of sums. One output.
struct Quantile {
  using Target = Ranks;
  static constexpr bool is_centred = true;
  double q = 0.5, factor = 1;

  double degree() const { return 1; }
  double noise(const double* sums, int) const { return 1e-14 * sums[0]; }
  double report(const double*, int) const { return 0; }
  int report_exponent(int) const { return 0; }
  double total(const double*, int, double report) const { return report; }  // the loss at the quantile
};

}  // namespace boscage
