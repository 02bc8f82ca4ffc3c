#include "predict/predict.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/array.hpp"
#include "base/instruction_sets.hpp"
#include "base/rng.hpp"

namespace boscage {

namespace {

struct Sides {
  double left, right;
};

Sides sides(Routing routing, double score) {
  if (routing == Routing::linear) {
    const double clipped = std::clamp(score, -1.0, 1.0);
    return {(1.0 - clipped) / 2.0, (1.0 + clipped) / 2.0};
  }
  // From the exponential that cannot overflow, so that the small side keeps its digits.
  const double e = std::exp(-std::abs(score));
  const double small = e / (1.0 + e), large = 1.0 / (1.0 + e);
  return score > 0 ? Sides{small, large} : Sides{large, small};
}

}  // namespace

// One row at a time through any tree; one walker for each thread.
template <class Rows>
class Walker {
 public:
  Walker(const Predictor& predictor, const Rows& rows)
      : predictor_(predictor),
        tree_(predictor.tree_),
        rows_(rows),
        mapper_(tree_.map, tree_.n_categories, tree_.weights.is_sparse()) {}

  int32_t hard_leaf(int64_t row) {
    int32_t node = 0;
    while (tree_.feature[at(node)] != kLeaf) node = hard_step(node, row);
    return node;
  }

  int32_t hard_step(int32_t node, int64_t row) {
    const auto i = at(node);
    bool right;
    if (tree_.feature[i] < 0) {
      right = score(node, row) > tree_.threshold[i];
    } else {
      const double x = rows_(row, tree_.feature[i]);
      right = tree_.category_offset[i] >= 0 ? category_right(i, x)
                                            : (std::isnan(x) ? !tree_.missing_go_to_left[i] : x > tree_.threshold[i]);
    }
    return right ? tree_.children_right[i] : tree_.children_left[i];
  }

  Sides soft_sides(int32_t node, int64_t row) {
    const double away = score(node, row) - tree_.threshold[at(node)];
    return sides(tree_.routing, std::isfinite(away) ? away : careful_score(node, row));
  }

  // Probability of reaching each node, parents before children.
  const Array<double>& reach(int64_t row) {
    const int64_t n = tree_.feature.size();
    reach_.assign(n, 0.0);
    reach_[0] = 1.0;
    for (int64_t i = 0; i < n; ++i) {
      if (tree_.feature[i] == kLeaf || reach_[i] == 0.0) continue;
      const auto [left, right] = soft_sides(static_cast<int32_t>(i), row);
      reach_[at(tree_.children_left[i])] = reach_[i] * left;
      reach_[at(tree_.children_right[i])] = reach_[i] * right;
    }
    return reach_;
  }

  int32_t leaf(int64_t row) {
    if (tree_.routing == Routing::hard) return hard_leaf(row);
    reach(row);
    int32_t best = predictor_.leaves_[0];
    for (const int32_t node : predictor_.leaves_) {
      if (reach_[at(node)] > reach_[at(best)]) best = node;
    }
    return best;
  }

  void proba(int64_t row, double* out) {
    std::fill_n(out, tree_.classes, 0.0);
    if (tree_.routing == Routing::hard) return add_leaf(hard_leaf(row), 1.0, row, out);
    reach(row);
    for (const int32_t node : predictor_.leaves_) {
      if (reach_[at(node)] != 0.0) add_leaf(node, reach_[at(node)], row, out);
    }
  }

 private:
  static int64_t at(int32_t node) { return node; }

  bool category_right(int64_t i, double x) const {
    const int64_t code = category_code(x, tree_.n_categories[at(tree_.feature[i])]);
    if (code < 0) return !tree_.missing_go_to_left[i];
    const uint8_t byte = tree_.category_bits[tree_.category_offset[i] + code / 8];
    return ((byte >> (code % 8)) & 1) == 0;
  }

  void load(int64_t row) {
    if (loaded_ == row) return;
    mapper_.load(rows_, row);
    loaded_ = row;
  }

  double score(int32_t node, int64_t row) {
    const LinearWeights& weights = tree_.weights;
    const int64_t test = tree_.linear_row[at(node)];
    if (!weights.is_sparse()) {
      load(row);
      return mapper_.seen().dot_with(weights.dense.data() + test * weights.columns, weights.columns);
    }
    const int64_t begin = weights.offsets[test];
    const int64_t stored = weights.offsets[test + 1] - begin;
    const int64_t* columns = weights.indices.data() + begin;
    const double* values = weights.data.data() + begin;
    if constexpr (requires { rows_.column_stride; }) {
      if (!tree_.map.unit_rows) return few_terms(columns, values, stored, row);
    }
    load(row);
    return dot_sparse(columns, values, stored, mapper_.seen().dense);
  }

  // The distance to the threshold where terms overflow: from the user's numbers, each step within the range of doubles.
  double careful_score(int32_t node, int64_t row) {
    const LinearWeights& weights = tree_.weights;
    const RowMap& map = tree_.map;
    const int64_t d = predictor_.columns(), test = tree_.linear_row[at(node)];
    careful_.resize(d + 1);
    for (int64_t j = 0; j < d; ++j) {
      const auto x = static_cast<double>(rows_(row, static_cast<int32_t>(j)));
      constexpr double most = std::numeric_limits<double>::max();
      const double seen = scaled_by_halves(map, j, plain_number(map, tree_.n_categories, j, x));
      careful_[j] = std::clamp(seen, -most, most);
    }
    careful_[d] = map.constant;
    if (map.unit_rows)
      make_unit_row(careful_.data(), weights.columns, dot(careful_.data(), careful_.data(), weights.columns));
    SmallDot sum;
    if (!weights.is_sparse()) {
      sum.add({.dense = careful_.data()}, weights.dense.data() + test * weights.columns, weights.columns);
    } else {
      const auto begin = weights.offsets[test];
      const auto end = weights.offsets[test + 1];
      for (int64_t k = begin; k < end; ++k) sum.add(weights.data[k], careful_[weights.indices[k]]);
    }
    sum.add(-1.0, tree_.threshold[at(node)]);
    return std::ldexp(sum.value, SmallDot::kExponent);
  }

  // A test of a few columns reads only these, however wide the row is.
  double few_terms(const int64_t* columns, const double* values, int64_t stored, int64_t row) const {
    LaneSum sum;
    for (int64_t k = 0; k < stored; ++k) {
      const int64_t j = columns[k];
      const double x = j == rows_.columns
                           ? tree_.map.constant
                           : scaled(tree_.map, j,
                                    plain_number(tree_.map, tree_.n_categories, j, static_cast<double>(rows_(row, j))));
      sum.add(j, values[k] * x);
    }
    return sum.total();
  }

  void add_leaf(int32_t node, double share, int64_t row, double* out) {
    const int64_t k = tree_.classes;
    if (!tree_.coef.empty()) {
      model(predictor_.leaf_index_[at(node)], row);
      for (int64_t c = 0; c < k; ++c) out[c] += share * model_[c];
      return;
    }
    const double* values = tree_.leaf_value.empty() ? tree_.value.data() + node * k
                                                    : tree_.leaf_value.data() + predictor_.leaf_index_[at(node)] * k;
    for (int64_t c = 0; c < k; ++c) out[c] += share * values[c];
  }

  // Softmax of the leaf's linear scores into model_, or the scores themselves within their bounds.
  void model(int64_t leaf, int64_t row) {
    const int64_t k = tree_.classes, d = predictor_.columns();
    load(row);
    model_.resize(k);
    for (int64_t c = 0; c < k; ++c) {
      const int64_t line = leaf * k + c;
      model_[c] = mapper_.plain().dot_with(tree_.coef.data() + line * d, d) + tree_.intercept[line];
    }
    if (tree_.is_numbers) return bounded_model(leaf);
    if (!is_finite_row(model_.data(), k)) return careful_model(leaf);
    const double top = model_[argmax(model_.data(), k)];
    double total = 0.0;
    for (double& v : model_) total += v = std::exp(v - top);
    for (double& v : model_) v /= total;
  }

  void bounded_model(int64_t leaf) {
    const int64_t k = tree_.classes, d = predictor_.columns();
    constexpr double most = 1e300;
    for (int64_t c = 0; c < k; ++c) {
      const auto line = leaf * k + c;
      double& score = model_[c];
      if (!std::isfinite(score)) {  // terms that overflow may still have a finite sum
        SmallDot sum;
        sum.add(mapper_.plain(), tree_.coef.data() + static_cast<int64_t>(line) * d, d);
        sum.add(1.0, tree_.intercept[line]);
        score = std::ldexp(sum.value, SmallDot::kExponent);
      }
      if (std::isnan(score)) score = tree_.intercept[line];
      score = tree_.low.empty() ? std::clamp(score, -most, most) : std::clamp(score, tree_.low[line], tree_.high[line]);
    }
  }

  // The same for scores that overflow: all but the largest have no share.
  void careful_model(int64_t leaf) {
    const int64_t k = tree_.classes, d = predictor_.columns();
    for (int64_t c = 0; c < k; ++c) {
      const int64_t line = leaf * k + c;
      SmallDot sum;
      sum.add(mapper_.plain(), tree_.coef.data() + line * d, d);
      sum.add(1.0, tree_.intercept[line]);
      model_[c] = sum.value;
    }
    const double top = model_[argmax(model_.data(), k)];
    double total = 0.0;
    for (double& v : model_) total += v = std::exp(std::ldexp(v - top, SmallDot::kExponent));
    for (double& v : model_) v /= total;
  }

  const Predictor& predictor_;
  const TreeArrays& tree_;
  const Rows rows_;
  RowMapper mapper_;
  int64_t loaded_ = -1;
  Array<double> reach_, model_, careful_;
};

template <class Rows, class Block>
void Predictor::for_blocks(const Rows& rows, int threads, Control& control, const Block& block) const {
  if (rows.columns != columns()) throw std::invalid_argument("X has a different number of columns than the tree.");
  const int64_t size = block_rows(), blocks = (rows.rows + size - 1) / size;
  Pool pool(static_cast<int>(std::clamp<int64_t>(blocks, 1, std::max(threads, 1))));
  pool.parallel_for(blocks, [&](int64_t number, int) {
    control.check();
    block(number * size, std::min(rows.rows, (number + 1) * size), number);
  });
}

namespace {

// Several rows on their way at once hide the time it takes to fetch a node. A row that has arrived stays at its leaf,
// which is its own left child: no branch depends on where a single row is. kPlain: the numbers of a row lie side by
// side.
template <int kRows, bool kComplete, bool kPlain, class T>
BOSCAGE_INLINE void walk_together(const Predictor::Node* nodes, const Matrix<T>& rows, int64_t first, uint32_t* at) {
  constexpr int kSteps = 4;  // between two looks at who has arrived
  const T* base = rows.data + first * rows.row_stride;
  const int64_t column_stride = kPlain ? 1 : rows.column_stride;
  uint32_t here[to_size(kRows)] = {};
  for (bool moved = true; moved;) {
    for (int step = 0; step < kSteps; ++step) {
      for (int g = 0; g < kRows; ++g) {
        const Predictor::Node& node = nodes[here[g]];
        const int32_t flip = node.feature >> 31;  // all ones: NaN goes left
        const auto x = static_cast<double>(base[g * rows.row_stride + (node.feature ^ flip) * column_stride]);
        bool right = x > node.threshold;
        if constexpr (!kComplete) right |= (x != x) & (flip == 0);
        here[g] = node.left + right;
      }
    }
    moved = false;
    for (int g = 0; g < kRows; ++g) moved |= nodes[here[g]].left != here[g];
  }
  std::copy_n(here, kRows, at);
}

}  // namespace

template <class Rows, bool want_class>
void Predictor::walk_packed(const Rows& rows, int64_t begin, int64_t end, bool is_complete, int64_t* out) const {
  if constexpr (requires { rows.column_stride; }) {
    int64_t row = begin;
    const auto walk = [&]<int kRows, bool kComplete, bool kPlain>() {
      uint32_t at[to_size(kRows)];
      for (; row + kRows <= end; row += kRows) {
        walk_together<kRows, kComplete, kPlain>(packed_.data(), rows, row, at);
        for (int g = 0; g < kRows; ++g) out[row - begin + g] = arrived<want_class>(at[g]);
      }
    };
    const bool is_plain = rows.column_stride == 1;
    if (is_complete && is_plain) walk.template operator()<16, true, true>();
    if (is_plain) walk.template operator()<8, false, true>();
    walk.template operator()<8, false, false>();
    walk.template operator()<1, false, false>();
  } else {
    constexpr int64_t kWideRow = 64;  // columns that may be cleared for each row of the block
    walk_sparse<Rows, want_class>(rows, begin, end, columns() <= kWideRow * (end - begin), out);
  }
}

// Sparse rows one by one, each spread out unless finding its few numbers that the tests ask for is quicker.
template <class Rows, bool want_class>
void Predictor::walk_sparse(const Rows& rows, int64_t begin, int64_t end, bool spreads, int64_t* out) const {
  constexpr int64_t kEntriesPerStep = 8;
  Array<double> numbers(spreads ? columns() : 0, 0.0);
  const auto walk = [&](const auto& number) {
    uint32_t at = 0;
    while (packed_[at].left != at) {
      const Node& here = packed_[at];
      const int32_t flip = here.feature >> 31;  // all ones: NaN goes left
      const double x = number(here.feature ^ flip);
      at = here.left + ((x > here.threshold) | ((x != x) & (flip == 0)));
    }
    return arrived<want_class>(at);
  };
  for (int64_t row = begin; row < end; ++row) {
    const auto [first, last] = rows.range(row);
    if (!spreads || last - first > kEntriesPerStep * deepest_) {
      out[row - begin] = walk([&](int32_t column) { return static_cast<double>(rows(row, column)); });
      continue;
    }
    for (int64_t k = first; k < last; ++k) numbers[rows.column(k)] = static_cast<double>(rows.data[k]);
    out[row - begin] = walk([&](int32_t column) { return numbers[column]; });
    for (int64_t k = first; k < last; ++k) numbers[rows.column(k)] = 0.0;
  }
}

template <class Rows>
bool Predictor::walk_tests(const Rows& rows, int64_t begin, int64_t end, Array<int32_t>& leaves) const {
  if constexpr (requires { rows.column_stride; }) {
    if (linear_.empty()) return false;
    constexpr int64_t kTogether = 64;
    leaves.resize(end - begin);
    Array<RowMapper> mappers(kTogether, RowMapper(tree_.map, tree_.n_categories, false));
    const double* views[kTogether];
    for (int64_t first = begin; first < end; first += kTogether) {
      const int64_t count = std::min(kTogether, end - first);
      for (int64_t i = 0; i < count; ++i) {
        mappers[i].load(rows, first + i);
        views[i] = mappers[i].seen().dense;
      }
      walk_linear(linear_, tree_.weights.dense.data(), tree_.weights.columns, views, count,
                  leaves.data() + (first - begin));
    }
    return true;
  }
  return false;
}

template <class Rows>
bool Predictor::divide_rows(const Rows& rows, int64_t begin, int64_t end, int64_t* leaves) const {
  if constexpr (std::is_same_v<Rows, Matrix<double>>) {
    if (sparse_.empty() || rows.column_stride != 1) return false;
    thread_local DivideScratch scratch;
    scratch.rows.clear();
    Walker<Rows> walker(*this, rows);
    for (int64_t row = begin; row < end; ++row) {
      if (is_finite_row(rows.data + row * rows.row_stride, columns())) {
        scratch.rows.push_back(static_cast<uint32_t>(row - begin));
      } else {
        leaves[row - begin] = walker.hard_leaf(row);
      }
    }
    divide_by_tests(sparse_, rows.data + begin * rows.row_stride, rows.row_stride, scratch, leaves);
    return true;
  }
  return false;
}

template <class Rows>
bool Predictor::quick_leaves(const Rows& rows, int64_t begin, int64_t end, bool is_complete,
                             Array<int64_t>& leaves) const {
  leaves.resize(end - begin);
  if (!packed_.empty()) {
    walk_packed<Rows, false>(rows, begin, end, is_complete, leaves.data());
    return true;
  }
  if (divide_rows(rows, begin, end, leaves.data())) return true;
  Array<int32_t> found;
  if (!walk_tests(rows, begin, end, found)) return false;
  std::copy(found.begin(), found.end(), leaves.begin());
  return true;
}

template <class Rows>
void Predictor::apply_block(const Rows& rows, int64_t begin, int64_t end, bool is_complete, int64_t* out) const {
  Array<int64_t> leaves;
  if (quick_leaves(rows, begin, end, is_complete, leaves)) {
    std::copy(leaves.begin(), leaves.end(), out);
    return;
  }
  Walker<Rows> walker(*this, rows);
  for (int64_t row = begin; row < end; ++row) out[row - begin] = walker.leaf(row);
}

template <class Rows>
void Predictor::apply(const Rows& rows, int64_t* out, int threads, Control& control) const {
  for_blocks(rows, threads, control,
             [&](int64_t begin, int64_t end, int64_t) { apply_block(rows, begin, end, false, out + begin); });
}

template <class Rows>
void Predictor::add_block(const Rows& rows, int64_t begin, int64_t end, bool is_complete, BlockBits chosen,
                          double* sums) const {
  const int64_t k = tree_.classes;
  Array<int64_t> leaves;
  if (tree_.coef.empty() && quick_leaves(rows, begin, end, is_complete, leaves)) {
    for (int64_t row = begin; row < end; ++row, sums += k) {
      if (!chosen.has(row)) continue;
      const double* values = leaf_values(leaves[row - begin]);
      for (int64_t c = 0; c < k; ++c) sums[c] += values[c];
    }
    return;
  }
  Walker<Rows> walker(*this, rows);
  Array<double> proba(k);
  for (int64_t row = begin; row < end; ++row, sums += k) {
    if (!chosen.has(row)) continue;
    walker.proba(row, proba.data());
    for (int64_t c = 0; c < k; ++c) sums[c] += proba[c];
  }
}

template <class Rows>
void Predictor::classes(const Rows& rows, int64_t* out, int threads, Control& control) const {
  for_blocks(rows, threads, control, [&](int64_t begin, int64_t end, int64_t) {
    const bool constant_leaves = tree_.coef.empty();
    if (!packed_.empty() && constant_leaves) return walk_packed<Rows, true>(rows, begin, end, false, out + begin);
    Array<int32_t> leaves;
    if (constant_leaves && walk_tests(rows, begin, end, leaves)) {
      for (int64_t row = begin; row < end; ++row) out[row] = leaf_class_[leaf_index_[leaves[row - begin]]];
      return;
    }
    Walker<Rows> walker(*this, rows);
    Array<double> proba(tree_.classes);
    for (int64_t row = begin; row < end; ++row) {
      if (tree_.routing == Routing::hard && constant_leaves) {
        out[row] = leaf_class_[leaf_index_[walker.hard_leaf(row)]];
      } else {
        walker.proba(row, proba.data());
        out[row] = argmax(proba.data(), tree_.classes);
      }
    }
  });
}

template <class Rows>
void Predictor::proba(const Rows& rows, double* out, int threads, Control& control) const {
  const int64_t k = tree_.classes;
  for_blocks(rows, threads, control, [&](int64_t begin, int64_t end, int64_t) {
    Array<int64_t> leaves;
    if (tree_.coef.empty() && quick_leaves(rows, begin, end, false, leaves)) {
      for (int64_t row = begin; row < end; ++row) std::copy_n(leaf_values(leaves[row - begin]), k, out + row * k);
      return;
    }
    Walker<Rows> walker(*this, rows);
    for (int64_t row = begin; row < end; ++row) walker.proba(row, out + row * k);
  });
}

template <class Rows>
void Predictor::leaf_reach(const Rows& rows, double* out, int threads, Control& control) const {
  for_blocks(rows, threads, control, [&](int64_t begin, int64_t end, int64_t) {
    Walker<Rows> walker(*this, rows);
    for (int64_t row = begin; row < end; ++row) {
      double* line = out + row * leaves();
      if (tree_.routing == Routing::hard) {
        std::fill_n(line, leaves(), 0.0);
        line[leaf_index_[walker.hard_leaf(row)]] = 1.0;
        continue;
      }
      const Array<double>& reach = walker.reach(row);
      for (int64_t leaf = 0; leaf < leaves(); ++leaf) line[leaf] = reach[leaves_[leaf]];
    }
  });
}

template <class Rows, class Emit>
Paths Predictor::collect_paths(const Rows& rows, int threads, Control& control, const Emit& emit) const {
  const int64_t size = block_rows();
  Array<Paths> parts((rows.rows + size - 1) / size);
  for_blocks(rows, threads, control, [&](int64_t begin, int64_t end, int64_t number) {
    Walker<Rows> walker(*this, rows);
    Paths& part = parts[number];
    for (int64_t row = begin; row < end; ++row) {
      emit(walker, row, part);
      part.offsets.push_back(part.nodes.size());
    }
  });
  Paths all;
  all.offsets.reserve(rows.rows + 1);
  all.offsets.push_back(0);
  for (Paths& part : parts) {
    const auto before = all.nodes.size();
    for (const int64_t offset : part.offsets) all.offsets.push_back(before + offset);
    all.nodes.insert(all.nodes.end(), part.nodes.begin(), part.nodes.end());
    all.reach.insert(all.reach.end(), part.reach.begin(), part.reach.end());
    part = {};
  }
  return all;
}

template <class Rows>
Paths Predictor::paths(const Rows& rows, int threads, Control& control) const {
  return collect_paths(rows, threads, control, [&](Walker<Rows>& walker, int64_t row, Paths& part) {
    if (tree_.routing != Routing::hard) {
      const Array<double>& reach = walker.reach(row);
      for (int64_t node = 0; node < reach.size(); ++node) {
        if (reach[node] == 0.0) continue;
        part.nodes.push_back(static_cast<int32_t>(node));
        part.reach.push_back(reach[node]);
      }
      return;
    }
    int32_t node = 0;
    part.nodes.push_back(0);
    while (tree_.feature[node] != kLeaf) part.nodes.push_back(node = walker.hard_step(node, row));
    part.reach.resize(part.nodes.size(), 1.0);
  });
}

template <class Rows>
Paths Predictor::sample_paths(const Rows& rows, uint64_t seed, int threads, Control& control) const {
  return collect_paths(rows, threads, control, [&](Walker<Rows>& walker, int64_t row, Paths& part) {
    int32_t node = 0;
    part.nodes.push_back(0);
    for (uint64_t depth = 0; tree_.feature[node] != kLeaf; ++depth) {
      const auto i = node;
      if (tree_.routing == Routing::hard) {
        node = walker.hard_step(node, row);
      } else {
        const bool right = uniform(seed, row, depth) < walker.soft_sides(node, row).right;
        node = right ? tree_.children_right[i] : tree_.children_left[i];
      }
      part.nodes.push_back(node);
    }
    part.reach.resize(part.nodes.size(), 1.0);
  });
}

#define BOSCAGE_ROWS(Rows)                                                                           \
  template void Predictor::apply(const Rows&, int64_t*, int, Control&) const;                        \
  template void Predictor::classes(const Rows&, int64_t*, int, Control&) const;                      \
  template void Predictor::add_block(const Rows&, int64_t, int64_t, bool, BlockBits, double*) const; \
  template void Predictor::apply_block(const Rows&, int64_t, int64_t, bool, int64_t*) const;         \
  template void Predictor::proba(const Rows&, double*, int, Control&) const;                         \
  template void Predictor::leaf_reach(const Rows&, double*, int, Control&) const;                    \
  template Paths Predictor::paths(const Rows&, int, Control&) const;                                 \
  template Paths Predictor::sample_paths(const Rows&, uint64_t, int, Control&) const;
#define BOSCAGE_COMMA ,
BOSCAGE_ROWS(Matrix<float>)
BOSCAGE_ROWS(Matrix<double>)
BOSCAGE_ROWS(SparseRows<float BOSCAGE_COMMA int32_t>)
BOSCAGE_ROWS(SparseRows<float BOSCAGE_COMMA int64_t>)
BOSCAGE_ROWS(SparseRows<double BOSCAGE_COMMA int32_t>)
BOSCAGE_ROWS(SparseRows<double BOSCAGE_COMMA int64_t>)

}  // namespace boscage
