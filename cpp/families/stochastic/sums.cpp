#include "families/stochastic/sums.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/dot.hpp"
#include "base/index.hpp"
#include "families/stochastic/dense_kernel.hpp"

namespace boscage::stochastic {

namespace {

// Rows of a block that stay in the cache while several nodes read them.
constexpr int64_t kTileNumbers = 1 << 13;

// One tile of consecutive rows; columns that are not next to each other are first copied together.
template <class T>
struct Tile {
  const T* data = nullptr;
  int64_t stride = 0, first = 0;
  std::vector<T> copy;

  void load(const Matrix<T>& X, int64_t begin, int64_t end) {
    first = begin;
    if (X.column_stride == 1) {
      data = X.data + begin * X.row_stride;
      stride = X.row_stride;
      return;
    }
    stride = X.columns;
    copy.resize(to_size((end - begin) * X.columns));
    for (int64_t j = 0; j < X.columns; ++j)
      for (int64_t row = begin; row < end; ++row) copy[to_size((row - begin) * stride + j)] = X(row, j);
    data = copy.data();
  }
};

const double* or_null(const std::vector<double>& values) { return values.empty() ? nullptr : values.data(); }

template <class T>
DenseRun<T> make_run(const TrainingRows<Matrix<T>>& rows, const Frame& frame, const Tile<T>& tile,
                     const NodeBlock& node) {
  DenseRun<T> run{};
  run.data = tile.data;
  run.stride = tile.stride;
  run.first = tile.first;
  run.columns = rows.X.columns;
  run.rows = node.rows;
  run.begin = node.begin;
  run.count = node.count;
  run.shift = frame.centre_late ? nullptr : or_null(frame.shift);
  run.norm = or_null(frame.norm);
  run.weight = rows.weight.empty() ? nullptr : rows.weight.data();
  run.label = rows.label.data();
  run.value = rows.is_numbers() ? rows.value.data() : nullptr;
  run.sums_stride = rows.X.columns + 2;
  run.reach = node.reach;
  run.left = node.left;
  run.right = node.right;
  run.left_sums = node.left_sums;
  run.right_sums = node.right_sums;
  return run;
}

void set_test(auto& run, const Division& division) {
  run.theta = division.test.theta.data();
  run.offset = division.test.offset;
  run.cut_left = division.cut_left;
  run.cut_right = division.cut_right;
  if (!division.sum_left) run.left_sums = nullptr;
  if (!division.sum_right) run.right_sums = nullptr;
}

// Moves the start of a node's rows past `done` of them.
NodeBlock part_of(const NodeBlock& node, int64_t done, int64_t count) {
  NodeBlock part = node;
  part.rows = node.rows != nullptr ? node.rows + done : nullptr;
  part.begin = node.begin + done;
  part.count = count;
  part.reach = node.reach != nullptr ? node.reach + done : nullptr;
  part.left = node.left != nullptr ? node.left + done : nullptr;
  part.right = node.right != nullptr ? node.right + done : nullptr;
  return part;
}

// How many of the node's rows from position `done` on lie before row `end`.
int64_t rows_before(const NodeBlock& node, int64_t done, int64_t end) {
  if (node.rows == nullptr) return std::clamp(end - node.begin - done, int64_t{0}, node.count - done);
  return std::lower_bound(node.rows + done, node.rows + node.count, static_cast<uint32_t>(end)) - (node.rows + done);
}

int64_t first_row(const NodeBlock& node) {
  return node.rows == nullptr ? node.begin : static_cast<int64_t>(node.rows[0]);
}

int64_t end_row(const NodeBlock& node) {
  return node.rows == nullptr ? node.begin + node.count : static_cast<int64_t>(node.rows[node.count - 1]) + 1;
}

// Calls visit(tile, node number, its part) for every tile and node.
template <class T, class Visit>
void for_tiles(const Matrix<T>& X, std::span<const NodeBlock> nodes, Visit visit) {
  int64_t begin = X.rows, end = 0;
  for (const NodeBlock& node : nodes) {
    if (node.count == 0) continue;
    begin = std::min(begin, first_row(node));
    end = std::max(end, end_row(node));
  }
  const bool whole = nodes.size() == 1 && X.column_stride == 1;
  const int64_t step = whole ? kBlockRows : std::max<int64_t>(16, kTileNumbers / std::max<int64_t>(X.columns, 1));
  std::vector<int64_t> done(nodes.size(), 0);
  Tile<T> tile;
  for (int64_t at = begin; at < end; at += step) {
    const int64_t stop = std::min(at + step, end);
    tile.load(X, at, stop);
    for (size_t i = 0; i < nodes.size(); ++i) {
      const int64_t count = rows_before(nodes[i], done[i], stop);
      if (count > 0) visit(tile, i, part_of(nodes[i], done[i], count));
      done[i] += count;
    }
  }
}

// One row of a sparse matrix: the same steps as the dense loop, centring left to finish().
template <class Rows>
struct SparseStep {
  const TrainingRows<Rows>& rows;
  const Frame& frame;
  int64_t stride;

  double score(int64_t row, const FoldedTest& test) const {
    const auto [begin, end] = rows.X.range(row);
    LaneSum sum;
    for (int64_t k = begin; k < end; ++k) {
      const int64_t j = rows.X.column(k);
      sum.add(j, static_cast<double>(rows.X.data[k]) * test.theta[to_size(j)]);
    }
    return norm(row) * (sum.total() + test.offset);
  }

  double norm(int64_t row) const { return frame.norm.empty() ? 1.0 : frame.norm[to_size(row)]; }

  void add(int64_t row, double reach, double* sums) const {
    const double all = rows.weight_of(row) * reach, all_multiplier = all * norm(row);
    rows.for_channels(row, kNumberChannels, [&](int channel, double share) {
      const double weight = all * share, multiplier = all_multiplier * share;
      double* mine = sums + channel * stride;
      mine[0] += weight;
      mine[1] += multiplier;
      const auto [begin, end] = rows.X.range(row);
      for (int64_t k = begin; k < end; ++k)
        mine[rows.X.column(k) + 2] += multiplier * static_cast<double>(rows.X.data[k]);
    });
  }

  void divide(const Division& division, NodeBlock& node) const {
    for (int64_t i = 0; i < node.count; ++i) {
      const int64_t row = node.rows != nullptr ? static_cast<int64_t>(node.rows[i]) : node.begin + i;
      const double reach = node.reach != nullptr ? node.reach[i] : 1.0;
      double left = 0, right = 0;
      if (reach != 0) {
        const double tilt = std::clamp(score(row, division.test), -1.0, 1.0);
        left = reach * ((1 - tilt) / 2);
        right = reach * ((1 + tilt) / 2);
        left = left < division.cut_left ? 0 : left;
        right = right < division.cut_right ? 0 : right;
        if (division.sum_left) add(row, left, node.left_sums);
        if (division.sum_right) add(row, right, node.right_sums);
      }
      if (node.left != nullptr) node.left[i] = left;
      if (node.right != nullptr) node.right[i] = right;
      node.counts[0] += left != 0;
      node.counts[1] += right != 0;
    }
  }
};

}  // namespace

FoldedTest::FoldedTest(const Frame& frame, std::span<const double> w) : theta(w.begin(), w.end()) {
  theta.resize(to_size(frame.columns));
  if (frame.has_constant) offset = w.back() * frame.constant;
  if (!frame.factor.empty())
    for (size_t j = 0; j < theta.size(); ++j) theta[j] *= frame.factor[j];
  if (frame.centre_late && !frame.shift.empty()) offset -= dot(theta.data(), frame.shift.data(), frame.columns);
}

template <class Rows>
void add_block(const TrainingRows<Rows>& rows, const Frame& frame, const NodeBlock& block, double* sums) {
  NodeBlock node = block;
  node.right_sums = sums;
  if constexpr (rows_are_sparse<Rows>) {
    const SparseStep<Rows> step{rows, frame, rows.X.columns + 2};
    for (int64_t i = 0; i < node.count; ++i) {
      const int64_t row = node.rows != nullptr ? static_cast<int64_t>(node.rows[i]) : node.begin + i;
      const double reach = node.reach != nullptr ? node.reach[i] : 1.0;
      if (reach != 0) step.add(row, reach, sums);
    }
  } else {
    int64_t counts[2] = {0, 0};
    for_tiles(rows.X, std::span<const NodeBlock>(&node, 1), [&](const auto& tile, size_t, const NodeBlock& part) {
      run_rows(make_run(rows, frame, tile, part), counts);
    });
  }
}

template <class Rows>
void divide_block(const TrainingRows<Rows>& rows, const Frame& frame, std::span<const Division> divisions,
                  std::span<NodeBlock> nodes) {
  if constexpr (rows_are_sparse<Rows>) {
    const SparseStep<Rows> step{rows, frame, rows.X.columns + 2};
    for (size_t i = 0; i < nodes.size(); ++i) step.divide(divisions[i], nodes[i]);
  } else {
    for_tiles(rows.X, std::span<const NodeBlock>(nodes), [&](const auto& tile, size_t i, const NodeBlock& part) {
      auto run = make_run(rows, frame, tile, part);
      set_test(run, divisions[i]);
      run_rows(run, nodes[i].counts);
    });
  }
}

template <class Rows>
void see_row(const TrainingRows<Rows>& rows, const Frame& frame, int64_t row, double* z) {
  const double norm = frame.norm.empty() ? 1.0 : frame.norm[to_size(row)];
  const auto seen = [&](int64_t j, double x) {
    const auto column = to_size(j);
    if (!frame.shift.empty()) x -= frame.shift[column];
    return norm * (frame.factor.empty() ? x : x * frame.factor[column]);
  };
  if constexpr (rows_are_sparse<Rows>) {
    for (int64_t j = 0; j < frame.columns; ++j) z[j] = seen(j, 0.0);
    const auto [begin, end] = rows.X.range(row);
    for (int64_t k = begin; k < end; ++k)
      z[rows.X.column(k)] = seen(rows.X.column(k), static_cast<double>(rows.X.data[k]));
  } else {
    for (int64_t j = 0; j < frame.columns; ++j) z[j] = seen(j, static_cast<double>(rows.X(row, j)));
  }
  if (frame.has_constant) z[frame.columns] = norm * frame.constant;
}

template <class Rows>
void add_moments(const TrainingRows<Rows>& rows, const Frame& frame, const NodeBlock& block, double* moments) {
  const int64_t width = frame.width();
  std::vector<double> z(to_size(width));
  for (int64_t i = 0; i < block.count; ++i) {
    const int64_t row = block.rows != nullptr ? static_cast<int64_t>(block.rows[i]) : block.begin + i;
    const double weight = rows.weight_of(row) * (block.reach != nullptr ? block.reach[i] : 1.0);
    if (weight == 0) continue;
    see_row(rows, frame, row, z.data());
    double* mine = moments + rows.label[to_size(row)] * width * width;
    for (int64_t p = 0; p < width; ++p) {
      const double factor = weight * z[to_size(p)];
      double* line = mine + p * width;
      for (int64_t q = 0; q <= p; ++q) line[q] += factor * z[to_size(q)];
    }
  }
}

template <class Rows>
void add_centred(const TrainingRows<Rows>& rows, const Frame& frame, const NodeBlock& block, const double* mean,
                 double* sums) {
  const int64_t width = frame.width(), last = (rows.is_numbers() ? 2 : rows.classes) * width;
  std::vector<double> z(to_size(width)), lost(to_size(last) + 1, 0.0);
  const auto add = [&](int64_t place, double term) {  // what rounding takes is kept
    const double before = sums[place], after = before + term;
    lost[to_size(place)] += std::abs(before) >= std::abs(term) ? (before - after) + term : (term - after) + before;
    sums[place] = after;
  };
  for (int64_t i = 0; i < block.count; ++i) {
    const int64_t row = block.rows != nullptr ? static_cast<int64_t>(block.rows[i]) : block.begin + i;
    const double weight = rows.weight_of(row) * (block.reach != nullptr ? block.reach[i] : 1.0);
    if (weight == 0) continue;
    see_row(rows, frame, row, z.data());
    const double short_of_1 = 1 - dot(z.data(), z.data(), width);
    for (int64_t j = 0; j < width; ++j) z[to_size(j)] -= mean[j];
    add(last, weight * (short_of_1 + dot(z.data(), z.data(), width)));
    rows.for_channels(row, 2, [&](int channel, double share) {
      for (int64_t j = 0; j < width; ++j) add(channel * width + j, weight * share * z[to_size(j)]);
    });
  }
  for (int64_t place = 0; place <= last; ++place) sums[place] += lost[to_size(place)];
}

std::vector<double> mean_row(const NodeSums& sums) { return detail::Shares(sums).a; }

NodeSums with_centred(NodeSums sums, std::vector<double> centred) {
  double total = 0;
  for (const double weight : sums.weight) total += weight;
  sums.spread = centred.back() / total;
  centred.pop_back();
  sums.centred = std::move(centred);
  return sums;
}

NodeSums finish(const std::vector<double>& sums, const SumShape& shape, const Frame& frame) {
  NodeSums out;
  out.classes = shape.decided();
  out.width = frame.width();
  out.numbers = shape.numbers;
  out.sum.reserve(to_size(out.classes * out.width));
  for (int32_t k = 0; k < shape.channels(); ++k) {
    const double* mine = sums.data() + k * shape.stride();
    Vector& to = k < out.classes ? out.sum : out.squares;
    if (k < out.classes)
      out.weight.push_back(mine[0]);
    else
      out.square_weight = mine[0];
    for (int64_t j = 0; j < shape.columns; ++j) {
      double value = mine[j + 2];
      if (frame.centre_late && !frame.shift.empty()) value -= mine[1] * frame.shift[to_size(j)];
      to.push_back(frame.factor.empty() ? value : value * frame.factor[to_size(j)]);
    }
    if (frame.has_constant) to.push_back(mine[1] * frame.constant);
  }
  return out;
}

Side whole_side(std::span<const double> sums, const SumShape& shape, int64_t rows) {
  const auto weight = [&](int32_t k) { return sums[to_size(k * shape.stride())]; };
  if (shape.numbers) return side_of_channels(weight(0), weight(1), weight(2), rows, *shape.numbers);
  Side side;
  side.rows = rows;
  for (int32_t k = 0; k < shape.classes; ++k) side.sums.push_back(weight(k));
  return side;
}

std::vector<double> other_child(const std::vector<double>& parent, const std::vector<double>& child,
                                const SumShape& shape) {
  std::vector<double> other(parent.size());
  for (size_t i = 0; i < parent.size(); ++i) other[i] = parent[i] - child[i];
  for (int32_t k = 0; k < shape.channels(); ++k) {
    const auto start = to_size(k * shape.stride());
    if (other[start] <= 1e-12 * parent[start])
      std::fill_n(other.begin() + static_cast<std::ptrdiff_t>(start), shape.stride(), 0.0);
  }
  return other;
}

#define BOSCAGE_COMMA ,
#define BOSCAGE_SUMS(Rows)                                                                                      \
  template void add_block(const TrainingRows<Rows>&, const Frame&, const NodeBlock&, double*);                  \
  template void divide_block(const TrainingRows<Rows>&, const Frame&, std::span<const Division>,                \
                             std::span<NodeBlock>);                                                             \
  template void add_moments(const TrainingRows<Rows>&, const Frame&, const NodeBlock&, double*);                \
  template void add_centred(const TrainingRows<Rows>&, const Frame&, const NodeBlock&, const double*, double*); \
  template void see_row(const TrainingRows<Rows>&, const Frame&, int64_t, double*);
BOSCAGE_SUMS(Matrix<float>)
BOSCAGE_SUMS(Matrix<double>)
BOSCAGE_SUMS(SparseRows<float BOSCAGE_COMMA int32_t>)
BOSCAGE_SUMS(SparseRows<float BOSCAGE_COMMA int64_t>)
BOSCAGE_SUMS(SparseRows<double BOSCAGE_COMMA int32_t>)
BOSCAGE_SUMS(SparseRows<double BOSCAGE_COMMA int64_t>)

}  // namespace boscage::stochastic
