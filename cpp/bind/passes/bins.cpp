// Counting rows by bins of their columns, for axis trees over batches.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <stdexcept>

#include "base/index.hpp"
#include "bind/arrays.hpp"
#include "bind/passes/grids.hpp"
#include "bind/run.hpp"
#include "families/axis/bin_counts.hpp"

namespace boscage::bind {

namespace {

constexpr size_t kShortWork = 1 << 15;

// Feature, position, side of missing numbers, next step and histogram of each step, sets of categories, grids.
using AxisRoute = std::tuple<In1<int32_t>, In1<int64_t>, In1<uint8_t>, In2<int32_t>, In2<int32_t>, In1<int64_t>,
                             In1<uint8_t>, In2<double>>;

template <class T>
Matrix<T> matrix_of(const Strided2<T>& X) {
  return {X.data(), static_cast<int64_t>(X.shape(0)), static_cast<int64_t>(X.shape(1)), X.stride(0), X.stride(1)};
}

template <class T>
BinEdges<T> edges_of(const In1<int64_t>& start, const In1<T>& last, const Strided2<T>& X) {
  if (start.size() != X.shape(1) + 1 || start.data()[0] != 0 || start.data()[X.shape(1)] != signed_size(last))
    throw std::invalid_argument("the edges of bins do not fit the columns.");
  for (size_t j = 0; j < X.shape(1); ++j)
    if (start.data()[j] >= start.data()[j + 1]) throw std::invalid_argument("a column has no place for its bins.");
  return {{start.data(), start.data() + start.size()}, {last.data(), last.data() + last.size()}};
}

// The categories that go left by a step.
template <class T>
std::vector<uint8_t> categories_of(const BinEdges<T>& edges, int32_t column, const In1<int64_t>& start,
                                   const In1<uint8_t>& bits, size_t step) {
  const int64_t begin = start.data()[step], end = start.data()[step + 1];
  const auto at = to_size(column);
  const int64_t bytes = (edges.start[at + 1] - edges.start[at] - 1 + 7) / 8;
  if (begin < 0 || end < begin || end > signed_size(bits) || (end != begin && end - begin != bytes))
    throw std::invalid_argument("the categories of a pass do not fit together.");
  return {bits.data() + begin, bits.data() + end};
}

// The steps of a pass, as AxisGrowth.ask gives them.
template <class T>
std::vector<BinStep> steps_of(const BinEdges<T>& edges, const AxisRoute& route) {
  const auto& [feature, position, missing_left, next, histogram, category_start, category_bits, grids] = route;
  const size_t n = feature.size();
  if (position.size() != n || missing_left.size() != n || next.shape(0) != n || histogram.shape(0) != n ||
      category_start.size() != n + 1)
    throw std::invalid_argument("the arrays of a pass do not fit together.");
  std::vector<BinStep> steps(n);
  for (size_t i = 0; i < n; ++i) {
    steps[i].feature = feature.data()[i];
    steps[i].position = position.data()[i];
    steps[i].missing_left = missing_left.data()[i] != 0;
    if (steps[i].feature < 0 || steps[i].feature >= edges.columns())
      throw std::invalid_argument("a step of a pass has no column.");
    const auto column = to_size(steps[i].feature);
    if (steps[i].position < 0 || steps[i].position > edges.start[column + 1] - edges.start[column])
      throw std::invalid_argument("a step of a pass cuts behind the last bin.");
    steps[i].categories = categories_of(edges, steps[i].feature, category_start, category_bits, i);
    for (size_t side = 0; side < 2; ++side) {
      steps[i].step[side] = next(i, side);
      steps[i].histogram[side] = histogram(i, side);
      if (next(i, side) != -1 && (next(i, side) <= static_cast<int32_t>(i) || next(i, side) >= static_cast<int32_t>(n)))
        throw std::invalid_argument("a step of a pass leads nowhere.");
      // Each side of a step has one histogram at most, and they are numbered.
      if (histogram(i, side) < -1 || histogram(i, side) >= static_cast<int64_t>(2 * n))
        throw std::invalid_argument("a step of a pass has no histogram.");
    }
  }
  return steps;
}

// (sums, extremes) of the histograms of a pass.
template <class T>
nb::tuple bin_histograms(const Strided2<T>& X, const Target& target, const std::pair<In1<int64_t>, In1<T>>& bins,
                         const AxisRoute& steps, const std::pair<std::string, double>& criterion_name, int threads) {
  const BinEdges<T> edges = edges_of(bins.first, bins.second, X);
  if (target.rows() != static_cast<int64_t>(X.shape(0)))
    throw std::invalid_argument("the arrays of a pass do not fit together.");
  for (const int32_t label : target.label)
    if (label < 0 || label >= target.classes) throw std::invalid_argument("y holds a class that is not known.");
  BinRoute route;
  route.steps = steps_of(edges, steps);
  AnyCriterion criterion;
  if (target.is_numbers()) {
    criterion = make_criterion(criterion_name.first, criterion_name.second, {});
    route.grids = grids_of(std::get<7>(steps), to_size(target.outputs), criterion);
    size_t wanted = 1;
    for (const BinStep& step : route.steps)
      for (const int32_t number : step.histogram) wanted = std::max(wanted, to_size(number + 1));
    if (route.grids.size() != wanted) throw std::invalid_argument("a pass needs one grid for each histogram.");
  }
  Histograms found;
  run(X.size() <= kShortWork, nb::none(), [&](Control& control) {
    Pool pool(threads);
    found = count_bins<T>({matrix_of(X), target}, edges, route, criterion, pool, control);
  });
  return nb::make_tuple(give(std::move(found.sums)), give(std::move(found.extremes)));
}

template <class T>
nb::object bin_minima(const Strided2<T>& X, const In1<int64_t>& start, const In1<T>& last, int threads) {
  const BinEdges<T> edges = edges_of(start, last, X);
  std::vector<T> found;
  run(X.size() <= kShortWork, nb::none(), [&](Control& control) {
    Pool pool(threads);
    found = smallest_in_bins(matrix_of(X), edges, pool, control);
  });
  return nb::cast(give(std::move(found)));
}

template <class T, class Key>
nb::object digit_counts(const Strided2<T>& X, int64_t column, const In1<double>& weight, const In1<Key>& prefixes,
                        int shift) {
  if (column < 0 || column >= static_cast<int64_t>(X.shape(1)) || (weight.size() != 0 && weight.size() != X.shape(0)) ||
      shift < 0 || shift > static_cast<int>(8 * sizeof(Key)) - 8)
    throw std::invalid_argument("there are no such digits.");
  std::vector<double> found;
  {
    nb::gil_scoped_release release;
    found = count_digits<T, Key>(matrix_of(X), column, view(weight), view(prefixes), shift);
  }
  return nb::cast(give(std::move(found), {prefixes.size(), 256}));
}

template <class T, class Key>
void bind_numbers(nb::module_& module) {
  module.def("bin_histograms", &bin_histograms<T>, nb::arg("X").noconvert(), nb::arg("target"),
             nb::arg("bins").noconvert(), nb::arg("route").noconvert(), nb::arg("criterion"), nb::arg("threads"));
  module.def("bin_minima", &bin_minima<T>, nb::arg("X").noconvert(), nb::arg("start").noconvert(),
             nb::arg("last").noconvert(), nb::arg("threads"));
  module.def("digit_counts", &digit_counts<T, Key>, nb::arg("X").noconvert(), nb::arg("column"),
             nb::arg("weight").noconvert(), nb::arg("prefixes").noconvert(), nb::arg("shift"));
}

}  // namespace

void bind_bins(nb::module_& module) {
  bind_numbers<float, uint32_t>(module);
  bind_numbers<double, uint64_t>(module);
}

}  // namespace boscage::bind
