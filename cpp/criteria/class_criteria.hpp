// Criteria of classes: functions of class weights, nothing else.
//
// total(w)          Phi(W) = |W| * G(W / |W|): concave, homogeneous of degree 1, zero when one class is left.
// gain(right, left) what a test is worth: Phi(right + left) - Phi(right) - Phi(left), computed as a sum of
//                   non-negative terms, never as that difference; Separation has a gain of its own.
// drop(right, left) the fall of the potential Phi: the gain, except for Separation.
// The same roster in the same order as criteria.py. Must not know rows, features or trees.
#pragma once

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/array.hpp"
#include "criteria/sums.hpp"

namespace boscage {

namespace detail {

inline constexpr double bits_per_nat = 1.4426950408889634;

inline double sum(const double* w, int k) {
  double all = 0;
  for (int c = 0; c < k; ++c) all += w[c];
  return all;
}

// Weight of all classes but c. Subtracting costs at most one bit unless c holds most of the weight.
inline double rest(const double* w, int k, double all, int c) {
  if (k == 2) return w[1 - c];
  if (2 * w[c] <= all) return all - w[c];
  double others = 0;
  for (int j = 0; j < k; ++j) {
    if (j != c) others += w[j];
  }
  return others;
}

// Products of four weights of this size neither overflow nor vanish.
inline bool moderate(double p, double q) { return p > 1e-70 && q > 1e-70 && p + q < 1e70; }

inline int exponent(const double* w, int k) {
  double largest = 0;
  for (int c = 0; c < k; ++c) largest = std::max(largest, w[c]);
  return largest > 0 ? std::ilogb(largest) : 0;
}

// Runs formula(right, left, P, Q) on weights of moderate size: others are first multiplied by a power of two.
template <class Formula>
double with_moderate_scale(const double* right, const double* left, int k, Formula&& formula) {
  const double p = sum(right, k), q = sum(left, k);
  if (moderate(p, q)) [[likely]]
    return formula(right, left, p, q);
  if (!(p > 0 && q > 0)) return 0;
  const int shift = std::max(exponent(right, k), exponent(left, k));
  Array<double> scaled(2 * k);
  for (int c = 0; c < k; ++c) {
    scaled[c] = std::ldexp(right[c], -shift);
    scaled[k + c] = std::ldexp(left[c], -shift);
  }
  const double *r = scaled.data(), *l = r + k;
  const double rp = sum(r, k), lq = sum(l, k);
  if (!(rp > 1e-300 && lq > 1e-300)) return 0;  // nothing beside the other side
  return std::ldexp(formula(r, l, rp, lq), shift);
}

// The same for total(w): formula(w, |W|).
template <class Formula>
double with_moderate_scale(const double* w, int k, Formula&& formula) {
  const double all = sum(w, k);
  if (all > 1e-70 && all < 1e70) [[likely]]
    return formula(w, all);
  if (!(all > 0)) return 0;
  const int shift = exponent(w, k);
  Array<double> scaled(w, w + k);
  for (double& weight : scaled) weight = std::ldexp(weight, -shift);
  return std::ldexp(formula(scaled.data(), sum(scaled.data(), k)), shift);
}

// (1 + x) ln(1 + x) - x for x >= -1; the series where the difference would lose digits.
inline double entropy_gap(double x) {
  if (std::abs(x) < 0.01) {
    const double tail = x * (1. / 30 + x * (-1. / 42 + x * (1. / 56 - x / 72)));
    return x * x * (0.5 + x * (-1. / 6 + x * (1. / 12 + x * (-1. / 20 + tail))));
  }
  if (!(x > -1)) return 1;
  return (1 + x) * (std::abs(x) < 0.1 ? std::log1p(x) : std::log(1 + x)) - x;  // log is the quicker one
}

// The sum over classes of sqrt(w_c * t_c) - sqrt(r_c * tr_c) - sqrt(l_c * tl_c), where t = C|W| - w_c is linear in W.
// Rationalised twice: each term is a square over a sum of roots, (C d_c)^2 / ((a + b)^2 (e + f + g)).
inline double root_gain(const double* right, const double* left, int k, double p, double q, double c_minus_1) {
  double gain = 0;
  const int terms = k == 2 && c_minus_1 == 0 ? 1 : k;
  for (int c = 0; c < terms; ++c) {
    const double tr = c_minus_1 * p + rest(right, k, p, c), tl = c_minus_1 * q + rest(left, k, q, c);
    const double r = right[c], l = left[c];
    const double a = std::sqrt(r) * std::sqrt(tl), b = std::sqrt(l) * std::sqrt(tr);
    if (!(a + b > 0)) continue;
    const double difference = (r * tl - l * tr) / (a + b);
    // (right, left) and (left, right) give the same bits: only these two are grouped.
    const double child_roots = std::sqrt(r) * std::sqrt(tr) + std::sqrt(l) * std::sqrt(tl);
    const double roots = std::sqrt(r + l) * std::sqrt(tr + tl) + child_roots;
    gain += difference * difference / roots;
  }
  return terms < k ? 2 * gain : gain;
}

}  // namespace detail

// sum pi (1 - pi)
struct Gini {
  using Target = Classes;
  static constexpr std::string_view name = "gini";

  double total(const double* w, int k) const {
    return detail::with_moderate_scale(w, k, [k](const double* v, double all) {
      double products = 0;
      for (int c = 0; c < k; ++c) products += v[c] * detail::rest(v, k, all, c);
      return products / all;
    });
  }

  double gain(const double* right, const double* left, int k) const {
    if (k == 2) {
      const double p = right[0] + right[1], q = left[0] + left[1];
      if (detail::moderate(p, q)) [[likely]]
        return pair_gain(right[0], right[1], left[0], left[1]);
    }
    return detail::with_moderate_scale(right, left, k, [k](const double* r, const double* l, double p, double q) {
      if (k == 2 || std::min(p, q) <= 1e-70) [[unlikely]]
        return of_light_side(r, l, k, p, q);
      double squares = 0;
      for (int c = 0; c < k; ++c) {
        const double d = r[c] * q - l[c] * p;
        squares += d * d;
      }
      return squares / (p * q * (p + q));
    });
  }

  double drop(const double* right, const double* left, int k) const { return gain(right, left, k); }

  // gain() of two classes, for one cut or many at once: where sides weigh at least `lightest` and `all` together.
  bool has_pair_gain(double lightest, double all) const { return detail::moderate(lightest, all - lightest); }
  double pair_gain(double right_0, double right_1, double left_0, double left_1) const {
    const double p = right_0 + right_1, q = left_0 + left_1;
    const double d = right_1 * left_0 - left_1 * right_0;  // = R1 Q - L1 P with fewer roundings
    return 2 * d * d / (p * q * (p + q));
  }

 private:
  // A side so light that squares would vanish is measured in its own unit.
  static double of_light_side(const double* r, const double* l, int k, double p, double q) {
    const double unit = std::min(p, q);
    double squares = 0;
    for (int c = 0; c < k; ++c) {
      const double d = (k == 2 ? r[c] * l[1 - c] - l[c] * r[1 - c] : r[c] * q - l[c] * p) / unit;
      squares += d * d;
    }
    return squares * unit / (std::max(p, q) * (p + q));
  }
};

// -sum pi log2 pi
struct Entropy {
  using Target = Classes;
  static constexpr std::string_view name = "entropy";

  double total(const double* w, int k) const {
    return detail::with_moderate_scale(w, k, [k](const double* v, double all) {
      double nats = 0;
      for (int c = 0; c < k; ++c) {
        if (!(v[c] > 0)) continue;
        const double share = v[c] / all;
        nats -= v[c] * (share > 0.5 ? std::log1p(-detail::rest(v, k, all, c) / all) : std::log(share));
      }
      return nats * detail::bits_per_nat;
    });
  }

  double gain(const double* right, const double* left, int k) const {
    return detail::with_moderate_scale(right, left, k, [k](const double* r, const double* l, double p, double q) {
      const double per_p = 1 / p, per_q = 1 / q;
      double nats = 0;
      for (int c = 0; c < k; ++c) {
        const double both = r[c] + l[c];
        if (!(both > 0)) continue;
        const double d = (r[c] * q - l[c] * p) / both;
        nats += both * (p * (r[c] > 0 ? detail::entropy_gap(d * per_p) : 1.0) +
                        q * (l[c] > 0 ? detail::entropy_gap(-d * per_q) : 1.0));
      }
      return nats / (p + q) * detail::bits_per_nat;
    });
  }

  double drop(const double* right, const double* left, int k) const { return gain(right, left, k); }
};

// sum sqrt(pi (1 - pi))
struct Sqrt {
  using Target = Classes;
  static constexpr std::string_view name = "sqrt";

  double total(const double* w, int k) const {
    return detail::with_moderate_scale(w, k, [k](const double* v, double all) {
      double roots = 0;
      for (int c = 0; c < k; ++c) roots += std::sqrt(v[c]) * std::sqrt(detail::rest(v, k, all, c));
      return roots;
    });
  }

  double gain(const double* right, const double* left, int k) const {
    return detail::with_moderate_scale(right, left, k, [k](const double* r, const double* l, double p, double q) {
      return detail::root_gain(r, l, k, p, q, 0);
    });
  }

  double drop(const double* right, const double* left, int k) const { return gain(right, left, k); }
};

// sum sqrt(pi (C - pi)) - sqrt(C - 1)
struct ModifiedGini {
  using Target = Classes;
  static constexpr std::string_view name = "modified_gini";
  double c = 3;

  double total(const double* w, int k) const {
    return detail::with_moderate_scale(w, k, [this, k](const double* v, double all) {
      // The largest class carries the shift, so that nothing cancels near a pure node:
      // sqrt(w t) - |W| sqrt(C - 1) = r (|W| (2 - C) - r) / (sqrt(w t) + |W| sqrt(C - 1)), r = |W| - w.
      const int largest = static_cast<int>(std::max_element(v, v + k) - v);
      double value = 0;
      for (int j = 0; j < k; ++j) {
        const double others = detail::rest(v, k, all, j);
        const double root = std::sqrt(v[j]) * std::sqrt((c - 1) * all + others);
        if (j != largest) {
          value += root;
        } else if (others > 0) {
          value += others * ((2 - c) * all - others) / (root + all * std::sqrt(c - 1));
        }
      }
      return std::max(value, 0.0);
    });
  }

  double gain(const double* right, const double* left, int k) const {
    return detail::with_moderate_scale(right, left, k, [this, k](const double* r, const double* l, double p, double q) {
      return detail::root_gain(r, l, k, p, q, c - 1);
    });
  }

  double drop(const double* right, const double* left, int k) const { return gain(right, left, k); }
};

// LOMtree's J = 2 sum pi_c |P - P_c|: a gain without an impurity; entropy is its potential.
struct Separation {
  using Target = Classes;
  static constexpr std::string_view name = "separation";

  double total(const double* w, int k) const { return Entropy{}.total(w, k); }

  double gain(const double* right, const double* left, int k) const {
    return detail::with_moderate_scale(right, left, k, [k](const double* r, const double* l, double p, double q) {
      double distances = 0;
      for (int c = 0; c < k; ++c) distances += std::abs(r[c] * q - l[c] * p);
      return 2 * distances / (p + q);
    });
  }

  double drop(const double* right, const double* left, int k) const { return Entropy{}.gain(right, left, k); }
};

// A user's G, as half the sum over classes: cubic pieces on knots uniform in u, min(q, 1 - q) = u^4.
// Three numbers per knot: G, dG/du and -G''(q) (q (1 - q))^(3/2).
struct Table {
  using Target = Classes;
  static constexpr std::string_view name = "table";
  static constexpr int width = 3;
  Array<double> knots;

  double total(const double* w, int k) const {
    return detail::with_moderate_scale(w, k, [this, k](const double* v, double all) {
      double value = 0;
      for (int c = 0; c < k; ++c) value += at(std::min(v[c], detail::rest(v, k, all, c)) / all);
      return 0.5 * all * value;
    });
  }

  double gain(const double* right, const double* left, int k) const {
    return detail::with_moderate_scale(right, left, k, [this, k](const double* r, const double* l, double p, double q) {
      double value = 0;
      const int terms = k == 2 ? 1 : k;
      for (int c = 0; c < terms; ++c) {
        const double rest_right = detail::rest(r, k, p, c), rest_left = detail::rest(l, k, q, c);
        value += one_class(r[c], rest_right, l[c], rest_left, p, q);
      }
      return terms < k ? value : 0.5 * value;
    });
  }

  double drop(const double* right, const double* left, int k) const { return gain(right, left, k); }

  // G and dG/dq at a share in ]0, 1/2].
  std::pair<double, double> value_and_slope(double share) const {
    const auto [knot, x] = place(share);
    const double h = 0.8408964152537145 / static_cast<double>(knots.size() / width - 1);  // 2^(-1/4) / cells
    const double rise = knot[width] - knot[0], m0 = h * knot[1] - rise, m1 = rise - h * knot[width + 1];
    const double value = knot[0] + x * (rise + (1 - x) * ((1 - x) * m0 + x * m1));
    const double by_x = rise + (1 - 2 * x) * ((1 - x) * m0 + x * m1) + x * (1 - x) * (m1 - m0);
    const double root = std::sqrt(std::sqrt(share));
    return {value, by_x / h / (4 * root * root * root)};
  }

 private:
  // The cell of share <= 1/2 and the place in it, 0 to 1.
  std::pair<const double*, double> place(double share) const {
    const int64_t cells = knots.size() / width - 1;
    const double position = std::sqrt(std::sqrt(share)) * static_cast<double>(cells) * 1.189207115002721;  // 2^(1/4)
    const int64_t cell = std::min(static_cast<int64_t>(position), cells - 1);
    return {knots.data() + cell * width, std::min(position - static_cast<double>(cell), 1.0)};
  }

  double at(double share) const {
    const auto [knot, x] = place(share);
    const double h = 0.8408964152537145 / static_cast<double>(knots.size() / width - 1);  // 2^(-1/4) / cells
    const double rise = knot[width] - knot[0], m0 = h * knot[1] - rise, m1 = rise - h * knot[width + 1];
    return knot[0] + x * (rise + (1 - x) * ((1 - x) * m0 + x * m1));
  }

  // -G'' where a class has this share and the others the rest: the tabulated curvature, linear between knots.
  double curvature(double share, double others) const {
    const double product = share * others;
    if (!(product > 1e-200)) return 0;
    const auto [knot, x] = place(std::min(share, others));
    return (knot[2] + x * (knot[width + 2] - knot[2])) / (product * std::sqrt(product));
  }

  // |W| G(pi) - P G(a) - Q G(b) for one class against the rest, by value; where that is under a millionth of G,
  // by curvature: Taylor's remainder at its centre of mass.
  double one_class(double r, double rest_right, double l, double rest_left, double p, double q) const {
    const double d = r * rest_left - l * rest_right, all = p + q;
    if (d == 0) return 0;
    const double share = (r + l) / all, others = (rest_right + rest_left) / all, here = at(std::min(share, others));
    const double gap = p * (here - at(std::min(r, rest_right) / p)) + q * (here - at(std::min(l, rest_left) / q));
    if (gap > 1e-6 * all * here) return gap;
    const double from_right = d / p / all, from_left = -d / q / all;  // a - pi and b - pi
    return 0.5 * (p * from_right * from_right * curvature(share + from_right / 3, others - from_right / 3) +
                  q * from_left * from_left * curvature(share + from_left / 3, others - from_left / 3));
  }
};

}  // namespace boscage
