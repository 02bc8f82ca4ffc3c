#include "optimal/optimal.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

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

template <class T>
nb::dict solve_optimal(Strided2<T> x, In1<int32_t> labels, std::optional<In1<double>> weights, int max_depth,
                       double alpha, bool exact, double time_limit, int64_t memory_limit, int64_t max_explored,
                       int threads, In1<int32_t> warm_left, In1<int32_t> warm_right, In1<int32_t> warm_feature,
                       In1<double> warm_threshold, bool keep_on_interrupt, nb::object progress) {
  const Settings settings{max_depth, alpha, exact, time_limit, memory_limit, threads, max_explored, keep_on_interrupt};
  const WarmStart warm{copy(warm_left),
                       copy(warm_right),
                       copy(warm_feature),
                       {warm_threshold.data(), warm_threshold.data() + warm_threshold.size()}};
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
      keep_on_interrupt);
  return as_dict(std::move(result));
}

template <class T>
void define(nb::module_& module) {
  module.def("solve_optimal", &solve_optimal<T>, nb::arg("x").noconvert(), nb::arg("labels").noconvert(),
             nb::arg("weights").noconvert().none(), nb::arg("max_depth"), nb::arg("alpha"), nb::arg("exact"),
             nb::arg("time_limit"), nb::arg("memory_limit"), nb::arg("max_explored"), nb::arg("threads"),
             nb::arg("warm_left").noconvert(), nb::arg("warm_right").noconvert(), nb::arg("warm_feature").noconvert(),
             nb::arg("warm_threshold").noconvert(), nb::arg("keep_on_interrupt"), nb::arg("progress").none());
}

}  // namespace

void bind_optimal(nb::module_& module) {
  define<float>(module);
  define<double>(module);
}

}  // namespace boscage::bind
