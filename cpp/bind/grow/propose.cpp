// Growing by tests that come from Python, and pruning.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "base/index.hpp"
#include "bind/arrays.hpp"
#include "bind/grow/grow.hpp"
#include "grow/prune.hpp"
#include "grow/recut.hpp"

namespace boscage::bind {

namespace {

struct Session {
  AnyCriterion criterion;
  ProposalGrower grower;

  const Node& known(int32_t node) const {
    if (node < 0 || node >= grower.grower().size()) throw std::out_of_range("no such node");
    return grower.grower().node(node);
  }
};

double offer(Session& session, int32_t node, const In2<double>& weights, const In2<double>& scores,
             const In1<double>& thresholds) {
  session.known(node);
  const size_t tests = weights.shape(0), rows = session.grower.rows(node).size();
  if ((tests != 1 && tests != 3) || scores.shape(0) != tests || thresholds.size() != tests || scores.shape(1) != rows)
    throw std::invalid_argument("offer one or three tests with the scores of every row of the node");
  std::vector<Offer> offers;
  for (size_t i = 0; i < tests; ++i)
    offers.push_back({{weights.data() + i * weights.shape(1), weights.shape(1)},
                      {scores.data() + i * rows, rows},
                      thresholds.data()[i]});
  return session.grower.offer(node, offers);
}

nb::dict pruning(const In1<int32_t>& left, const In1<int32_t>& right, const In1<double>& risk) {
  PruningPath path = pruning_path(view(left), view(right), view(risk));
  nb::dict out;
  out["collapse"] = give(std::move(path.collapse));
  out["alphas"] = give(std::move(path.alphas));
  out["risks"] = give(std::move(path.risks));
  out["leaves"] = give(std::move(path.leaves));
  return out;
}

}  // namespace

void bind_propose(nb::module_& module) {
  nb::class_<Session>(module, "ProposalGrower", "Ask/tell growth of a hard tree from linear tests offered by Python.")
      .def(
          "__init__",
          [](Session* self, const Target& target, const GrowthSpec& spec) {
            new (self) Session{spec.criterion, ProposalGrower(target, spec.criterion, spec.limits, spec.order)};
          },
          nb::arg("target"), nb::arg("spec"), nb::keep_alive<1, 2>())
      .def("ask",
           [](Session& session) {
             std::vector<std::tuple<int32_t, uint64_t, bool>> requests;
             for (const Request& request : session.grower.ask())
               requests.emplace_back(request.node, session.known(request.node).path, request.may_triple);
             return requests;
           })
      .def("rows",
           [](Session& session, int32_t node) {
             session.known(node);
             const auto rows = session.grower.rows(node);
             return give(std::vector<int64_t>(rows.begin(), rows.end()));
           })
      .def("offer", &offer, nb::arg("node"), nb::arg("weights").noconvert(), nb::arg("scores").noconvert(),
           nb::arg("thresholds").noconvert())
      .def("tell",
           [](Session& session, int32_t node) {
             session.known(node);
             session.grower.tell(node);
           })
      .def("tree", [](const Session& session, int64_t features) {
        return to_dict(flatten(session.grower.grower(), session.criterion), features);
      });
  module.def("pruning_path", &pruning, nb::arg("left").noconvert(), nb::arg("right").noconvert(),
             nb::arg("risk").noconvert());
}

}  // namespace boscage::bind
