// The loops of dense_kernel.cpp, included once for each instruction set: BOSCAGE_WIDTH doubles at once, in namespace
// BOSCAGE_SET. No include guard, on purpose.

namespace boscage::stochastic::BOSCAGE_SET {

constexpr int kPacks = 8 / BOSCAGE_WIDTH;
constexpr int kTile = 8;  // rows whose scores are known before any is added

template <class T>
struct Pack {
  typedef T Type __attribute__((vector_size(BOSCAGE_WIDTH * sizeof(T)), aligned(alignof(T)), may_alias));
};
typedef Pack<double>::Type Doubles;

template <class T>
inline const typename Pack<T>::Type* packs(const T* at) {
  return reinterpret_cast<const typename Pack<T>::Type*>(at);
}

// What does not change from row to row. The last columns are read as the last eight, those before them masked out.
template <class T>
struct Columns {
  int64_t d, whole;
  const double *shift, *theta;
  double last_theta[8], last_mask[8];

  explicit Columns(const DenseRun<T>& run) : d(run.columns), whole(d / 8 * 8), shift(run.shift), theta(run.theta) {
    for (int k = 0; k < 8; ++k) {
      const int64_t j = d - 8 + k;
      const bool is_new = j >= whole;
      last_mask[k] = is_new ? 1 : 0;
      last_theta[k] = is_new && theta != nullptr ? theta[j] : 0;
    }
  }
};

template <class T, bool shifted>
inline void load(const T* x, const double* shift, int p, Doubles& value) {
  value = __builtin_convertvector(packs(x)[p], Doubles);
  if constexpr (shifted) value -= packs(shift)[p];
}

// ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)) of each row's eight lanes.
template <int rows>
inline void add_lanes(const Doubles (*sum)[kPacks], double* out) {
#if BOSCAGE_WIDTH == 8
  if constexpr (rows == 8) {  // neighbours of two rows at once, three times
    const auto fold = [](Doubles x, Doubles y) {
      return __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14) +
             __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15);
    };
    const Doubles low = fold(fold(sum[0][0], sum[1][0]), fold(sum[2][0], sum[3][0]));
    const Doubles high = fold(fold(sum[4][0], sum[5][0]), fold(sum[6][0], sum[7][0]));
    *reinterpret_cast<Doubles*>(out) = fold(low, high);
    return;
  }
#endif
  for (int r = 0; r < rows; ++r) {
    double lane[8];
    for (int p = 0; p < kPacks; ++p)
      for (int k = 0; k < BOSCAGE_WIDTH; ++k) lane[p * BOSCAGE_WIDTH + k] = sum[r][p][k];
    out[r] = ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
  }
}

// theta.(x - shift) of `rows` rows: eight running sums each, every one in its own place.
template <class T, bool shifted, int rows>
inline void dots(const Columns<T>& c, const T* const* x, double* out) {
  Doubles sum[rows][kPacks];
  for (int r = 0; r < rows; ++r)
    for (int p = 0; p < kPacks; ++p) sum[r][p] = Doubles{};
  const auto step = [&](int64_t j, const double* theta) {
    for (int p = 0; p < kPacks; ++p) {
      for (int r = 0; r < rows; ++r) {
        Doubles value;
        load<T, shifted>(x[r] + j, c.shift + j, p, value);
        sum[r][p] += value * packs(theta)[p];
      }
    }
  };
  for (int64_t j = 0; j < c.whole; j += 8) step(j, c.theta + j);
  if (c.whole < c.d) step(c.d - 8, c.last_theta);
  add_lanes<rows>(sum, out);
}

// sums += multiplier_r (x_r - shift) for `rows` rows of one class, one after the other.
template <class T, bool shifted, int rows>
inline void add(const Columns<T>& c, const T* const* x, const double* multiplier, double* sums) {
  const auto step = [&](int64_t j, const double* mask) {
    for (int p = 0; p < kPacks; ++p) {
      auto* place = reinterpret_cast<Doubles*>(sums + j) + p;
      Doubles sum = *place;
      for (int r = 0; r < rows; ++r) {
        Doubles value;
        load<T, shifted>(x[r] + j, c.shift + j, p, value);
        if (mask != nullptr) value *= packs(mask)[p];
        sum += multiplier[r] * value;
      }
      *place = sum;
    }
  };
  for (int64_t j = 0; j < c.whole; j += 8) step(j, nullptr);
  if (c.whole < c.d) step(c.d - 8, c.last_mask);
}

// Narrow rows, one number at a time.
template <class T, bool shifted>
inline double narrow_dot(const Columns<T>& c, const T* x) {
  double lane[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  for (int64_t j = 0; j < c.d; ++j) lane[j] = (static_cast<double>(x[j]) - (shifted ? c.shift[j] : 0.0)) * c.theta[j];
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

template <class T, bool shifted>
inline void narrow_add(const Columns<T>& c, const T* x, double multiplier, double* sums) {
  for (int64_t j = 0; j < c.d; ++j) sums[j] += multiplier * (static_cast<double>(x[j]) - (shifted ? c.shift[j] : 0.0));
}

// A tile's rows with what is known of each; places that are not used have reach 0.
template <class T>
struct Tile {
  const T* x[kTile];
  int32_t label[kTile];
  double value[kTile];
  double score[kTile], reach[kTile], norm[kTile], weight[kTile];
  int64_t at[kTile];
  int count = 0;
  bool together = false;  // eight rows that follow each other, at[0] the first
};

struct Side {
  double reach[kTile], weight[kTile], multiplier[kTile];
  int64_t rows[kTile] = {0, 0, 0, 0, 0, 0, 0, 0};  // how many could go here, by place in the tile
};

// Adds rows of one class to its sums.
template <class T, bool shifted>
inline void add_class(const Columns<T>& c, const T* const* x, const double* weight, const double* multiplier, int count,
                      double* sums) {
  double total = sums[0], multipliers = sums[1];
  for (int i = 0; i < count; ++i) {
    total += weight[i];
    multipliers += multiplier[i];
  }
  sums[0] = total;
  sums[1] = multipliers;
  if (c.d < 8) {
    for (int i = 0; i < count; ++i) narrow_add<T, shifted>(c, x[i], multiplier[i], sums + 2);
    return;
  }
  switch (count) {
    case 1:
      return add<T, shifted, 1>(c, x, multiplier, sums + 2);
    case 2:
      return add<T, shifted, 2>(c, x, multiplier, sums + 2);
    case 3:
      return add<T, shifted, 3>(c, x, multiplier, sums + 2);
    case 4:
      return add<T, shifted, 4>(c, x, multiplier, sums + 2);
    case 5:
      return add<T, shifted, 5>(c, x, multiplier, sums + 2);
    case 6:
      return add<T, shifted, 6>(c, x, multiplier, sums + 2);
    case 7:
      return add<T, shifted, 7>(c, x, multiplier, sums + 2);
    case 8:
      return add<T, shifted, 8>(c, x, multiplier, sums + 2);
  }
}

// Adds a tile's rows of numbers to all channels.
template <class T, bool shifted>
inline void add_numbers(const DenseRun<T>& run, const Columns<T>& c, const Tile<T>& tile, const Side& side,
                        double* sums) {
  for (int k = 0; k < kNumberChannels; ++k) {
    double weight[kTile], multiplier[kTile];
    for (int i = 0; i < tile.count; ++i) {
      const double share = number_share(tile.value[i], k);
      weight[i] = side.weight[i] * share;
      multiplier[i] = side.multiplier[i] * share;
    }
    add_class<T, shifted>(c, tile.x, weight, multiplier, tile.count, sums + k * run.sums_stride);
  }
}

// Adds a tile's rows, each to the sums of its class, class by class so that sums are read and written once.
template <class T, bool shifted>
inline void add_tile(const DenseRun<T>& run, const Columns<T>& c, const Tile<T>& tile, const Side& side, double* sums) {
  if (run.value != nullptr) return add_numbers<T, shifted>(run, c, tile, side, sums);
  unsigned left = (1u << tile.count) - 1;
  while (left != 0) {
    const int32_t label = tile.label[__builtin_ctz(left)];
    const T* x[kTile];
    double weight[kTile], multiplier[kTile];
    int count = 0;
    for (int i = 0; i < tile.count; ++i) {  // no branch: labels are hard to guess
      const bool mine = tile.label[i] == label;
      x[count] = tile.x[i];
      weight[count] = side.weight[i];
      multiplier[count] = side.multiplier[i];
      left &= ~(static_cast<unsigned>(mine) << i);
      count += mine;
    }
    add_class<T, shifted>(c, x, weight, multiplier, count, sums + label * run.sums_stride);
  }
}

template <class T, bool shifted, int rows>
inline void score_tile(const Columns<T>& c, Tile<T>& tile) {
  if (c.d >= 8) {
    constexpr int at_once = BOSCAGE_WIDTH == 8 ? rows : 4;
    for (int i = 0; i < rows; i += at_once) dots<T, shifted, at_once>(c, tile.x + i, tile.score + i);
  } else {
    for (int i = 0; i < rows; ++i) tile.score[i] = narrow_dot<T, shifted>(c, tile.x[i]);
  }
}

// Scores to reach and weights of both sides, all rows of the tile at once.
template <class T>
inline void divide_tile(const DenseRun<T>& run, const Tile<T>& tile, Side& left, Side& right) {
  typedef int64_t Counts __attribute__((vector_size(BOSCAGE_WIDTH * 8), aligned(8), may_alias));
  const Doubles one = Doubles{} + 1.0;
  for (int p = 0; p < kPacks; ++p) {
    const Doubles norm = packs(tile.norm)[p], weight = packs(tile.weight)[p], reach = packs(tile.reach)[p];
    Doubles go_left = Doubles{}, go_right = reach;
    if (run.theta != nullptr) {
      Doubles tilt = norm * (packs(tile.score)[p] + run.offset);
      tilt = tilt > one ? one : tilt;
      tilt = tilt < -one ? -one : tilt;
      go_left = reach * ((1 - tilt) / 2);
      go_right = reach * ((1 + tilt) / 2);
      go_left = go_left < run.cut_left ? Doubles{} : go_left;
      go_right = go_right < run.cut_right ? Doubles{} : go_right;
      reinterpret_cast<Counts*>(left.rows)[p] -= go_left != 0.0;
      reinterpret_cast<Counts*>(right.rows)[p] -= go_right != 0.0;
    }
    const auto put = [p](double* to, Doubles value) { reinterpret_cast<Doubles*>(to)[p] = value; };
    put(left.reach, go_left);
    put(left.weight, weight * go_left);
    put(left.multiplier, weight * go_left * norm);
    put(right.reach, go_right);
    put(right.weight, weight * go_right);
    put(right.multiplier, weight * go_right * norm);
  }
}

// Rows on their way from memory while others are worked on; asking beyond the end is harmless.
template <class T>
inline void prefetch(const T* x, int64_t d) {
  for (int64_t j = 0; j < d; j += 64 / static_cast<int64_t>(sizeof(T))) __builtin_prefetch(x + j);
}

inline bool any_zero(const double* values) {
  bool found = false;
  for (int k = 0; k < kTile; ++k) found |= values[k] == 0;
  return found;
}

// Eight rows that follow each other and can all be reached: copied in one go.
template <class T>
inline bool fill_together(const DenseRun<T>& run, int64_t i, Tile<T>& tile) {
  if (run.rows != nullptr || i + kTile > run.count || (run.reach != nullptr && any_zero(run.reach + i))) return false;
  const int64_t row = run.begin + i;
  const auto copy = [](double* to, const double* from) {
    for (int k = 0; k < kTile; ++k) to[k] = from != nullptr ? from[k] : 1.0;
  };
  copy(tile.reach, run.reach != nullptr ? run.reach + i : nullptr);
  copy(tile.norm, run.norm != nullptr ? run.norm + row : nullptr);
  copy(tile.weight, run.weight != nullptr ? run.weight + row : nullptr);
  const T* first = run.data + (row - run.first) * run.stride;
  for (int k = 0; k < kTile; ++k) {
    tile.x[k] = first + k * run.stride;
    if (run.value != nullptr) {
      tile.value[k] = run.value[row + k];
    } else {
      tile.label[k] = run.label[row + k];
    }
  }
  tile.at[0] = i;
  tile.count = kTile;
  tile.together = true;
  return true;
}

// The next rows that can be reached; rows that cannot get their zeros at once.
template <class T>
inline int64_t fill_tile(const DenseRun<T>& run, int64_t i, int most, Tile<T>& tile) {
  if (most == kTile && fill_together(run, i, tile)) return i + kTile;
  tile.together = false;
  int n = 0;
  for (; i < run.count && n < most; ++i) {
    const double reach = run.reach != nullptr ? run.reach[i] : 1.0;
    if (reach == 0) {
      if (run.left != nullptr) run.left[i] = 0;
      if (run.right != nullptr) run.right[i] = 0;
      continue;
    }
    const int64_t row = run.rows != nullptr ? static_cast<int64_t>(run.rows[i]) : run.begin + i;
    tile.at[n] = i;
    tile.x[n] = run.data + (row - run.first) * run.stride;
    if (run.value != nullptr) {
      tile.value[n] = run.value[row];
    } else {
      tile.label[n] = run.label[row];
    }
    tile.reach[n] = reach;
    tile.norm[n] = run.norm != nullptr ? run.norm[row] : 1.0;
    tile.weight[n++] = run.weight != nullptr ? run.weight[row] : 1.0;
  }
  tile.count = n;
  for (; n < kTile; ++n) {
    tile.x[n] = run.data;
    tile.label[n] = 0;
    tile.score[n] = tile.reach[n] = tile.norm[n] = tile.weight[n] = 0;
  }
  return i;
}

template <class T>
inline void store_tile(const DenseRun<T>& run, const Tile<T>& tile, const Side& left, const Side& right) {
  if (run.theta == nullptr) return;
  if (tile.together) {
    if (run.left != nullptr) std::memcpy(run.left + tile.at[0], left.reach, sizeof left.reach);
    if (run.right != nullptr) std::memcpy(run.right + tile.at[0], right.reach, sizeof right.reach);
    return;
  }
  for (int i = 0; i < tile.count; ++i) {
    if (run.left != nullptr) run.left[tile.at[i]] = left.reach[i];
    if (run.right != nullptr) run.right[tile.at[i]] = right.reach[i];
  }
}

template <class T, bool shifted, int rows>
inline void run_tiles(const DenseRun<T>& run, int64_t* counts) {
  const Columns<T> c(run);
  Tile<T> tile;
  Side left, right;
  const int64_t ahead = (4096 / (c.d * static_cast<int64_t>(sizeof(T))) + 1) * run.stride;
  for (int64_t i = 0; i < run.count;) {
    i = fill_tile(run, i, rows, tile);
    for (int r = 0; r < rows; ++r) prefetch(tile.x[r] + ahead, c.d);
    if (run.theta != nullptr) score_tile<T, shifted, rows>(c, tile);
    divide_tile(run, tile, left, right);
    store_tile(run, tile, left, right);
    if (run.left_sums != nullptr) add_tile<T, shifted>(run, c, tile, left, run.left_sums);
    if (run.right_sums != nullptr) add_tile<T, shifted>(run, c, tile, right, run.right_sums);
  }
  for (int k = 0; k < kTile; ++k) {
    counts[0] += left.rows[k];
    counts[1] += right.rows[k];
  }
}

template <class T, bool shifted>
inline void run_shifted(const DenseRun<T>& run, int64_t* counts) {
  // Wide rows: fewer at once, so that they are still near when they are added.
  run.columns <= 256 ? run_tiles<T, shifted, kTile>(run, counts) : run_tiles<T, shifted, 4>(run, counts);
}

template <class T>
inline void run(const DenseRun<T>& rows, int64_t* counts) {
  rows.shift != nullptr ? run_shifted<T, true>(rows, counts) : run_shifted<T, false>(rows, counts);
}

}  // namespace boscage::stochastic::BOSCAGE_SET
