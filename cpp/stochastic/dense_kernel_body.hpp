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
  for (int r = 0; r < rows; ++r) {
    double lane[8];
    for (int p = 0; p < kPacks; ++p)
      for (int k = 0; k < BOSCAGE_WIDTH; ++k) lane[p * BOSCAGE_WIDTH + k] = sum[r][p][k];
    out[r] = ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
  }
}

// sums += lever_r (x_r - shift) for `rows` rows of one class, one after the other.
template <class T, bool shifted, int rows>
inline void add(const Columns<T>& c, const T* const* x, const double* lever, double* sums) {
  const auto step = [&](int64_t j, const double* mask) {
    for (int p = 0; p < kPacks; ++p) {
      auto* place = reinterpret_cast<Doubles*>(sums + j) + p;
      Doubles sum = *place;
      for (int r = 0; r < rows; ++r) {
        Doubles value;
        load<T, shifted>(x[r] + j, c.shift + j, p, value);
        if (mask != nullptr) value *= packs(mask)[p];
        sum += lever[r] * value;
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
inline void narrow_add(const Columns<T>& c, const T* x, double lever, double* sums) {
  for (int64_t j = 0; j < c.d; ++j) sums[j] += lever * (static_cast<double>(x[j]) - (shifted ? c.shift[j] : 0.0));
}

struct Side {
  double weight[kTile], lever[kTile];
};

// Adds a tile's rows, each to the sums of its class.
template <class T, bool shifted>
inline void add_tile(const DenseRun<T>& run, const Columns<T>& c, const T* const* x, const int32_t* label, int count,
                     const Side& side, double* sums) {
  for (int i = 0; i < count; ++i) {
    double* place = sums + label[i] * run.sums_stride;
    place[0] += side.weight[i];
    place[1] += side.lever[i];
    if (c.d >= 8) {
      add<T, shifted, 1>(c, x + i, side.lever + i, place + 2);
    } else {
      narrow_add<T, shifted>(c, x[i], side.lever[i], place + 2);
    }
  }
}

template <class T, bool shifted>
inline void score_tile(const Columns<T>& c, const T* const* x, int count, double* score) {
  int i = 0;
  if (c.d >= 8) {
    for (; i + 4 <= count; i += 4) dots<T, shifted, 4>(c, x + i, score + i);
    for (; i < count; ++i) dots<T, shifted, 1>(c, x + i, score + i);
  }
  for (; i < count; ++i) score[i] = narrow_dot<T, shifted>(c, x[i]);
}

// Scores to reach: writes both sides and leaves the weights for the sums.
template <class T>
inline void divide_tile(const DenseRun<T>& run, const double* score, const int64_t* at, const int64_t* row, int count,
                        Side& left, Side& right, int64_t* counts) {
  for (int i = 0; i < count; ++i) {
    const double norm = run.norm != nullptr ? run.norm[row[i]] : 1.0;
    const double weight = run.weight != nullptr ? run.weight[row[i]] : 1.0;
    const double reach = run.reach != nullptr ? run.reach[at[i]] : 1.0;
    double go_left = 0, go_right = reach;
    if (run.theta != nullptr) {
      const double scaled = norm * (score[i] + run.offset);
      const double tilt = scaled > 1 ? 1 : (scaled < -1 ? -1 : scaled);
      go_left = reach * ((1 - tilt) / 2);
      go_right = reach * ((1 + tilt) / 2);
      go_left = go_left < run.cut_left ? 0 : go_left;
      go_right = go_right < run.cut_right ? 0 : go_right;
      if (run.left != nullptr) run.left[at[i]] = go_left;
      if (run.right != nullptr) run.right[at[i]] = go_right;
      counts[0] += go_left != 0;
      counts[1] += go_right != 0;
    }
    left.weight[i] = weight * go_left;
    left.lever[i] = weight * go_left * norm;
    right.weight[i] = weight * go_right;
    right.lever[i] = weight * go_right * norm;
  }
}

// Rows on their way from memory while others are worked on; asking beyond the end is harmless.
template <class T>
inline void prefetch(const T* x, int64_t d) {
  for (int64_t j = 0; j < d; j += 64 / static_cast<int64_t>(sizeof(T))) __builtin_prefetch(x + j);
}

template <class T, bool shifted>
inline void run_shifted(const DenseRun<T>& run, int64_t* counts) {
  const Columns<T> c(run);
  const T* x[kTile];
  int64_t at[kTile], row[kTile];
  int32_t label[kTile];
  double score[kTile];
  Side left, right;
  // Wide rows: fewer at once, so that they are still near when they are added.
  const int64_t ahead = (4096 / (c.d * static_cast<int64_t>(sizeof(T))) + 1) * run.stride;
  const int tile = c.d <= 256 ? kTile : 4;
  for (int64_t i = 0; i < run.count;) {
    int n = 0;
    for (; i < run.count && n < tile; ++i) {
      if (run.reach != nullptr && run.reach[i] == 0) {
        if (run.left != nullptr) run.left[i] = 0;
        if (run.right != nullptr) run.right[i] = 0;
        continue;
      }
      at[n] = i;
      row[n] = run.rows != nullptr ? static_cast<int64_t>(run.rows[i]) : run.begin + i;
      x[n] = run.data + (row[n] - run.first) * run.stride;
      label[n] = run.label[row[n]];
      prefetch(x[n] + ahead, c.d);
      ++n;
    }
    if (run.theta != nullptr) score_tile<T, shifted>(c, x, n, score);
    divide_tile(run, score, at, row, n, left, right, counts);
    if (run.left_sums != nullptr) add_tile<T, shifted>(run, c, x, label, n, left, run.left_sums);
    if (run.right_sums != nullptr) add_tile<T, shifted>(run, c, x, label, n, right, run.right_sums);
  }
}

template <class T>
inline void run(const DenseRun<T>& rows, int64_t* counts) {
  rows.shift != nullptr ? run_shifted<T, true>(rows, counts) : run_shifted<T, false>(rows, counts);
}

}  // namespace boscage::stochastic::BOSCAGE_SET
