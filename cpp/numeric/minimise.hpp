// The loop between an optimiser that asks and an objective that answers, for objectives in memory.
#pragma once

#include <span>
#include <vector>

#include "numeric/lbfgs.hpp"

namespace boscage {

struct NeverStop {
  bool operator()() const { return false; }
};

// The best point found near `start`; `stop` is asked before every evaluation.
template <class Objective, class Stop = NeverStop>
std::vector<double> minimise(Objective& objective, std::span<const double> start, const LbfgsOptions& options,
                             const Stop& stop = {}) {
  Lbfgs optimiser(start, options);
  while (optimiser.need() != Lbfgs::Need::done && !stop()) {
    if (optimiser.need() == Lbfgs::Need::value) {
      optimiser.tell_value(objective.value(optimiser.point()));
    } else {
      optimiser.tell_gradient(objective.gradient());
    }
  }
  return {optimiser.best().begin(), optimiser.best().end()};
}

}  // namespace boscage
