#include <cmath>
#include <limits>

#include "predict/predict.hpp"
#include "tests/check.hpp"

using namespace boscage;

namespace {

// Root: linear test (a, b) with weights w; left child: axis test b <= 0; right child: categories {1} of c go left.
struct Example {
  std::vector<int32_t> left{1, 3, 5, -1, -1, -1, -1}, right{2, 4, 6, -1, -1, -1, -1};
  std::vector<int32_t> feature{kLinear, 1, 2, -1, -1, -1, -1}, linear_row{0, -1, -1, -1, -1, -1, -1};
  std::vector<double> threshold{0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
  bool missing[7] = {false, true, false, false, false, false, false};
  std::vector<int64_t> offset{-1, -1, 0, -1, -1, -1, -1}, n_categories{0, 0, 3};
  std::vector<uint8_t> bits{2};
  std::vector<double> weights{1.0, 0.0, 0.0}, value = std::vector<double>(14, 0.5);
  std::vector<double> data{1.0};
  std::vector<int64_t> indices{0}, offsets{0, 1};
  std::vector<double> fill{0, 0, 0};

  TreeArrays arrays(bool sparse_weights) {
    TreeArrays t;
    t.children_left = left;
    t.children_right = right;
    t.feature = feature;
    t.threshold = threshold;
    t.missing_go_to_left = missing;
    t.category_offset = offset;
    t.category_bits = bits;
    t.linear_row = linear_row;
    t.weights = {.rows = 1, .columns = 3, .dense = {}, .data = {}, .indices = {}, .offsets = {}};
    if (sparse_weights) {
      t.weights.data = data;
      t.weights.indices = indices;
      t.weights.offsets = offsets;
    } else {
      t.weights.dense = weights;
    }
    t.n_categories = n_categories;
    t.value = value;
    t.classes = 2;
    t.map.fill = fill;
    return t;
  }
};

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const std::vector<double> kRows{0, 0, 0, /**/ 0, 1, 0, /**/ 0, kNaN, 0, /**/ 1, 0, 1, /**/ 1, 0, 2, /**/ 1, 0, kNaN};
const std::vector<int64_t> kLeaves{3, 4, 3, 5, 6, 6};

}  // namespace

TEST("a mixed tree sends dense rows where its tests say") {
  Example example;
  for (const bool sparse_weights : {false, true}) {
    const Predictor predictor(example.arrays(sparse_weights));
    Control control;
    std::vector<int64_t> leaf(6);
    predictor.apply(Matrix<double>{kRows.data(), 6, 3, 3, 1}, leaf.data(), 1, control);
    CHECK(leaf == kLeaves);
    std::vector<double> proba(12);
    predictor.proba(Matrix<double>{kRows.data(), 6, 3, 3, 1}, proba.data(), 2, control);
    CHECK(proba == std::vector<double>(12, 0.5));
  }
}

TEST("sparse rows go the same way") {
  Example example;
  const std::vector<double> data{1, kNaN, 1, 1, 1, 2, 1, kNaN};
  const std::vector<int32_t> indices{1, 1, 0, 2, 0, 2, 0, 2}, offsets{0, 0, 1, 2, 4, 6, 8};
  for (const bool sparse_weights : {false, true}) {
    const Predictor predictor(example.arrays(sparse_weights));
    Control control;
    std::vector<int64_t> leaf(6);
    const SparseRows<double, int32_t> rows{data.data(), indices.data(), offsets.data(), 6, 3, 8};
    predictor.apply(rows, leaf.data(), 1, control);
    CHECK(leaf == kLeaves);
    const Paths paths = predictor.paths(rows, 1, control);
    CHECK((paths.offsets == std::vector<int64_t>{0, 3, 6, 9, 12, 15, 18}));
    CHECK((paths.nodes == std::vector<int32_t>{0, 1, 3, 0, 1, 4, 0, 1, 3, 0, 2, 5, 0, 2, 6, 0, 2, 6}));
  }
}

TEST("arrays that would lead outside are refused") {
  const auto refused = [](auto&& breaks) {
    Example example;
    breaks(example);
    try {
      Predictor predictor(example.arrays(false));
      return false;
    } catch (const std::invalid_argument&) {
      return true;
    }
  };
  CHECK(!refused([](Example&) {}));
  CHECK(refused([](Example& e) { e.left[0] = 0; }));
  CHECK(refused([](Example& e) { e.right[1] = 7; }));
  CHECK(refused([](Example& e) { e.feature[1] = 3; }));
  CHECK(refused([](Example& e) { e.linear_row[0] = 1; }));
  CHECK(refused([](Example& e) { e.offset[2] = 1; }));
  CHECK(refused([](Example& e) { e.weights.pop_back(); }));
  CHECK(refused([](Example& e) { e.value.pop_back(); }));
}

TEST("the stop flag ends prediction") {
  Example example;
  const Predictor predictor(example.arrays(false));
  Control control;
  control.stop();
  std::vector<int64_t> leaf(6);
  bool stopped = false;
  try {
    predictor.apply(Matrix<double>{kRows.data(), 6, 3, 3, 1}, leaf.data(), 1, control);
  } catch (const Interrupted&) {
    stopped = true;
  }
  CHECK(stopped);
}
