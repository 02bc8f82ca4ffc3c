#include "families/oblique/few_terms.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace boscage {

namespace {

// Columns that each exchange tries to bring in, those of the steepest slopes; and exchanges made at most.
constexpr size_t kTried = 3;
constexpr int kExchanges = 6;

class FewTerms {
 public:
  FewTerms(std::span<const uint32_t> all, size_t most, const FewTermsSteps& steps)
      : all_(all), most_(most), steps_(steps) {}

  // The smaller half of the terms goes while there are many, then one after the other; the rest is fitted each time.
  Terms backward(Terms terms) const {
    while (terms.columns.size() > most_) {
      const size_t size = terms.columns.size(), wanted = size > 4 * most_ ? size / 2 : size - 1;
      terms = fitted(largest(terms, std::max(wanted, most_)));
    }
    return terms;
  }

  // From one column on, the column of the steepest slope comes in.
  Terms forward(const Terms& start) const {
    Terms terms = fitted(start);
    while (terms.columns.size() < most_) {
      const auto order = steepest(terms);
      if (order.empty()) break;
      terms = fitted(with(terms, order.front()));
    }
    return terms;
  }

  // One column comes in and the smallest term goes, as long as the objective falls.
  Terms exchange(Terms best) const {
    for (int round = 0; round < kExchanges; ++round) {
      bool has_fallen = false;
      auto order = steepest(best);
      order.resize(std::min(order.size(), kTried));
      for (const uint32_t column : order) {
        Terms next = largest(fitted(with(best, column)), most_);
        if (next.columns == best.columns) continue;
        next = fitted(std::move(next));
        if (!(next.value < best.value)) continue;
        best = std::move(next);
        has_fallen = true;
        break;
      }
      if (!has_fallen) break;
    }
    return best;
  }

 private:
  Terms fitted(Terms terms) const {
    steps_.fit(terms);
    return terms;
  }

  static Terms largest(const Terms& terms, size_t count) {
    std::vector<size_t> order(terms.columns.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return std::abs(terms.theta[a]) > std::abs(terms.theta[b]); });
    order.resize(std::min(count, order.size()));
    std::sort(order.begin(), order.end());
    Terms kept;
    for (const size_t i : order) {
      kept.columns.push_back(terms.columns[i]);
      kept.theta.push_back(terms.theta[i]);
    }
    kept.theta.push_back(terms.theta.back());
    return kept;
  }

  static Terms with(const Terms& terms, uint32_t column) {
    Terms more = terms;
    const auto place = std::lower_bound(more.columns.begin(), more.columns.end(), column) - more.columns.begin();
    more.columns.insert(more.columns.begin() + place, column);
    more.theta.insert(more.theta.begin() + place, 0.0);
    return more;
  }

  // The columns outside, the steepest first.
  std::vector<uint32_t> steepest(const Terms& terms) const {
    const auto slopes = steps_.slopes(terms);
    std::vector<size_t> order;
    for (size_t i = 0; i < all_.size(); ++i)
      if (!std::binary_search(terms.columns.begin(), terms.columns.end(), all_[i])) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return std::abs(slopes[a]) > std::abs(slopes[b]); });
    std::vector<uint32_t> columns;
    for (const size_t i : order) columns.push_back(all_[i]);
    return columns;
  }

  std::span<const uint32_t> all_;
  size_t most_;
  const FewTermsSteps& steps_;
};

}  // namespace

Terms search_few_terms(std::span<const uint32_t> all, const Terms& full, const Terms& single, size_t most,
                       const FewTermsSteps& steps) {
  const FewTerms search(all, most, steps);
  Terms best = search.backward(full);
  if (!single.columns.empty()) {
    Terms other = search.forward(single);
    if (other.value < best.value) best = std::move(other);
  }
  return search.exchange(std::move(best));
}

}  // namespace boscage
