// Weighted oblique trees in batches: passes over rows on one side, growth from reduced sums on the other.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <memory>

#include "base/index.hpp"
#include "bind/arrays.hpp"
#include "bind/grow/grow.hpp"
#include "bind/grow/stochastic.hpp"
#include "bind/grow/target.hpp"
#include "bind/passes/parts.hpp"
#include "bind/run.hpp"
#include "families/oblique/batches.hpp"
#include "families/oblique/pass.hpp"
#include "families/oblique/wodt.hpp"

namespace boscage::bind {

namespace {

using Places = nb::ndarray<int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Centre and reciprocal scale, smallest and largest number of each column.
using ColumnFrame = std::tuple<In1<double>, In1<double>, In1<double>, In1<double>>;

// A route and its tasks, as ObliqueGrowth.ask gives them.
using ObliqueRoute = std::tuple<In2<double>, In1<double>, In2<int32_t>, In1<int32_t>, In2<int32_t>, In1<int32_t>,
                                In1<uint8_t>, In1<int32_t>, In2<double>, In1<double>, In1<int64_t>>;

template <class T>
LabelledRows<T> labelled_rows(const Strided2<T>& X, const Target& target) {
  if (target.rows() != static_cast<int64_t>(X.shape(0)))
    throw std::invalid_argument("X, y and weight have different lengths.");
  check_labels(target.label, target.classes);
  const Matrix<T> matrix{X.data(), static_cast<int64_t>(X.shape(0)), static_cast<int64_t>(X.shape(1)), X.stride(0),
                         X.stride(1)};
  return {matrix, target.label, target.weight, target.number};
}

// Of numbers the weight, a sum for each output and a report, of classes their weights.
size_t sums_of(const Target& target, const NumberFacts* numbers) {
  if (target.is_numbers() != (numbers != nullptr) ||
      (numbers != nullptr && to_size(target.outputs) != numbers->outputs.size()))
    throw std::invalid_argument("y is not as the pass knows it.");
  return target.is_numbers() ? to_size(target.outputs) + 2 : to_size(target.classes);
}

template <class T>
Parts sum_columns(const Strided2<T>& X, const Target& target, const std::tuple<In1<double>, In1<double>>& units,
                  const NumberRange& range, int64_t first_block, int threads) {
  const auto rows = labelled_rows(X, target);
  const auto& [shift, per_unit] = units;
  const auto numbers = number_facts(range, SquaredError{});
  if (shift.size() != X.shape(1) || per_unit.size() != X.shape(1))
    throw std::invalid_argument("shift and per_unit need one number per column.");
  const size_t size = 3 * X.shape(1) + sums_of(target, numbers.get());
  const ColumnUnits how{view(shift), view(per_unit), numbers.get()};
  return sum_over(X, first_block, size, threads,
                  [&](int64_t begin, int64_t end, int, double* out) { add_columns(rows, begin, end, how, out); });
}

Wanted make_wanted(uint8_t code) {
  if (code > static_cast<uint8_t>(Wanted::cut)) throw std::invalid_argument("a task of a pass is not known.");
  return static_cast<Wanted>(code);
}

// A pass on the side of the rows, made of plain arrays; what does not fit together is refused.
class BoundObliquePass {
 public:
  BoundObliquePass(const In1<double>& mean, const In1<double>& centre, const In1<double>& inverse,
                   const NumberRange& range, const ObliqueRoute& route)
      : classes_(static_cast<int32_t>(std::get<4>(route).shape(1))) {
    const auto& [weights, thresholds, links, places, numbers, leaf_places, wanted, leaves, vectors, edges, edge_start] =
        route;
    pass_.scaling = {copy(mean), std::vector<double>(mean.size(), 0.0), copy(inverse)};
    pass_.scaling.centre = copy(centre);
    pass_.numbers = number_facts(range, SquaredError{});
    const size_t d = mean.size(), steps = thresholds.size(), tasks = wanted.size();
    if (inverse.size() != d || centre.size() != d || weights.shape(0) != steps ||
        (steps > 0 && weights.shape(1) != d) || links.shape(0) != steps || links.shape(1) != 2 ||
        places.size() != steps || leaf_places.size() != numbers.shape(0) || leaves.size() != tasks ||
        vectors.shape(0) != tasks || vectors.shape(1) != d + 1 || edge_start.size() != tasks + 1 ||
        edge_start.data()[0] != 0 || edge_start.data()[tasks] != signed_size(edges))
      throw std::invalid_argument("the arrays of a pass do not fit together.");
    add_steps(weights, thresholds, links, places, static_cast<int32_t>(numbers.shape(0)));
    add_leaves(numbers, leaf_places);
    for (size_t i = 0; i < tasks; ++i) {
      const int32_t leaf = leaves.data()[i], before = i > 0 ? leaves.data()[i - 1] : 0;
      if (leaf < before || leaf >= static_cast<int32_t>(pass_.leaves.size()))
        throw std::invalid_argument("a task of a pass has no leaf.");
      const int64_t begin = edge_start.data()[i], end = edge_start.data()[i + 1];
      if (end < begin || end > signed_size(edges) || !std::is_sorted(edges.data() + begin, edges.data() + end))
        throw std::invalid_argument("the edges of a task are not in order.");
      const double* vector = vectors.data() + i * (d + 1);
      pass_.tasks.push_back(
          {make_wanted(wanted.data()[i]), leaf, {vector, vector + d + 1}, {edges.data() + begin, edges.data() + end}});
    }
  }

  // `places` is empty, or remembers where each row has got to.
  template <class T>
  Parts sums(const Strided2<T>& X, const Target& target, const Places& places, int64_t first_block, int threads) const {
    sums_of(target, pass_.numbers.get());
    if (target.classes != classes_) throw std::invalid_argument("y has not the classes of the pass.");
    const auto rows = labelled_rows(X, target);
    if (static_cast<int64_t>(X.shape(1)) != pass_.columns() || (places.size() != 0 && places.size() != X.shape(0)))
      throw std::invalid_argument("X does not have the columns of the pass, or places not its rows.");
    int32_t* known = places.size() == 0 ? nullptr : places.data();
    for (size_t i = 0; i < places.size(); ++i)
      if (known[i] < 0) throw std::invalid_argument("a row has no place.");
    std::vector<std::unique_ptr<ObliqueBlocks<T>>> blocks(to_size(std::max(threads, 1)));
    return sum_over(X, first_block, pass_.size(), threads, [&](int64_t begin, int64_t end, int thread, double* out) {
      auto& mine = blocks[to_size(thread)];
      if (mine == nullptr) mine = std::make_unique<ObliqueBlocks<T>>(pass_);
      mine->add(rows, begin, end, known, out);
    });
  }

 private:
  void add_steps(const In2<double>& weights, const In1<double>& thresholds, const In2<int32_t>& links,
                 const In1<int32_t>& places, int32_t leaves) {
    const size_t d = weights.shape(1), n = thresholds.size();
    for (size_t i = 0; i < n; ++i) {
      ObliqueStep step{{weights.data() + i * d, weights.data() + (i + 1) * d},
                       thresholds.data()[i],
                       {links(i, 0), links(i, 1)},
                       places.data()[i]};
      for (const int32_t next : step.next) {
        const bool is_step = next > static_cast<int32_t>(i) && next < static_cast<int32_t>(n);
        const bool is_leaf = next <= link_to_leaf(0) && next > link_to_leaf(leaves);
        if ((!is_step && !is_leaf && next != kNowhere) || step.place < 0)
          throw std::invalid_argument("a step of a pass leads nowhere.");
      }
      pass_.steps.push_back(std::move(step));
    }
  }

  void add_leaves(const In2<int32_t>& numbers, const In1<int32_t>& places) {
    for (size_t i = 0; i < numbers.shape(0); ++i) {
      const int32_t* of_class = numbers.data() + i * numbers.shape(1);
      ObliqueLeaf leaf{{of_class, of_class + numbers.shape(1)}, 0, places.data()[i]};
      if (leaf.place < 0) throw std::invalid_argument("a leaf of a pass has no place.");
      for (const int32_t number : leaf.number) {
        leaf.classes += number >= 0;
        if (number < -1 || number >= classes_) throw std::invalid_argument("a leaf is not valid.");
      }
      for (const int32_t number : leaf.number)
        if (number >= leaf.classes) throw std::invalid_argument("the classes of a leaf are not numbered.");
      pass_.leaves.push_back(std::move(leaf));
    }
  }

  int32_t classes_;
  ObliquePass pass_;
};

// A pass as the arrays that BoundObliquePass takes, but for the scaling.
nb::tuple give_pass(ObliquePass pass) {
  const size_t d = to_size(pass.columns()), classes = pass.leaves.front().number.size();
  std::vector<double> weights, thresholds, vectors, edges;
  std::vector<int32_t> links, places, numbers, leaf_places, leaves;
  std::vector<uint8_t> wanted;
  std::vector<int64_t> edge_start{0};
  for (const ObliqueStep& step : pass.steps) {
    weights.insert(weights.end(), step.weights.begin(), step.weights.end());
    thresholds.push_back(step.threshold);
    links.insert(links.end(), {step.next[0], step.next[1]});
    places.push_back(step.place);
  }
  for (const ObliqueLeaf& leaf : pass.leaves) {
    numbers.insert(numbers.end(), leaf.number.begin(), leaf.number.end());
    leaf_places.push_back(leaf.place);
  }
  for (ObliqueTask& task : pass.tasks) {
    task.vector.resize(d + 1, 0.0);
    vectors.insert(vectors.end(), task.vector.begin(), task.vector.end());
    edges.insert(edges.end(), task.edges.begin(), task.edges.end());
    edge_start.push_back(signed_size(edges));
    wanted.push_back(static_cast<uint8_t>(task.wanted));
    leaves.push_back(task.leaf);
  }
  const size_t n = pass.steps.size(), m = pass.tasks.size();
  return nb::make_tuple(give(std::move(weights), {n, d}), give(std::move(thresholds)), give(std::move(links), {n, 2}),
                        give(std::move(places)), give(std::move(numbers), {pass.leaves.size(), classes}),
                        give(std::move(leaf_places)), give(std::move(wanted)), give(std::move(leaves)),
                        give(std::move(vectors), {m, d + 1}), give(std::move(edges)), give(std::move(edge_start)));
}

class BoundObliqueGrowth {
 public:
  // `root` holds the weight of each class; of numbers the weight, the sum of each output and the report.
  BoundObliqueGrowth(const ColumnFrame& columns, std::tuple<In1<double>, int64_t> root, const NumberRange& range,
                     const WodtOptions& options, int64_t max_bins, const GrowthSpec& spec)
      : threads_(spec.threads) {
    const auto& [centre, inverse, low, high] = columns;
    const auto& [sums, rows] = root;
    const size_t d = centre.size();
    if (d < 1 || inverse.size() != d || low.size() != d || high.size() != d || max_bins < 2 || sums.size() < 1)
      throw std::invalid_argument("the arrays of a growth do not fit together.");
    auto numbers = number_facts(range, spec.criterion);
    if (is_of_numbers(spec.criterion) != (numbers != nullptr))
      throw std::invalid_argument("the criterion is not one of this target");
    DescentFrame frame{
        {copy(centre), std::vector<double>(d, 0.0), copy(inverse)},
        copy(low),
        copy(high),
        spec.criterion,
        spec.limits,
        {options.scale, options.l2, options.n_init, options.recut, max_bins, options.seed, options.lbfgs},
        numbers};
    if (numbers) frame.limits.min_drop = in_units(spec.criterion, frame.limits.min_drop, -numbers->grid->exponent);
    growth_.emplace(std::move(frame), root_of({sums.data(), sums.size()}, rows, numbers.get()), spec.order);
  }

  nb::object ask(int64_t most_numbers) {
    auto pass = growth_->ask(most_numbers);
    if (!pass) return nb::none();
    return give_pass(std::move(*pass));
  }

  void tell(const In1<double>& sums) {
    nb::gil_scoped_release release;
    Pool pool(threads_);
    growth_->tell(view(sums), pool);
  }

  int64_t searched() const { return growth_->searched(); }

  nb::dict tree() {
    const DescentFrame& frame = growth_->frame();
    return to_dict(flatten(growth_->grower(), frame.criterion), static_cast<int64_t>(frame.columns()));
  }

 private:
  static Side root_of(std::span<const double> found, int64_t rows, const NumberFacts* numbers) {
    if (numbers == nullptr) return {rows, Sums(found)};
    NumberSums sums(numbers->outputs.size());
    if (found.size() != sums.sums.size() + 1) throw std::invalid_argument("the root does not have the sums of y.");
    sums.rows = rows;
    std::copy(found.begin(), found.end() - 1, sums.sums.begin());
    sums.report = found.back();
    sums.outputs = numbers->outputs;
    return number_side(std::move(sums), numbers->grid);
  }

  int threads_;
  std::optional<ObliqueBatchGrowth> growth_;
};

template <class T>
void bind_rows(nb::module_& module, nb::class_<BoundObliquePass>& pass) {
  module.def("sum_columns", &sum_columns<T>, nb::arg("X").noconvert(), nb::arg("target"), nb::arg("units"),
             nb::arg("numbers"), nb::arg("first_block"), nb::arg("threads"));
  pass.def("sums", &BoundObliquePass::sums<T>, nb::arg("X").noconvert(), nb::arg("target"),
           nb::arg("places").noconvert(), nb::arg("first_block"), nb::arg("threads"));
}

}  // namespace

void bind_oblique_batches(nb::module_& module) {
  auto pass = nb::class_<BoundObliquePass>(module, "ObliquePass");
  pass.def(
      nb::init<const In1<double>&, const In1<double>&, const In1<double>&, const NumberRange&, const ObliqueRoute&>(),
      nb::arg("mean").noconvert(), nb::arg("centre").noconvert(), nb::arg("inverse").noconvert(), nb::arg("numbers"),
      nb::arg("route").noconvert());
  bind_rows<float>(module, pass);
  bind_rows<double>(module, pass);
  nb::class_<BoundObliqueGrowth>(module, "ObliqueGrowth")
      .def(nb::init<const ColumnFrame&, std::tuple<In1<double>, int64_t>, const NumberRange&, const WodtOptions&,
                    int64_t, const GrowthSpec&>(),
           nb::arg("columns").noconvert(), nb::arg("root"), nb::arg("numbers"), nb::arg("options"), nb::arg("max_bins"),
           nb::arg("spec"))
      .def("ask", &BoundObliqueGrowth::ask, nb::arg("most_numbers"))
      .def("tell", &BoundObliqueGrowth::tell, nb::arg("sums").noconvert())
      .def("searched", &BoundObliqueGrowth::searched)
      .def("tree", &BoundObliqueGrowth::tree);
}

}  // namespace boscage::bind
