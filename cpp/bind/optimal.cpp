#include "optimal/optimal.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include "bind/arrays.hpp"
#include "bind/grow/table.hpp"
#include "bind/run.hpp"

namespace boscage::bind {
namespace {

using namespace boscage::optimal;

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

nb::dict solve_optimal(const Table& X, const Target& target, const Settings& settings, const Start& start,
                       nb::object progress) {
  const auto& [left, right, feature, threshold] = start;
  const WarmStart warm{copy(left), copy(right), copy(feature), {threshold.data(), threshold.data() + threshold.size()}};
  check_rows(X, target);
  Snapshot snapshot;
  Result result;
  nb::object report = nb::none();
  if (!progress.is_none())
    report = nb::cpp_function(
        [&snapshot, progress](int64_t) { progress(snapshot.objective.load(), snapshot.lower_bound.load()); });
  const bool is_short = settings.max_depth <= 2 && X.numbers < 20000;
  run(
      is_short, report, [&](Control& control) { result = solve(X.data, target, settings, warm, control, snapshot); },
      settings.keep_on_interrupt);
  return as_dict(std::move(result));
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
  module.def("solve_optimal", &solve_optimal, nb::arg("X"), nb::arg("target"), nb::arg("settings"),
             nb::arg("start").noconvert(), nb::arg("progress").none());
}

}  // namespace boscage::bind
