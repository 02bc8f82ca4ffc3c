// Predictor for Python: it borrows the tree's arrays and keeps them alive.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "base/index.hpp"
#include "bind/bound_predictor.hpp"
#include "bind/run.hpp"

namespace boscage::bind {

namespace {

template <class T>
using Maybe1 = std::optional<In1<T>>;

template <class T>
std::span<const T> view(const Maybe1<T>& array) {
  return array ? bind::view(*array) : std::span<const T>();
}

Routing routing_of(const std::string& name) {
  if (name == "hard") return Routing::hard;
  if (name == "linear") return Routing::linear;
  if (name == "logistic") return Routing::logistic;
  throw std::invalid_argument("routing must be 'hard', 'linear' or 'logistic', got '" + name + "'.");
}

// The arrays come as attributes of one Python object with flat arrays (see boscage._predict).
template <class T>
std::span<const T> field(nb::handle arrays, const char* name) {
  nb::object value = arrays.attr(name);
  if (value.is_none()) return {};
  In1<T> array;
  if (!nb::try_cast(value, array, false)) {
    throw std::invalid_argument(std::string("Tree array ") + name + " has the wrong type or is not contiguous.");
  }
  return bind::view(array);  // the Python object keeps the memory alive
}

}  // namespace

TreeArrays tree_arrays(nb::handle arrays) {
  TreeArrays t;
  t.children_left = field<int32_t>(arrays, "children_left");
  t.children_right = field<int32_t>(arrays, "children_right");
  t.feature = field<int32_t>(arrays, "feature");
  t.threshold = field<double>(arrays, "threshold");
  t.missing_go_to_left = field<bool>(arrays, "missing_go_to_left");
  t.category_offset = field<int64_t>(arrays, "category_offset");
  t.category_bits = field<uint8_t>(arrays, "category_bits");
  t.linear_row = field<int32_t>(arrays, "linear_row");
  t.weights.rows = nb::cast<int64_t>(arrays.attr("weight_rows"));
  t.weights.columns = nb::cast<int64_t>(arrays.attr("weight_columns"));
  t.weights.dense = field<double>(arrays, "weights");
  t.weights.data = field<double>(arrays, "weight_data");
  t.weights.indices = field<int64_t>(arrays, "weight_indices");
  t.weights.offsets = field<int64_t>(arrays, "weight_offsets");
  t.n_categories = field<int64_t>(arrays, "n_categories");
  t.value = field<double>(arrays, "value");
  t.leaf_value = field<double>(arrays, "leaf_value");
  t.coef = field<double>(arrays, "coef");
  t.intercept = field<double>(arrays, "intercept");
  t.low = field<double>(arrays, "low");
  t.high = field<double>(arrays, "high");
  t.is_numbers = nb::cast<bool>(arrays.attr("is_numbers"));
  t.classes = nb::cast<int64_t>(arrays.attr("n_classes"));
  t.routing = routing_of(nb::cast<std::string>(arrays.attr("routing")));
  t.map.fill = field<double>(arrays, "fill");
  t.map.code_offset = field<int64_t>(arrays, "code_offset");
  t.map.codes = field<double>(arrays, "codes");
  t.map.shift = field<double>(arrays, "shift");
  t.map.scale = field<double>(arrays, "scale");
  const nb::object constant = arrays.attr("constant");
  t.map.has_constant = !constant.is_none();
  if (t.map.has_constant) t.map.constant = nb::cast<double>(constant);
  t.map.unit_rows = nb::cast<bool>(arrays.attr("unit_rows"));
  return t;
}

namespace {

template <class Work>
void run_rows(const Predictor& core, int64_t rows, Work&& work) {
  run(core.is_short(rows), nb::none(), std::forward<Work>(work));
}

template <class Rows>
nb::object leaves(const BoundPredictor& self, const Rows& rows, int threads, bool want_class) {
  std::vector<int64_t> out(to_size(rows.rows));
  run_rows(self.core, rows.rows, [&](Control& control) {
    want_class ? self.core.classes(rows, out.data(), threads, control)
               : self.core.apply(rows, out.data(), threads, control);
  });
  return nb::cast(give(std::move(out)));
}

template <class Rows>
nb::object proba(const BoundPredictor& self, const Rows& rows, int threads) {
  const auto n = to_size(rows.rows), k = to_size(self.core.tree().classes);
  std::vector<double> out(n * k);
  run_rows(self.core, rows.rows, [&](Control& control) { self.core.proba(rows, out.data(), threads, control); });
  return nb::cast(give(std::move(out), {n, k}));
}

template <class Rows>
nb::object leaf_reach(const BoundPredictor& self, const Rows& rows, int threads) {
  const auto n = to_size(rows.rows), leaves = to_size(self.core.leaves());
  std::vector<double> out(n * leaves);
  run_rows(self.core, rows.rows, [&](Control& control) { self.core.leaf_reach(rows, out.data(), threads, control); });
  return nb::cast(give(std::move(out), {n, leaves}));
}

template <class Rows>
nb::tuple paths(const BoundPredictor& self, const Rows& rows, int threads, std::optional<uint64_t> seed) {
  Paths found;
  run_rows(self.core, rows.rows, [&](Control& control) {
    found = seed ? self.core.sample_paths(rows, *seed, threads, control) : self.core.paths(rows, threads, control);
  });
  return nb::make_tuple(give(std::move(found.reach)), give(std::move(found.nodes)), give(std::move(found.offsets)));
}

nb::object soft_proba(const BoundPredictor& self, const In2<double>& scores, int threads) {
  const size_t n = scores.shape(1), k = to_size(self.core.tree().classes);
  std::vector<double> out(n * k);
  run(scores.size() < 1'000'000, nb::none(), [&](Control& control) {
    self.core.soft_proba({scores.data(), scores.size()}, static_cast<int64_t>(n), out.data(), threads, control);
  });
  return nb::cast(give(std::move(out), {n, k}));
}

template <class T>
void bind_dense(nb::class_<BoundPredictor>& cls) {
  using Self = const BoundPredictor&;
  using X = Strided2<T>;
  const auto x = nb::arg("X").noconvert();
  cls.def(
      "apply", [](Self self, X X_, int t) { return leaves(self, dense_rows(X_), t, false); }, x, nb::arg("threads"));
  cls.def(
      "classes", [](Self self, X X_, int t) { return leaves(self, dense_rows(X_), t, true); }, x, nb::arg("threads"));
  cls.def("proba", [](Self self, X X_, int t) { return proba(self, dense_rows(X_), t); }, x, nb::arg("threads"));
  cls.def(
      "leaf_reach", [](Self self, X X_, int t) { return leaf_reach(self, dense_rows(X_), t); }, x, nb::arg("threads"));
  cls.def(
      "paths",
      [](Self self, X X_, int t, std::optional<uint64_t> seed) { return paths(self, dense_rows(X_), t, seed); }, x,
      nb::arg("threads"), nb::arg("seed").none());
}

template <class T, class Index>
void bind_sparse(nb::class_<BoundPredictor>& cls) {
  using Self = const BoundPredictor&;
  using D = In1<T>;
  using I = In1<Index>;
  const auto data = nb::arg("data").noconvert();
  const auto indices = nb::arg("indices").noconvert();
  const auto offsets = nb::arg("offsets").noconvert();
  cls.def(
      "apply",
      [](Self self, D d, I i, I o, int t) {
        return leaves(self, sparse_rows<T, Index>(d, i, o, self.core.columns()), t, false);
      },
      data, indices, offsets, nb::arg("threads"));
  cls.def(
      "classes",
      [](Self self, D d, I i, I o, int t) {
        return leaves(self, sparse_rows<T, Index>(d, i, o, self.core.columns()), t, true);
      },
      data, indices, offsets, nb::arg("threads"));
  cls.def(
      "proba",
      [](Self self, D d, I i, I o, int t) {
        return proba(self, sparse_rows<T, Index>(d, i, o, self.core.columns()), t);
      },
      data, indices, offsets, nb::arg("threads"));
  cls.def(
      "leaf_reach",
      [](Self self, D d, I i, I o, int t) {
        return leaf_reach(self, sparse_rows<T, Index>(d, i, o, self.core.columns()), t);
      },
      data, indices, offsets, nb::arg("threads"));
  cls.def(
      "paths",
      [](Self self, D d, I i, I o, int t, std::optional<uint64_t> seed) {
        return paths(self, sparse_rows<T, Index>(d, i, o, self.core.columns()), t, seed);
      },
      data, indices, offsets, nb::arg("threads"), nb::arg("seed").none());
}

}  // namespace

void bind_predict(nb::module_& module) {
  nb::class_<BoundPredictor> cls(module, "Predictor");
  cls.def(nb::init<nb::object>(), nb::arg("arrays"));
  cls.def("takes_scores", [](const BoundPredictor& self) { return self.core.takes_scores(); });
  cls.def("soft_proba", &soft_proba, nb::arg("scores").noconvert(), nb::arg("threads"));
  bind_dense<double>(cls);
  bind_dense<float>(cls);
  bind_sparse<double, int32_t>(cls);
  bind_sparse<float, int32_t>(cls);
  bind_sparse<double, int64_t>(cls);
  bind_sparse<float, int64_t>(cls);
}

}  // namespace boscage::bind
