// The other half of the axis family in memory: columns divided among the children of a node, and the loop of growth.
#include <algorithm>
#include <array>
#include <utility>

#include "base/index.hpp"
#include "families/axis/axis.hpp"

namespace boscage {

namespace {

// Stable division of a sorted column. "New value" survives on a side if it lay on any entry passed over since
// the side's last one. A right side that nobody will search is not written back.
void divide_column(std::span<uint32_t> order, const uint8_t* goes_left, bool right_open, std::vector<uint32_t>& moved) {
  moved.resize(order.size());
  uint32_t *left = order.data(), *right = moved.data();
  uint32_t left_new = 0, right_new = 0;
  for (const uint32_t entry : order) {
    const uint32_t row = entry & kRowMask, is_left = goes_left[row];
    left_new |= entry & kNewValue;
    right_new |= entry & kNewValue;
    *left = row | left_new;
    *right = row | right_new;
    left += is_left;
    right += 1 - is_left;
    left_new = is_left ? 0 : left_new;
    right_new = is_left ? right_new : 0;
  }
  if (right_open) std::copy(moved.data(), right, left);
}

}  // namespace

void AxisSearch::divide(int32_t id, Child left, Child right, std::vector<AxisScratch>& scratch, int thread,
                        Pool* inner) {
  is_sparse() ? divide_sparse(id, left, right, scratch, thread, inner)
              : divide_sorted(id, left, right, scratch, thread, inner);
  rows_.divide(id, left.id, right.id, scratch[to_size(thread)].moved);
}

void AxisSearch::divide_sorted(int32_t id, Child left, Child right, std::vector<AxisScratch>& scratch, int thread,
                               Pool* inner) {
  const Segment segment = rows_.segment(id);
  const auto& features = *open_[id].features;
  const auto divide_one = [&](size_t i, AxisScratch& mine) {
    control_.check();
    Column& column = columns_[to_size(features[i])];
    if (column.kind != Column::Kind::sorted) return;
    divide_column(std::span(column.order).subspan(to_size(segment.begin), to_size(segment.size())), rows_.goes_left(),
                  right.is_open, mine.moved);
  };
  if (inner == nullptr) {
    for (size_t i = 0; i < features.size(); ++i) divide_one(i, scratch[to_size(thread)]);
  } else {
    inner->parallel_for(signed_size(features),
                        [&](int64_t i, int worker) { divide_one(to_size(i), scratch[to_size(worker)]); });
  }
  NodeColumns whole = std::exchange(open_[id], {});  // nobody looks at a divided node again
  if (left.is_open && right.is_open) open_[left.id] = whole;
  open_[right.is_open ? right.id : left.id] = std::move(whole);
}

namespace {

// Divides the entries of a sparse column like those of a sorted one; a side without entries is constant.
std::pair<SparseSlice, SparseSlice> divide_slice(const SparseSlice& slice, std::span<uint32_t> entries,
                                                 const uint8_t* goes_left, bool right_open,
                                                 std::vector<uint32_t>& moved) {
  const auto count_left = [&](size_t begin, size_t size) {
    uint32_t count = 0;
    for (size_t i = begin; i < begin + size; ++i) count += goes_left[entries[i] & kRowMask];
    return count;
  };
  SparseSlice left{slice.begin, count_left(0, slice.negative), count_left(slice.negative, slice.positive),
                   count_left(slice.present(), slice.missing)};
  const SparseSlice right{slice.begin + signed_size(left), slice.negative - left.negative,
                          slice.positive - left.positive, slice.missing - left.missing};
  if (left.size() > 0 && right.size() > 0) divide_column(entries, goes_left, right_open, moved);
  return {left, right};
}

}  // namespace

void AxisSearch::divide_sparse(int32_t id, Child left, Child right, std::vector<AxisScratch>& scratch, int thread,
                               Pool* inner) {
  struct Part {
    std::vector<int32_t> features;
    std::vector<SparseSlice> slices;
  };
  const NodeColumns whole = std::move(open_[id]);  // nobody looks at a divided node again
  open_[id] = {};
  const auto& features = *whole.features;
  const size_t together = inner == nullptr ? std::max<size_t>(1, features.size()) : columns_together();
  std::vector<std::array<Part, 2>> parts((features.size() + together - 1) / together);
  const auto divide_chunk = [&](int64_t chunk, int worker) {
    auto& mine = parts[to_size(chunk)];
    const size_t begin = to_size(chunk) * together, end = std::min(features.size(), begin + together);
    for (size_t i = begin; i < end; ++i) {
      if (i % 64 == 0) control_.check();
      const auto sides = divide_slice(whole.slices[i], entries(whole.slices[i]), rows_.goes_left(), right.is_open,
                                      scratch[to_size(worker)].moved);
      const auto keep = [&](Part& part, const SparseSlice& slice, bool is_open) {
        if (!is_open || slice.size() == 0) return;
        part.features.push_back(features[i]);
        part.slices.push_back(slice);
      };
      keep(mine[0], sides.first, left.is_open);
      keep(mine[1], sides.second, right.is_open);
    }
  };
  if (inner == nullptr) {
    for (size_t chunk = 0; chunk < parts.size(); ++chunk) divide_chunk(static_cast<int64_t>(chunk), thread);
  } else {
    inner->parallel_for(signed_size(parts), divide_chunk);
  }
  for (const size_t side : {size_t{0}, size_t{1}}) {
    auto kept = std::make_shared<std::vector<int32_t>>();
    NodeColumns& child = open_[side == 0 ? left.id : right.id];
    for (auto& part : parts) {
      kept->insert(kept->end(), part[side].features.begin(), part[side].features.end());
      child.slices.insert(child.slices.end(), part[side].slices.begin(), part[side].slices.end());
    }
    child.features = std::move(kept);
  }
}

namespace {

// Below this many numbers a node is one thread's work: starting a round costs more.
constexpr int64_t kParallelWork = 1 << 14;

// The open children of one divided node, which are neighbours among the requests: one thread's work unless the node is
// large.
struct Family {
  size_t first, count;
};

std::vector<Family> families(const Grower& grower, const std::vector<Request>& requests) {
  std::vector<Family> all;
  for (size_t i = 0; i < requests.size(); ++i) {
    const int32_t parent = grower.node(requests[i].node).parent;
    if (i > 0 && parent >= 0 && parent == grower.node(requests[i - 1].node).parent) {
      ++all.back().count;
    } else {
      all.push_back({i, 1});
    }
  }
  return all;
}

}  // namespace

void grow_in_memory(Grower& grower, AxisSearch& search, Pool& pool, Control& control) {
  std::vector<AxisScratch> scratch(to_size(pool.threads()));
  std::vector<Request> requests;
  std::vector<Proposal> answers;
  const bool is_alone = pool.threads() == 1;
  // Divides the rows of a node and searches its open children, `count` requests from `first` on.
  const auto answer = [&](size_t first, size_t count, int thread, Pool* inner) {
    const int32_t id = grower.node(requests[first].node).parent;
    if (id >= 0) {
      const Node& parent = grower.node(id);
      search.divide(id, {parent.left, grower.is_open(parent.left)}, {parent.right, grower.is_open(parent.right)},
                    scratch, thread, inner);
    }
    for (size_t i = first; i < first + count; ++i)
      answers[i] = search.search(grower.node(requests[i].node), requests[i].node, scratch, thread, inner);
  };
  const auto answer_all = [&] {
    const auto all = families(grower, requests);
    std::vector<Family> small;
    for (const Family& family : all) {
      const int32_t parent = grower.node(requests[family.first].node).parent;
      if (search.work(parent < 0 ? requests[family.first].node : parent) < kParallelWork) {
        small.push_back(family);
      } else {
        answer(family.first, family.count, 0, &pool);
      }
    }
    pool.parallel_for(signed_size(small), [&](int64_t i, int thread) {
      answer(small[to_size(i)].first, small[to_size(i)].count, thread, nullptr);
    });
  };
  while (true) {
    if (is_alone) {
      grower.ask_youngest(requests);
    } else {
      requests = grower.ask();
    }
    if (requests.empty()) return;
    search.reserve_nodes(grower.size());
    answers.resize(requests.size());
    if (is_alone) {
      answer(0, requests.size(), 0, nullptr);
    } else {
      answer_all();
    }
    for (size_t i = 0; i < requests.size(); ++i) {
      grower.tell(requests[i].node, std::move(answers[i]));
      control.advance(1);
    }
  }
}

}  // namespace boscage
