// Numbers of the default mode that are no parameters of the classifier.
//
// They are chosen on validation parts of training rows (benchmarks/tune_online.py) and live in a struct so that the
// choice can be made again. Files hold them, so a resumed stream goes on as it began.
#pragma once

#include <cstdint>

#include "base/array.hpp"

namespace boscage::online {

struct Constants {
  double start_square = 0.1;      // AdaGrad sums start here: keeps the first step of an improbable class small
  double skip_below = 0.003;      // gradients below this are not worth a step
  double create_above = 0.05;     // sparse rows: gradients below this make no new entry
  double router_rate = 0.5;       // steps of routers, as a share of those of scorers
  double router_skip = 0.001;     // gradients below this teach a router nothing
  double dense_floor = 0.01;      // added to the variance within classes, as a share of its mean over the columns
  double sparse_floor = 1;        // the same for sparse rows
  double regrow = 1.5;            // growth of the number of known classes that makes the class tree be built anew
  double patience = 3;            // usual gaps without a row until a class is overdue; chance e^-3 in a shuffled stream
  double note_share = 1.0 / 256;  // weight of one look in the share of overdue classes
  int64_t probes = 2;             // classes looked at for replay after each row
  int64_t average_power = 3;      // averages weigh times by this power of the number of steps
  int64_t leaf_size = 4;          // classes per leaf of the class tree when built; a leaf of more than twice is split
  int64_t rebuild_until = 64;     // rows per known class after which the class tree stays as it is
  int64_t power_rounds = 8;       // towards the main direction of the class means of a node
  int64_t halving_rounds = 6;     // of cutting the classes of a node at the middle of a direction
  int64_t sparse_start = 2048;    // largest coefficients kept when a sparse router starts

  static constexpr int64_t n_numbers = 10, n_integers = 7;
  Array<double> numbers() const {
    return {start_square, skip_below,   create_above, router_rate, router_skip,
            dense_floor,  sparse_floor, regrow,       patience,    note_share};
  }
  Array<int64_t> integers() const {
    return {probes, average_power, leaf_size, rebuild_until, power_rounds, halving_rounds, sparse_start};
  }
  static Constants from(const Array<double>& n, const Array<int64_t>& i) {
    return {n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], i[0], i[1], i[2], i[3], i[4], i[5], i[6]};
  }

  bool sound() const {
    const auto within = [](auto value, decltype(value) least, decltype(value) most) {
      return value >= least && value <= most;
    };
    return within(start_square, 1e-12, 1e6) && within(skip_below, 0, 1) && within(create_above, 0, 1) &&
           within(router_rate, 0, 1e3) && within(router_skip, 0, 1) && within(dense_floor, 0, 1e6) &&
           within(sparse_floor, 0, 1e6) && within(regrow, 1, 1e6) && within(patience, 0, 1e9) &&
           within(note_share, 0, 1) && within(probes, 0, 100) && within(average_power, 0, 8) &&
           within(leaf_size, 1, 1 << 20) && within(rebuild_until, 0, 1 << 30) && within(power_rounds, 0, 1000) &&
           within(halving_rounds, 1, 1000) && within(sparse_start, 1, 1 << 30);
  }
};

}  // namespace boscage::online
