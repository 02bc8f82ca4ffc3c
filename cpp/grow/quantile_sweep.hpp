// The least pinball loss of both sides of every cut of a node's rows, while rows leave one side after the other.
//
// RankedNode: the values of a node in increasing order, numbered from 1. QuantileList: the values that are left as a
// linked list with a pointer to the quantile, which moves a few places when a value leaves: the cost of a row is
// constant while weights differ by a bounded factor. QuantileTree: sums in a Fenwick tree, O(log n) whatever the
// weights. Values and their products with weights lie on a grid, so both give the same losses.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "criteria/number_criteria.hpp"
#include "grow/scan.hpp"

namespace boscage {

struct RankedNode {
  static constexpr double kFewSteps = 32;  // by which weights may differ for a list

  std::vector<double> value, weight, product;  // by number; of entry 0 nothing is used
  double q = 0.5;

  bool has_similar_weights = true;  // they differ by no more than kFewSteps

  uint32_t size() const { return static_cast<uint32_t>(value.size()) - 1; }
  // The loss of values with these sums, `up_to` the quantile t included.
  double loss(double t, double all_weight, double all_product, double weight_up_to, double product_up_to) const {
    return q * (all_product - t * all_weight) + (t * weight_up_to - product_up_to);
  }
};

class QuantileList {
 public:
  explicit QuantileList(const RankedNode& node) : node_(node), next_(node.size() + 1), previous_(node.size() + 1) {}

  // All values are there.
  void reset() {
    const uint32_t n = node_.size();
    weight_ = product_ = below_weight_ = below_product_ = 0;
    for (uint32_t i = 0; i <= n; ++i) next_[i] = i + 1, previous_[i] = i - 1;
    next_[n] = 0;
    previous_[0] = n;
    for (uint32_t i = 1; i <= n; ++i) weight_ += node_.weight[i], product_ += node_.product[i];
    at_ = 0;
    settle();
  }

  void remove(uint32_t i) {
    next_[previous_[i]] = next_[i];
    previous_[next_[i]] = previous_[i];
    weight_ -= node_.weight[i];
    product_ -= node_.product[i];
    if (i <= at_) {
      below_weight_ -= node_.weight[i];
      below_product_ -= node_.product[i];
      if (i == at_) at_ = previous_[i];
    }
    settle();
  }

  double loss() const {
    return at_ == 0 ? 0 : node_.loss(node_.value[at_], weight_, product_, below_weight_, below_product_);
  }

 private:
  // Moves to the first value up to which the share q of the weight lies.
  void settle() {
    const double wanted = node_.q * weight_;
    while (below_weight_ < wanted) {
      at_ = next_[at_];
      below_weight_ += node_.weight[at_];
      below_product_ += node_.product[at_];
    }
    while (at_ != 0 && below_weight_ - node_.weight[at_] >= wanted) {
      below_weight_ -= node_.weight[at_];
      below_product_ -= node_.product[at_];
      at_ = previous_[at_];
    }
  }

  const RankedNode& node_;
  std::vector<uint32_t> next_, previous_;
  uint32_t at_ = 0;  // 0: before all values
  double weight_ = 0, product_ = 0, below_weight_ = 0, below_product_ = 0;
};

class QuantileTree {
 public:
  explicit QuantileTree(const RankedNode& node) : node_(node) {}

  void reset() {
    const uint32_t n = node_.size();
    weights_.assign(n + 1, 0.0);
    products_.assign(n + 1, 0.0);
    weight_ = product_ = 0;
    for (uint32_t i = 1; i <= n; ++i) {
      weight_ += node_.weight[i], product_ += node_.product[i];
      weights_[i] += node_.weight[i], products_[i] += node_.product[i];
      const uint32_t above = i + (i & (~i + 1));
      if (above <= n) weights_[above] += weights_[i], products_[above] += products_[i];
    }
  }

  void remove(uint32_t i) {
    weight_ -= node_.weight[i];
    product_ -= node_.product[i];
    for (uint32_t at = i; at <= node_.size(); at += at & (~at + 1)) {
      weights_[at] -= node_.weight[i];
      products_[at] -= node_.product[i];
    }
  }

  double loss() const {
    if (!(weight_ > 0)) return 0;
    const uint32_t n = node_.size();
    const double wanted = node_.q * weight_;
    uint32_t at = 0;
    double weight = 0, product = 0;
    for (uint32_t step = std::bit_floor(n); step > 0; step /= 2) {
      if (at + step > n || !(weight + weights_[at + step] < wanted)) continue;
      at += step;
      weight += weights_[at];
      product += products_[at];
    }
    return node_.loss(node_.value[at + 1], weight_, product_, weight + node_.weight[at + 1],
                      product + node_.product[at + 1]);
  }

 private:
  const RankedNode& node_;
  std::vector<double> weights_, products_;
  double weight_ = 0, product_ = 0;
};

// What a sweep over a column needs of the rows.
struct RankedRows {
  using Target = Ranks;
  const uint32_t* rank;  // of a row in its node, from 1
  const RankedNode* node;

  double weight(uint32_t row) const { return node->weight[rank[row]]; }
};

namespace detail {

template <class List>
Best sweep(const Quantile& criterion, const RankedRows& rows, std::span<const uint32_t> order, size_t present,
           bool missing_left, const NodeView& node, std::vector<double>& losses) {
  Best best;
  const auto size = static_cast<int64_t>(present), missing = static_cast<int64_t>(order.size()) - size;
  const auto rank = [&](size_t i) { return rows.rank[order[i] & kRowMask]; };
  const auto is_cut = [&](size_t i) { return i == present || (order[i] & kNewValue) != 0; };
  List list(*rows.node);
  list.reset();
  const double all = list.loss();
  if (!missing_left)
    for (size_t i = present; i < order.size(); ++i) list.remove(rank(i));
  losses.resize(present + 1);
  for (size_t i = present; i > 0; --i) {
    if (is_cut(i)) losses[i] = list.loss();
    list.remove(rank(i - 1));
  }
  list.reset();
  double weight = 0;
  if (missing_left) {
    for (size_t i = present; i < order.size(); ++i) {
      weight += rows.weight(order[i] & kRowMask);
      list.remove(rank(i));
    }
  }
  const int64_t start = missing_left ? missing : 0;
  const int64_t low = std::max<int64_t>(1, node.min_samples_leaf - start);
  const int64_t high = node.rows - node.min_samples_leaf - start;
  const int64_t last = missing > 0 && !missing_left ? size : size - 1;
  for (int64_t i = 1; i <= last; ++i) {
    const auto at = static_cast<size_t>(i);
    weight += rows.weight(order[at - 1] & kRowMask);
    list.remove(rank(at - 1));
    if (!is_cut(at) || i < low || i > high || weight < node.min_weight_leaf ||
        weight > node.weight - node.min_weight_leaf)
      continue;
    best.offer<Quantile>(criterion.factor * std::max(all - losses[at] - list.loss(), 0.0), node.noise, i);
  }
  return best;
}

}  // namespace detail

// Best cut of rows in increasing order (top bit: new value), the missing ones behind `present`.
inline Best sweep_sorted(const Quantile& criterion, const RankedRows& rows, std::span<const uint32_t> order,
                         size_t present, bool missing_left, const NodeView& node, std::vector<double>& losses) {
  return rows.node->has_similar_weights
             ? detail::sweep<QuantileList>(criterion, rows, order, present, missing_left, node, losses)
             : detail::sweep<QuantileTree>(criterion, rows, order, present, missing_left, node, losses);
}

}  // namespace boscage
