#include "families/oblique/coordinate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/index.hpp"
#include "base/rng.hpp"
#include "families/oblique/plane_search.hpp"

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
      control_.check();
      std::vector<double> change(plane_.coefficients()), moves;
      for (double& value : change) value = normal(seed_, path_, draw_++);
      columns_.score(change, moves);
      const CutPlace place = plane_.look(moves, plane_.gain());
      if (!place.is_valid() || !is_better(place.gain, plane_.gain())) continue;
      plane_.take(place, change, moves);
      descend();
      vain = -1;
    }
  }

 private:
  void descend() {
    for (int cycle = 0; cycle < kMostCycles; ++cycle) {
      plane_.rescore();
      const bool moved = options_.order == 1 ? best_move() : cycle_moves();
      if (!moved || deadline_.is_over()) return;
    }
  }

  bool cycle_moves() {
    bool moved = false;
    const size_t size = plane_.coefficients();
    for (size_t k = 0; k < size && !deadline_.is_over(); ++k) {
      control_.check();
      const size_t j = options_.order == 2
                           ? std::min(size - 1, static_cast<size_t>(uniform(seed_, path_ ^ 1ULL << 63, draw_++) *
                                                                    static_cast<double>(size)))
                           : k;
      const CutPlace place = plane_.look_at_column(j, plane_.gain());
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
      control_.check();
      const CutPlace place = plane_.look_at_column(j, std::max(best.gain, plane_.gain()));
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
  PlaneSearch search(data, offers, options_.start, options_.seed, deadline_);
  if (!search.begin()) return;
  const ScaledColumns columns(data, offers.rows());
  // As published: with fewer rows than two per column an oblique test would only fit noise. Copies do not count, so
  // that weight 2 is a row twice.
  if (!columns.has_distinct_rows(2 * columns.columns())) return search.end();
  std::vector<double> best;
  double best_gain = offers.best_gain();
  for (int start = 0; start < options_.restarts && (best.empty() || !deadline_.is_over()); ++start) {
    Plane plane(columns, offers.node(), offers.scratch);
    search.place(plane, static_cast<uint64_t>(start));
    if (deadline_.is_over() && offers.has_test()) break;
    Walk(plane, columns, options_, offers.path(), static_cast<uint64_t>(start), deadline_, control).run();
    if (plane.gain() >= 0 && (best.empty() || is_better(plane.gain(), best_gain))) {
      best = plane.theta();
      best_gain = plane.gain();
    }
  }
  if (!best.empty()) offers.offer(best, kFindThreshold);
  search.end();
}

namespace {

// One cycle of CART-LC: each column with each of three shifts.
void improve_columns(Plane& plane, const ScaledColumns& columns, const Deadline& deadline, const Control& control) {
  const size_t d = columns.columns();
  std::vector<double> change(d + 1), memory, moves;
  const auto shifted = [&](std::span<const double> x, double shift) -> std::span<const double> {
    moves.assign(x.begin(), x.end());
    for (double& move : moves) move += shift;
    return moves;
  };
  plane.rescore();
  for (size_t j = 0; j < d && !deadline.is_over(); ++j) {
    control.check();
    CutPlace best;
    double best_shift = 0;
    const auto x = columns.column(j, memory);
    for (const double shift : {0.0, -0.25, 0.25}) {
      const CutPlace place = plane.look(shifted(x, shift), std::max(best.gain, plane.gain()));
      if (!place.is_valid() || (best.is_valid() && !is_better(place.gain, best.gain))) continue;
      best = place;
      best_shift = shift;
    }
    if (!best.is_valid() || !is_better(best.gain, plane.gain())) continue;
    std::fill(change.begin(), change.end(), 0.0);
    change[j] = 1;
    change[d] = best_shift;
    plane.take(best, change, shifted(x, best_shift));
  }
  const CutPlace place = plane.look_at_column(d, plane.gain());
  if (place.is_valid() && is_better(place.gain, plane.gain())) plane.take_column(place, d);
}

// Backward elimination: the column that costs least goes, while that is little beside what the dearest would cost.
class Elimination {
 public:
  Elimination(const ScaledColumns& columns, NodeOffers& offers, std::vector<double> theta, double gain,
              const Deadline& deadline, const Control& control)
      : columns_(columns),
        offers_(offers),
        theta_(std::move(theta)),
        gain_(gain),
        deadline_(deadline),
        control_(control),
        ones_(columns.rows(), 1.0) {}

  std::vector<double> run(double share) {
    while (try_columns() && gain_ - highest_.gain < share * (gain_ - lowest_)) {
      theta_[cheapest_] = 0;
      theta_.back() += highest_.threshold();
      gain_ = highest_.gain;
    }
    return theta_;
  }

 private:
  // The highest and the lowest gain that is left without one of the columns; false with fewer than two of them.
  bool try_columns() {
    std::vector<size_t> terms;
    for (size_t j = 0; j + 1 < theta_.size(); ++j)
      if (theta_[j] != 0) terms.push_back(j);
    if (terms.size() < 2) return false;
    // The dearest first, then from the cheapest up: most of the others need not be looked at closely.
    std::stable_sort(terms.begin(), terms.end(),
                     [&](size_t a, size_t b) { return std::abs(theta_[a]) < std::abs(theta_[b]); });
    std::rotate(terms.begin(), terms.end() - 1, terms.end());
    highest_ = {};
    lowest_ = std::numeric_limits<double>::infinity();
    try_each(terms, std::vector<double>(columns_.rows(), theta_.back()));
    return highest_.is_valid() && !deadline_.is_over();
  }

  // One after the other of the terms is left out; `scores` has what all others add. Sums are halved on the way down
  // and nothing is taken away from them again: rows that differ in the column left out alone must score the same, or
  // cuts between them would feign gain.
  void try_each(std::span<const size_t> terms, const std::vector<double>& scores) {
    if (deadline_.is_over()) return;
    if (terms.size() == 1) return try_without(terms[0], scores);
    const auto first = terms.first(terms.size() / 2), second = terms.subspan(terms.size() / 2);
    std::vector<double> more = scores;
    columns_.add(second, theta_, more);
    try_each(first, more);
    more = scores;
    columns_.add(first, theta_, more);
    try_each(second, more);
  }

  void try_without(size_t j, std::span<const double> scores) {
    control_.check();
    // The threshold as it stands gives at least this much.
    const double least = offers_.node().measure(scores, 0.0, measured_) ? measured_.gain : -1;
    const bool may_be_lowest = least < lowest_;
    const CutPlace place = offers_.node().find_step(scores, ones_, may_be_lowest ? -1 : highest_.gain, offers_.scratch);
    if (may_be_lowest) lowest_ = std::min(lowest_, place.gain);
    if (!place.is_valid() || (highest_.is_valid() && !is_better(place.gain, highest_.gain))) return;
    highest_ = place;
    cheapest_ = j;
  }

  const ScaledColumns& columns_;
  NodeOffers& offers_;
  std::vector<double> theta_;
  double gain_;
  const Deadline& deadline_;
  const Control& control_;
  std::vector<double> ones_;
  MeasuredTest measured_;
  CutPlace highest_;  // without the column cheapest_
  size_t cheapest_ = 0;
  double lowest_ = 0;
};

}  // namespace

void CartLc::search(const ObliqueData& data, NodeOffers& offers, Pool*, const Control& control) const {
  PlaneSearch search(data, offers, options_.start, options_.seed, deadline_);
  if (!search.begin()) return;
  const ScaledColumns columns(data, offers.rows());
  Plane plane(columns, offers.node(), offers.scratch);
  search.place(plane, 0);
  for (int cycle = 0; cycle < kMostCycles && !deadline_.is_over(); ++cycle) {
    const double before = plane.gain();
    improve_columns(plane, columns, deadline_, control);
    if (plane.gain() - before < options_.tolerance * offers.node().potential()) break;
  }
  if (plane.gain() >= 0) {
    const double before = offers.best_gain();
    auto theta = plane.theta();
    if (options_.elimination > 0)
      theta = Elimination(columns, offers, theta, plane.gain(), deadline_, control).run(options_.elimination);
    if (is_better(plane.gain(), before)) offers.offer(theta, kFindThreshold);
  }
  search.end();
}

}  // namespace boscage
