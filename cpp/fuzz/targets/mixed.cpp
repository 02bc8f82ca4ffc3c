// Trees of forests, on a sample of the rows: the same tree for any number of threads, rows arrive where growth sent
// them, and a forest of such trees predicts the same for any number of threads.
#include "families/mixed/mixed.hpp"

#include "data/bags.hpp"
#include "fuzz/arrays.hpp"
#include "fuzz/problem.hpp"
#include "fuzz/targets.hpp"
#include "predict/forest.hpp"

namespace boscage::fuzz {

namespace {

struct Codes {
  std::vector<int64_t> offset;
  std::vector<double> codes;

  // Numbers in place of categories.
  Codes(Input& input, const Problem& problem) {
    if (std::all_of(problem.n_categories.begin(), problem.n_categories.end(), [](int64_t count) { return count == 0; }))
      return;
    for (const int64_t count : problem.n_categories) {
      offset.push_back(count > 0 ? static_cast<int64_t>(codes.size()) : -1);
      for (int64_t code = 0; code < count; ++code) codes.push_back(input.number<double>(false));
    }
  }
};

mixed::Options draw_options(Input& input, const Problem& problem, uint64_t seed) {
  using mixed::Finder;
  mixed::Options options;
  options.axis_share = input.choose({0.5, 0.0, 1.0});
  const uint8_t which = input.byte();
  options.finders.clear();
  if ((which & 1) != 0) options.finders.push_back(Finder::wodt);
  if ((which & 2) != 0) options.finders.push_back(Finder::ridge);
  if ((which & 4) != 0 || options.finders.empty()) options.finders.push_back(Finder::axis);
  options.axis_columns = input.between(1, problem.columns);
  options.linear_columns = input.between(0, problem.columns);
  options.l2 = input.choose({0.1, 0.0, 1e-9, 1e3});
  options.super_classes = input.choose({0.5, 0.0, 1.0});
  options.max_iter = static_cast<int>(input.between(1, 30));
  options.max_rows = input.choose<int64_t>({0, 0, 2, 10});
  options.seed = seed;
  return options;
}

void check_forest(const Grown& tree, const Problem& problem, std::span<const double> fill, const Codes& codes) {
  Arrays arrays(tree, problem, fill);
  arrays.code(codes.offset, codes.codes);
  const Predictor one(arrays.view()), other(arrays.view());
  const Forest forest({&one, &other});
  const auto n = static_cast<size_t>(problem.rows), k = static_cast<size_t>(forest.classes());
  Control control;
  std::vector<double> single(n * k), sums(n * k), again(n * k);
  std::vector<int64_t> leaf(n), leaves(2 * n);
  std::visit(
      [&](const auto& rows) {
        one.proba(rows, single.data(), 1, control);
        one.apply(rows, leaf.data(), 1, control);
        forest.sums(rows, {}, sums.data(), 1, control);
        forest.sums(rows, {}, again.data(), 2, control);
        forest.apply(rows, leaves.data(), 2, control);
      },
      problem.any());
  std::vector<int64_t> found(tree.rows.size(), 0);
  for (size_t i = 0; i < n; ++i)
    if (problem.weight.empty() || problem.weight[i] > 0) ++found[static_cast<size_t>(leaf[i])];
  for (size_t i = 0; i < found.size(); ++i)
    require(found[i] == (tree.children_left[i] < 0 ? tree.rows[i] : 0), "prediction sends rows where growth did");
  require(same_bits(sums, again), "one sum for any number of threads");
  for (size_t i = 0; i < sums.size(); ++i)
    require(std::isfinite(sums[i]) && sums[i] == single[i] + single[i], "a forest adds up its trees");
  for (size_t i = 0; i < n; ++i)
    require(leaves[2 * i] == leaf[i] && leaves[2 * i + 1] == leaf[i], "leaves of a forest");
}

}  // namespace

int mixed(const uint8_t* data, size_t size) {
  Input input(data, size);
  Shape shape;
  shape.is_numbers = input.flag();
  shape.may_have_ranks = false;
  shape.most_rows = 64;
  shape.most_columns = 8;
  const bool is_bag = input.flag();
  Problem problem = draw_problem(input, shape);
  const Codes codes(input, problem);
  const boscage::mixed::Options options = draw_options(input, problem, size);
  std::vector<double> fill;
  if (is_bag) {  // rows that were not drawn have weight 0
    const auto draws = draws_by_block(size, problem.rows, problem.rows);
    const std::vector<double> count = draw_with_replacement(size, draws, {problem.rows, 0, problem.rows});
    problem.weight.resize(static_cast<size_t>(problem.rows), 1.0);
    for (size_t i = 0; i < count.size(); ++i) problem.weight[i] *= count[i];
  }
  const auto grow = [&](int threads) {
    boscage::mixed::Data given{problem.any(),
                               problem.n_categories,
                               {codes.offset, codes.codes},
                               {},
                               {},
                               problem.target(),
                               problem.criterion,
                               problem.limits,
                               options};
    const boscage::Target target = problem.target();
    std::vector<uint32_t> used;
    for (uint32_t row = 0; row < static_cast<uint32_t>(problem.rows); ++row)
      if (target.weight_of(row) > 0) used.push_back(row);
    Pool pool(threads);
    Control control;
    boscage::mixed::fill_columns(given, used, control);
    NodeRows rows(target, problem.criterion, std::move(used));
    const Side root = rows.total();
    Limits limits = problem.limits;
    if (root.numbers) limits.min_drop = in_units(problem.criterion, limits.min_drop, -root.numbers->grid->exponent);
    Grower grower(root, limits, problem.order);
    boscage::mixed::grow(grower, given, rows, pool, control);
    fill = given.fill;
    return flatten(grower, problem.criterion);
  };
  const Grown tree = grow(1);
  check_tree(tree, problem, true);
  require(same(tree, grow(2)), "one tree for any number of threads");
  check_forest(tree, problem, fill, codes);
  return 0;
}

}  // namespace boscage::fuzz
