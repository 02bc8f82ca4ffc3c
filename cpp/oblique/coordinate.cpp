#include "oblique/coordinate.hpp"

#include <algorithm>
#include <cmath>

#include "oblique/plane.hpp"
#include "rng.hpp"

namespace boscage {

namespace {

constexpr int kMostCycles = 20, kMostJumps = 100;

// A move must gain at least this share: rounding of the scores could feign less.
bool is_better(double gain, double than) { return gain > than + 1e-9 * std::abs(than); }

// OC1's walk from one start: coefficients until none helps, then random jumps.
class Walk {
 public:
  Walk(Plane& plane, const ScaledColumns& columns, const Oc1Options& options, uint64_t path, uint64_t start,
       const Deadline& deadline, const Control& control)
      : plane_(plane),
        columns_(columns),
        options_(options),
        seed_(mix(options.seed ^ mix(start + 1))),
        path_(path),
        deadline_(deadline),
        control_(control) {}

  void run() {
    descend();
    int vain = 0;
    for (int jump = 0; jump < kMostJumps && vain < options_.jumps && !deadline_.is_over(); ++jump, ++vain) {
      std::vector<double> change(plane_.coefficients()), moves;
      for (double& value : change) value = normal(seed_, path_, draw_++);
      columns_.score(change, moves);
      const CutPlace place = plane_.look(moves);
      if (!place.is_valid() || !is_better(place.gain, plane_.gain())) continue;
      plane_.take(place, change);
      descend();
      vain = -1;
    }
  }

 private:
  void descend() {
    for (int cycle = 0; cycle < kMostCycles; ++cycle) {
      control_.check();
      const bool moved = options_.order == 1 ? best_move() : cycle_moves();
      if (!moved || deadline_.is_over()) return;
    }
  }

  bool cycle_moves() {
    bool moved = false;
    const size_t size = plane_.coefficients();
    for (size_t k = 0; k < size && !deadline_.is_over(); ++k) {
      const size_t j = options_.order == 2
                           ? std::min(size - 1, static_cast<size_t>(uniform(seed_, path_ ^ 1ULL << 63, draw_++) *
                                                                    static_cast<double>(size)))
                           : k;
      const CutPlace place = plane_.look_at_column(j);
      if (!place.is_valid() || !is_better(place.gain, plane_.gain())) continue;
      plane_.take_column(place, j);
      moved = true;
    }
    return moved;
  }

  bool best_move() {
    CutPlace best;
    size_t column = 0;
    for (size_t j = 0; j < plane_.coefficients() && !deadline_.is_over(); ++j) {
      const CutPlace place = plane_.look_at_column(j);
      if (place.is_valid() && (!best.is_valid() || is_better(place.gain, best.gain))) {
        best = place;
        column = j;
      }
    }
    if (!best.is_valid() || !is_better(best.gain, plane_.gain())) return false;
    plane_.take_column(best, column);
    return true;
  }

  Plane& plane_;
  const ScaledColumns& columns_;
  const Oc1Options& options_;
  uint64_t seed_, path_, draw_ = 0;
  const Deadline& deadline_;
  const Control& control_;
};

}  // namespace

void Oc1::search(const ObliqueData& data, NodeOffers& offers, Pool*, const Control& control) const {
  const bool from_axis = options_.start == PlaneStart::axis, is_late = deadline_.is_over();
  if (from_axis || is_late) offers.offer_axis();  // no time to improve a random start
  if (from_axis && !offers.has_test()) return;
  if (is_late && offers.has_test()) return;
  const ScaledColumns columns(data, offers.rows());
  // As published: with fewer rows than two per column an oblique test would only fit noise. Copies do not count, so
  // that weight 2 is a row twice.
  if (from_axis && !columns.has_distinct_rows(2 * columns.columns())) return;
  const auto axis = from_axis ? offers.best().test : Test{};
  std::vector<double> best;
  double best_gain = offers.best_gain();
  for (int start = 0; start < options_.restarts && (best.empty() || !deadline_.is_over()); ++start) {
    Plane plane(columns, offers.node(), offers.scratch);
    if (from_axis && start == 0) {
      plane.start_at(axis, data.scaling);
    } else {
      plane.start_at_random(options_.seed, offers.path(), static_cast<uint64_t>(start));
    }
    if (deadline_.is_over() && offers.has_test()) break;
    Walk(plane, columns, options_, offers.path(), static_cast<uint64_t>(start), deadline_, control).run();
    if (plane.gain() >= 0 && (best.empty() || is_better(plane.gain(), best_gain))) {
      best = plane.theta();
      best_gain = plane.gain();
    }
  }
  if (!best.empty()) offers.offer(best, kFindThreshold);
  if (!offers.has_test() || (!from_axis && deadline_.is_over())) offers.offer_axis();
}

namespace {

// One cycle of CART-LC: each column with each of three shifts.
void improve_columns(Plane& plane, const ScaledColumns& columns, std::vector<double>& moves, const Deadline& deadline,
                     const Control& control) {
  const size_t d = columns.columns();
  std::vector<double> change(d + 1), memory;
  for (size_t j = 0; j < d && !deadline.is_over(); ++j) {
    control.check();
    CutPlace best;
    double best_shift = 0;
    const auto x = columns.column(j, memory);
    for (const double shift : {0.0, -0.25, 0.25}) {
      moves.resize(x.size());
      for (size_t i = 0; i < x.size(); ++i) moves[i] = x[i] + shift;
      const CutPlace place = plane.look(moves);
      if (!place.is_valid() || (best.is_valid() && !is_better(place.gain, best.gain))) continue;
      best = place;
      best_shift = shift;
    }
    if (!best.is_valid() || !is_better(best.gain, plane.gain())) continue;
    std::fill(change.begin(), change.end(), 0.0);
    change[j] = 1;
    change[d] = best_shift;
    plane.take(best, change);
  }
  const CutPlace place = plane.look_at_column(d);
  if (place.is_valid() && is_better(place.gain, plane.gain())) plane.take_column(place, d);
}

// Backward elimination: the column that costs least goes, while that is little beside what the dearest would cost.
std::vector<double> eliminate(const std::vector<double>& theta, double gain, double share, const ScaledColumns& columns,
                              NodeOffers& offers, const Deadline& deadline) {
  std::vector<double> kept = theta;
  while (!deadline.is_over()) {
    size_t cheapest = kept.size(), terms = 0;
    double least = 0, most = 0, gain_without = 0;
    std::vector<double> next;
    for (size_t j = 0; j + 1 < kept.size(); ++j) {
      if (kept[j] == 0) continue;
      ++terms;
      std::vector<double> without = kept;
      without[j] = 0;
      Plane plane(columns, offers.node(), offers.scratch);
      plane.start_at(without);
      const double cost = gain - plane.gain();
      most = std::max(most, cost);
      if (cheapest < kept.size() && !is_better(plane.gain(), gain_without)) continue;
      cheapest = j;
      least = cost;
      gain_without = plane.gain();
      next = plane.theta();
    }
    if (terms < 2 || gain_without < 0 || !(least < share * most)) break;
    kept = next;
    gain = gain_without;
  }
  return kept;
}

}  // namespace

void CartLc::search(const ObliqueData& data, NodeOffers& offers, Pool*, const Control& control) const {
  const bool from_axis = options_.start == PlaneStart::axis, is_late = deadline_.is_over();
  if (from_axis || is_late) offers.offer_axis();  // no time to improve a random start
  if (from_axis && !offers.has_test()) return;
  if (is_late && offers.has_test()) return;
  const ScaledColumns columns(data, offers.rows());
  Plane plane(columns, offers.node(), offers.scratch);
  if (from_axis) {
    plane.start_at(offers.best().test, data.scaling);
  } else {
    plane.start_at_random(options_.seed, offers.path(), 0);
  }
  std::vector<double> moves;
  for (int cycle = 0; cycle < kMostCycles && !deadline_.is_over(); ++cycle) {
    const double before = plane.gain();
    improve_columns(plane, columns, moves, deadline_, control);
    if (plane.gain() - before < options_.tolerance * offers.node().potential()) break;
  }
  if (plane.gain() >= 0) {
    const double before = offers.best_gain();
    auto theta = plane.theta();
    if (options_.elimination > 0)
      theta = eliminate(theta, plane.gain(), options_.elimination, columns, offers, deadline_);
    if (is_better(plane.gain(), before)) offers.offer(theta, kFindThreshold);
  }
  if (!offers.has_test() || (!from_axis && deadline_.is_over())) offers.offer_axis();
}

}  // namespace boscage
