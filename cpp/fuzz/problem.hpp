// A whole problem out of bytes: rows (dense or sparse, single or double precision), labels, weights, criterion, limits.
//
// Numbers keep to what the estimators let through: finite or missing, labels in range, weights on their grid.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "criteria/criteria.hpp"
#include "data/rows.hpp"
#include "fuzz/input.hpp"
#include "grow/grown.hpp"
#include "grow/growth.hpp"
#include "grow/node_rows.hpp"

namespace boscage::fuzz {

struct Shape {
  int64_t most_rows = 96, most_columns = 12;
  int32_t most_classes = 6;
  bool may_be_missing = true, may_be_sparse = true, may_have_categories = true;
  bool is_numbers = false;  // in place of classes
  int32_t most_outputs = 3;
  bool may_have_ranks = true;  // quantiles among the criteria of numbers
};

struct Problem {
  int64_t rows = 1, columns = 1;
  int32_t classes = 2;
  bool is_double = true, is_sparse = false, by_column = false;
  std::vector<double> x64;
  std::vector<float> x32;
  std::vector<int32_t> indices, offsets;  // sparse rows
  std::vector<int32_t> label;
  std::vector<double> number;  // rows x outputs
  int32_t outputs = 0;
  std::vector<double> weight;
  std::vector<int64_t> n_categories;
  AnyCriterion criterion;
  Order order = Order::best_first;
  Limits limits;

  template <class T>
  const std::vector<T>& values() const {
    if constexpr (std::is_same_v<T, double>)
      return x64;
    else
      return x32;
  }
  template <class T>
  Matrix<T> dense() const {
    return {values<T>().data(), rows, columns, by_column ? 1 : columns, by_column ? rows : 1};
  }
  template <class T>
  SparseRows<T, int32_t> sparse() const {
    const auto& entries = values<T>();
    return {entries.data(), indices.data(), offsets.data(), rows, columns, static_cast<int64_t>(entries.size())};
  }
  Target target() const {
    Target found;
    if (outputs > 0) {
      found.number = number;
      found.outputs = outputs;
    } else {
      found.label = label;
      found.classes = classes;
    }
    found.weight = weight;
    return found;
  }
  AnyRows any() const {
    if (is_sparse) return is_double ? AnyRows(sparse<double>()) : AnyRows(sparse<float>());
    return is_double ? AnyRows(dense<double>()) : AnyRows(dense<float>());
  }
};

inline AnyCriterion draw_criterion(Input& input) {
  const char* name = input.choose({"gini", "entropy", "sqrt", "modified_gini", "separation"});
  return make_criterion(name, input.choose({1.0, 3.0, 1e6}), {});
}

inline AnyCriterion draw_number_criterion(Input& input, bool may_have_ranks) {
  const char* name =
      input.choose({"squared_error", "squared_error", "tweedie", may_have_ranks ? "quantile" : "tweedie"});
  const double power = input.choose({1.0, 1.5, 2.0}), q = input.choose({0.5, 0.1, 0.9});
  return make_criterion(name, name[0] == 'q' ? q : power, {});
}

// Numbers as estimators let them through: at most 1e300 in size, and not below 0 or above it where the criterion wants.
inline void draw_numbers(Input& input, const Shape& shape, Problem& problem) {
  problem.criterion = draw_number_criterion(input, shape.may_have_ranks);
  const auto* deviance = std::get_if<Deviance>(&problem.criterion);
  const bool is_one = deviance != nullptr || std::holds_alternative<Quantile>(problem.criterion);
  problem.outputs = is_one ? 1 : static_cast<int32_t>(input.between(1, shape.most_outputs));
  for (int64_t i = 0; i < problem.rows * problem.outputs; ++i) {
    double y = std::clamp(input.number<double>(false), -1e300, 1e300);
    if (deviance != nullptr) y = std::abs(y);
    if (deviance != nullptr && deviance->a == 0) y = std::max(y, std::numeric_limits<double>::denorm_min());
    problem.number.push_back(y);
  }
}

inline Limits draw_limits(Input& input) {
  Limits limits;
  if (input.flag()) limits.max_splits = input.between(0, 20);
  if (input.flag()) limits.max_depth = input.between(0, 12);
  limits.min_samples_leaf = input.choose<int64_t>({1, 1, 1, 2, 5, 40});
  limits.min_samples_split = input.choose<int64_t>({2, 2, 3, 10});
  limits.min_weight_leaf = input.choose({0.0, 0.0, 0.5, 3.0, 1e9});
  limits.min_drop = input.choose({0.0, 0.0, 1e-9, 0.5, 1e9});
  return limits;
}

template <class T>
void draw_values(Input& input, const Shape& shape, Problem& problem, std::vector<T>& values) {
  if (!problem.is_sparse) {
    for (int64_t i = 0; i < problem.rows * problem.columns; ++i) {
      const int64_t column = problem.by_column ? i / problem.rows : i % problem.columns;
      const int64_t categories = problem.n_categories[static_cast<size_t>(column)];
      T value = input.number<T>(shape.may_be_missing);
      if (categories > 0 && !std::isnan(value)) value = static_cast<T>(input.byte() % categories);
      values.push_back(value);
    }
    return;
  }
  problem.offsets.push_back(0);
  for (int64_t i = 0; i < problem.rows; ++i) {
    for (int32_t j = 0; j < problem.columns; ++j) {
      if (!input.flag()) continue;
      values.push_back(input.number<T>(shape.may_be_missing));
      problem.indices.push_back(j);
    }
    problem.offsets.push_back(static_cast<int32_t>(values.size()));
  }
}

inline Problem draw_problem(Input& input, const Shape& shape) {
  Problem problem;
  problem.criterion = draw_criterion(input);
  problem.order = input.choose({Order::best_first, Order::heaviest_first, Order::depth_first});
  problem.limits = draw_limits(input);
  problem.rows = input.between(1, shape.most_rows);
  problem.columns = input.between(1, shape.most_columns);
  problem.classes = static_cast<int32_t>(input.between(1, shape.most_classes));
  problem.is_double = input.flag();
  problem.is_sparse = shape.may_be_sparse && input.flag();
  problem.by_column = !problem.is_sparse && input.flag();
  problem.n_categories.assign(static_cast<size_t>(problem.columns), 0);
  if (shape.may_have_categories && !problem.is_sparse)
    for (int64_t& count : problem.n_categories) count = std::max<int64_t>(0, input.between(-20, 20));
  if (shape.is_numbers) {
    draw_numbers(input, shape, problem);
  } else {
    for (int64_t i = 0; i < problem.rows; ++i)
      problem.label.push_back(static_cast<int32_t>(input.byte() % problem.classes));
  }
  problem.weight = draw_weights(input, problem.rows);
  if (problem.is_double)
    draw_values(input, shape, problem, problem.x64);
  else
    draw_values(input, shape, problem, problem.x32);
  return problem;
}

inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

inline bool same(const Grown& a, const Grown& b) {
  return a.children_left == b.children_left && a.children_right == b.children_right && a.feature == b.feature &&
         same_bits(a.threshold, b.threshold) && same_bits(a.weights, b.weights) && same_bits(a.value, b.value) &&
         a.missing_go_to_left == b.missing_go_to_left && a.category_bits == b.category_bits && a.rows == b.rows &&
         a.weight_columns == b.weight_columns && same_bits(a.impurity, b.impurity);
}

// Every number that a node predicts lies in the range of its output.
inline void check_numbers(const Grown& tree, const Problem& problem) {
  const auto m = static_cast<size_t>(problem.outputs);
  for (size_t j = 0; j < m; ++j) {
    double low = problem.number[j], high = low;
    for (size_t i = j; i < problem.number.size(); i += m) {
      low = std::min(low, problem.number[i]);
      high = std::max(high, problem.number[i]);
    }
    for (size_t i = j; i < tree.value.size(); i += m)
      require(low <= tree.value[i] && tree.value[i] <= high, "predictions lie in the range of y");
  }
}

// What holds for every tree, whoever grew it. Hard tests divide rows and weights without loss.
inline void check_tree(const Grown& tree, const Problem& problem, bool is_hard) {
  const bool is_numbers = problem.outputs > 0;
  const size_t n = tree.rows.size(), k = static_cast<size_t>(is_numbers ? problem.outputs : problem.classes);
  require(n >= 1 && tree.value.size() == n * k, "a tree has a root, and class weights or numbers for every node");
  if (is_numbers) check_numbers(tree, problem);
  int64_t splits = 0;
  for (size_t i = 0; i < n; ++i) {
    for (size_t c = 0; c < k && !is_numbers; ++c)
      require(tree.value[i * k + c] >= 0 && std::isfinite(tree.value[i * k + c]),
              "class weights are finite and not negative");
    require(std::isfinite(tree.threshold[i]) && std::isfinite(tree.impurity[i]), "thresholds and impurity are finite");
    if (tree.children_left[i] < 0) continue;
    ++splits;
    const auto left = static_cast<size_t>(tree.children_left[i]), right = static_cast<size_t>(tree.children_right[i]);
    require(left > i && right > i && left < n && right < n, "children come after their parent");
    if (!is_hard) continue;
    require(tree.rows[left] + tree.rows[right] == tree.rows[i], "a test divides the rows");
    require(std::min(tree.rows[left], tree.rows[right]) >= problem.limits.min_samples_leaf, "leaves are large enough");
    for (size_t c = 0; c < k && !is_numbers; ++c)
      require(tree.value[left * k + c] + tree.value[right * k + c] == tree.value[i * k + c],
              "a test divides the weight of every class");
  }
  require(problem.limits.max_splits < 0 || splits <= problem.limits.max_splits, "max_splits holds");
  for (const double value : tree.weights) require(std::isfinite(value), "weights of linear tests are finite");
}

}  // namespace boscage::fuzz
