// Stochastic linear trees: growing them, and the solver alone.
#include "bind/grow/stochastic.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <optional>
#include <type_traits>

#include "base/index.hpp"
#include "bind/arrays.hpp"
#include "bind/grow/criteria.hpp"
#include "bind/grow/grow.hpp"
#include "bind/run.hpp"
#include "families/stochastic/memory.hpp"

namespace boscage::bind {

namespace st = boscage::stochastic;

st::Scale make_scale(const std::string& name) {
  if (name == "standard") return st::Scale::standard;
  if (name == "unit") return st::Scale::unit;
  if (name == "none") return st::Scale::none;
  throw std::invalid_argument("unknown scale: " + name);
}

std::shared_ptr<const NumberFacts> number_facts(const NumberRange& range, const AnyCriterion& criterion) {
  if (range.outputs.empty()) return nullptr;
  if (!std::holds_alternative<SquaredError>(criterion))
    throw std::invalid_argument("tests that are found by soft sums know squared error only.");
  auto facts = std::make_shared<NumberFacts>();
  facts->outputs = range.outputs;
  facts->grid = range.grid(criterion);
  return facts;
}

std::vector<double> values_of(const Target& target, const NumberFacts* numbers) {
  std::vector<double> values;
  if (numbers == nullptr) return values;
  const NumberGrid& grid = *numbers->grid;
  values.reserve(target.number.size());
  for (size_t i = 0; i < target.number.size(); ++i) {
    const double centre = grid.outputs[i % grid.outputs.size()].centre;
    values.push_back(std::clamp(grid.scaled(target.number[i] - centre), -1.0, 1.0));
  }
  return values;
}

namespace {

// Up to this many numbers a fit is over before a thread of its own would have started.
constexpr int64_t kShortWork = 1 << 15;

st::Search make_search(const std::string& name) {
  if (name == "exact") return st::Search::exact;
  if (name == "fixed_pq") return st::Search::fixed_pq;
  if (name == "fixed_p_search_q") return st::Search::fixed_p_search_q;
  throw std::invalid_argument("unknown search: " + name);
}

using Settings = StochasticSettings;

template <class Rows>
constexpr bool holds_doubles = std::is_same_v<decltype(Rows::data), const double*>;

// Rows as their sums are made, and how tests see them. Single precision is always read as it is.
template <class Rows>
struct FramedRows {
  st::TrainingRows<Rows> rows;
  st::Frame frame;
  st::ColumnUnits units;
  std::vector<double> values;  // of rows that are not read as they are
  std::vector<double> numbers;

  FramedRows(const Rows& X, const Settings& settings, Pool& pool, const Control& control)
      : numbers(values_of(settings.target, settings.numbers.get())) {
    rows = {X,
            settings.target.label,
            settings.target.weight,
            settings.target.classes,
            numbers,
            std::max(settings.target.outputs, 1)};
    st::FrameSettings how = settings.frame;
    st::Range range;
    if (how.scale == st::Scale::standard) {
      range = column_ranges(rows.X, {}, pool, control);
      if constexpr (holds_doubles<Rows>) read_in(st::find_units(range), range);
    }
    frame = st::make_frame(rows, how, range, units, pool, control);
    if constexpr (holds_doubles<Rows>) {
      if (how.scale != st::Scale::unit || *std::min_element(frame.norm.begin(), frame.norm.end()) > 0x1p-780) return;
      read_in(st::common_unit(column_ranges(rows.X, {}, pool, control)), range);
      if (units.is_empty()) return;
      how.constant *= units.unit[0];
      frame = st::make_frame(rows, how, range, units, pool, control);
    }
  }

 private:
  void read_in(st::ColumnUnits found, st::Range& range) {
    units = std::move(found);
    if (units.is_empty()) return;
    rows.X = st::read_rows(rows.X, units, values);
    if (!range.low.empty()) range = units.of(std::move(range));
  }
};

template <class Rows>
nb::dict grow(const Rows& X, int64_t numbers, const Settings& settings) {
  Grown tree;
  std::optional<FramedRows<Rows>> framed;
  const bool is_short = numbers <= kShortWork && settings.grow.solve.search == st::Search::exact;
  run(is_short, settings.spec.progress, [&](Control& control) {
    Pool pool(settings.spec.threads);
    framed.emplace(X, settings, pool, control);
    st::MemoryGrowth<Rows> growth(framed->rows, framed->frame, settings.spec.criterion, settings.grow, settings.numbers,
                                  pool, control);
    tree = flatten(growth.grow(settings.spec.limits, settings.spec.order), settings.spec.criterion);
  });
  st::Frame& frame = framed->frame;
  framed->units.undo(frame.shift, frame.factor);
  nb::dict out = to_dict(std::move(tree), frame.width());
  out["shift"] = give(std::move(frame.shift));
  out["scale"] = give(std::move(frame.factor));
  out["constant"] = frame.unit_rows ? settings.frame.constant : frame.constant;
  return out;
}

// The range of numbers is that of the target, unless rows come later.
Settings make_settings(const Target& target, const NumberRange& range, GrowthSpec spec, const st::FrameSettings& frame,
                       const st::GrowSettings& search) {
  auto numbers = number_facts(target.is_numbers() ? range_of(target) : range, spec.criterion);
  if (is_of_numbers(spec.criterion) != (numbers != nullptr))
    throw std::invalid_argument("the criterion is not one of this target");
  if (numbers) spec.limits.min_drop = in_units(spec.criterion, spec.limits.min_drop, -numbers->grid->exponent);
  return {target, std::move(numbers), frame, search, std::move(spec)};
}

template <class T>
void bind_dense(nb::module_& module) {
  module.def(
      "grow_stochastic",
      [](const Strided2<T>& X, const Settings& settings) {
        const Matrix<T> matrix{X.data(), static_cast<int64_t>(X.shape(0)), static_cast<int64_t>(X.shape(1)),
                               X.stride(0), X.stride(1)};
        return grow(matrix, signed_size(X), settings);
      },
      nb::arg("X").noconvert(), nb::arg("settings"));
}

template <class T, class Index>
void bind_sparse(nb::module_& module) {
  module.def(
      "grow_stochastic",
      [](const In1<T>& data, const In1<Index>& indices, const In1<Index>& offsets, int64_t columns,
         const Settings& settings) {
        if (offsets.size() == 0 || indices.size() != data.size())
          throw std::invalid_argument("X: the CSR matrix is broken.");
        const auto n = signed_size(offsets) - 1;
        const SparseRows<T, Index> rows{data.data(), indices.data(), offsets.data(), n, columns, signed_size(data)};
        return grow(rows, signed_size(data), settings);
      },
      nb::arg("data").noconvert(), nb::arg("indices").noconvert(), nb::arg("offsets").noconvert(), nb::arg("columns"),
      nb::arg("settings"));
}

// `centred`: sums of the differences from the mean row, class by class, and 1 - |mean row|².
nb::ndarray<nb::numpy, double> solve(const In1<double>& weight, const In2<double>& sum, const Criterion& criterion,
                                     const std::string& search, double epsilon,
                                     const std::optional<std::pair<In2<double>, double>>& centred) {
  if (sum.shape(0) != weight.size()) throw std::invalid_argument("sum needs one row per class.");
  if (centred && centred->first.size() != sum.size()) throw std::invalid_argument("centred needs the shape of sum.");
  st::NodeSums sums;
  sums.classes = static_cast<int32_t>(weight.size());
  sums.width = static_cast<int64_t>(sum.shape(1));
  sums.weight.assign(weight.data(), weight.data() + weight.size());
  sums.sum.assign(sum.data(), sum.data() + sum.size());
  if (centred) {
    sums.centred = {centred->first.data(), centred->first.data() + centred->first.size()};
    sums.spread = centred->second;
  }
  st::SolveSettings settings;
  settings.search = make_search(search);
  settings.epsilon = epsilon;
  return give(st::solve(sums, criterion.any, settings));
}

}  // namespace

void bind_stochastic(nb::module_& module) {
  nb::class_<Settings>(module, "StochasticSettings");
  nb::class_<st::FrameSettings>(module, "StochasticFrame", "How tests see rows: scaled, with a constant column.")
      .def(
          "__init__",
          [](st::FrameSettings* self, const std::string& scale, bool has_constant, double constant) {
            new (self) st::FrameSettings{make_scale(scale), has_constant, constant};
          },
          nb::arg("scale"), nb::arg("has_constant"), nb::arg("constant"));
  nb::class_<st::GrowSettings>(module, "StochasticSearch", "How a node's test is searched.")
      .def(
          "__init__",
          [](st::GrowSettings* self, const std::string& search, double epsilon, double smallest_spread,
             bool lookahead) {
            new (self) st::GrowSettings{{make_search(search), epsilon, smallest_spread}, lookahead};
          },
          nb::arg("search"), nb::arg("epsilon"), nb::arg("smallest_spread"), nb::arg("lookahead"));
  module.def("stochastic_settings", &make_settings, nb::arg("target"), nb::arg("range"), nb::arg("spec"),
             nb::arg("frame"), nb::arg("search"), nb::keep_alive<0, 1>());
  bind_dense<float>(module);
  bind_dense<double>(module);
  bind_sparse<float, int32_t>(module);
  bind_sparse<float, int64_t>(module);
  bind_sparse<double, int32_t>(module);
  bind_sparse<double, int64_t>(module);
  module.def("solve_stochastic", &solve, nb::arg("weight").noconvert(), nb::arg("sum").noconvert(),
             nb::arg("criterion"), nb::arg("search"), nb::arg("epsilon"),
             nb::arg("centred").noconvert().none() = nb::none());
}

}  // namespace boscage::bind
