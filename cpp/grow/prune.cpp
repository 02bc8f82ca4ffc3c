#include "grow/prune.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

#include "base/index.hpp"

namespace boscage {

namespace {

struct Subtree {
  double risk = 0;
  int64_t leaves = 1;
  uint32_t version = 0;  // links of older versions are void
  bool alive = true;
};

class Pruner {
 public:
  Pruner(std::span<const int32_t> left, std::span<const int32_t> right, std::span<const double> risk)
      : left_(left), right_(right), risk_(risk), parent_(left.size(), -1), below_(left.size()) {
    for (size_t i = left.size(); i-- > 0;) {
      below_[i].risk = risk[i];
      if (left[i] < 0) continue;
      parent_[to_size(left[i])] = parent_[to_size(right[i])] = static_cast<int32_t>(i);
      gather(i);
      links_.emplace(link(i), static_cast<int32_t>(i), 0U);
    }
  }

  PruningPath run() {
    PruningPath path;
    path.collapse.assign(left_.size(), std::numeric_limits<double>::infinity());
    record(path, 0.0);
    double alpha = 0;
    while (!links_.empty()) {
      const auto [weakest, node, version] = links_.top();
      links_.pop();
      const auto i = to_size(node);
      if (!below_[i].alive || below_[i].version != version || below_[i].leaves == 1) continue;
      alpha = std::max(alpha, weakest);  // the path never goes back: rounding must not make it
      cut(i, alpha, path);
      record(path, alpha);
    }
    return path;
  }

 private:
  void gather(size_t i) {
    const auto &l = below_[to_size(left_[i])], &r = below_[to_size(right_[i])];
    below_[i].risk = l.risk + r.risk;
    below_[i].leaves = l.leaves + r.leaves;
  }

  double link(size_t i) const { return (risk_[i] - below_[i].risk) / static_cast<double>(below_[i].leaves - 1); }

  // Makes node i a leaf, and everything below it void.
  void cut(size_t i, double alpha, PruningPath& path) {
    std::vector<size_t> stack{i};
    while (!stack.empty()) {
      const size_t node = stack.back();
      stack.pop_back();
      if (left_[node] < 0 || !below_[node].alive) continue;
      below_[node].alive = false;
      path.collapse[node] = std::min(path.collapse[node], alpha);
      stack.push_back(to_size(left_[node]));
      stack.push_back(to_size(right_[node]));
    }
    below_[i].risk = risk_[i];
    below_[i].leaves = 1;
    for (int32_t up = parent_[i]; up >= 0; up = parent_[to_size(up)]) {
      const auto above = to_size(up);
      gather(above);
      links_.emplace(link(above), up, ++below_[above].version);
    }
  }

  void record(PruningPath& path, double alpha) const {
    if (path.alphas.size() > 0 && path.alphas.back() == alpha && path.alphas.size() > 1) {
      path.risks.back() = below_[0].risk;
      path.leaves.back() = below_[0].leaves;
      return;
    }
    path.alphas.push_back(alpha);
    path.risks.push_back(below_[0].risk);
    path.leaves.push_back(below_[0].leaves);
  }

  using Link = std::tuple<double, int32_t, uint32_t>;
  std::span<const int32_t> left_, right_;
  std::span<const double> risk_;
  std::vector<int32_t> parent_;
  std::vector<Subtree> below_;
  std::priority_queue<Link, std::vector<Link>, std::greater<>> links_;
};

}  // namespace

PruningPath pruning_path(std::span<const int32_t> left, std::span<const int32_t> right, std::span<const double> risk) {
  return Pruner(left, right, risk).run();
}

}  // namespace boscage
