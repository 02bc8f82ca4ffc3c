// The loops of route_kernel.cpp, included once for each instruction set: BOSCAGE_WIDTH doubles at once, in namespace
// BOSCAGE_SET. No include guard, on purpose.

namespace boscage::stochastic::BOSCAGE_SET {

typedef double Rows __attribute__((vector_size(BOSCAGE_WIDTH * 8), aligned(8), may_alias));
typedef int64_t Marks __attribute__((vector_size(BOSCAGE_WIDTH * 8)));

inline Rows at(const double* from) { return *reinterpret_cast<const Rows*>(from); }
inline void put(double* to, Rows value) { *reinterpret_cast<Rows*>(to) = value; }

// Rows that are scored together, so that a weight is loaded once for all of them.
constexpr int kTogether = BOSCAGE_WIDTH == 8 ? 2 : 1;

struct Scored {
  Rows of[kTogether];
};

// theta.x of some rows: eight running sums, each column in its place. `tail` columns lie behind the last whole group;
// the empty places of their group would add nothing.
template <int tail>
[[gnu::always_inline]] inline Scored score(const RouteTile& tile, const double* theta, int64_t first) {
  const int64_t n = tile.rows, whole = tile.columns / 8 * 8;
  const double* x = tile.by_column + first;
  Rows lane[kTogether][8];
  const auto start = [&](int k) {
    for (int r = 0; r < kTogether; ++r) lane[r][k] = at(x + k * n + r * BOSCAGE_WIDTH) * theta[k];
  };
  const auto add = [&](int64_t j, int k) {
    for (int r = 0; r < kTogether; ++r) lane[r][k] += at(x + (j + k) * n + r * BOSCAGE_WIDTH) * theta[j + k];
  };
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) start(k);
  for (int64_t j = 8; j < whole; j += 8)
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) add(j, k);
  if constexpr (tail != 0)
#pragma GCC unroll 8
    for (int k = 8 - tail; k < 8; ++k) add(whole, k);
  Scored scored;
  for (int r = 0; r < kTogether; ++r)
    scored.of[r] = ((lane[r][0] + lane[r][1]) + (lane[r][2] + lane[r][3])) +
                   ((lane[r][4] + lane[r][5]) + (lane[r][6] + lane[r][7]));
  return scored;
}

// As a row's norm is measured: column j in place j mod 8.
inline void square(const RouteTile& tile, const double* shift, const double* factor, double* squares) {
  for (int64_t i = 0; i < tile.rows; i += BOSCAGE_WIDTH) {
    Rows lane[8];
    for (int k = 0; k < 8; ++k) lane[k] = Rows{};
    const auto add = [&](int64_t j, Rows& sum) {
      Rows z = at(tile.by_column + lane_place(j, tile.columns) * tile.rows + i);
      if (shift != nullptr) z -= shift[j];
      if (factor != nullptr) z *= factor[j];
      sum += z * z;
    };
    const int64_t whole = tile.columns / 8 * 8;
    for (int64_t j = 0; j < whole; j += 8)
      for (int k = 0; k < 8; ++k) add(j + k, lane[k]);
    for (int k = 0; k < 8; ++k)
      if (whole + k < tile.columns) add(whole + k, lane[k]);
    put(squares + i, ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7])));
  }
}

// One test on some rows whose score is known.
[[gnu::always_inline]] inline void divide_rows(const RouteTile& tile, const RouteRun& run, int64_t i, Rows score_of,
                                               Marks& lefts, Marks& rights) {
  const Rows one = Rows{} + 1.0;
  const Rows norm = at(tile.norm + i), weight = at(tile.weight + i);
  const Rows reach = run.reach != nullptr ? at(run.reach + i) : (weight > 0.0 ? one : Rows{});
  Rows tilt = norm * (score_of + run.offset);
  tilt = tilt > one ? one : tilt;
  tilt = tilt < -one ? -one : tilt;
  Rows left = reach * ((1 - tilt) / 2), right = reach * ((1 + tilt) / 2);
  left = left < run.cut_left ? Rows{} : left;
  right = right < run.cut_right ? Rows{} : right;
  lefts -= left != 0.0;
  rights -= right != 0.0;
  if (run.left != nullptr) put(run.left + i, left);
  if (run.right != nullptr) put(run.right + i, right);
  if (run.left_weight != nullptr) {
    put(run.left_weight + i, weight * left);
    put(run.left_multiplier + i, weight * left * norm);
  }
  if (run.right_weight != nullptr) {
    put(run.right_weight + i, weight * right);
    put(run.right_multiplier + i, weight * right * norm);
  }
}

template <int tail>
void divide_with_tail(const RouteTile& tile, RouteRun& run) {
  Marks lefts{}, rights{};
  for (int64_t i = 0; i < tile.rows; i += kTogether * BOSCAGE_WIDTH) {
    const Scored scored = score<tail>(tile, run.theta, i);
    for (int r = 0; r < kTogether; ++r) divide_rows(tile, run, i + r * BOSCAGE_WIDTH, scored.of[r], lefts, rights);
  }
  for (int k = 0; k < BOSCAGE_WIDTH; ++k) {
    run.counts[0] += lefts[k];
    run.counts[1] += rights[k];
  }
}

inline void divide(const RouteTile& tile, RouteRun& run) {
  // Fewer than eight columns fill one group, with zeros in its empty places.
  switch (tile.columns < 8 ? 0 : tile.columns % 8) {
    case 0:
      return divide_with_tail<0>(tile, run);
    case 1:
      return divide_with_tail<1>(tile, run);
    case 2:
      return divide_with_tail<2>(tile, run);
    case 3:
      return divide_with_tail<3>(tile, run);
    case 4:
      return divide_with_tail<4>(tile, run);
    case 5:
      return divide_with_tail<5>(tile, run);
    case 6:
      return divide_with_tail<6>(tile, run);
    default:
      return divide_with_tail<7>(tile, run);
  }
}

// `runs` runs and `packs` packs of columns at once, all running sums in registers.
template <int runs, int packs>
inline void add_packs(const RouteTile& tile, const int32_t* rows, int64_t count, const double* const* multipliers,
                      double* const* sums, int64_t first) {
  Rows sum[runs][packs];
  for (int r = 0; r < runs; ++r)
    for (int p = 0; p < packs; ++p) sum[r][p] = at(sums[r] + first + p * BOSCAGE_WIDTH);
  for (int64_t i = 0; i < count; ++i) {
    const double* x = tile.by_row + rows[i] * tile.width + first;
    Rows value[packs];
    for (int p = 0; p < packs; ++p) value[p] = at(x + p * BOSCAGE_WIDTH);
    for (int r = 0; r < runs; ++r) {
      const double multiplier = multipliers[r][rows[i]];
      for (int p = 0; p < packs; ++p) sum[r][p] += multiplier * value[p];
    }
  }
  for (int r = 0; r < runs; ++r)
    for (int p = 0; p < packs; ++p) put(sums[r] + first + p * BOSCAGE_WIDTH, sum[r][p]);
}

template <int runs>
inline void add_runs(const RouteTile& tile, const int32_t* rows, int64_t count, const double* const* weights,
                     const double* const* multipliers, double* const* sums) {
  // One run's sums in lanes, the weight of multipliers after the columns.
  constexpr int kPacks = BOSCAGE_WIDTH == 8 ? 3 : 2;
  int64_t first = 0;
  for (; first + kPacks * BOSCAGE_WIDTH <= tile.width; first += kPacks * BOSCAGE_WIDTH)
    add_packs<runs, kPacks>(tile, rows, count, multipliers, sums, first);
  for (; first < tile.width; first += BOSCAGE_WIDTH) add_packs<runs, 1>(tile, rows, count, multipliers, sums, first);
  double total[runs];
  for (int r = 0; r < runs; ++r) total[r] = sums[r][tile.width];
  for (int64_t i = 0; i < count; ++i)
    for (int r = 0; r < runs; ++r) total[r] += weights[r][rows[i]];
  for (int r = 0; r < runs; ++r) sums[r][tile.width] = total[r];
}

inline void add(const RouteTile& tile, const int32_t* rows, int64_t count, const double* const* weights,
                const double* const* multipliers, double* const* sums, int64_t runs) {
  constexpr int kRuns = BOSCAGE_WIDTH == 8 ? 6 : 4;
  int64_t r = 0;
  for (; r + kRuns <= runs; r += kRuns) add_runs<kRuns>(tile, rows, count, weights + r, multipliers + r, sums + r);
  for (; r + 2 <= runs; r += 2) add_runs<2>(tile, rows, count, weights + r, multipliers + r, sums + r);
  for (; r < runs; ++r) add_runs<1>(tile, rows, count, weights + r, multipliers + r, sums + r);
}

}  // namespace boscage::stochastic::BOSCAGE_SET
