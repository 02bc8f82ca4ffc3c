// The first half of a Predictor's life: the arrays are verified, leaves numbered, axis tests packed.
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "base/array.hpp"
#include "predict/predict.hpp"

namespace boscage {

namespace {

void require(bool good, const char* array, int64_t node) {
  if (!good)
    throw std::invalid_argument(std::string("Tree array ") + array + ": broken at node " + std::to_string(node) + ".");
}

void require(bool good, const char* array) {
  if (!good) throw std::invalid_argument(std::string("Tree array ") + array + ": its size does not fit the tree.");
}

}  // namespace

Predictor::Predictor(const TreeArrays& tree) : tree_(tree) {
  verify();
  number_leaves();
  pack();
  pack_linear();
  pack_sparse();
  row_cost_ = cost_of_row();
}

void Predictor::verify() const {
  const TreeArrays& t = tree_;
  const int64_t n = t.feature.size();
  const auto size = static_cast<int64_t>(n);
  require(n > 0 && t.children_left.size() == n && t.children_right.size() == n, "children_left");
  require(t.threshold.size() == n && t.missing_go_to_left.size() == n, "threshold");
  require(t.category_offset.size() == n && t.linear_row.size() == n, "linear_row");
  verify_map();
  verify_weights();
  require(t.classes > 0 && t.value.size() == n * t.classes, "value");
  const auto bits = t.category_bits.size();
  for (int64_t node = 0; node < size; ++node) {
    const auto i = node;
    const int64_t left = t.children_left[i], right = t.children_right[i], feature = t.feature[i];
    if (feature == kLeaf) {
      require(left == -1 && right == -1, "children_left", node);
      continue;
    }
    require(left > node && left < size, "children_left", node);
    require(right > node && right < size, "children_right", node);
    require(feature == kLinear || (feature >= 0 && feature < columns()), "feature", node);
    if (feature == kLinear) {
      require(t.linear_row[i] >= 0 && t.linear_row[i] < t.weights.rows, "linear_row", node);
      continue;
    }
    require(t.routing == Routing::hard, "routing", node);
    if (t.category_offset[i] < 0) continue;
    const int64_t bytes = (t.n_categories[feature] + 7) / 8;
    require(t.category_offset[i] <= bits - bytes, "category_offset", node);
  }
}

void Predictor::verify_map() const {
  const RowMap& map = tree_.map;
  const int64_t d = tree_.n_categories.size();
  for (const auto& part : {map.fill, map.shift, map.scale}) require(part.empty() || part.size() == d, "input_map");
  require(map.code_offset.empty() || map.code_offset.size() == d, "input_map.code_offset");
  const auto codes = map.codes.size();
  for (int64_t j = 0; j < map.code_offset.size(); ++j) {
    require(map.code_offset[j] <= codes - tree_.n_categories[j], "input_map.code_offset");
  }
}

void Predictor::verify_weights() const {
  const LinearWeights& w = tree_.weights;
  require(w.columns == columns() + (tree_.map.has_constant ? 1 : 0), "weights");
  if (!w.is_sparse()) return require(w.dense.size() == w.rows * w.columns, "weights");
  require(w.offsets.size() == w.rows + 1 && w.data.size() == w.indices.size(), "weights.indptr");
  const auto stored = w.data.size();
  for (int64_t row = 0; row + 1 < w.offsets.size(); ++row) {
    const int64_t begin = w.offsets[row], end = w.offsets[row + 1];
    require(0 <= begin && begin <= end && end <= stored, "weights.indptr");
  }
  for (const int64_t column : w.indices) require(0 <= column && column < w.columns, "weights.indices");
}

void Predictor::number_leaves() {
  const int64_t n = tree_.feature.size();
  const int64_t k = tree_.classes;
  leaf_index_.assign(n, -1);
  for (int64_t i = 0; i < n; ++i) {
    if (tree_.feature[i] != kLeaf) continue;
    leaf_index_[i] = static_cast<int32_t>(leaves_.size());
    leaves_.push_back(static_cast<int32_t>(i));
  }
  const int64_t cells = leaves_.size() * k;
  require(tree_.leaf_value.empty() || tree_.leaf_value.size() == cells, "leaf_value");
  require(
      tree_.coef.empty() || (tree_.intercept.size() == cells && tree_.coef.size() == cells * tree_.n_categories.size()),
      "leaf_models");
  require(tree_.low.size() == tree_.high.size() && (tree_.low.empty() || tree_.low.size() == cells), "leaf_models.low");
  leaf_class_.reserve(leaves_.size());
  for (int64_t leaf = 0; leaf < leaves_.size(); ++leaf) {
    const double* values =
        tree_.leaf_value.empty() ? tree_.value.data() + leaves_[leaf] * k : tree_.leaf_value.data() + leaf * k;
    leaf_class_.push_back(static_cast<int32_t>(argmax(values, tree_.classes)));
  }
}

void Predictor::pack() {
  const int64_t n = tree_.feature.size();
  for (int64_t i = 0; i < n; ++i) {
    if (tree_.feature[i] == kLinear || tree_.category_offset[i] >= 0) return;
  }
  // Breadth first: siblings side by side, and the levels every row passes close together.
  Array<int32_t> order{0};
  order.reserve(n);
  packed_.reserve(n);
  for (int64_t place = 0; place < order.size(); ++place) {
    const auto i = order[place];
    if (tree_.feature[i] == kLeaf) {
      packed_.push_back({std::numeric_limits<double>::infinity(), ~0, static_cast<uint32_t>(place)});
      continue;
    }
    const int32_t column = tree_.missing_go_to_left[i] ? ~tree_.feature[i] : tree_.feature[i];
    packed_.push_back({tree_.threshold[i], column, static_cast<uint32_t>(order.size())});
    order.push_back(tree_.children_left[i]);
    order.push_back(tree_.children_right[i]);
    require(order.size() <= n, "children_left");
  }
  packed_number_ = std::move(order);
}

// A missing value is filled before any test, so an axis test must send it where the filled number goes.
void Predictor::pack_linear() {
  const TreeArrays& t = tree_;
  const int64_t n = t.feature.size();
  if (t.routing != Routing::hard || t.weights.rows == 0 || t.weights.is_sparse() || !t.map.is_identity()) return;
  if (t.map.fill.empty()) return;
  Array<LinearNode> nodes(n);
  for (int64_t i = 0; i < n; ++i) {
    if (t.feature[i] == kLeaf) continue;
    nodes[i] = {t.threshold[i], t.linear_row[i], {t.children_left[i], t.children_right[i]}};
    if (t.feature[i] == kLinear) continue;
    const auto column = t.feature[i];
    const bool fits = t.map.code_offset.empty() && t.category_offset[i] < 0 &&
                      t.missing_go_to_left[i] == (t.map.fill[column] <= t.threshold[i]);
    if (!fits) return;
    nodes[i].test = ~t.feature[i];
  }
  linear_ = std::move(nodes);
}

// For finite rows only: categories and missing values need the walk of single rows.
void Predictor::pack_sparse() {
  const TreeArrays& t = tree_;
  const int64_t n = t.feature.size();
  if (t.routing != Routing::hard || !t.weights.is_sparse() || !t.map.is_identity() || !t.map.code_offset.empty())
    return;
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (t.weights.data.size() + n > kMost) return;
  SparseTests packed;
  packed.nodes.resize(n);
  for (int64_t i = 0; i < n; ++i) {
    if (t.feature[i] == kLeaf) continue;
    if (t.category_offset[i] >= 0) return;
    SparseTest& node = packed.nodes[i];
    node = {t.threshold[i], t.children_left[i], t.children_right[i], static_cast<int32_t>(packed.terms.size()), 1};
    if (t.feature[i] >= 0) {
      packed.terms.push_back({1.0, t.feature[i], t.feature[i] % 8});
      continue;
    }
    const auto test = t.linear_row[i];
    const auto first = t.weights.offsets[test], last = t.weights.offsets[test + 1];
    for (int64_t k = first; k < last; ++k) {
      const auto column = static_cast<int32_t>(t.weights.indices[k]);
      packed.terms.push_back({t.weights.data[k], column, column % 8});
    }
    node.terms = static_cast<int32_t>(last - first);
  }
  sparse_ = std::move(packed);
}

double Predictor::cost_of_row() {
  const int64_t n = tree_.feature.size();
  Array<int32_t> depth(n, 0);
  for (int64_t i = 0; i < n; ++i) {
    deepest_ = std::max(deepest_, depth[i]);
    if (tree_.feature[i] == kLeaf) continue;
    depth[tree_.children_left[i]] = depth[tree_.children_right[i]] = depth[i] + 1;
  }
  const auto k = static_cast<double>(tree_.classes), width = static_cast<double>(tree_.weights.columns);
  const double test = tree_.weights.rows > 0 ? width : 1.0;
  const double model = tree_.coef.empty() ? k : k * width;
  const auto leaves = static_cast<double>(leaves_.size());
  return tree_.routing == Routing::hard ? 4.0 + deepest_ * test + model : leaves * (test + model + 4.0);
}

int64_t Predictor::block_rows() const { return std::clamp<int64_t>(static_cast<int64_t>(1e6 / row_cost_), 16, 4096); }

}  // namespace boscage
