#include "families/oblique/wodt.hpp"

#include <algorithm>
#include <cmath>

#include "base/index.hpp"
#include "base/rng.hpp"
#include "families/oblique/few_terms.hpp"
#include "families/oblique/soft/dense_entropy.hpp"
#include "families/oblique/soft/sparse_entropy.hpp"
#include "numeric/minimise.hpp"

namespace boscage {

namespace {

// Starts tried beyond n_init while no start has led to a valid cut.
constexpr int kMoreStarts = 2;

// Of the objective: those of the node, or two for each output.
int classes_of(const NodeCutter& node) {
  return node.is_numbers() ? 2 * static_cast<int>(node.soft_numbers()->outputs()) : node.classes();
}

// The soft entropy of a node in some of its columns, for dense and for sparse rows.
template <class T>
DenseEntropy make_objective(const Matrix<T>& X, const ObliqueData& data, const NodeOffers& offers,
                            std::span<const uint32_t> columns, double l2, Pool* inner, const Control& control) {
  return DenseEntropy(X, data.scaling, offers.rows(), columns, offers.node().local(), classes_of(offers.node()), l2,
                      inner, control, offers.node().soft_numbers());
}

template <class T, class Index>
SparseEntropy make_objective(const SparseRows<T, Index>& X, const ObliqueData& data, const NodeOffers& offers,
                             std::span<const uint32_t> columns, double l2, Pool*, const Control& control) {
  return SparseEntropy(X, data.scaling, offers.rows(), columns, offers.node().local(), classes_of(offers.node()), l2,
                       control, offers.node().soft_numbers());
}

// One node's search. Directions are found in the columns that vary there; the others get no weight.
template <class Rows>
class Search {
 public:
  Search(const Rows& X, const ObliqueData& data, NodeOffers& offers, const WodtOptions& options, Pool* inner,
         const Control& control)
      : X_(X), data_(data), offers_(offers), options_(options), inner_(inner), control_(control) {}

  void run() {
    std::vector<uint32_t> columns = varying_columns(data_, offers_.rows(), control_);
    std::erase_if(columns, [&](uint32_t j) { return !(data_.scaling.inverse[j] > 0); });
    if (!columns.empty()) {
      from_random(columns);
      if (options_.sparsity_tolerance >= 0 && offers_.has_test()) thin(std::move(columns));
    }
    if (!offers_.has_test()) offers_.offer_axis();
  }

 private:
  auto objective(std::span<const uint32_t> columns) const {
    return make_objective(X_, data_, offers_, columns, options_.l2, inner_, control_);
  }

  void from_random(const std::vector<uint32_t>& columns) {
    auto entropy = objective(columns);
    const size_t size = columns.size(), all = to_size(data_.columns()) + 1;
    const double length = start_length(options_.scale, size + 1);
    std::vector<double> start(size + 1);
    for (int s = 0; s < options_.n_init + kMoreStarts; ++s) {
      if (s >= options_.n_init && offers_.has_test()) break;
      for (size_t j = 0; j <= size; ++j) {
        const uint64_t draw = static_cast<uint64_t>(s) * all + (j < size ? columns[j] : all - 1);
        start[j] = length * normal(options_.seed, offers_.path(), draw);
      }
      const auto found = minimise(entropy, start, options_.lbfgs);
      if (is_limited(columns)) {
        few_terms(entropy, columns, found);
      } else {
        offer(columns, found);
      }
    }
  }

  double offer(std::span<const uint32_t> columns, std::span<const double> found) {
    const auto theta = spread(columns, found);
    const double gain = options_.recut ? -1 : offers_.offer(theta, found.back());
    return gain >= 0 ? gain : offers_.offer(theta, kFindThreshold);
  }

  bool is_limited(const std::vector<uint32_t>& columns) const {
    return options_.max_terms > 0 && columns.size() > to_size(options_.max_terms);
  }

  // Tests of a few columns, from a fit in all of them and from the best test of one column.
  template <class Entropy>
  void few_terms(Entropy& entropy, const std::vector<uint32_t>& columns, const std::vector<double>& found) {
    const FewTermsSteps steps{[&](Terms& terms) {
                                auto part = objective(terms.columns);
                                terms.theta = minimise(part, terms.theta, options_.lbfgs);
                                terms.value = part.value(terms.theta);
                              },
                              [&](const Terms& at) {
                                std::vector<double> theta(columns.size() + 1, 0.0);
                                for (size_t i = 0, j = 0; i < at.columns.size(); ++i) {
                                  while (columns[j] != at.columns[i]) ++j;
                                  theta[j] = at.theta[i];
                                }
                                theta.back() = at.theta.back();
                                entropy.value(theta);
                                const auto slopes = entropy.gradient();
                                return std::vector<double>(slopes.begin(), slopes.end());
                              }};
    const auto most = to_size(options_.max_terms);
    const Terms best = search_few_terms(columns, {columns, found}, single(), most, steps);
    offer(best.columns, best.theta);
  }

  // The best test of one column as a soft test that is as steep as a start; no columns if there is none.
  Terms single() {
    NodeOffers axis(data_, offers_.rows(), offers_.path(), control_);
    if (axis.offer_axis() < 0) return {};
    const Test& test = axis.best().test;
    const auto largest = std::max_element(test.weights.begin(), test.weights.end());
    const auto column = static_cast<uint32_t>(test.feature == kLinear ? largest - test.weights.begin() : test.feature);
    return {{column}, {1.0, -data_.scaling.scaled(test.threshold, column)}};
  }

  // Weights of some columns among those of all.
  std::vector<double> spread(std::span<const uint32_t> columns, std::span<const double> theta) const {
    std::vector<double> all(to_size(data_.columns()), 0.0);
    for (size_t j = 0; j < columns.size(); ++j) all[columns[j]] = theta[j];
    return all;
  }

  // Fewer terms: the largest half of them, fitted again, as long as the gain allows; then between the last two sizes.
  void thin(std::vector<uint32_t> columns) {
    const double least = (1 - options_.sparsity_tolerance) * offers_.best_gain();
    size_t too_few = 0;
    while (columns.size() > too_few + 1) {
      const size_t wanted = (columns.size() + too_few) / 2;
      std::vector<uint32_t> kept = largest(columns, std::max<size_t>(wanted, 1));
      if (fit_again(kept, least)) {
        columns = std::move(kept);
      } else {
        too_few = kept.size();
      }
    }
  }

  // Weight of a scaled column in the best test.
  double term(uint32_t column) const { return offers_.best().test.weights[column] / data_.scaling.inverse[column]; }

  std::vector<uint32_t> largest(std::vector<uint32_t> columns, size_t count) const {
    std::stable_sort(columns.begin(), columns.end(),
                     [&](uint32_t a, uint32_t b) { return std::abs(term(a)) > std::abs(term(b)); });
    columns.resize(count);
    std::sort(columns.begin(), columns.end());
    return columns;
  }

  bool fit_again(const std::vector<uint32_t>& columns, double least) {
    auto entropy = objective(columns);
    const Test& test = offers_.best().test;
    std::vector<double> start(columns.size() + 1);
    start.back() = -test.threshold;
    for (size_t j = 0; j < columns.size(); ++j) {
      start[j] = term(columns[j]);
      start.back() += test.weights[columns[j]] * data_.scaling.centre[columns[j]];
    }
    const auto found = minimise(entropy, start, options_.lbfgs);
    const auto theta = spread(columns, found);
    return (!options_.recut && offers_.offer_instead(theta, found.back(), least)) ||
           offers_.offer_instead(theta, kFindThreshold, least);
  }

  const Rows& X_;
  const ObliqueData& data_;
  NodeOffers& offers_;
  const WodtOptions& options_;
  Pool* inner_;
  const Control& control_;
};

}  // namespace

void Wodt::search(const ObliqueData& data, NodeOffers& offers, Pool* inner, const Control& control) const {
  std::visit([&](const auto& X) { Search(X, data, offers, options_, inner, control).run(); }, data.X);
}

}  // namespace boscage
