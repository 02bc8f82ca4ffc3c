// The loops of tile_kernel.cpp, included once for each instruction set: BOSCAGE_WIDTH doubles at once, in namespace
// BOSCAGE_SET. No include guard, on purpose.

namespace boscage::stochastic::BOSCAGE_SET {

constexpr int kPacks = 8 / BOSCAGE_WIDTH;

using Pack = Loose<double, BOSCAGE_WIDTH * 8>;
using Marks = Vector<int64_t, BOSCAGE_WIDTH * 8>;

[[gnu::always_inline]] inline Pack at(const double* from) { return *reinterpret_cast<const Pack*>(from); }
[[gnu::always_inline]] inline Pack at(const float* from) {
  return __builtin_convertvector(*reinterpret_cast<const Loose<float, BOSCAGE_WIDTH * 4>*>(from), Pack);
}
[[gnu::always_inline]] inline void put(double* to, Pack value) { *reinterpret_cast<Pack*>(to) = value; }

// Rows that lie anywhere, their columns next to each other. The last group is read as the last eight columns; where
// there are not so many, as the first eight numbers of a row and what follows it.
template <class T, bool shifted>
inline void load_rows(const RowsToLoad<T>& from, int64_t count, double* tile) {
  const int64_t d = from.columns, whole = whole_groups(d), width = tile_width(d), last = d < 8 ? 0 : d - 8;
  double last_shift[8], mask[8], one[8];
  for (int64_t k = 0; k < 8; ++k) {
    const bool is_column = d < 8 ? k < d : k >= 8 - (d - whole);
    mask[k] = is_column ? 1 : 0;
    one[k] = whole + k == one_place(d) ? 1 : 0;
    last_shift[k] = shifted && is_column ? from.shift[last + k] : 0;
  }
  for (int64_t i = 0; i < count; ++i, tile += width) {
    const int64_t row = from.rows != nullptr ? static_cast<int64_t>(from.rows[i]) : from.begin + i;
    const T* x = from.data + row * from.row_stride;
    for (int64_t j = 0; j < whole; j += BOSCAGE_WIDTH)
      put(tile + j, shifted ? at(x + j) - at(from.shift + j) : at(x + j));
    for (int64_t k = 0; k < 8; k += BOSCAGE_WIDTH) {
      const Pack value = shifted ? at(x + last + k) - at(last_shift + k) : at(x + last + k);
      put(tile + whole + k, at(mask + k) != 0.0 ? value : at(one + k));
    }
  }
}

// Columns that lie far apart, and the last rows of few columns: number by number, eight rows at a time.
template <class T>
inline void load_numbers(const RowsToLoad<T>& from, int64_t first, double* tile) {
  const int64_t d = from.columns, width = tile_width(d);
  for (; first < from.count; first += kTileStep) {
    const int64_t count = from.count - first < kTileStep ? from.count - first : kTileStep;
    double* to = tile + first * width;
    int64_t place[kTileStep];
    for (int64_t r = 0; r < count; ++r) {
      place[r] = (from.rows != nullptr ? static_cast<int64_t>(from.rows[first + r]) : from.begin + first + r) *
                 from.row_stride;
      for (int64_t k = width - 8; k < width; k += BOSCAGE_WIDTH) put(to + r * width + k, Pack{});
      to[r * width + one_place(d)] = 1;
    }
    for (int64_t j = 0; j < d; ++j) {
      const T* column = from.data + j * from.column_stride;
      const double shift = from.shift != nullptr ? from.shift[j] : 0.0;
      double* out = to + column_place(j, d);
      for (int64_t r = 0; r < count; ++r) out[r * width] = static_cast<double>(column[place[r]]) - shift;
    }
  }
}

template <class T>
inline void load(const RowsToLoad<T>& from, double* tile) {
  // Rows after which there are eight numbers at least.
  const int64_t covered =
      from.row_stride < 1 || from.rows != nullptr ? 0 : from.count - (8 + from.row_stride - 1) / from.row_stride;
  const int64_t most = from.columns < 8 ? (covered < 0 ? 0 : covered) : from.count;
  const int64_t count = from.column_stride == 1 ? most : 0;
  from.shift != nullptr ? load_rows<T, true>(from, count, tile) : load_rows<T, false>(from, count, tile);
  load_numbers(from, count, tile);
}

// Sums of neighbours: those of a, then those of b.
[[gnu::always_inline]] inline Pack fold(Pack a, Pack b) {
#if BOSCAGE_WIDTH == 8
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14) +
         __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
#elif BOSCAGE_WIDTH == 4
  return __builtin_shufflevector(a, b, 0, 2, 4, 6) + __builtin_shufflevector(a, b, 1, 3, 5, 7);
#else
  return __builtin_shufflevector(a, b, 0, 2) + __builtin_shufflevector(a, b, 1, 3);
#endif
}

// As many rows as a pack has places, eight running sums each: ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)).
struct Running {
  Pack of[8];  // row by row

  [[gnu::always_inline]] Pack total() const {
    return fold(fold(fold(of[0], of[1]), fold(of[2], of[3])), fold(fold(of[4], of[5]), fold(of[6], of[7])));
  }
};

// theta.x of as many rows as a pack has places.
[[gnu::always_inline]] inline Pack score(const double* x, int64_t width, int64_t end, const double* theta) {
  Running sum;
  for (auto& one : sum.of) one = Pack{};
  for (int64_t j = 0; j < end; j += 8) {
#pragma GCC unroll 8
    for (int p = 0; p < kPacks; ++p) {
      const Pack weight = at(theta + j + p * BOSCAGE_WIDTH);
#pragma GCC unroll 8
      for (int r = 0; r < BOSCAGE_WIDTH; ++r)
        sum.of[r * kPacks + p] += at(x + r * width + j + p * BOSCAGE_WIDTH) * weight;
    }
  }
  return sum.total();
}

inline void square(const TileRows& tile, const double* shift, const double* factor, double* squares) {
  const int64_t d = tile.columns, whole = whole_groups(d), width = tile_width(d);
  // The last columns are read from where the first of them lies; what follows them counts nothing.
  const int64_t last = d < 8 ? 0 : column_place(whole, d);
  for (int64_t i = 0; i < tile.rows; i += BOSCAGE_WIDTH) {
    const double* x = tile.data + i * width;
    Running sum;
    for (auto& one : sum.of) one = Pack{};
    for (int64_t j = 0; j < d; j += 8) {
      for (int p = 0; p < kPacks; ++p) {
        const int64_t k = j + p * BOSCAGE_WIDTH, from = j < whole ? k : last + p * BOSCAGE_WIDTH;
        for (int r = 0; r < BOSCAGE_WIDTH; ++r) {
          const Pack z = (at(x + r * width + from) - at(shift + k)) * at(factor + k);
          sum.of[r * kPacks + p] += z * z;
        }
      }
    }
    put(squares + i, sum.total());
  }
}

// One test on some rows whose score is known.
[[gnu::always_inline]] inline void divide_pack(const TileRows& tile, const TileTest& test, int64_t i, Pack score_of,
                                               Marks& lefts, Marks& rights) {
  const Pack one = Pack{} + 1.0;
  const Pack norm = at(tile.norm + i), weight = at(tile.weight + i);
  const Pack reach = test.reach != nullptr ? at(test.reach + i) : (weight > 0.0 ? one : Pack{});
  Pack tilt = norm * (score_of + test.offset);
  tilt = tilt > one ? one : tilt;
  tilt = tilt < -one ? -one : tilt;
  Pack left = reach * ((1 - tilt) / 2), right = reach * ((1 + tilt) / 2);
  left = left < test.cut_left ? Pack{} : left;
  right = right < test.cut_right ? Pack{} : right;
  lefts -= left != 0.0;
  rights -= right != 0.0;
  if (test.left != nullptr) put(test.left + i, left);
  if (test.right != nullptr) put(test.right + i, right);
  if (test.left_weight != nullptr) {
    put(test.left_weight + i, weight * left);
    put(test.left_multiplier + i, weight * left * norm);
  }
  if (test.right_weight != nullptr) {
    put(test.right_weight + i, weight * right);
    put(test.right_multiplier + i, weight * right * norm);
  }
}

inline void divide(const TileRows& tile, const TileTest& test) {
  const int64_t d = tile.columns, width = tile_width(d), end = (d + 7) / 8 * 8;
  const int64_t ahead = tile.next_bytes * BOSCAGE_WIDTH;
  Marks lefts{}, rights{};
  for (int64_t i = 0; i < tile.rows; i += BOSCAGE_WIDTH) {
    for (int64_t byte = 0; byte < ahead; byte += 64) __builtin_prefetch(tile.next + i * tile.next_bytes + byte);
    if (i % 8 == 0) {  // a cache line
      if (test.reach != nullptr) __builtin_prefetch(test.reach + i + tile.rows, 0, 2);
      if (test.left != nullptr) __builtin_prefetch(test.left + i + tile.rows, 1, 2);
      if (test.right != nullptr) __builtin_prefetch(test.right + i + tile.rows, 1, 2);
    }
    divide_pack(tile, test, i, score(tile.data + i * width, width, end, test.theta), lefts, rights);
  }
  for (int k = 0; k < BOSCAGE_WIDTH; ++k) {
    test.counts[0] += lefts[k];
    test.counts[1] += rights[k];
  }
}

// `sides` sides and `packs` packs of columns at once, all running sums in registers.
template <int sides, int packs>
inline void add_packs(const double* data, int64_t width, const int32_t* rows, int64_t count,
                      const double* const* multipliers, double* const* sums, int64_t first) {
  Pack sum[static_cast<size_t>(sides)][static_cast<size_t>(packs)];
  for (int s = 0; s < sides; ++s)
    for (int p = 0; p < packs; ++p) sum[s][p] = at(sums[s] + first + p * BOSCAGE_WIDTH);
  for (int64_t i = 0; i < count; ++i) {
    const double* x = data + rows[i] * width + first;
    Pack value[static_cast<size_t>(packs)];
    for (int p = 0; p < packs; ++p) value[p] = at(x + p * BOSCAGE_WIDTH);
    for (int s = 0; s < sides; ++s) {
      const double multiplier = multipliers[s][rows[i]];
      for (int p = 0; p < packs; ++p) sum[s][p] += multiplier * value[p];
    }
  }
  for (int s = 0; s < sides; ++s)
    for (int p = 0; p < packs; ++p) put(sums[s] + first + p * BOSCAGE_WIDTH, sum[s][p]);
}

// The last packs of a row, at most `packs`.
template <int sides, int packs>
inline void add_last(int64_t left, const auto&... run) {
  if constexpr (packs > 1) {
    if (left < packs) return add_last<sides, packs - 1>(left, run...);
  }
  add_packs<sides, packs>(run...);
}

template <int sides>
inline void add_sides(const TileRows& tile, const int32_t* rows, int64_t count, const double* const* weights,
                      const double* const* multipliers, double* const* sums) {
  // Four additions must be under way at any time; sums and a row must fit into the registers.
  constexpr int kMost = BOSCAGE_WIDTH == 8 ? (sides > 2 ? 3 : 8) : (sides > 2 ? 2 : 8 / sides);
  const int64_t width = tile_width(tile.columns);
  for (int64_t first = 0; first < width; first += kMost * BOSCAGE_WIDTH)
    add_last<sides, kMost>((width - first) / BOSCAGE_WIDTH, tile.data, width, rows, count, multipliers, sums, first);
  double total[static_cast<size_t>(sides)];
  for (int s = 0; s < sides; ++s) total[s] = sums[s][width];
  for (int64_t i = 0; i < count; ++i)
    for (int s = 0; s < sides; ++s) total[s] += weights[s][rows[i]];
  for (int s = 0; s < sides; ++s) sums[s][width] = total[s];
}

inline void add(const TileRows& tile, const int32_t* rows, int64_t count, const double* const* weights,
                const double* const* multipliers, double* const* sums, int64_t sides) {
  constexpr int kSides = BOSCAGE_WIDTH == 8 ? 6 : 4;
  int64_t s = 0;
  for (; s + kSides <= sides; s += kSides) add_sides<kSides>(tile, rows, count, weights + s, multipliers + s, sums + s);
  for (; s + 2 <= sides; s += 2) add_sides<2>(tile, rows, count, weights + s, multipliers + s, sums + s);
  for (; s < sides; ++s) add_sides<1>(tile, rows, count, weights + s, multipliers + s, sums + s);
}

}  // namespace boscage::stochastic::BOSCAGE_SET
