// Slopes of criteria: dPhi/dW_k of the degree-1 forms in class_criteria.hpp.
//
// slope(criterion, w, k, out): any scale of w; a class of weight zero is floored, so its slope is very large but
// finite. Separation has no impurity of its own: its slope is that of entropy, its potential.
#pragma once

#include <algorithm>
#include <cmath>

#include "criteria/criteria.hpp"

namespace boscage {

namespace detail {

inline constexpr double smallest_weight = 1e-300;

inline double floored(double weight) { return std::max(weight, smallest_weight); }

// d/dW of sum_c sqrt(w_c (C|W| - w_c)) - |W| sqrt(C - 1).
inline void root_slope(const double* w, int k, double c, double* out) {
  const double all = floored(sum(w, k));
  double downs = 0;
  for (int j = 0; j < k; ++j) {
    const double t = (c - 1) * all + floored(rest(w, k, all, j));
    const double down = std::sqrt(floored(w[j])) / std::sqrt(t);
    out[j] = 1 / down - down;
    downs += down;
  }
  for (int j = 0; j < k; ++j) out[j] = 0.5 * (out[j] + c * downs) - std::sqrt(c - 1);
}

}  // namespace detail

inline void slope(const Gini&, const double* w, int k, double* out) {
  const double all = detail::floored(detail::sum(w, k));
  double squares = 0;
  for (int c = 0; c < k; ++c) squares += (w[c] / all) * (w[c] / all);
  for (int c = 0; c < k; ++c) out[c] = 1 - 2 * (w[c] / all) + squares;
}

inline void slope(const Entropy&, const double* w, int k, double* out) {
  const double all = detail::floored(detail::sum(w, k));
  for (int c = 0; c < k; ++c) {
    const double share = detail::floored(w[c]) / all;
    const double nats = share > 0.5 ? std::log1p(-detail::rest(w, k, all, c) / all) : std::log(share);
    out[c] = -nats * detail::bits_per_nat;
  }
}

inline void slope(const Sqrt&, const double* w, int k, double* out) { detail::root_slope(w, k, 1.0, out); }

inline void slope(const ModifiedGini& g, const double* w, int k, double* out) { detail::root_slope(w, k, g.c, out); }

inline void slope(const Separation&, const double* w, int k, double* out) { slope(Entropy{}, w, k, out); }

// Phi = |W|/2 sum G(pi_c): dPhi/dW_c = (G'(pi_c) + sum_j (G(pi_j) - pi_j G'(pi_j))) / 2.
inline void slope(const Table& g, const double* w, int k, double* out) {
  const double all = detail::floored(detail::sum(w, k));
  double common = 0;
  for (int c = 0; c < k; ++c) {
    const double share = w[c] / all, others = detail::rest(w, k, all, c) / all;
    const auto [value, rise] = g.value_and_slope(detail::floored(std::min(share, others)));
    out[c] = share > others ? -rise : rise;
    common += value - share * out[c];
  }
  for (int c = 0; c < k; ++c) out[c] = 0.5 * (out[c] + common);
}

}  // namespace boscage
