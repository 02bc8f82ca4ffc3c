// Weighted oblique trees in batches: passes over rows on one side, growth from reduced sums on the other.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <memory>

#include "bind/arrays.hpp"
#include "bind/grow/grow.hpp"
#include "bind/passes/parts.hpp"
#include "bind/run.hpp"
#include "families/oblique/batches.hpp"
#include "families/oblique/pass.hpp"

namespace boscage::bind {

namespace {

using Places = nb::ndarray<int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
LabelledRows<T> labelled_rows(const Strided2<T>& X, const In1<int32_t>& y, const In1<double>& weight, int32_t classes) {
  if (y.size() != X.shape(0) || (weight.size() != 0 && weight.size() != X.shape(0)))
    throw std::invalid_argument("X, y and weight have different lengths.");
  check_labels(view(y), classes);
  const Matrix<T> matrix{X.data(), static_cast<int64_t>(X.shape(0)), static_cast<int64_t>(X.shape(1)), X.stride(0),
                         X.stride(1)};
  return {matrix, view(y), view(weight)};
}

template <class T>
Parts sum_columns(const Strided2<T>& X, const In1<int32_t>& y, const In1<double>& weight, const In1<double>& shift,
                  const In1<double>& per_unit, int32_t classes, int64_t first_block, int threads) {
  const auto rows = labelled_rows(X, y, weight, classes);
  if (shift.size() != X.shape(1) || per_unit.size() != X.shape(1))
    throw std::invalid_argument("shift and per_unit need one number per column.");
  const size_t size = 3 * X.shape(1) + static_cast<size_t>(classes);
  return sum_over(X, first_block, size, threads, [&](int64_t begin, int64_t end, int, double* out) {
    add_columns(rows, begin, end, view(shift), view(per_unit), out);
  });
}

Wanted make_wanted(uint8_t code) {
  if (code > static_cast<uint8_t>(Wanted::cut)) throw std::invalid_argument("a task of a pass is not known.");
  return static_cast<Wanted>(code);
}

// A pass on the side of the rows, made of plain arrays; what does not fit together is refused.
class OnRows {
 public:
  OnRows(const In1<double>& mean, const In1<double>& centre, const In1<double>& inverse, const In2<double>& weights,
         const In1<double>& thresholds, const In2<int32_t>& links, const In1<int32_t>& places,
         const In2<int32_t>& numbers, const In1<int32_t>& leaf_places, const In1<uint8_t>& wanted,
         const In1<int32_t>& leaves, const In2<double>& vectors, const In1<double>& edges,
         const In1<int64_t>& edge_start)
      : classes_(static_cast<int32_t>(numbers.shape(1))) {
    pass_.scaling = {copy(mean), std::vector<double>(mean.size(), 0.0), copy(inverse)};
    pass_.scaling.centre = copy(centre);
    const size_t d = mean.size(), steps = thresholds.size(), tasks = wanted.size();
    if (inverse.size() != d || centre.size() != d || weights.shape(0) != steps ||
        (steps > 0 && weights.shape(1) != d) || links.shape(0) != steps || links.shape(1) != 2 ||
        places.size() != steps || leaf_places.size() != numbers.shape(0) || leaves.size() != tasks ||
        vectors.shape(0) != tasks || vectors.shape(1) != d + 1 || edge_start.size() != tasks + 1 ||
        edge_start.data()[0] != 0 || edge_start.data()[tasks] != static_cast<int64_t>(edges.size()))
      throw std::invalid_argument("the arrays of a pass do not fit together.");
    add_steps(weights, thresholds, links, places, static_cast<int32_t>(numbers.shape(0)));
    add_leaves(numbers, leaf_places);
    for (size_t i = 0; i < tasks; ++i) {
      const int32_t leaf = leaves.data()[i], before = i > 0 ? leaves.data()[i - 1] : 0;
      if (leaf < before || leaf >= static_cast<int32_t>(pass_.leaves.size()))
        throw std::invalid_argument("a task of a pass has no leaf.");
      const int64_t begin = edge_start.data()[i], end = edge_start.data()[i + 1];
      if (end < begin || end > static_cast<int64_t>(edges.size()) ||
          !std::is_sorted(edges.data() + begin, edges.data() + end))
        throw std::invalid_argument("the edges of a task are not in order.");
      const double* vector = vectors.data() + i * (d + 1);
      pass_.tasks.push_back(
          {make_wanted(wanted.data()[i]), leaf, {vector, vector + d + 1}, {edges.data() + begin, edges.data() + end}});
    }
  }

  // `places` is empty, or remembers where each row has got to.
  template <class T>
  Parts sums(const Strided2<T>& X, const In1<int32_t>& y, const In1<double>& weight, const Places& places,
             int64_t first_block, int threads) const {
    const auto rows = labelled_rows(X, y, weight, classes_);
    if (static_cast<int64_t>(X.shape(1)) != pass_.columns() || (places.size() != 0 && places.size() != X.shape(0)))
      throw std::invalid_argument("X does not have the columns of the pass, or places not its rows.");
    int32_t* known = places.size() == 0 ? nullptr : places.data();
    for (size_t i = 0; i < places.size(); ++i)
      if (known[i] < 0) throw std::invalid_argument("a row has no place.");
    std::vector<std::unique_ptr<ObliqueBlocks<T>>> blocks(static_cast<size_t>(std::max(threads, 1)));
    return sum_over(X, first_block, pass_.size(), threads, [&](int64_t begin, int64_t end, int thread, double* out) {
      auto& mine = blocks[static_cast<size_t>(thread)];
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
      for (const int32_t number : leaf.number) {
        leaf.classes += number >= 0;
        if (number < -1 || number >= classes_ || leaf.place < 0) throw std::invalid_argument("a leaf is not valid.");
      }
      for (const int32_t number : leaf.number)
        if (number >= leaf.classes) throw std::invalid_argument("the classes of a leaf are not numbered.");
      pass_.leaves.push_back(std::move(leaf));
    }
  }

  int32_t classes_;
  ObliquePass pass_;
};

// A pass as the arrays that OnRows takes, but for the scaling.
nb::tuple give_pass(ObliquePass pass) {
  const size_t d = static_cast<size_t>(pass.columns()), classes = pass.leaves.front().number.size();
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
    edge_start.push_back(static_cast<int64_t>(edges.size()));
    wanted.push_back(static_cast<uint8_t>(task.wanted));
    leaves.push_back(task.leaf);
  }
  const size_t n = pass.steps.size(), m = pass.tasks.size();
  return nb::make_tuple(give(std::move(weights), {n, d}), give(std::move(thresholds)), give(std::move(links), {n, 2}),
                        give(std::move(places)), give(std::move(numbers), {pass.leaves.size(), classes}),
                        give(std::move(leaf_places)), give(std::move(wanted)), give(std::move(leaves)),
                        give(std::move(vectors), {m, d + 1}), give(std::move(edges)), give(std::move(edge_start)));
}

class OfSums {
 public:
  OfSums(const In1<double>& centre, const In1<double>& inverse, const In1<double>& low, const In1<double>& high,
         const In1<double>& root, int64_t rows, const std::string& scale, double l2, int n_init, bool recut,
         int max_iter, double tolerance, int64_t max_bins, uint64_t seed, const std::string& criterion_name,
         double criterion_parameter, const In1<double>& criterion_table, const std::string& order, const Limits& limits,
         int threads)
      : classes_(static_cast<int32_t>(root.size())), threads_(threads) {
    const size_t d = centre.size();
    if (d < 1 || inverse.size() != d || low.size() != d || high.size() != d || max_bins < 2 || classes_ < 1)
      throw std::invalid_argument("the arrays of a growth do not fit together.");
    DescentOptions options{column_scale(scale), l2, n_init, recut, max_bins, seed, {}};
    options.lbfgs.max_iter = max_iter;
    options.lbfgs.tolerance = tolerance;
    DescentFrame frame{{copy(centre), std::vector<double>(d, 0.0), copy(inverse)},
                       copy(low),
                       copy(high),
                       make_criterion(criterion_name, criterion_parameter, view(criterion_table)),
                       limits,
                       options};
    growth_.emplace(std::move(frame), Side{rows, copy(root)}, make_order(order));
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
  int32_t classes_;
  int threads_;
  std::optional<ObliqueBatchGrowth> growth_;
};

template <class T>
void bind_rows(nb::module_& module, nb::class_<OnRows>& pass) {
  module.def("sum_columns", &sum_columns<T>, nb::arg("X").noconvert(), nb::arg("y").noconvert(),
             nb::arg("weight").noconvert(), nb::arg("shift").noconvert(), nb::arg("per_unit").noconvert(),
             nb::arg("classes"), nb::arg("first_block"), nb::arg("threads"));
  pass.def("sums", &OnRows::sums<T>, nb::arg("X").noconvert(), nb::arg("y").noconvert(), nb::arg("weight").noconvert(),
           nb::arg("places").noconvert(), nb::arg("first_block"), nb::arg("threads"));
}

}  // namespace

void bind_oblique_batches(nb::module_& module) {
  auto pass = nb::class_<OnRows>(module, "ObliquePass");
  pass.def(
      nb::init<const In1<double>&, const In1<double>&, const In1<double>&, const In2<double>&, const In1<double>&,
               const In2<int32_t>&, const In1<int32_t>&, const In2<int32_t>&, const In1<int32_t>&, const In1<uint8_t>&,
               const In1<int32_t>&, const In2<double>&, const In1<double>&, const In1<int64_t>&>(),
      nb::arg("mean").noconvert(), nb::arg("centre").noconvert(), nb::arg("inverse").noconvert(),
      nb::arg("weights").noconvert(), nb::arg("thresholds").noconvert(), nb::arg("links").noconvert(),
      nb::arg("places").noconvert(), nb::arg("numbers").noconvert(), nb::arg("leaf_places").noconvert(),
      nb::arg("wanted").noconvert(), nb::arg("leaves").noconvert(), nb::arg("vectors").noconvert(),
      nb::arg("edges").noconvert(), nb::arg("edge_start").noconvert());
  bind_rows<float>(module, pass);
  bind_rows<double>(module, pass);
  nb::class_<OfSums>(module, "ObliqueGrowth")
      .def(nb::init<const In1<double>&, const In1<double>&, const In1<double>&, const In1<double>&, const In1<double>&,
                    int64_t, const std::string&, double, int, bool, int, double, int64_t, uint64_t, const std::string&,
                    double, const In1<double>&, const std::string&, const Limits&, int>(),
           nb::arg("centre").noconvert(), nb::arg("inverse").noconvert(), nb::arg("low").noconvert(),
           nb::arg("high").noconvert(), nb::arg("root").noconvert(), nb::arg("rows"), nb::arg("scale"), nb::arg("l2"),
           nb::arg("n_init"), nb::arg("recut"), nb::arg("max_iter"), nb::arg("tolerance"), nb::arg("max_bins"),
           nb::arg("seed"), nb::arg("criterion_name"), nb::arg("criterion_parameter"),
           nb::arg("criterion_table").noconvert(), nb::arg("order"), nb::arg("limits"), nb::arg("threads"))
      .def("ask", &OfSums::ask, nb::arg("most_numbers"))
      .def("tell", &OfSums::tell, nb::arg("sums").noconvert())
      .def("searched", &OfSums::searched)
      .def("tree", &OfSums::tree);
}

}  // namespace boscage::bind
