// Included once per instruction set by sweep.cpp (so without an include guard), with
// BOSCAGE_ISA (namespace), BOSCAGE_TARGET (function attribute) and BOSCAGE_BYTES (register width).

namespace BOSCAGE_ISA {

template <class T>
struct Register {
  using Type = Loose<T, BOSCAGE_BYTES>;
  static constexpr int kWidth = BOSCAGE_BYTES / sizeof(T);
  static constexpr int kCount = kLanes / kWidth;
  typedef Type Several[kLanes * sizeof(T) / BOSCAGE_BYTES];
};

#define BOSCAGE_EACH(u) for (int64_t u = 0; u < Register<T>::kCount; ++u)
#define BOSCAGE_LOWER(a, b) a = (b) < (a) ? (b) : (a)
#define BOSCAGE_RAISE(a, b) a = (b) > (a) ? (b) : (a)

template <class T, bool kDense>
BOSCAGE_TARGET void binary_column(const BinarySweep<T>& s, const uint32_t* order, T* state) {
  using V = typename Register<T>::Type;
  constexpr int kCount = Register<T>::kCount;
  const V* from = reinterpret_cast<const V*>(state);
  const V* cuts = reinterpret_cast<const V*>(s.cut);
  typename Register<T>::Several cut, left, low0, low1, high0, high1;
  BOSCAGE_EACH(u) {
    cut[u] = cuts[u], left[u] = V{};
    low0[u] = from[u], low1[u] = from[kCount + u], high0[u] = from[2 * kCount + u], high1[u] = from[3 * kCount + u];
  }
  V all = V{};
  for (int64_t i = 0; i < s.rows; ++i) {
    const uint32_t entry = order[i];
    const Item<T>& item = s.items[entry & ~kCutHere];
    const V key = V{} + item.key, weight = V{} + item.weight;
    all += weight;
    BOSCAGE_EACH(u) left[u] = key <= cut[u] ? left[u] + weight : left[u];
    if (!kDense && !(entry & kCutHere)) continue;
    BOSCAGE_EACH(u) {
      const V right = all - left[u];
      BOSCAGE_LOWER(low0[u], left[u]);
      BOSCAGE_RAISE(high0[u], left[u]);
      BOSCAGE_LOWER(low1[u], right);
      BOSCAGE_RAISE(high1[u], right);
    }
  }
  V* to = reinterpret_cast<V*>(state);
  BOSCAGE_EACH(u) {
    to[u] = low0[u], to[kCount + u] = low1[u], to[2 * kCount + u] = high0[u], to[3 * kCount + u] = high1[u];
    to[4 * kCount + u] = left[u];
  }
}

template <class T>
BOSCAGE_TARGET void binary(BinarySweep<T>& s) {
  T state[5 * kLanes] = {};
  for (int k = 0; k < s.columns; ++k) {
    const uint32_t* order = s.order + k * s.rows;
    s.dense[k] ? binary_column<T, true>(s, order, state) : binary_column<T, false>(s, order, state);
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    s.low[0][lane] = state[lane], s.low[1][lane] = state[kLanes + lane];
    s.high[0][lane] = state[2 * kLanes + lane], s.high[1][lane] = state[3 * kLanes + lane];
    s.left[lane] = state[4 * kLanes + lane];
  }
}

template <class T>
BOSCAGE_TARGET void class_column(ClassSweep<T>& s, int k) {
  using V = typename Register<T>::Type;
  constexpr int kCount = Register<T>::kCount;
  const V* cuts = reinterpret_cast<const V*>(s.cut);
  const V *total0 = reinterpret_cast<const V*>(s.total[0]), *total1 = reinterpret_cast<const V*>(s.total[1]);
  V *rest0 = reinterpret_cast<V*>(s.rest[0]), *rest1 = reinterpret_cast<V*>(s.rest[1]);
  V *correct0 = reinterpret_cast<V*>(s.correct[0]), *correct1 = reinterpret_cast<V*>(s.correct[1]);
  typename Register<T>::Several cut, best0, best1, top0, top1;
  BOSCAGE_EACH(u) cut[u] = cuts[u], best0[u] = correct0[u], best1[u] = correct1[u], top0[u] = V{}, top1[u] = V{};
  for (int c = 0; c < s.classes * kCount; ++c) rest0[c] = total0[c], rest1[c] = total1[c];
  const uint32_t* order = s.order + k * s.rows;
  uint32_t i = 0;
  for (uint32_t r = s.run_start[k]; r < s.run_start[k + 1]; ++r) {
    const Run run = s.runs[r];
    typename Register<T>::Several left;
    V all = V{};
    BOSCAGE_EACH(u) left[u] = V{};
    for (; i < run.end; ++i) {
      const Item<T>& item = s.items[order[i]];
      const V key = V{} + item.key, weight = V{} + item.weight;
      all += weight;
      BOSCAGE_EACH(u) left[u] = key <= cut[u] ? left[u] + weight : left[u];
    }
    const int at = run.label * kCount;
    BOSCAGE_EACH(u) {
      const V remains0 = rest0[at + u] - left[u], remains1 = rest1[at + u] - (all - left[u]);
      rest0[at + u] = remains0, rest1[at + u] = remains1;
      const V passed0 = total0[at + u] - remains0, passed1 = total1[at + u] - remains1;
      BOSCAGE_RAISE(top0[u], passed0);
      BOSCAGE_RAISE(top1[u], passed1);
    }
    if (!run.cut) continue;
    BOSCAGE_EACH(u) {
      V most0 = rest0[u], most1 = rest1[u];
      for (int c = 1; c < s.classes; ++c) {
        BOSCAGE_RAISE(most0, rest0[c * kCount + u]);
        BOSCAGE_RAISE(most1, rest1[c * kCount + u]);
      }
      const V gain0 = top0[u] + most0, gain1 = top1[u] + most1;
      BOSCAGE_RAISE(best0[u], gain0);
      BOSCAGE_RAISE(best1[u], gain1);
    }
  }
  BOSCAGE_EACH(u) correct0[u] = best0[u], correct1[u] = best1[u];
}

template <class T>
BOSCAGE_TARGET void classes(ClassSweep<T>& s) {
  for (int lane = 0; lane < kLanes; ++lane) s.correct[0][lane] = s.correct[1][lane] = 0;
  for (int k = 0; k < s.columns; ++k) class_column<T>(s, k);
}

#undef BOSCAGE_EACH
#undef BOSCAGE_LOWER
#undef BOSCAGE_RAISE

}  // namespace BOSCAGE_ISA
