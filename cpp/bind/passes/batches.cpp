// Passes over rows in batches: arrays of rows in, sums of blocks out; and growth from reduced sums.
#include "families/stochastic/batches.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cmath>

#include "base/index.hpp"
#include "bind/arrays.hpp"
#include "bind/grow/grow.hpp"
#include "bind/grow/stochastic.hpp"
#include "bind/passes/grids.hpp"
#include "bind/passes/parts.hpp"
#include "bind/run.hpp"
#include "data/survey.hpp"
#include "families/axis/batches.hpp"
#include "refine/reach_sums.hpp"

namespace boscage::bind {

namespace {

namespace rf = boscage::refine;
namespace st = boscage::stochastic;

// Shift and scale of each column.
using ShiftScale = std::pair<In1<double>, In1<double>>;

// Weights, links, cuts, flags and means of a route.
using StochasticRoute = std::tuple<In2<double>, In2<int32_t>, In2<double>, In2<uint8_t>, In2<double>>;

template <class T>
st::TrainingRows<Matrix<T>> make_rows(const Strided2<T>& X, const In1<double>& weight) {
  const Matrix<T> matrix{X.data(), static_cast<int64_t>(X.shape(0)), static_cast<int64_t>(X.shape(1)), X.stride(0),
                         X.stride(1)};
  if (weight.size() != 0 && weight.size() != X.shape(0))
    throw std::invalid_argument("X and weight have different lengths.");
  return {matrix, {}, view(weight), 0, {}};
}

template <class T>
Parts sum_means(const Strided2<T>& X, const In1<double>& weight, double unit, int64_t first_block, int threads) {
  const auto rows = make_rows(X, weight);
  return sum_over(X, first_block, X.shape(1) + 1, threads, [&](int64_t begin, int64_t end, int, double* out) {
    st::for_rows(rows, begin, end, [&](const auto& tile, int64_t row) { st::add_to_mean(tile, row, unit, out); });
  });
}

template <class T>
Parts sum_squares(const Strided2<T>& X, const In1<double>& weight, double unit, const ShiftScale& columns,
                  int64_t first_block, int threads) {
  const auto rows = make_rows(X, weight);
  const std::vector<double> centre = copy(columns.first), scale = copy(columns.second);
  if (centre.size() != X.shape(1) || scale.size() != X.shape(1))
    throw std::invalid_argument("shift and per_unit need one number per column.");
  return sum_over(X, first_block, X.shape(1), threads, [&](int64_t begin, int64_t end, int, double* out) {
    st::for_rows(rows, begin, end,
                 [&](const auto& tile, int64_t row) { st::add_to_variance(tile, row, unit, centre, scale, out); });
  });
}

// (smallest, largest) of each column, whether a number is missing, whether one is infinite.
template <class T>
nb::tuple survey(const Strided2<T>& X, int threads) {
  const Matrix<T> matrix{X.data(), static_cast<int64_t>(X.shape(0)), static_cast<int64_t>(X.shape(1)), X.stride(0),
                         X.stride(1)};
  ColumnSurvey<T> found;
  run(X.size() <= kShortPass, nb::none(), [&](Control& control) {
    Pool pool(threads);
    found = survey_columns(matrix, pool, control);
  });
  return nb::make_tuple(give(std::vector<double>(found.low.begin(), found.low.end())),
                        give(std::vector<double>(found.high.begin(), found.high.end())), found.has_missing,
                        found.has_infinity);
}

// Sums of weight times reach times (reach, target): see refine/reach_sums.hpp.
Parts sum_reach(const In2<double>& reach, const In2<double>& target, const In1<double>& weight, int64_t first_block,
                int threads) {
  const size_t n = reach.shape(0), leaves = reach.shape(1), outputs = target.shape(1);
  if (target.shape(0) != n || (weight.size() != 0 && weight.size() != n))
    throw std::invalid_argument("reach, target and weight differ in length.");
  const rf::ReachedRows rows{static_cast<int64_t>(n),
                             static_cast<int64_t>(leaves),
                             static_cast<int64_t>(outputs),
                             reach.data(),
                             target.data(),
                             view(weight)};
  std::optional<PairwiseSum> sum;
  run(reach.size() <= kShortPass, nb::none(), [&](Control& control) {
    Pool pool(threads);
    sum = rf::reach_sums(rows, first_block, pool, control);
  });
  return give_parts(*sum, leaves * (leaves + outputs));
}

// The frame of columns with these shifts and factors; both arrays are empty where columns stay as they are.
st::Frame make_frame(int64_t columns, const st::FrameSettings& settings, const In1<double>& shift,
                     const In1<double>& factor) {
  if (columns < 1 || shift.size() != factor.size() || (shift.size() != 0 && signed_size(shift) != columns))
    throw std::invalid_argument("shift and factor need one number per column.");
  return st::assemble(columns, settings, copy(shift), copy(factor), false);
}

// A pass on the side of the rows.
class StochasticPass {
 public:
  StochasticPass(const st::FrameSettings& frame, const ShiftScale& scaling, int64_t columns, int32_t classes,
                 const NumberRange& range, const StochasticRoute& route)
      : frame_(make_frame(columns, frame, scaling.first, scaling.second)),
        shape_{classes, columns, number_facts(range, SquaredError{})} {
    const auto& [weights, links, cuts, flags, rows_of_means] = route;
    const In2<double>& means = rows_of_means;
    const size_t n = links.shape(0);
    if (weights.shape(0) != n || cuts.shape(0) != n || flags.shape(0) != n || links.shape(1) != 2 ||
        cuts.shape(1) != 2 || flags.shape(1) != 5 ||
        (n > 0 && static_cast<int64_t>(weights.shape(1)) != frame_.width()))
      throw std::invalid_argument("the arrays of a pass do not fit together.");
    size_t mean = 0;
    const auto take_mean = [&] {
      if (mean >= means.shape(0) || static_cast<int64_t>(means.shape(1)) != frame_.width())
        throw std::invalid_argument("a mean row is missing.");
      const double* row = means.data() + means.shape(1) * mean++;
      return std::vector<double>(row, row + means.shape(1));
    };
    if (n == 0 && means.shape(0) > 0) route_.root_mean = take_mean();
    for (size_t i = 0; i < n; ++i) {
      st::RouteStep step;
      for (size_t side = 0; side < 2; ++side)
        if (flags(i, 3 + side) != 0) step.mean[side] = take_mean();
      step.weights.assign(weights.data() + i * weights.shape(1), weights.data() + (i + 1) * weights.shape(1));
      step.division.test = st::FoldedTest(frame_, step.weights);
      step.division.cut_left = cuts(i, 0);
      step.division.cut_right = cuts(i, 1);
      step.division.sum_left = flags(i, 0) != 0;
      step.division.sum_right = flags(i, 1) != 0;
      step.is_wanted = flags(i, 2) != 0;
      if (!step.is_wanted && (step.division.sum_left || step.division.sum_right))
        throw std::invalid_argument("a step of a pass sums a side that is not wanted.");
      step.left = links(i, 0);
      step.right = links(i, 1);
      for (const int32_t next : {step.left, step.right})
        if (next != -1 && (next <= static_cast<int32_t>(i) || next >= static_cast<int32_t>(n)))
          throw std::invalid_argument("a step of a pass leads nowhere.");
      route_.steps.push_back(std::move(step));
    }
  }

  template <class T>
  Parts sums(const Strided2<T>& X, const Target& target, int64_t first_block, int threads) {
    if (static_cast<int64_t>(X.shape(1)) != shape_.columns || target.rows() != static_cast<int64_t>(X.shape(0)))
      throw std::invalid_argument("X has not the columns of the pass, or y not its rows.");
    if (target.is_numbers() != (shape_.numbers != nullptr) ||
        (target.is_numbers() && target.outputs != shape_.outputs()))
      throw std::invalid_argument("y is not as the pass knows it.");
    check_labels(target.label, shape_.classes);
    const std::vector<double> values = values_of(target, shape_.numbers.get());
    const st::TrainingRows<Matrix<T>> rows{
        {X.data(), static_cast<int64_t>(X.shape(0)), static_cast<int64_t>(X.shape(1)), X.stride(0), X.stride(1)},
        target.label,
        target.weight,
        shape_.classes,
        values,
        shape_.outputs()};
    std::vector<st::RouteSums<T>> adders(to_size(threads), st::RouteSums<T>(route_, frame_, shape_));
    const int64_t first_row = first_block * kBlockRows;
    return sum_over(X, first_block, route_.size(shape_), threads,
                    [&](int64_t begin, int64_t end, int thread, double* out) {
                      adders[to_size(thread)].add(rows, begin, end, first_row, out);
                    });
  }

 private:
  st::Frame frame_;
  st::SumShape shape_;
  st::Route route_;
};

// Growth on the side of the sums.
class StochasticGrowth {
 public:
  StochasticGrowth(const StochasticSettings& settings, const In1<double>& shift, const In1<double>& factor,
                   int64_t columns, int64_t rows)
      : settings_(settings),
        growth_(make_frame(columns, settings.frame, shift, factor),
                {settings.target.classes, columns, settings.numbers}, rows, settings.spec.criterion,
                settings.grow.solve, settings.spec.limits, settings.spec.order) {}

  // (weights, links, cuts, flags, means) of the next pass, or None.
  nb::object ask(int64_t most_numbers) {
    const auto route = growth_.ask(most_numbers);
    if (!route) return nb::none();
    std::vector<double> weights, cuts, means = route->root_mean;
    std::vector<int32_t> links;
    std::vector<uint8_t> flags;
    for (const st::RouteStep& step : route->steps) {
      weights.insert(weights.end(), step.weights.begin(), step.weights.end());
      cuts.insert(cuts.end(), {step.division.cut_left, step.division.cut_right});
      links.insert(links.end(), {step.left, step.right});
      for (const bool flag : {step.division.sum_left, step.division.sum_right, step.is_wanted, !step.mean[0].empty(),
                              !step.mean[1].empty()})
        flags.push_back(static_cast<uint8_t>(flag));
      for (const auto& mean : step.mean) means.insert(means.end(), mean.begin(), mean.end());
    }
    const size_t n = route->steps.size(), width = to_size(growth_.frame().width());
    const size_t centred = means.size() / width;
    return nb::make_tuple(give(std::move(weights), {n, width}), give(std::move(links), {n, 2}),
                          give(std::move(cuts), {n, 2}), give(std::move(flags), {n, 5}),
                          give(std::move(means), {centred, width}));
  }

  void tell(const In1<double>& sums) {
    run(settings_.grow.solve.search == st::Search::exact, nb::none(), [&](Control& control) {
      Pool pool(settings_.spec.threads);
      growth_.tell(view(sums), pool, control);
    });
  }

  nb::dict tree() {
    const st::Frame& frame = growth_.frame();
    nb::dict out = to_dict(flatten(growth_.grower(), settings_.spec.criterion), frame.width());
    out["shift"] = give(std::vector<double>(frame.shift));
    out["scale"] = give(std::vector<double>(frame.factor));
    out["constant"] = frame.constant;
    return out;
  }

 private:
  StochasticSettings settings_;
  st::BatchGrowth growth_;
};

template <class T>
void bind_sums(nb::module_& module, nb::class_<StochasticPass>& pass) {
  module.def("survey_columns", &survey<T>, nb::arg("X").noconvert(), nb::arg("threads"));
  module.def("sum_means", &sum_means<T>, nb::arg("X").noconvert(), nb::arg("weight").noconvert(), nb::arg("unit"),
             nb::arg("first_block"), nb::arg("threads"));
  module.def("sum_squares", &sum_squares<T>, nb::arg("X").noconvert(), nb::arg("weight").noconvert(), nb::arg("unit"),
             nb::arg("columns").noconvert(), nb::arg("first_block"), nb::arg("threads"));
  pass.def("sums", &StochasticPass::sums<T>, nb::arg("X").noconvert(), nb::arg("target"), nb::arg("first_block"),
           nb::arg("threads"));
}

void make_bins(Bins* self, const In1<int64_t>& start, const In1<double>& first, const In1<double>& last,
               const In1<uint8_t>& exact, const In1<uint8_t>& category, bool is_float) {
  const auto columns = signed_size(start) - 1;
  if (columns < 1 || signed_size(exact) != columns || category.size() != exact.size() ||
      signed_size(first) != start.data()[columns] || last.size() != first.size())
    throw std::invalid_argument("the arrays of bins do not fit together.");
  new (self) Bins{{start.data(), start.data() + start.size()},
                  copy(first),
                  copy(last),
                  {exact.data(), exact.data() + exact.size()},
                  {category.data(), category.data() + category.size()},
                  is_float};
}

// Growth of an axis tree on the side of the histograms.
class AxisGrowth {
 public:
  AxisGrowth(const Bins& bins, int32_t classes, const NumberRange& range, const GrowthSpec& spec, int64_t max_features)
      : columns_(signed_size(bins.start) - 1),
        criterion_(spec.criterion),
        growth_(bins, classes, range, criterion_, spec.limits, spec.order, {max_features, spec.seed}) {}

  // (feature, position, missing_left, steps, histograms, starts and bits of category sets, grids) of the next pass, or
  // None.
  nb::object ask(int64_t most_numbers) {
    const auto route = growth_.ask(most_numbers);
    if (!route) return nb::none();
    std::vector<int32_t> feature, next, histogram;
    std::vector<int64_t> position, category_start{0};
    std::vector<uint8_t> missing_left, category_bits;
    for (const BinStep& step : route->steps) {
      feature.push_back(step.feature);
      position.push_back(step.position);
      missing_left.push_back(step.missing_left);
      next.insert(next.end(), {step.step[0], step.step[1]});
      histogram.insert(histogram.end(), {step.histogram[0], step.histogram[1]});
      category_bits.insert(category_bits.end(), step.categories.begin(), step.categories.end());
      category_start.push_back(signed_size(category_bits));
    }
    const size_t n = feature.size();
    return nb::make_tuple(give(std::move(feature)), give(std::move(position)), give(std::move(missing_left)),
                          give(std::move(next), {n, 2}), give(std::move(histogram), {n, 2}),
                          give(std::move(category_start)), give(std::move(category_bits)), give_grids(route->grids));
  }

  void tell(const In1<double>& histograms, const In1<double>& extremes) {
    nb::gil_scoped_release release;
    growth_.tell(view(histograms), view(extremes));
  }

  nb::dict tree() { return to_dict(flatten(growth_.grower(), criterion_), columns_); }

 private:
  int64_t columns_;
  AnyCriterion criterion_;
  AxisBatchGrowth growth_;
};

}  // namespace

void bind_batches(nb::module_& module) {
  module.attr("BLOCK_ROWS") = kBlockRows;
  nb::class_<NumberRange>(module, "NumberRange", "Range of each output, total weight; of classes nothing.")
      .def(
          "__init__",
          [](NumberRange* self, const In1<double>& low, const In1<double>& high, double weight, bool whole_weights) {
            if (low.size() != high.size()) throw std::invalid_argument("low and high differ in length.");
            Outputs outputs(low.size());
            for (size_t j = 0; j < low.size(); ++j) {
              outputs[j] = {low.data()[j], high.data()[j]};
              if (!std::isfinite(outputs[j].low) || !std::isfinite(outputs[j].high) || outputs[j].low > outputs[j].high)
                throw std::invalid_argument("the range of an output is not one of finite numbers.");
            }
            if (low.size() != 0 && !(weight > 0 && std::isfinite(weight)))
              throw std::invalid_argument("the weight of the rows must be positive and finite.");
            new (self) NumberRange{std::move(outputs), weight, whole_weights};
          },
          nb::arg("low").noconvert(), nb::arg("high").noconvert(), nb::arg("weight"), nb::arg("whole_weights"));
  auto pass = nb::class_<StochasticPass>(module, "StochasticPass");
  pass.def(nb::init<const st::FrameSettings&, const ShiftScale&, int64_t, int32_t, const NumberRange&,
                    const StochasticRoute&>(),
           nb::arg("frame"), nb::arg("scaling").noconvert(), nb::arg("columns"), nb::arg("classes"), nb::arg("range"),
           nb::arg("route").noconvert());
  bind_sums<float>(module, pass);
  bind_sums<double>(module, pass);
  nb::class_<StochasticGrowth>(module, "StochasticGrowth")
      .def(nb::init<const StochasticSettings&, const In1<double>&, const In1<double>&, int64_t, int64_t>(),
           nb::arg("settings"), nb::arg("shift").noconvert(), nb::arg("factor").noconvert(), nb::arg("columns"),
           nb::arg("rows"))
      .def("ask", &StochasticGrowth::ask, nb::arg("most_numbers"))
      .def("tell", &StochasticGrowth::tell, nb::arg("sums").noconvert())
      .def("tree", &StochasticGrowth::tree);
  nb::class_<Bins>(module, "ColumnBins", "Bins of all columns, one after the other.")
      .def("__init__", &make_bins, nb::arg("start").noconvert(), nb::arg("first").noconvert(),
           nb::arg("last").noconvert(), nb::arg("exact").noconvert(), nb::arg("category").noconvert(),
           nb::arg("is_float"));
  nb::class_<AxisGrowth>(module, "AxisGrowth")
      .def(nb::init<const Bins&, int32_t, const NumberRange&, const GrowthSpec&, int64_t>(), nb::arg("bins"),
           nb::arg("classes"), nb::arg("range"), nb::arg("spec"), nb::arg("max_features"))
      .def("ask", &AxisGrowth::ask, nb::arg("most_numbers"))
      .def("tell", &AxisGrowth::tell, nb::arg("histograms").noconvert(), nb::arg("extremes").noconvert())
      .def("tree", &AxisGrowth::tree);
  module.def("reach_sums", &sum_reach, nb::arg("reach").noconvert(), nb::arg("target").noconvert(),
             nb::arg("weight").noconvert(), nb::arg("first_block"), nb::arg("threads"));
  module.def(
      "per_unit",
      [](const In1<double>& low, const In1<double>& high) { return give(st::units_of({copy(low), copy(high)})); },
      nb::arg("low").noconvert(), nb::arg("high").noconvert());
  module.def(
      "reciprocal_deviations",
      [](const In1<double>& variance, const In1<double>& low, const In1<double>& high, const In1<double>& centre,
         const In1<double>& unit) {
        return give(st::to_factor(copy(variance), {copy(low), copy(high)}, {copy(centre), copy(unit)}));
      },
      nb::arg("variance").noconvert(), nb::arg("low").noconvert(), nb::arg("high").noconvert(),
      nb::arg("centre").noconvert(), nb::arg("unit").noconvert());
  const auto bind_units = [&](const char* name, st::ColumnUnits (*find)(const st::Range&)) {
    module.def(
        name,
        [find](const In1<double>& low, const In1<double>& high) {
          st::ColumnUnits units = find({copy(low), copy(high)});
          return nb::make_tuple(give(std::move(units.centre)), give(std::move(units.unit)));
        },
        nb::arg("low").noconvert(), nb::arg("high").noconvert());
  };
  bind_units("column_units", st::find_units);
  bind_units("common_unit", st::common_unit);
}

}  // namespace boscage::bind
