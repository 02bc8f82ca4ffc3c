#include "refine/soft_pass.hpp"

#include <algorithm>
#include <cmath>

#include "base/array.hpp"

namespace boscage::refine {

namespace {

constexpr double kSmallest = 1e-30;  // a probability under this counts as this

template <class T>
BOSCAGE_INLINE void sides(const PassRows<T>& rows, T slope, int64_t inner, T* side) {
  for (int64_t v = 0; v < inner; ++v)
    for (int64_t i = 0; i < rows.count; i += kLane<T>)
      store(side + v * kPassRows + i, expit<T>(slope * load(rows.scores + v * rows.stride + i)));
}

// Worth of every node for each row's class, from the leaves up.
template <class T>
BOSCAGE_INLINE void worths(const TreeShape& shape, const T* values, const PassRows<T>& rows, const T* side, T* worth) {
  const int64_t inner = shape.inner(), leaves = shape.leaves;
  for (int64_t i = 0; i < rows.count; ++i) {
    const T* mine = values + rows.label[i] * leaves;
    T* place = worth + inner * kPassRows + i;
    for (int64_t l = 0; l < leaves; ++l) place[l * kPassRows] = mine[l];
  }
  for (int64_t v = inner; v-- > 0;) {
    const T* left = worth + shape.place(shape.left[v]) * kPassRows;
    const T* right = worth + shape.place(shape.right[v]) * kPassRows;
    for (int64_t i = 0; i < rows.count; i += kLane<T>) {
      const Vector<T> l = load(left + i), r = load(right + i);
      store(worth + v * kPassRows + i, l + load(side + v * kPassRows + i) * (r - l));
    }
  }
}

// reach of the root is given; slopes replace the scores if `worth` is.
template <class T>
BOSCAGE_INLINE void descend(const TreeShape& shape, T slope, const PassRows<T>& rows, const T* side, const T* worth,
                            T* reach) {
  const int64_t inner = shape.inner();
  for (int64_t v = 0; v < inner; ++v) {
    const int64_t left = shape.place(shape.left[v]) * kPassRows;
    const int64_t right = shape.place(shape.right[v]) * kPassRows;
    for (int64_t i = 0; i < rows.count; i += kLane<T>) {
      const Vector<T> here = load(reach + v * kPassRows + i), s = load(side + v * kPassRows + i);
      const Vector<T> goes_right = here * s;
      store(reach + right + i, goes_right);
      store(reach + left + i, here - goes_right);
      if (worth != nullptr) {
        const Vector<T> gain = load(worth + right + i) - load(worth + left + i);
        store(rows.scores + v * rows.stride + i, -slope * (goes_right * (T(1) - s) * gain));
      } else {
        store(rows.scores + v * rows.stride + i, s);
      }
    }
  }
  for (int64_t l = 0; l < shape.leaves; ++l) {
    const int64_t leaf = (inner + l) * kPassRows;
    for (int64_t i = 0; i < rows.count; i += kLane<T>) {
      const Vector<T> there = load(reach + leaf + i);
      store(rows.shares + l * rows.stride + i, worth != nullptr ? there * load(worth + leaf + i) : there);
    }
  }
}

template <class T>
BOSCAGE_INLINE double pass_body(const TreeShape& shape, T slope, const T* values, const PassRows<T>& rows, T* scratch) {
  const int64_t all_nodes = shape.inner() + shape.leaves;
  T *side = scratch, *worth = side + (shape.inner() + 1) * kPassRows, *reach = worth + all_nodes * kPassRows;
  sides(rows, slope, shape.inner(), side);
  worths(shape, values, rows, side, worth);
  double loss = 0;
  for (int64_t i = 0; i < rows.count; ++i) {
    const double p = std::max(static_cast<double>(worth[i]), kSmallest), weight = static_cast<double>(rows.weight[i]);
    loss -= weight * std::log(p);
    reach[i] = static_cast<T>(weight / p);
  }
  descend(shape, slope, rows, side, static_cast<const T*>(worth), reach);
  return loss;
}

template <class T>
BOSCAGE_INLINE void reach_body(const TreeShape& shape, T slope, const PassRows<T>& rows, T* scratch) {
  T *side = scratch, *reach = side + (shape.inner() + 1) * kPassRows;
  sides(rows, slope, shape.inner(), side);
  std::copy_n(rows.weight, rows.count, reach);
  descend(shape, slope, rows, side, static_cast<const T*>(nullptr), reach);
}

}  // namespace

TreeShape shape_of(const int32_t* children_left, const int32_t* children_right, int64_t nodes) {
  Array<int32_t> number(nodes);
  int32_t inner = 0, leaves = 0;
  for (int64_t node = 0; node < nodes; ++node) number[node] = children_left[node] >= 0 ? inner++ : ~(leaves++);
  TreeShape shape;
  shape.leaves = leaves;
  for (int64_t node = 0; node < nodes; ++node) {
    if (children_left[node] < 0) continue;
    shape.left.push_back(number[children_left[node]]);
    shape.right.push_back(number[children_right[node]]);
  }
  return shape;
}

BOSCAGE_CLONES double soft_pass(const TreeShape& shape, float slope, const float* values, const PassRows<float>& rows,
                                float* scratch) {
  return pass_body(shape, slope, values, rows, scratch);
}
BOSCAGE_CLONES double soft_pass(const TreeShape& shape, double slope, const double* values,
                                const PassRows<double>& rows, double* scratch) {
  return pass_body(shape, slope, values, rows, scratch);
}
BOSCAGE_CLONES void soft_reach(const TreeShape& shape, float slope, const PassRows<float>& rows, float* scratch) {
  reach_body(shape, slope, rows, scratch);
}
BOSCAGE_CLONES void soft_reach(const TreeShape& shape, double slope, const PassRows<double>& rows, double* scratch) {
  reach_body(shape, slope, rows, scratch);
}

}  // namespace boscage::refine
