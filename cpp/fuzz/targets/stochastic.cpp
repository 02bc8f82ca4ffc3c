// Stochastic trees in memory: finite for all finite rows, the same tree for any number of threads.
#include "families/stochastic/memory.hpp"
#include "fuzz/problem.hpp"
#include "fuzz/targets.hpp"

namespace boscage::fuzz {

namespace {

namespace st = boscage::stochastic;

template <class Rows>
void grow_twice(const Rows& X, const Problem& problem, const st::FrameSettings& settings, const st::GrowSettings& how) {
  const auto grow = [&](int threads) {
    Pool pool(threads);
    Control control;
    st::TrainingRows<Rows> rows{X, problem.label, problem.weight, problem.classes};
    std::vector<double> values;
    st::ColumnUnits units;
    st::Range range;
    if (settings.scale != st::Scale::none) range = column_ranges(rows.X, {}, pool, control);
    if constexpr (std::is_same_v<decltype(Rows::data), const double*>) {
      if (settings.scale == st::Scale::standard) units = st::find_units(range);
      if (settings.scale == st::Scale::unit) units = st::common_unit(range);
      if (!units.is_empty()) {
        rows.X = st::read_rows(rows.X, units, values);
        range = units.of(std::move(range));
      }
    }
    st::FrameSettings scaled = settings;
    if (settings.scale == st::Scale::unit && !units.is_empty()) scaled.constant *= units.unit[0];
    const st::Frame frame = st::make_frame(rows, scaled, range, units, pool, control);
    st::MemoryGrowth<Rows> growth(rows, frame, problem.criterion, how, nullptr, pool, control);
    return flatten(growth.grow(problem.limits, problem.order), problem.criterion);
  };
  try {
    const Grown tree = grow(1);
    check_tree(tree, problem, false);
    require(same(tree, grow(2)), "one tree for any number of threads");
  } catch (const std::invalid_argument&) {
    require(settings.scale == st::Scale::none, "only rows that are used as they are can be refused");
  }
}

}  // namespace

int stochastic(const uint8_t* data, size_t size) {
  Input input(data, size);
  const st::FrameSettings settings{input.choose({st::Scale::standard, st::Scale::unit, st::Scale::none}), input.flag(),
                                   input.choose({1.0, 1e-3, 1e3})};
  st::GrowSettings how;
  how.solve.search = input.choose(
      {st::Search::exact, st::Search::exact, st::Search::exact, st::Search::fixed_pq, st::Search::fixed_p_search_q});
  how.solve.epsilon = input.choose({0.1, 0.3, 0.5});
  how.lookahead = input.flag();
  Shape shape;
  shape.may_be_missing = shape.may_have_categories = false;
  shape.most_rows = 64;
  shape.most_columns = 8;
  Problem problem = draw_problem(input, shape);
  how.solve.smallest_spread = problem.is_double ? 1e-9 : 1e-6;
  // Soft growth has no natural end.
  if (problem.limits.max_splits < 0 && problem.limits.max_depth < 0) problem.limits.max_splits = 6;
  if (problem.limits.max_splits < 0) problem.limits.max_depth = std::min<int64_t>(problem.limits.max_depth, 3);
  if (how.solve.search != st::Search::exact) problem.limits.max_splits = 2;
  std::visit([&](const auto& rows) { grow_twice(rows, problem, settings, how); }, problem.any());
  return 0;
}

}  // namespace boscage::fuzz
