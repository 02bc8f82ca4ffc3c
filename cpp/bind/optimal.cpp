#include "optimal/optimal.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>

#include "bind/arrays.hpp"
#include "bind/run.hpp"

namespace boscage::bind {
namespace {

using namespace boscage::optimal;

template <class T>
Matrix as_matrix(const Strided2<T>& x) {
  return {x.data(),
          std::is_same_v<T, double>,
          static_cast<int64_t>(x.shape(0)),
          static_cast<int64_t>(x.shape(1)),
          x.stride(0),
          x.stride(1)};
}

const char* name_of(Status status) {
  switch (status) {
    case Status::optimal:
      return "optimal";
    case Status::time_limit:
      return "time_limit";
    case Status::memory_limit:
      return "memory_limit";
    case Status::max_explored:
      return "max_explored";
    case Status::interrupted:
      return "interrupted";
    case Status::heuristic:
      return "heuristic";
  }
  return "";
}

nb::dict as_dict(Result result) {
  nb::dict out;
  out["children_left"] = give(std::move(result.left));
  out["children_right"] = give(std::move(result.right));
  out["feature"] = give(std::move(result.feature));
  out["threshold"] = give(std::move(result.threshold));
  out["leaf"] = give(std::move(result.leaf));
  out["objective"] = result.objective;
  out["lower_bound"] = result.lower_bound;
  out["status"] = name_of(result.status);
  out["explored"] = result.explored;
  out["peak_bytes"] = result.peak_bytes;
  out["work"] = result.work;
  out["waited"] = result.waited;
  return out;
}

std::vector<int32_t> copy(const In1<int32_t>& a) { return {a.data(), a.data() + a.size()}; }

// Children, feature and threshold of a tree to start from.
using Start = std::tuple<In1<int32_t>, In1<int32_t>, In1<int32_t>, In1<double>>;

template <class T>
nb::dict solve_optimal(Strided2<T> x, In1<int32_t> labels, std::optional<In1<double>> weights, const Settings& settings,
                       const Start& start, nb::object progress) {
  const auto& [left, right, feature, threshold] = start;
  const WarmStart warm{copy(left), copy(right), copy(feature), {threshold.data(), threshold.data() + threshold.size()}};
  Snapshot snapshot;
  Result result;
  const Matrix matrix = as_matrix(x);
  const double* w = weights ? weights->data() : nullptr;
  nb::object report = nb::none();
  if (!progress.is_none())
    report = nb::cpp_function(
        [&snapshot, progress](int64_t) { progress(snapshot.objective.load(), snapshot.lower_bound.load()); });
  const bool is_short = settings.max_depth <= 2 && matrix.rows * matrix.columns < 20000;
  run(
      is_short, report,
      [&](Control& control) { result = solve(matrix, labels.data(), w, settings, warm, control, snapshot); },
      settings.keep_on_interrupt);
  return as_dict(std::move(result));
}

template <class T>
void define(nb::module_& module) {
  module.def("solve_optimal", &solve_optimal<T>, nb::arg("x").noconvert(), nb::arg("labels").noconvert(),
             nb::arg("weights").noconvert().none(), nb::arg("settings"), nb::arg("start").noconvert(),
             nb::arg("progress").none());
}

}  // namespace

void bind_optimal(nb::module_& module) {
  nb::class_<Settings>(module, "OptimalSettings", "What a search for an optimal tree may spend.")
      .def(nb::init<>())
      .def_rw("max_depth", &Settings::max_depth)
      .def_rw("alpha", &Settings::alpha)
      .def_rw("exact", &Settings::exact)
      .def_rw("time_limit", &Settings::time_limit)
      .def_rw("memory_limit", &Settings::memory_limit)
      .def_rw("max_explored", &Settings::max_explored)
      .def_rw("threads", &Settings::threads)
      .def_rw("keep_on_interrupt", &Settings::keep_on_interrupt);
  define<float>(module);
  define<double>(module);
}

}  // namespace boscage::bind
