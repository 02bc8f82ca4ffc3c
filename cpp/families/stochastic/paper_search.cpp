// The published searches of Jurgenson and Mansour (FixedPQ, FixedPSearchQ, DependentWGI), for two classes and Gini.
//
// In the plane of a and b a test is two numbers, p = Pr(right) and q = Pr(right, class 1), and
//   w = (p' / |a|²) a + ((q' - kappa p') / |r|²) r,   p' = 2p - 1, q' = 2q - rho, kappa = a.b / |a|², r = b - kappa a,
// which never forms the determinant that cancels when a and b are nearly parallel.
#include <algorithm>
#include <cmath>

#include "families/stochastic/solve.hpp"

namespace boscage::stochastic::detail {

namespace {

constexpr double kGridConstant = 100;  // C of the paper: cells of side epsilon / C

struct Plane {
  double rho, length_a, length_b, kappa, length_r;
  Vector r;

  explicit Plane(const Shares& node) : rho(node.rho[1]) {
    const Vector b(node.b_of(1), node.b_of(1) + node.width);
    length_a = std::sqrt(inner(node.a, node.a));
    length_b = std::sqrt(inner(b, b));
    kappa = length_a > 0 ? inner(node.a, b) / (length_a * length_a) : 0;
    r = b;
    for (size_t j = 0; j < r.size(); ++j) r[j] -= kappa * node.a[j];
    length_r = std::sqrt(inner(r, r));
  }

  bool dependent() const { return length_r <= 1e-9 * length_b; }

  // Fall of the Gini index 4q(1-q) of the node.
  double drop(double p, double q) const {
    if (!(p > 0 && p < 1)) return 0;
    return 4 * (q - rho * p) * (q - rho * p) / (p * (1 - p));
  }

  double square_length(double p, double q) const {
    const double along = (2 * p - 1) / length_a, across = (2 * q - rho - kappa * (2 * p - 1)) / length_r;
    return along * along + across * across;
  }

  Vector direction(const Shares& node, double p, double q) const {
    const double along = (2 * p - 1) / (length_a * length_a);
    const double across = (2 * q - rho - kappa * (2 * p - 1)) / (length_r * length_r);
    Vector w(node.width);
    for (size_t j = 0; j < w.size(); ++j) w[j] = along * node.a[j] + across * r[j];
    if (inner(w, w) > 1) normalise(w);
    return w;
  }
};

struct Best {
  double drop = 0, p = 0, q = 0;
  void offer(const Plane& plane, double at_p, double at_q) {
    const double value = plane.drop(at_p, at_q);
    if (value > drop) *this = {value, at_p, at_q};
  }
};

int64_t steps_of(double epsilon) { return static_cast<int64_t>(std::ceil(kGridConstant / epsilon)); }

// Every p of the published grid: equal steps over the feasible range, both ends, then rho and 1 - rho if feasible.
template <class Visit>
void for_each_p(const Plane& plane, double epsilon, Visit visit) {
  const double low = std::max(0.0, 0.5 * (1 - plane.length_a)), high = std::min(1.0, 0.5 * (1 + plane.length_a));
  const int64_t steps = steps_of(epsilon);
  for (int64_t i = 0; i <= steps; ++i)
    visit(i == steps ? high : low + (high - low) * static_cast<double>(i) / static_cast<double>(steps));
  for (const double p : {plane.rho, 1 - plane.rho})
    if (std::abs(2 * p - 1) <= plane.length_a) visit(p);
}

// For each p the two extreme feasible q.
Best extreme_q(const Plane& plane, double epsilon) {
  Best best;
  for_each_p(plane, epsilon, [&](double p) {
    const double tilt = 2 * p - 1;
    const double room = plane.length_a * plane.length_a - tilt * tilt;
    const double reach = std::sqrt(std::max(room, 0.0)) * plane.length_r / plane.length_a;
    for (const double side : {reach, -reach}) best.offer(plane, p, 0.5 * (plane.rho + plane.kappa * tilt + side));
  });
  return best;
}

void scan_q(const Plane& plane, double p, double low, double high, int64_t steps, Best& best) {
  if (!(low <= high)) return;
  for (int64_t i = 0; i <= steps; ++i) {
    const double q = i == steps ? high : low + (high - low) * static_cast<double>(i) / static_cast<double>(steps);
    if (plane.drop(p, q) > best.drop && plane.square_length(p, q) <= 1 + 1e-12) best.offer(plane, p, q);
  }
}

// a and b on one line: the best test is along it (DependentWGI); a = 0 leaves b.
Vector on_a_line(const Shares& node, const Plane& plane) {
  if (plane.length_a > 0 && plane.kappa == plane.rho) return {};
  Vector w = plane.length_a > 0 ? node.a : Vector(node.b_of(1), node.b_of(1) + node.width);
  normalise(w);
  return w;
}

}  // namespace

Vector fixed_p_search_q(const Shares& node, double epsilon) {
  const Plane plane(node);
  if (plane.dependent() || !(plane.length_a > 0)) return on_a_line(node, plane);
  const Best best = extreme_q(plane, epsilon);
  return best.drop > 0 ? plane.direction(node, best.p, best.q) : Vector{};
}

Vector fixed_pq(const Shares& node, double epsilon, const Control* control) {
  const Plane plane(node);
  if (plane.dependent() || !(plane.length_a > 0)) return on_a_line(node, plane);
  Best best;
  const int64_t steps = steps_of(epsilon);
  const double lowest = 0.5 * (plane.rho - plane.length_b), highest = 0.5 * (plane.rho + plane.length_b);
  for_each_p(plane, epsilon, [&](double p) {
    if (control != nullptr) control->check();
    scan_q(plane, p, std::max({0.0, p + plane.rho - 1, lowest}), std::min(plane.rho * p, highest), steps, best);
    scan_q(plane, p, std::max(plane.rho * p, lowest), std::min({plane.rho, p, highest}), steps, best);
  });
  // A thin feasible ellipse can pass between the points of the grid.
  if (!(best.drop > 0)) best = extreme_q(plane, epsilon);
  return best.drop > 0 ? plane.direction(node, best.p, best.q) : Vector{};
}

}  // namespace boscage::stochastic::detail
