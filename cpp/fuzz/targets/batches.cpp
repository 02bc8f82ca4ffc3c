// Axis trees from histograms of batches: with a bin for every value they are the trees of growth in memory, however
// the rows are divided into batches and whatever fits into a pass.
#include "families/axis/axis.hpp"
#include "families/axis/bin_counts.hpp"
#include "fuzz/arrays.hpp"
#include "fuzz/problem.hpp"
#include "fuzz/targets.hpp"

namespace boscage::fuzz {

namespace {

// A bin for each value, or for as many as `most_bins` neighbours of equal number.
template <class T>
BinEdges<T> draw_edges(const Problem& problem, int64_t most_bins) {
  BinEdges<T> edges{{0}, {}};
  const Matrix<T> X = problem.dense<T>();
  for (int64_t column = 0; column < problem.columns; ++column) {
    std::vector<T> found;
    const int64_t categories = problem.n_categories[static_cast<size_t>(column)];
    for (int64_t code = 0; code < categories; ++code) found.push_back(static_cast<T>(code));
    for (int64_t row = 0; categories == 0 && row < problem.rows; ++row)
      if (!std::isnan(X(row, column))) found.push_back(X(row, column) + T(0));
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    if (categories == 0 && static_cast<int64_t>(found.size()) > most_bins) {
      const std::vector<T> all = found;
      found.clear();
      for (int64_t bin = 1; bin <= most_bins; ++bin)
        found.push_back(all[static_cast<size_t>(bin * static_cast<int64_t>(all.size()) / most_bins - 1)]);
    }
    edges.last.insert(edges.last.end(), found.begin(), found.end());
    edges.last.push_back(std::numeric_limits<T>::quiet_NaN());
    edges.start.push_back(static_cast<int64_t>(edges.last.size()));
  }
  return edges;
}

template <class T>
std::vector<double> by_place(const BinEdges<T>& edges, const std::vector<T>& values) {
  std::vector<double> places(values.begin(), values.end());
  for (size_t column = 1; column < edges.start.size(); ++column)
    places[static_cast<size_t>(edges.start[column]) - 1] = 0.0;
  return places;
}

template <class T>
Grown grow_in_batches(const Problem& problem, const BinEdges<T>& edges, bool is_exact, int64_t batch_rows,
                      int64_t most_numbers, int threads) {
  Pool pool(threads);
  Control control;
  const Matrix<T> X = problem.dense<T>();
  Bins bins;
  bins.start = edges.start;
  bins.first = by_place(edges, smallest_in_bins(X, edges, pool, control));
  bins.last = by_place(edges, edges.last);
  bins.exact.assign(static_cast<size_t>(problem.columns), is_exact ? 1 : 0);
  for (const int64_t count : problem.n_categories) bins.category.push_back(count > 0 ? 1 : 0);
  bins.is_float = std::is_same_v<T, float>;
  AxisBatchGrowth growth(bins, problem.classes, {}, problem.criterion, problem.limits, problem.order);
  while (const auto route = growth.ask(most_numbers)) {
    std::vector<double> sums;
    for (int64_t begin = 0; begin < problem.rows; begin += batch_rows) {
      const auto count = static_cast<size_t>(std::min(batch_rows, problem.rows - begin)),
                 first = static_cast<size_t>(begin);
      CountedRows<T> rows{X, problem.target()};
      rows.X.data += begin * X.row_stride;
      rows.X.rows = static_cast<int64_t>(count);
      rows.target.label = rows.target.label.subspan(first, count);
      if (!problem.weight.empty()) rows.target.weight = rows.target.weight.subspan(first, count);
      const auto part = count_bins(rows, edges, *route, problem.criterion, pool, control).sums;
      sums.resize(part.size(), 0.0);
      for (size_t i = 0; i < part.size(); ++i) sums[i] += part[i];
    }
    growth.tell(sums, {});
  }
  return flatten(growth.grower(), problem.criterion);
}

template <class T>
void compare(const Problem& problem, int64_t most_bins, int64_t batch_rows, int64_t most_numbers) {
  const BinEdges<T> edges = draw_edges<T>(problem, most_bins);
  const bool is_exact = most_bins >= problem.rows;
  const Grown tree = grow_in_batches(problem, edges, is_exact, batch_rows, most_numbers, 2);
  check_tree(tree, problem, true);
  check_arrival(tree, problem);
  require(same(tree, grow_in_batches(problem, edges, is_exact, problem.rows, 1 << 20, 1)), "one tree for any batches");
  if (!is_exact) return;
  Pool pool(1);
  Control control;
  NodeRows rows(problem.target(), problem.criterion);
  AxisSearch search(problem.any(), problem.n_categories, 255, rows, problem.criterion, problem.limits, pool, control);
  Grower grower(rows.total(), problem.limits, problem.order);
  grow_in_memory(grower, search, pool, control);
  require(same(tree, flatten(grower, problem.criterion)), "exact bins give the tree of growth in memory");
}

}  // namespace

int batches(const uint8_t* data, size_t size) {
  Input input(data, size);
  const auto most_bins = input.choose<int64_t>({1000, 1000, 2, 3, 8});
  const int64_t batch_rows = input.between(1, 60), most_numbers = input.choose<int64_t>({1, 1000, 1 << 20});
  Shape shape;
  shape.may_be_sparse = false;
  shape.most_columns = 6;
  const Problem problem = draw_problem(input, shape);
  if (problem.is_double)
    compare<double>(problem, most_bins, batch_rows, most_numbers);
  else
    compare<float>(problem, most_bins, batch_rows, most_numbers);
  return 0;
}

}  // namespace boscage::fuzz
