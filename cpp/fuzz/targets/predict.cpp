// Prediction with arrays that may be anything: they are refused, or every row gets a leaf and a finite probability.
#include "predict/predict.hpp"

#include <limits>
#include <memory>

#include "fuzz/problem.hpp"
#include "fuzz/targets.hpp"

namespace boscage::fuzz {

namespace {

// Arrays of a tree: mostly sound, each number possibly replaced.
struct DrawnTree {
  std::vector<int32_t> left, right, feature, linear_row;
  std::vector<double> threshold, weights, weight_data, value, leaf_value, coef, intercept, fill, codes, shift, scale;
  std::unique_ptr<bool[]> missing;
  std::vector<int64_t> category_offset, n_categories, weight_indices, weight_offsets, code_offset;
  std::vector<uint8_t> bits;
  TreeArrays view;

  DrawnTree(Input& input, int64_t columns) {
    const bool is_broken = input.flag(), is_soft = input.flag();
    const auto odd = [&] { return is_broken && input.byte() % 64 == 0; };
    const int64_t splits = input.between(0, 12), tests = input.between(0, 3);
    const auto n = static_cast<size_t>(2 * splits + 1);
    view.map.has_constant = input.flag();
    view.map.constant = input.number<double>(false);
    view.map.unit_rows = is_soft && input.flag();
    const int64_t width = columns + (view.map.has_constant ? 1 : 0);
    view.classes = input.between(1, 4);
    for (int64_t j = 0; j < columns; ++j) n_categories.push_back(odd() ? input.bits<int64_t>() : input.byte() % 12);
    std::vector<size_t> open{0};
    left.assign(n, -1), right.assign(n, -1), feature.assign(n, -1), linear_row.assign(n, -1);
    threshold.assign(n, 0.0), category_offset.assign(n, -1);
    missing = std::make_unique<bool[]>(n);
    for (int32_t child = 1; child + 1 < static_cast<int32_t>(n); child += 2) {
      const size_t place = input.byte() % open.size(), node = open[place];
      open.erase(open.begin() + static_cast<ptrdiff_t>(place));
      left[node] = odd() ? input.bits<int8_t>() : child;
      right[node] = odd() ? input.bits<int8_t>() : child + 1;
      open.insert(open.end(), {static_cast<size_t>(child), static_cast<size_t>(child) + 1});
      const bool is_linear = tests > 0 && (is_soft || input.flag());
      feature[node] = is_linear ? kLinear : static_cast<int32_t>(input.byte() % columns);
      if (odd()) feature[node] = input.bits<int8_t>();
      linear_row[node] = is_linear ? static_cast<int32_t>(input.byte() % tests) : -1;
      if (odd()) linear_row[node] = input.bits<int32_t>();
      threshold[node] = is_soft ? 0.0 : input.number<double>(odd());
      missing[node] = input.flag();
      if (!is_linear && input.flag()) category_offset[node] = input.byte() % 8;
    }
    const size_t leaves = open.size(), k = static_cast<size_t>(view.classes), d = static_cast<size_t>(columns);
    const auto draw = [&](std::vector<double>& to, size_t count) {
      if (odd()) count = input.byte();
      while (to.size() < count) to.push_back(input.number<double>(false));
    };
    bits.assign(odd() ? input.byte() : 16, input.byte());
    draw(value, n * k);
    if (input.flag()) draw(leaf_value, leaves * k);
    if (!is_soft && input.flag()) draw(coef, leaves * k * d), draw(intercept, leaves * k);
    if (input.flag()) draw(fill, d);
    if (input.flag()) draw(shift, d), draw(scale, d);
    if (input.flag()) {
      for (int64_t j = 0; j < columns; ++j) code_offset.push_back(input.byte() % 4 - 1);
      draw(codes, 16);
    }
    view.weights.rows = odd() ? input.bits<int8_t>() : tests;
    view.weights.columns = odd() ? input.bits<int8_t>() : width;
    if (tests > 0 && input.flag()) {
      weight_offsets.push_back(0);
      for (int64_t i = 0; i < tests; ++i) {
        for (int64_t j = 0; j < width; ++j) {
          if (!input.flag()) continue;
          weight_indices.push_back(odd() ? input.bits<int8_t>() : j);
          weight_data.push_back(input.number<double>(false));
        }
        weight_offsets.push_back(odd() ? input.bits<int8_t>() : static_cast<int64_t>(weight_data.size()));
      }
    } else {
      draw(weights, static_cast<size_t>(tests * width));
    }
    view.routing = is_soft ? input.choose({Routing::linear, Routing::logistic}) : Routing::hard;
    connect(n);
  }

  void connect(size_t n) {
    view.children_left = left, view.children_right = right, view.feature = feature, view.linear_row = linear_row;
    view.threshold = threshold, view.missing_go_to_left = {missing.get(), n};
    view.category_offset = category_offset, view.category_bits = bits, view.n_categories = n_categories;
    view.weights.dense = weights, view.weights.data = weight_data;
    view.weights.indices = weight_indices, view.weights.offsets = weight_offsets;
    view.value = value, view.leaf_value = leaf_value, view.coef = coef, view.intercept = intercept;
    view.map.fill = fill, view.map.code_offset = code_offset, view.map.codes = codes;
    view.map.shift = shift, view.map.scale = scale;
  }
};

template <class Rows>
void predict_all(const Predictor& predictor, const Rows& rows) {
  const auto n = static_cast<size_t>(rows.rows), k = static_cast<size_t>(predictor.tree().classes);
  Control control;
  std::vector<int64_t> leaf(n), label(n), again(n);
  std::vector<double> proba(n * k), other(n * k);
  predictor.apply(rows, leaf.data(), 1, control);
  predictor.classes(rows, label.data(), 1, control);
  predictor.proba(rows, proba.data(), 1, control);
  for (size_t i = 0; i < n; ++i) {
    require(leaf[i] >= 0 && leaf[i] < predictor.tree().feature.size() && predictor.tree().feature[leaf[i]] == kLeaf,
            "rows end in leaves");
    require(label[i] >= 0 && static_cast<size_t>(label[i]) < k, "a class that exists");
  }
  predictor.apply(rows, again.data(), 2, control);
  require(leaf == again, "one leaf for any number of threads");
  predictor.proba(rows, other.data(), 2, control);
  require(same_bits(proba, other), "one probability for any number of threads");
  const Paths paths = predictor.paths(rows, 1, control), drawn = predictor.sample_paths(rows, 1, 2, control);
  require(to_size(paths.offsets.size()) == n + 1 && to_size(drawn.offsets.size()) == n + 1, "every row has a path");
  for (const auto& found : {paths, drawn})
    for (const int32_t node : found.nodes)
      require(node >= 0 && node < predictor.tree().feature.size(), "a path is made of nodes");
}

}  // namespace

int predict(const uint8_t* data, size_t size) {
  Input input(data, size);
  const int64_t columns = input.between(1, 20);
  const DrawnTree tree(input, columns);
  Problem problem;
  problem.rows = input.between(0, 20);
  problem.columns = columns;
  problem.is_double = input.flag();
  problem.is_sparse = input.flag();
  problem.by_column = input.flag();
  problem.n_categories.assign(static_cast<size_t>(columns), 0);
  if (problem.is_double)
    draw_values(input, {}, problem, problem.x64);
  else
    draw_values(input, {}, problem, problem.x32);
  try {
    const Predictor predictor(tree.view);
    std::visit([&](const auto& rows) { predict_all(predictor, rows); }, problem.any());
  } catch (const std::invalid_argument&) {
  }
  return 0;
}

}  // namespace boscage::fuzz
