// Many trees for Python, and which rows each of them is grown on.
#include "predict/forest.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "bind/bound_predictor.hpp"
#include "bind/run.hpp"
#include "data/bags.hpp"
#include "predict/leaf_rows.hpp"

namespace boscage::bind {

namespace {

// Keeps the Python objects of its trees alive.
struct BoundForest {
  BoundForest(const nb::list& trees, bool is_geometric) : owner(trees), core(predictors(trees), is_geometric) {}

  static std::vector<const Predictor*> predictors(const nb::list& trees) {
    std::vector<const Predictor*> found;
    for (nb::handle tree : trees) found.push_back(&nb::cast<const BoundPredictor&>(tree).core);
    return found;
  }

  nb::object owner;
  Forest core;
};

template <class Rows>
nb::object proba(const BoundForest& self, const Rows& rows, double exponent, int threads) {
  const auto n = static_cast<size_t>(rows.rows), k = static_cast<size_t>(self.core.classes());
  std::vector<double> out(n * k);
  run(self.core.is_short(rows.rows), nb::none(),
      [&](Control& control) { self.core.proba(rows, exponent, out.data(), threads, control); });
  return nb::cast(give(std::move(out), {n, k}));
}

template <class Rows>
nb::object sums(const BoundForest& self, const Rows& rows, const In2<uint8_t>& chosen, int threads) {
  const auto n = static_cast<size_t>(rows.rows), k = static_cast<size_t>(self.core.classes());
  std::vector<double> out(n * k);
  run(self.core.is_short(rows.rows), nb::none(),
      [&](Control& control) { self.core.sums(rows, {chosen.data(), chosen.size()}, out.data(), threads, control); });
  return nb::cast(give(std::move(out), {n, k}));
}

template <class Rows>
nb::object apply(const BoundForest& self, const Rows& rows, int threads) {
  const auto n = static_cast<size_t>(rows.rows), trees = static_cast<size_t>(self.core.size());
  std::vector<int64_t> out(n * trees);
  run(self.core.is_short(rows.rows), nb::none(),
      [&](Control& control) { self.core.apply(rows, out.data(), threads, control); });
  return nb::cast(give(std::move(out), {n, trees}));
}

template <class T>
void bind_dense(nb::class_<BoundForest>& cls) {
  using Self = const BoundForest&;
  using X = Strided2<T>;
  const auto x = nb::arg("X").noconvert();
  cls.def(
      "proba", [](Self self, X X_, double e, int t) { return proba(self, dense_rows(X_), e, t); }, x,
      nb::arg("exponent"), nb::arg("threads"));
  cls.def(
      "sums", [](Self self, X X_, const In2<uint8_t>& c, int t) { return sums(self, dense_rows(X_), c, t); }, x,
      nb::arg("chosen").noconvert(), nb::arg("threads"));
  cls.def("apply", [](Self self, X X_, int t) { return apply(self, dense_rows(X_), t); }, x, nb::arg("threads"));
}

template <class T, class Index>
void bind_sparse(nb::class_<BoundForest>& cls) {
  using Self = const BoundForest&;
  using D = In1<T>;
  using I = In1<Index>;
  const auto data = nb::arg("data").noconvert();
  const auto indices = nb::arg("indices").noconvert();
  const auto offsets = nb::arg("offsets").noconvert();
  cls.def(
      "proba",
      [](Self self, D d, I i, I o, double e, int t) {
        return proba(self, sparse_rows<T, Index>(d, i, o, self.core.columns()), e, t);
      },
      data, indices, offsets, nb::arg("exponent"), nb::arg("threads"));
  cls.def(
      "sums",
      [](Self self, D d, I i, I o, const In2<uint8_t>& c, int t) {
        return sums(self, sparse_rows<T, Index>(d, i, o, self.core.columns()), c, t);
      },
      data, indices, offsets, nb::arg("chosen").noconvert(), nb::arg("threads"));
  cls.def(
      "apply",
      [](Self self, D d, I i, I o, int t) {
        return apply(self, sparse_rows<T, Index>(d, i, o, self.core.columns()), t);
      },
      data, indices, offsets, nb::arg("threads"));
}

void bind_leaf_rows(nb::module_& module) {
  nb::class_<LeafRows>(module, "LeafRows", "Training rows by leaf, for quantiles of their targets.")
      .def(
          "__init__",
          [](LeafRows* self, const In2<uint32_t>& leaf, const In1<int64_t>& nodes, const In1<double>& weight) {
            if (leaf.shape(0) != nodes.size()) throw std::invalid_argument("leaf needs a line for each tree.");
            new (self) LeafRows({leaf.data(), leaf.size()}, view(nodes), view(weight));
          },
          nb::arg("leaf").noconvert(), nb::arg("nodes").noconvert(), nb::arg("weight").noconvert())
      .def(
          "quantiles",
          [](const LeafRows& self, const In2<int64_t>& reached, const In1<int64_t>& rank, const In1<double>& levels,
             int threads) {
            std::vector<int64_t> out(reached.shape(0) * levels.size());
            run(reached.size() < 1000, nb::none(), [&](Control& control) {
              self.quantiles({reached.data(), reached.size()}, view(rank), view(levels), out.data(), threads, control);
            });
            return give(std::move(out), {reached.shape(0), levels.size()});
          },
          nb::arg("reached").noconvert(), nb::arg("rank").noconvert(), nb::arg("levels").noconvert(),
          nb::arg("threads"));
}

}  // namespace

void bind_forest(nb::module_& module) {
  nb::class_<BoundForest> cls(module, "Forest", "Prediction with many trees; made of their Predictors.");
  cls.def(nb::init<const nb::list&, bool>(), nb::arg("trees"), nb::arg("is_geometric"));
  bind_dense<double>(cls);
  bind_dense<float>(cls);
  bind_sparse<double, int32_t>(cls);
  bind_sparse<float, int32_t>(cls);
  bind_sparse<double, int64_t>(cls);
  bind_sparse<float, int64_t>(cls);
  bind_leaf_rows(module);
  const auto seed = nb::arg("seed"), rows = nb::arg("rows"), draws = nb::arg("draws");
  const auto begin = nb::arg("begin"), end = nb::arg("end");
  module.def(
      "draws_by_block", [](uint64_t s, int64_t n, int64_t d) { return give(draws_by_block(s, n, d)); }, seed, rows,
      draws);
  module.def(
      "draw_with_replacement",
      [](uint64_t s, const In1<int64_t>& by_block, int64_t n, int64_t first, int64_t last) {
        return give(draw_with_replacement(s, view(by_block), {n, first, last}));
      },
      seed, nb::arg("by_block").noconvert(), rows, begin, end);
  module.def("draws_limit", [](uint64_t s, int64_t n, int64_t d) { return draws_limit(s, n, d); }, seed, rows, draws);
  module.def(
      "draw_without_replacement",
      [](uint64_t s, const BagKey& limit, int64_t n, int64_t first, int64_t last) {
        return give(draw_without_replacement(s, limit, {n, first, last}));
      },
      seed, nb::arg("limit"), rows, begin, end);
  module.def(
      "draw_exponential",
      [](uint64_t s, int64_t n, int64_t first, int64_t last) { return give(draw_exponential(s, {n, first, last})); },
      seed, rows, begin, end);
}

}  // namespace boscage::bind
