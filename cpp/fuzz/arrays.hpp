// A grown tree as prediction reads it, and what both must agree on.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "fuzz/problem.hpp"
#include "predict/predict.hpp"

namespace boscage::fuzz {

// Borrows the arrays of the tree and the problem.
class Arrays {
 public:
  Arrays(const Grown& tree, const Problem& problem, std::span<const double> fill = {})
      : missing_(std::make_unique<bool[]>(tree.rows.size())) {
    const size_t n = tree.rows.size();
    std::copy(tree.missing_go_to_left.begin(), tree.missing_go_to_left.end(), missing_.get());
    view_.children_left = tree.children_left;
    view_.children_right = tree.children_right;
    view_.feature = tree.feature;
    view_.threshold = tree.threshold;
    view_.missing_go_to_left = {missing_.get(), n};
    view_.category_offset = tree.category_offset;
    view_.category_bits = tree.category_bits;
    view_.linear_row = tree.linear_row;
    view_.weights.columns = problem.columns;
    if (tree.weight_offsets.empty()) {
      view_.weights.rows = static_cast<int64_t>(tree.weights.size()) / problem.columns;
      view_.weights.dense = tree.weights;
    } else {
      columns_.assign(tree.weight_columns.begin(), tree.weight_columns.end());
      view_.weights.rows = static_cast<int64_t>(tree.weight_offsets.size()) - 1;
      view_.weights.data = tree.weights;
      view_.weights.indices = columns_;
      view_.weights.offsets = tree.weight_offsets;
    }
    view_.n_categories = problem.n_categories;
    view_.value = tree.value;
    view_.is_numbers = problem.outputs > 0;
    view_.classes = view_.is_numbers ? problem.outputs : problem.classes;
    view_.map.fill = fill;
  }
  const TreeArrays& view() const { return view_; }
  // Numbers that stand for categories in linear tests; borrowed.
  void code(std::span<const int64_t> offset, std::span<const double> codes) {
    view_.map.code_offset = offset;
    view_.map.codes = codes;
  }

 private:
  std::unique_ptr<bool[]> missing_;
  std::vector<int64_t> columns_;
  TreeArrays view_;
};

// Training rows arrive in the leaves that counted them.
inline void check_arrival(const Grown& tree, const Problem& problem, std::span<const double> fill = {}) {
  const Arrays arrays(tree, problem, fill);
  const Predictor predictor(arrays.view());
  Control control;
  std::vector<int64_t> leaf(static_cast<size_t>(problem.rows)), found(tree.rows.size(), 0);
  std::visit([&](const auto& rows) { predictor.apply(rows, leaf.data(), 1, control); }, problem.any());
  for (const int64_t node : leaf) ++found[static_cast<size_t>(node)];
  for (size_t i = 0; i < found.size(); ++i)
    require(found[i] == (tree.children_left[i] < 0 ? tree.rows[i] : 0), "prediction sends rows where growth did");
}

}  // namespace boscage::fuzz
