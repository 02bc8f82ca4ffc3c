// The loop of growth: rows are divided as the nodes are asked for, and nodes are searched side by side.
#include <algorithm>
#include <memory>
#include <numeric>

#include "families/mixed/node_search.hpp"

namespace boscage::mixed {

namespace {

using Columns = std::shared_ptr<const std::vector<int32_t>>;

class Search {
 public:
  Search(const Grower& grower, const Data& data, NodeRows& rows, int threads, const Control& control)
      : grower_(grower), data_(data), rows_(rows), control_(control), scratch_(static_cast<size_t>(threads)) {
    std::vector<int32_t> all(static_cast<size_t>(data.columns()));
    std::iota(all.begin(), all.end(), 0);
    columns_.push_back(std::make_shared<const std::vector<int32_t>>(std::move(all)));
  }

  // To be called before the node is searched, by one thread.
  void place(int32_t id) {
    if (rows_.is_placed(id)) return;
    const Node& parent = grower_.node(grower_.node(id).parent);
    rows_.divide(grower_.node(id).parent, parent.left, parent.right, moved_);
    columns_.resize(std::max(columns_.size(), static_cast<size_t>(std::max(parent.left, parent.right)) + 1));
    columns_[static_cast<size_t>(parent.left)] = columns_[static_cast<size_t>(parent.right)] =
        std::exchange(columns_[static_cast<size_t>(grower_.node(id).parent)], nullptr);
  }

  Proposal operator()(int32_t id, int thread) {
    auto& scratch = scratch_[static_cast<size_t>(thread)];
    if (!scratch) scratch = std::make_unique<Scratch>(data_);
    const auto rows = rows_.rows(id);
    std::vector<int32_t> varying;
    if (data_.is_sparse()) scratch->reader.varying(rows, varying);
    Columns& columns = columns_[static_cast<size_t>(id)];
    const std::span<const int32_t> open(data_.is_sparse() ? varying : *columns);
    return rows_.numbers() ? search<NumberTarget>(id, open, columns, *scratch)
                           : search<ClassTarget>(id, open, columns, *scratch);
  }

 private:
  template <class Target>
  Proposal search(int32_t id, std::span<const int32_t> open, Columns& columns, Scratch& scratch) {
    NodeSearch<Target> search(data_, rows_, grower_.node(id), rows_.rows(id), open, scratch, control_);
    search.run();
    if (!data_.is_sparse()) drop_constant(columns, search.constant());
    return search.best().is_test() ? proposal(id, search.best()) : Proposal{};
  }

  static void drop_constant(Columns& columns, const std::vector<int32_t>& constant) {
    if (constant.empty()) return;
    std::vector<int32_t> kept;
    std::set_difference(columns->begin(), columns->end(), constant.begin(), constant.end(), std::back_inserter(kept));
    columns = std::make_shared<const std::vector<int32_t>>(std::move(kept));
  }

  Proposal proposal(int32_t id, const Found& found) {
    const auto rows = rows_.rows(id);
    for (size_t i = 0; i < rows.size(); ++i) rows_.goes_left()[rows[i]] = found.goes_left[i];
    MeasuredTest measured;
    std::tie(measured.left, measured.right) = rows_.measure(id);
    measured.test = found.test;
    if (measured.test.feature >= 0 && !found.saw_missing)
      measured.test.missing_left = measured.left.weight() > measured.right.weight();
    if (const auto& numbers = grower_.node(id).numbers) {
      const int root = grower_.node(0).numbers->grid->exponent;  // gains are compared in the units of the root
      measured.drop = measured.gain = in_units(data_.criterion, found.gain, numbers->grid->exponent - root);
    } else {
      const double *right = measured.right.sums.data(), *left = measured.left.sums.data();
      visit_classes(
          [&](const auto& g) {
            measured.gain = g.gain(right, left, rows_.classes());
            measured.drop = g.drop(right, left, rows_.classes());
          },
          data_.criterion);
    }
    Proposal out;
    out.tests.push_back(std::move(measured));
    return out;
  }

  const Grower& grower_;
  const Data& data_;
  NodeRows& rows_;
  const Control& control_;
  std::vector<std::unique_ptr<Scratch>> scratch_;
  std::vector<Columns> columns_;  // by node: those not known to be constant
  std::vector<uint32_t> moved_;
};

}  // namespace

void grow(Grower& grower, const Data& data, NodeRows& rows, Pool& pool, Control& control) {
  Search search(grower, data, rows, pool.threads(), control);
  std::vector<Request> requests;
  while (!(requests = grower.ask()).empty()) {
    for (const Request& request : requests) search.place(request.node);
    std::vector<Proposal> answers(requests.size());
    pool.parallel_for(static_cast<int64_t>(requests.size()), [&](int64_t i, int thread) {
      control.check();
      answers[static_cast<size_t>(i)] = search(requests[static_cast<size_t>(i)].node, thread);
      control.advance(1);
    });
    for (size_t i = 0; i < requests.size(); ++i) grower.tell(requests[i].node, std::move(answers[i]));
  }
}

}  // namespace boscage::mixed
