#include "refine/ridge_leaves.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <stdexcept>
#include <tuple>

#include "base/array.hpp"
#include "base/index.hpp"
#include "data/columns.hpp"
#include "numeric/linear_algebra.hpp"

namespace boscage::refine {

namespace {

constexpr int64_t kBlock = 4096;
constexpr int64_t kMostBins = 256;
constexpr int64_t kMostActive = 128;  // columns of one model: those most correlated with what is left over
constexpr double kLeastSpread = 1e-6;
constexpr double kFirstL2 = 1e-3, kLastL2 = 1e4, kL2Step = 3.1622776601683795;

struct Node {
  Array<int32_t> rows;
  Array<double> residual;  // rows × outputs, after the node's own model
  Array<double> coef, intercept;
  Array<double> mean, spread;  // of the columns in the node
  double weight = 0;
  double df = 0;  // parameters of the model, its share in those of its ancestors included
  int32_t depth = 0;
  double gain = 0;
  int32_t feature = -1, edge = -1;
};

struct Moments {
  Array<double> z, r, zz, zr;  // sums of w z, w r, w z zᵀ (lower half), w z rᵀ
  double weight = 0, rr = 0;
};

class Models {
 public:
  Models(const NumberRows& rows, const RidgeSettings& settings, Pool& pool, Control& control)
      : data_(rows), settings_(settings), pool_(pool), control_(control) {}

  RidgeTree tree;

  // Adds a node whose residual is that of its parent; returns its number.
  int32_t add(Node& node, const Node* parent) {
    const auto number = static_cast<int32_t>(tree.feature.size());
    describe(node);
    node.depth = parent == nullptr ? 0 : parent->depth + 1;
    node.coef = parent == nullptr ? Array<double>(data_.outputs * data_.columns, 0.0) : parent->coef;
    node.intercept = parent == nullptr ? Array<double>(data_.outputs, 0.0) : parent->intercept;
    tree.cost.push_back(fit(node, parent));
    tree.coef.insert(tree.coef.end(), node.coef.begin(), node.coef.end());
    tree.intercept.insert(tree.intercept.end(), node.intercept.begin(), node.intercept.end());
    return number;
  }

  void search(Node& node, std::span<const Column> columns);

 private:
  void describe(const Node& node);
  Moments moments(const Node& node) const;
  double fit(Node& node, const Node* parent);
  void apply(Node& node, const Array<double>& step, const Array<double>& constant);

  const NumberRows& data_;
  const RidgeSettings& settings_;
  Pool& pool_;
  Control& control_;
};

// Counts, means, ranges and variance of y.
void Models::describe(const Node& node) {
  const int64_t m = data_.outputs;
  Array<double> sum(m, 0.0), low(m, std::numeric_limits<double>::infinity()), high(m, 0.0);
  for (double& v : high) v = -std::numeric_limits<double>::infinity();
  double weight = 0;
  for (const int32_t row : node.rows) {
    const double w = data_.weight[row];
    weight += w;
    for (int64_t o = 0; o < m; ++o) {
      const double y = data_.y[row * m + o];
      sum[o] += w * y;
      low[o] = std::min(low[o], y);
      high[o] = std::max(high[o], y);
    }
  }
  for (int64_t o = 0; o < m; ++o) sum[o] = weight > 0 ? std::clamp(sum[o] / weight, low[o], high[o]) : 0;
  double square = 0;
  for (const int32_t row : node.rows)
    for (int64_t o = 0; o < m; ++o) {
      const double away = data_.y[row * m + o] - sum[o];
      square += data_.weight[row] * away * away;
    }
  tree.children_left.push_back(-1);
  tree.children_right.push_back(-1);
  tree.feature.push_back(-1);
  tree.edge.push_back(0);
  tree.rows.push_back(node.rows.size());
  tree.weight.push_back(weight);
  tree.impurity.push_back(weight > 0 ? square / weight / static_cast<double>(m) : 0.0);
  tree.value.insert(tree.value.end(), sum.begin(), sum.end());
  tree.low.insert(tree.low.end(), low.begin(), low.end());
  tree.high.insert(tree.high.end(), high.begin(), high.end());
}

Moments Models::moments(const Node& node) const {
  const int64_t d = data_.columns, m = data_.outputs, n = node.rows.size();
  const int64_t blocks = std::max<int64_t>(1, (n + kBlock - 1) / kBlock);
  const auto empty = [&] {
    return Moments{Array<double>(d, 0.0), Array<double>(m, 0.0), Array<double>(d * d, 0.0), Array<double>(d * m, 0.0)};
  };
  Moments total = empty();
  // A few blocks at a time, added in order, so that memory stays small.
  const int64_t together = std::max<int64_t>(1, pool_.threads());
  for (int64_t first = 0; first < blocks; first += together) {
    const int64_t here = std::min(together, blocks - first);
    Array<Moments> parts(here);
    pool_.parallel_for(here, [&](int64_t part, int) {
      control_.check();
      Moments& sums = parts[part] = empty();
      const int64_t begin = (first + part) * kBlock, end = std::min(n, begin + kBlock);
      Array<double> wz(d);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = node.rows[i];
        const double w = data_.weight[row];
        const double* z = data_.z + row * d;
        sums.weight += w;
        for (int64_t j = 0; j < d; ++j) {
          const double v = w * z[j];
          sums.z[j] += v;
          double* line = sums.zz.data() + j * d;
          for (int64_t k = 0; k <= j; ++k) line[k] += v * z[k];
        }
        for (int64_t o = 0; o < m; ++o) {
          const double r = node.residual[i * m + o];
          sums.r[o] += w * r;
          sums.rr += w * r * r;
          for (int64_t j = 0; j < d; ++j) sums.zr[o * d + j] += w * z[j] * r;
        }
      }
    });
    for (const Moments& part : parts) {
      total.weight += part.weight;
      total.rr += part.rr;
      for (int64_t i = 0; i < part.z.size(); ++i) total.z[i] += part.z[i];
      for (int64_t i = 0; i < part.r.size(); ++i) total.r[i] += part.r[i];
      for (int64_t i = 0; i < part.zz.size(); ++i) total.zz[i] += part.zz[i];
      for (int64_t i = 0; i < part.zr.size(); ++i) total.zr[i] += part.zr[i];
    }
  }
  return total;
}

// Ridge regression of the residual: the strength of least cross-validated loss, or none at all. Returns that loss.
double Models::fit(Node& node, const Node* parent) {
  const int64_t d = data_.columns, m = data_.outputs;
  const Moments sums = moments(node);
  const double total = sums.weight;
  node.weight = total;
  node.mean.assign(d, 0.0);
  node.spread.assign(d, 0.0);
  Array<double> constant(m, 0.0), step(m * d, 0.0);
  if (!(total > 0)) {
    apply(node, step, constant);
    return 0;
  }
  double rest = sums.rr / total;
  for (int64_t o = 0; o < m; ++o) {
    constant[o] = sums.r[o] / total;
    rest -= constant[o] * constant[o];
  }
  rest = std::max(rest, 0.0);
  Array<std::pair<double, int32_t>> order;
  for (int64_t j = 0; j < d; ++j) {
    const double mean = sums.z[j] / total;
    const double variance = sums.zz[j * d + j] / total - mean * mean;
    node.mean[j] = mean;
    node.spread[j] = variance > kLeastSpread * kLeastSpread ? std::sqrt(variance) : 0.0;
    if (node.spread[j] == 0) continue;
    double strength = 0;
    for (int64_t o = 0; o < m; ++o) {
      const double cross = sums.zr[o * d + j] / total - mean * constant[o];
      strength += cross * cross / variance;
    }
    order.emplace_back(-strength, static_cast<int32_t>(j));
  }
  std::sort(order.begin(), order.end());
  if (order.size() > kMostActive) order.resize(kMostActive);
  Array<int64_t> active;
  for (const auto& [strength, column] : order) active.push_back(column);
  std::sort(active.begin(), active.end());
  const int64_t p = active.size();

  const double price = settings_.df_price;
  const auto loss = [&](double left, double df) {
    const double share = 1 - price * df / total;
    return share > 0.05 ? left / (share * share) : std::numeric_limits<double>::infinity();
  };
  const double inherited = parent == nullptr ? 0.0 : parent->df * total / parent->weight;
  node.df = inherited + 1;
  double best = loss(rest, node.df);
  if (!std::isfinite(best)) best = rest / (0.05 * 0.05);
  double chosen = -1;
  if (p > 0 && rest > 0) {
    Array<double> correlation(p * p);
    for (int64_t a = 0; a < p; ++a)
      for (int64_t b = 0; b <= a; ++b) {
        const int64_t j = active[a], k = active[b];
        const double covariance = sums.zz[j * d + k] / total - node.mean[j] * node.mean[k];
        correlation[a * p + b] = correlation[b * p + a] = covariance / (node.spread[j] * node.spread[k]);
      }
    const Eigen eigen = symmetric_eigen(std::move(correlation), to_size(p), [&] { return control_.stopped(); });
    control_.check();
    Array<double> rotated(p * m);
    for (int64_t o = 0; o < m; ++o)
      for (int64_t e = 0; e < p; ++e) {
        double sum = 0;
        for (int64_t a = 0; a < p; ++a) {
          const int64_t j = active[a];
          const double cross = sums.zr[o * d + j] / total - node.mean[j] * constant[o];
          sum += eigen.vectors[e * p + a] * cross / node.spread[j];
        }
        rotated[o * p + e] = sum;
      }
    const auto try_strength = [&](double l2) {
      const double lambda = l2 / total;
      double df = inherited + 1, left = rest;
      for (int64_t e = 0; e < p; ++e) {
        const double value = std::max(eigen.values[e], 0.0), under = value + lambda;
        if (under <= 1e-12) continue;
        df += value / under;
        for (int64_t o = 0; o < m; ++o) {
          const double q = rotated[o * p + e];
          left -= q * q / under + lambda * q * q / (under * under);
        }
      }
      const double found = loss(std::max(left, 0.0), df);
      if (found < best || settings_.l2 >= 0) {
        best = std::isfinite(found) ? found : best;
        chosen = l2;
        node.df = df;
      }
    };
    if (settings_.l2 >= 0)
      try_strength(settings_.l2);
    else
      for (double l2 = kFirstL2; l2 <= kLastL2 * 1.01; l2 *= kL2Step) try_strength(l2);
    if (chosen >= 0) {
      const double lambda = chosen / total;
      for (int64_t o = 0; o < m; ++o)
        for (int64_t e = 0; e < p; ++e) {
          const double under = std::max(eigen.values[e], 0.0) + lambda;
          if (under <= 1e-12) continue;
          const double share = rotated[o * p + e] / under;
          for (int64_t a = 0; a < p; ++a)
            step[o * d + active[a]] += share * eigen.vectors[e * p + a] / node.spread[active[a]];
        }
    }
  }
  for (int64_t o = 0; o < m; ++o)
    for (int64_t j = 0; j < d; ++j) constant[o] -= step[o * d + j] * node.mean[j];
  apply(node, step, constant);
  return best * total;
}

void Models::apply(Node& node, const Array<double>& step, const Array<double>& constant) {
  const int64_t d = data_.columns, m = data_.outputs;
  for (int64_t i = 0; i < step.size(); ++i) node.coef[i] += step[i];
  for (int64_t o = 0; o < constant.size(); ++o) node.intercept[o] += constant[o];
  for (int64_t i = 0; i < node.rows.size(); ++i) {
    const double* z = data_.z + node.rows[i] * d;
    for (int64_t o = 0; o < m; ++o) {
      double sum = constant[o];
      const double* line = step.data() + o * d;
      for (int64_t j = 0; j < d; ++j) sum += line[j] * z[j];
      node.residual[i * m + o] -= sum;
    }
  }
}

// bᵀ(A + penalty)⁻¹b summed over outputs; A is the lower half of a small matrix, row after row of length q.
class Gain {
 public:
  Gain(int64_t q, int64_t outputs, double l2) : q_(q), m_(outputs), l2_(l2), factor_(q * q), x_(q) {}

  double operator()(const double* packed, const double* right) {
    const double tiny = 1e-9 * std::max(packed[0], 1e-300);
    for (int64_t i = 0, k = 0; i < q_; ++i)
      for (int64_t j = 0; j <= i; ++j, ++k) {
        double sum = packed[k] + (i == j ? (i == 0 ? tiny : l2_) : 0.0);
        for (int64_t e = 0; e < j; ++e) sum -= factor_[i * q_ + e] * factor_[j * q_ + e];
        factor_[i * q_ + j] = i == j ? std::sqrt(std::max(sum, 1e-300)) : sum / factor_[j * q_ + j];
      }
    double total = 0;
    for (int64_t o = 0; o < m_; ++o)
      for (int64_t i = 0; i < q_; ++i) {
        double sum = right[o * q_ + i];
        for (int64_t e = 0; e < i; ++e) sum -= factor_[i * q_ + e] * x_[e];
        x_[i] = sum / factor_[i * q_ + i];
        total += x_[i] * x_[i];
      }
    return total;
  }

 private:
  int64_t q_, m_;
  double l2_;
  Array<double> factor_, x_;
};

// The cut that leaves least when each side gets a ridge correction over the node's most important columns.
void Models::search(Node& node, std::span<const Column> columns) {
  const int64_t d = data_.columns, m = data_.outputs, n = node.rows.size();
  if (n < settings_.min_rows_split || n < 2 * settings_.min_rows) return;
  if (settings_.max_depth >= 0 && node.depth >= settings_.max_depth) return;
  Array<std::pair<double, int32_t>> order;
  for (int64_t j = 0; j < d; ++j) {
    double size = 0;
    for (int64_t o = 0; o < m; ++o) size += std::abs(node.coef[o * d + j]) * node.spread[j];
    if (node.spread[j] > 0) order.emplace_back(-size, static_cast<int32_t>(j));
  }
  std::sort(order.begin(), order.end());
  if (order.size() > settings_.split_columns) order.resize(settings_.split_columns);
  const int64_t q = order.size() + 1, cells = q * (q + 1) / 2, size = cells + q * m;
  Array<double> seen(n * q);
  double left_over = 0;
  for (int64_t i = 0; i < n; ++i) {
    seen[i * q] = 1;
    const double* z = data_.z + node.rows[i] * d;
    for (int64_t e = 1; e < q; ++e) {
      const auto j = order[e - 1].second;
      seen[i * q + e] = (z[j] - node.mean[j]) / node.spread[j];
    }
    for (int64_t o = 0; o < m; ++o) {
      const double r = node.residual[i * m + o];
      left_over += data_.weight[node.rows[i]] * r * r;
    }
  }
  if (!(left_over > 1e-18 * node.weight)) return;  // y is of size 1: nothing but rounding is left
  struct Found {
    double gain = 0;
    int32_t edge = -1;
  };
  Array<Found> found(d);
  pool_.parallel_for(d, [&](int64_t column, int) {
    control_.check();
    const Column& bins = columns[to_size(column)];
    const int64_t count = bins.bins;
    if (count < 2) return;
    Array<double> sums(count * size, 0.0);
    Array<int64_t> rows(count, 0);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t row = node.rows[i];
      const int64_t bin = bins.bin(row);
      double* cell = sums.data() + bin * size;
      const double w = data_.weight[row];
      const double* u = seen.data() + i * q;
      ++rows[bin];
      for (int64_t e = 0; e < q; ++e) {
        const double v = w * u[e];
        for (int64_t f = 0; f <= e; ++f) *cell++ += v * u[f];
      }
      for (int64_t o = 0; o < m; ++o) {
        const double r = w * node.residual[i * m + o];
        for (int64_t e = 0; e < q; ++e) *cell++ += r * u[e];
      }
    }
    Array<double> all(size, 0.0), left(size, 0.0), right(size);
    for (int64_t b = 0; b < count; ++b)
      for (int64_t e = 0; e < size; ++e) all[e] += sums[b * size + e];
    Gain gain(q, m, settings_.split_l2);
    const double before = gain(all.data(), all.data() + cells);
    const double step = all[0] / static_cast<double>(settings_.cuts);
    double next = step / 2;
    int64_t rows_left = 0;
    Found& best = found[column];
    for (int64_t b = 0; b + 1 < count; ++b) {
      rows_left += rows[b];
      for (int64_t e = 0; e < size; ++e) left[e] += sums[b * size + e];
      if (rows[b] == 0 || rows_left < settings_.min_rows || n - rows_left < settings_.min_rows) continue;
      if (left[0] < settings_.min_weight || all[0] - left[0] < settings_.min_weight) continue;
      if (left[0] < next * (1 - 1e-12)) continue;
      next = (std::floor(left[0] / step * (1 + 1e-12)) + 1) * step;
      for (int64_t e = 0; e < size; ++e) right[e] = all[e] - left[e];
      const double here = gain(left.data(), left.data() + cells) + gain(right.data(), right.data() + cells) - before;
      if (here > best.gain * (1 + 1e-10)) best = {here, static_cast<int32_t>(b)};
    }
  });
  for (int64_t column = 0; column < d; ++column) {
    const Found& here = found[column];
    if (here.edge < 0 || here.gain <= node.gain * (1 + 1e-10)) continue;
    node.gain = here.gain;
    node.feature = static_cast<int32_t>(column);
    node.edge = here.edge;
  }
  if (node.gain <= std::max(settings_.min_gain, 1e-12 * left_over)) node.feature = -1;
}

// Takes the rows of one side with what the node left over.
Node side_of(const Node& node, int64_t outputs, const Array<bool>& goes, bool wanted) {
  Node out;
  for (int64_t i = 0; i < node.rows.size(); ++i) {
    if (goes[i] != wanted) continue;
    out.rows.push_back(node.rows[i]);
    const double* r = node.residual.data() + i * outputs;
    out.residual.insert(out.residual.end(), r, r + outputs);
  }
  return out;
}

Node root_of(const NumberRows& rows) {
  Node root;
  root.rows.resize(rows.rows);
  for (int64_t i = 0; i < root.rows.size(); ++i) root.rows[i] = static_cast<int32_t>(i);
  root.residual.assign(rows.y, rows.y + rows.rows * rows.outputs);
  return root;
}

}  // namespace

RidgeTree grow_ridge_tree(const NumberRows& rows, const RidgeSettings& settings, Pool& pool, Control& control) {
  const Matrix<double> z{rows.z, rows.rows, rows.columns, rows.columns, 1};
  const auto columns = make_columns(z, {}, kMostBins, {rows.weight, to_size(rows.rows)}, pool, control);
  Models models(rows, settings, pool, control);
  Array<Node> nodes;
  nodes.push_back(root_of(rows));
  models.add(nodes[0], nullptr);
  using Open = std::tuple<double, int32_t>;  // the largest first, on ties the oldest
  std::priority_queue<Open> open;
  const auto look = [&](int32_t number) {
    Node& node = nodes[number];
    models.search(node, columns);
    control.advance(1);
    if (node.feature >= 0) {
      open.emplace(settings.heaviest_first ? node.weight : node.gain, -number);
    } else {
      node.residual = {};
      node.rows = {};
    }
  };
  look(0);
  for (int64_t leaves = 1; !open.empty() && leaves < settings.max_leaves; ++leaves) {
    const int32_t number = -std::get<1>(open.top());
    open.pop();
    Node node = std::move(nodes[number]);
    Array<bool> goes(node.rows.size());
    const Column& column = columns[to_size(node.feature)];
    const auto edge = static_cast<uint32_t>(node.edge);
    for (int64_t i = 0; i < goes.size(); ++i) goes[i] = column.bin(node.rows[i]) <= edge;
    models.tree.feature[number] = node.feature;
    models.tree.edge[number] = column.last[edge];
    int32_t children[2];
    for (const int side : {0, 1}) {
      nodes.push_back(side_of(node, rows.outputs, goes, side == 0));
      children[side] = models.add(nodes.back(), &node);
    }
    models.tree.children_left[number] = children[0];
    models.tree.children_right[number] = children[1];
    look(children[0]);
    look(children[1]);
  }
  return std::move(models.tree);
}

RidgeTree follow_ridge_tree(const NumberRows& rows, Span<const int32_t> children_left,
                            Span<const int32_t> children_right, Span<const int64_t> leaf_of_row,
                            const RidgeSettings& settings, Pool& pool, Control& control) {
  const auto count = children_left.size();
  if (children_right.size() != children_left.size() || leaf_of_row.size() != rows.rows)
    throw std::invalid_argument("children and leaf_of_row must fit the tree and the rows.");
  Array<int64_t> parent(count, -1);
  for (int64_t node = 0; node < count; ++node) {
    const int64_t left = children_left[node], right = children_right[node];
    if (left < 0 && right < 0) continue;
    if (left <= node || right <= node || left >= count || right >= count || left == right)
      throw std::invalid_argument("children must come after their parent.");
    parent[left] = parent[right] = node;
  }
  for (const int64_t leaf : leaf_of_row)
    if (leaf < 0 || leaf >= count) throw std::invalid_argument("leaf_of_row: a node is out of range.");
  Models models(rows, settings, pool, control);
  Array<Node> nodes(count);
  nodes[0] = root_of(rows);
  Array<bool> is_below(count);
  for (int64_t number = 0; number < count; ++number) {
    control.check();
    Node& node = nodes[number];
    models.add(node, number == 0 ? nullptr : &nodes[parent[number]]);
    control.advance(1);
    const int64_t left = children_left[number];
    if (left < 0) {
      node.rows = {};
      node.residual = {};
      continue;
    }
    std::fill(is_below.begin(), is_below.end(), false);
    is_below[left] = true;
    for (int64_t below = left + 1; below < count; ++below)
      if (parent[below] >= left && is_below[parent[below]]) is_below[below] = true;
    Array<bool> goes(node.rows.size());
    for (int64_t i = 0; i < goes.size(); ++i) goes[i] = is_below[leaf_of_row[node.rows[i]]];
    nodes[left] = side_of(node, rows.outputs, goes, true);
    nodes[children_right[number]] = side_of(node, rows.outputs, goes, false);
    node.rows = {};
    node.residual = {};
  }
  return std::move(models.tree);
}

JointSums joint_sums(const NumberRows& rows, const JointLeaves& leaves, Pool& pool, Control& control) {
  const int64_t p = leaves.per_leaf + 1, size = leaves.leaves * p, m = rows.outputs;
  JointSums out{Array<double>(size * size, 0.0), Array<double>(size * m, 0.0)};
  // Each leaf's lines are one thread's own; rows are read in their order by all.
  Array<Array<int64_t>> members(leaves.leaves);
  for (int64_t i = 0; i < rows.rows; ++i)
    for (int64_t e = leaves.offsets[i]; e < leaves.offsets[i + 1]; ++e) members[leaves.leaf[e]].push_back(i);
  pool.parallel_for(leaves.leaves, [&](int64_t leaf, int) {
    Array<double> mine(p), other(p);
    const auto features = [&](int64_t row, int64_t l, double reach, Array<double>& out_features) {
      const double* z = rows.z + row * rows.columns;
      out_features[0] = reach;
      for (int64_t k = 0; k + 1 < p; ++k) {
        const auto place = l * leaves.per_leaf + k;
        out_features[k + 1] = reach * (z[leaves.columns[place]] - leaves.centre[place]) / leaves.spread[place];
      }
    };
    int64_t seen = 0;
    for (const int64_t row : members[leaf]) {
      if ((++seen & 1023) == 0) control.check();
      const int64_t begin = leaves.offsets[row], end = leaves.offsets[row + 1];
      for (int64_t e = begin; e < end; ++e)
        if (leaves.leaf[e] == leaf) features(row, leaf, leaves.reach[e], mine);
      for (double& v : mine) v *= rows.weight[row];
      for (int64_t e = begin; e < end; ++e) {
        const int64_t l = leaves.leaf[e];
        if (l > leaf) continue;  // the lower half is enough
        features(row, l, leaves.reach[e], other);
        for (int64_t i = 0; i < p; ++i) {
          double* line = out.gram.data() + (leaf * p + i) * size + l * p;
          for (int64_t j = 0; j < p; ++j) line[j] += mine[i] * other[j];
        }
      }
      for (int64_t o = 0; o < m; ++o)
        for (int64_t i = 0; i < p; ++i) out.right[o * size + leaf * p + i] += mine[i] * rows.y[row * m + o];
    }
  });
  return out;
}

bool solve_ridge(Array<double>& gram, int64_t size, double l2, Array<double>& right, int64_t outputs,
                 const Control& control) {
  for (int64_t i = 0; i < size; ++i) {
    if ((i & 15) == 0) control.check();
    double* row = gram.data() + i * size;
    for (int64_t j = 0; j <= i; ++j) {
      const double* other = gram.data() + j * size;
      double parts[4] = {0, 0, 0, 0};  // four sums: no long chain of additions
      int64_t k = 0;
      for (; k + 4 <= j; k += 4)
        for (int64_t e = 0; e < 4; ++e) parts[e] += row[k + e] * other[k + e];
      for (; k < j; ++k) parts[0] += row[k] * other[k];
      const double left = row[j] + (i == j ? l2 : 0.0) - ((parts[0] + parts[1]) + (parts[2] + parts[3]));
      if (i == j) {
        if (!(left > 0)) return false;
        row[i] = std::sqrt(left);
      } else {
        row[j] = left / other[j];
      }
    }
  }
  for (int64_t o = 0; o < outputs; ++o) {
    double* x = right.data() + o * size;
    for (int64_t i = 0; i < size; ++i) {
      double sum = x[i];
      for (int64_t k = 0; k < i; ++k) sum -= gram[i * size + k] * x[k];
      x[i] = sum / gram[i * size + i];
    }
    for (int64_t i = size - 1; i >= 0; --i) {
      x[i] /= gram[i * size + i];
      for (int64_t k = 0; k < i; ++k) x[k] -= gram[i * size + k] * x[i];
    }
  }
  return true;
}

}  // namespace boscage::refine
