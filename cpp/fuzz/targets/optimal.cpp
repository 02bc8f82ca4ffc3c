// Optimal trees: the proof holds for the tree that is returned, the bound for every number of threads.
#include "optimal/optimal.hpp"

#include "fuzz/problem.hpp"
#include "fuzz/targets.hpp"

namespace boscage::fuzz {

namespace {

// Labels 0..K-1 as they occur: every class has a row.
std::vector<int32_t> dense_labels(const std::vector<int32_t>& label) {
  std::vector<int32_t> known(label);
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  std::vector<int32_t> out;
  for (const int32_t value : label)
    out.push_back(static_cast<int32_t>(std::lower_bound(known.begin(), known.end(), value) - known.begin()));
  return out;
}

// The tree a search may start from: any chain of tests, valid or not worth anything.
optimal::WarmStart draw_start(Input& input, int64_t columns) {
  optimal::WarmStart start;
  const int64_t splits = input.between(0, 4);
  if (splits == 0) return start;
  for (int64_t i = 0; i <= 2 * splits; ++i) {
    const bool is_leaf = i == 2 * splits || i % 2 == 1;
    start.left.push_back(is_leaf ? -1 : static_cast<int32_t>(i + 1));
    start.right.push_back(is_leaf ? -1 : static_cast<int32_t>(i + 2));
    start.feature.push_back(is_leaf ? -1 : static_cast<int32_t>(input.between(0, columns - 1)));
    start.threshold.push_back(is_leaf ? 0.0 : input.number<double>(false));
  }
  return start;
}

double measured_objective(const optimal::Result& found, const Problem& problem, const std::vector<int32_t>& label,
                          double alpha) {
  const int64_t classes = *std::max_element(label.begin(), label.end()) + 1;
  std::vector<double> weight(found.left.size() * static_cast<size_t>(classes), 0.0);
  double total = 0;
  for (size_t i = 0; i < label.size(); ++i) {
    const double share = problem.weight.empty() ? 1.0 : problem.weight[i];
    total += share;
    require(found.left[static_cast<size_t>(found.leaf[i])] < 0, "rows end in leaves");
    weight[static_cast<size_t>(found.leaf[i] * classes + label[i])] += share;
  }
  double wrong = 0, leaves = 0;
  for (int64_t node = 0; node < found.left.size(); ++node) {
    if (found.left[node] >= 0) continue;
    const double* of = weight.data() + node * static_cast<size_t>(classes);
    double all = 0, most = 0;
    for (int64_t c = 0; c < classes; ++c) all += of[c], most = std::max(most, of[c]);
    wrong += all - most;
    leaves += 1;
  }
  return wrong / total + alpha * leaves;
}

}  // namespace

int optimal(const uint8_t* data, size_t size) {
  Input input(data, size);
  optimal::Settings settings;
  settings.max_depth = static_cast<int>(input.between(0, 4));
  settings.alpha = input.choose({0.0, 1e-3, 0.01, 0.3, 1.0});
  settings.exact = input.byte() % 4 != 0;
  settings.time_limit = std::numeric_limits<double>::infinity();
  settings.memory_limit = input.choose<int64_t>({INT64_MAX / 2, INT64_MAX / 2, 1 << 16, 0});
  settings.max_explored = input.choose<int64_t>({2000, 2000, 100, 1});
  Shape shape;
  shape.most_rows = 48;
  shape.most_columns = 5;
  shape.may_be_missing = shape.may_be_sparse = shape.may_have_categories = false;
  Problem problem = draw_problem(input, shape);
  const double largest = problem.weight.empty() ? 1.0 : *std::max_element(problem.weight.begin(), problem.weight.end());
  for (double& value : problem.weight) value /= largest;
  const auto label = dense_labels(problem.label);
  const auto start = draw_start(input, problem.columns);
  const DataTable table(problem.any());
  boscage::Target target = problem.target();
  target.label = label, target.classes = *std::max_element(label.begin(), label.end()) + 1;
  const auto solve = [&](int threads) {
    settings.threads = threads;
    Control control;
    optimal::Snapshot snapshot;
    auto found = optimal::solve(table, target, settings, start, control, snapshot);
    require(to_size(found.leaf.size()) == label.size(), "every row has a leaf");
    const double objective = measured_objective(found, problem, label, settings.alpha);
    const double rounding = 1e-6 * (1 + objective);
    // A search that had no memory to begin says 1, whatever the leaf is worth.
    require(found.status == optimal::Status::memory_limit || found.objective >= objective - rounding,
            "the objective is not better than that of the tree");
    require(found.status != optimal::Status::optimal || found.objective <= objective + rounding,
            "a proven objective is that of the tree");
    require(found.lower_bound <= found.objective + 1e-9, "the bound is below the objective");
    return found;
  };
  const auto one = solve(1), two = solve(2);
  if (one.status == optimal::Status::optimal && two.status == optimal::Status::optimal)
    require(std::abs(one.objective - two.objective) <= 1e-9, "one optimum for any number of threads");
  return 0;
}

}  // namespace boscage::fuzz
