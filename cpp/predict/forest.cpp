#include "predict/forest.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/array.hpp"

namespace boscage {

namespace {

constexpr int64_t kBlockRows = 2048;
constexpr int64_t kBlockNumbers = 1 << 18;  // of a copied block: two megabytes
constexpr int64_t kWidestCopy = 1 << 14;    // sparse rows of more columns are left as they are

template <class T>
void copy_block(const Matrix<T>& rows, int64_t begin, int64_t end, double* out) {
  for (int64_t row = begin; row < end; ++row)
    for (int64_t column = 0; column < rows.columns; ++column) *out++ = static_cast<double>(rows(row, column));
}

template <class T, class Index>
void copy_block(const SparseRows<T, Index>& rows, int64_t begin, int64_t end, double* out) {
  std::fill_n(out, (end - begin) * rows.columns, 0.0);
  for (int64_t row = begin; row < end; ++row, out += rows.columns) {
    const auto [first, last] = rows.range(row);
    for (int64_t k = first; k < last; ++k) out[rows.column(k)] = static_cast<double>(rows.data[k]);
  }
}

// Is a copy of a block in double precision, row by row, worth it?
template <class T>
bool wants_copy(const Matrix<T>& rows, bool has_linear_tests) {
  return rows.column_stride != 1 || (has_linear_tests && !std::is_same_v<T, double>);
}

template <class T, class Index>
bool wants_copy(const SparseRows<T, Index>& rows, bool) {
  return rows.columns <= kWidestCopy;
}

// Is every number of a block finite? Sparse rows are not looked at.
template <class T>
bool is_complete(const Matrix<T>& rows, int64_t begin, int64_t end) {
  bool is_missing = false;
  for (int64_t row = begin; row < end; ++row)
    for (int64_t column = 0; column < rows.columns; ++column) {
      const T x = rows(row, column);
      is_missing |= !(x - x == 0);
    }
  return !is_missing;
}

template <class T, class Index>
bool is_complete(const SparseRows<T, Index>&, int64_t, int64_t) {
  return false;
}

}  // namespace

void sharpen(double* proba, int64_t classes, double exponent) {
  double total = 0;
  for (int64_t c = 0; c < classes; ++c) total += proba[c] = proba[c] > 0 ? std::pow(proba[c], exponent) : 0.0;
  if (!(total > 0)) return;
  for (int64_t c = 0; c < classes; ++c) proba[c] /= total;
}

void softmax(double* logs, int64_t classes, double exponent) {
  const double top = *std::max_element(logs, logs + classes);
  double total = 0;
  for (int64_t c = 0; c < classes; ++c) total += logs[c] = std::exp(exponent * (logs[c] - top));
  for (int64_t c = 0; c < classes; ++c) logs[c] /= total;
}

Forest::Forest(Array<const Predictor*> trees, bool is_geometric)
    : trees_(std::move(trees)), is_geometric_(is_geometric) {
  if (trees_.empty()) throw std::invalid_argument("A forest needs at least one tree.");
  for (const Predictor* tree : trees_) {
    if (tree->columns() != columns() || tree->tree().classes != classes())
      throw std::invalid_argument("The trees of a forest need the same columns and classes.");
    has_linear_tests_ = has_linear_tests_ || tree->has_linear_tests();
    row_cost_ += tree->row_cost();
  }
}

int64_t Forest::block_rows(bool is_copied) const {
  const auto quick = static_cast<int64_t>(2e7 / row_cost_);  // Ctrl-C does not wait for long
  const int64_t fits = is_copied ? kBlockNumbers / std::max<int64_t>(columns(), 1) : kBlockRows;
  return std::clamp<int64_t>(std::min(quick, fits), 16, kBlockRows);
}

// work(table, begin, end, first): rows begin..end of the table are the rows of X from number `first` on.
template <class Rows, class Work>
void Forest::for_blocks(const Rows& rows, int threads, Control& control, const Work& work) const {
  if (rows.columns != columns()) throw std::invalid_argument("X has a different number of columns than the trees.");
  const bool copies = wants_copy(rows, has_linear_tests_);
  const int64_t size = block_rows(copies), blocks = (rows.rows + size - 1) / size, d = rows.columns;
  Pool pool(static_cast<int>(std::clamp<int64_t>(blocks, 1, std::max(threads, 1))));
  Array<Array<double>> copied(pool.threads());
  pool.parallel_for(blocks, [&](int64_t number, int thread) {
    control.check();
    const int64_t begin = number * size, end = std::min(rows.rows, begin + size);
    if (!copies) return work(rows, begin, end, 0);
    auto& block = copied[thread];
    block.resize(size * d);
    copy_block(rows, begin, end, block.data());
    work(Matrix<double>{block.data(), end - begin, d, d, 1}, 0, end - begin, begin);
  });
}

template <class Rows>
void Forest::sums(const Rows& rows, Span<const uint8_t> chosen, double* out, int threads, Control& control) const {
  const int64_t k = classes(), bytes = (rows.rows + 7) / 8;
  if (!chosen.empty() && chosen.size() != bytes * size())
    throw std::invalid_argument("chosen needs a bit for each row and tree.");
  for_blocks(rows, threads, control, [&](const auto& table, int64_t begin, int64_t end, int64_t first) {
    double* sum = out + (first + begin) * k;
    std::fill_n(sum, (end - begin) * k, 0.0);
    const bool complete = is_complete(table, begin, end);
    for (int64_t tree = 0; tree < size(); ++tree) {
      control.check();
      const BlockBits bits{chosen.empty() ? nullptr : chosen.data() + tree * bytes, first};
      trees_[tree]->add_block(table, begin, end, complete, bits, sum);
    }
  });
}

template <class Rows>
void Forest::proba(const Rows& rows, double exponent, double* out, int threads, Control& control) const {
  const int64_t k = classes();
  const auto count = static_cast<double>(size());
  for_blocks(rows, threads, control, [&](const auto& table, int64_t begin, int64_t end, int64_t first) {
    double* sum = out + (first + begin) * k;
    std::fill_n(sum, (end - begin) * k, 0.0);
    const bool complete = is_complete(table, begin, end);
    for (const Predictor* tree : trees_) {
      control.check();
      tree->add_block(table, begin, end, complete, {}, sum);
    }
    for (int64_t i = 0; i < (end - begin) * k; ++i) sum[i] /= count;
    if (exponent == 1.0 && !is_geometric_) return;
    for (int64_t row = begin; row < end; ++row, sum += k) (is_geometric_ ? softmax : sharpen)(sum, k, exponent);
  });
}

template <class Rows>
void Forest::apply(const Rows& rows, int64_t* out, int threads, Control& control) const {
  for_blocks(rows, threads, control, [&](const auto& table, int64_t begin, int64_t end, int64_t first) {
    Array<int64_t> leaves(end - begin);
    const bool complete = is_complete(table, begin, end);
    for (int64_t tree = 0; tree < size(); ++tree) {
      control.check();
      trees_[tree]->apply_block(table, begin, end, complete, leaves.data());
      for (int64_t row = begin; row < end; ++row) out[(first + row) * size() + tree] = leaves[row - begin];
    }
  });
}

#define BOSCAGE_ROWS(Rows)                                                                    \
  template void Forest::sums(const Rows&, Span<const uint8_t>, double*, int, Control&) const; \
  template void Forest::proba(const Rows&, double, double*, int, Control&) const;             \
  template void Forest::apply(const Rows&, int64_t*, int, Control&) const;
#define BOSCAGE_COMMA ,
BOSCAGE_ROWS(Matrix<float>)
BOSCAGE_ROWS(Matrix<double>)
BOSCAGE_ROWS(SparseRows<float BOSCAGE_COMMA int32_t>)
BOSCAGE_ROWS(SparseRows<float BOSCAGE_COMMA int64_t>)
BOSCAGE_ROWS(SparseRows<double BOSCAGE_COMMA int32_t>)
BOSCAGE_ROWS(SparseRows<double BOSCAGE_COMMA int64_t>)

}  // namespace boscage
