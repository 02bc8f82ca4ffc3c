#include "oblique/wodt.hpp"

#include <algorithm>
#include <cmath>

#include "oblique/dense_entropy.hpp"
#include "oblique/minimise.hpp"
#include "oblique/sparse_entropy.hpp"
#include "rng.hpp"

namespace boscage {

namespace {

// Starts tried beyond n_init while no start has led to a valid cut.
constexpr int kMoreStarts = 2;

// The soft entropy of a node in some of its columns, for dense and for sparse rows.
template <class T>
DenseEntropy make_objective(const Matrix<T>& X, const ObliqueData& data, const NodeOffers& offers,
                            std::span<const uint32_t> columns, double l2, Pool* inner, const Control& control) {
  return DenseEntropy(X, data.scaling, offers.rows(), columns, offers.node().local(), offers.node().classes(), l2,
                      inner, control);
}

template <class T, class Index>
SparseEntropy make_objective(const SparseRows<T, Index>& X, const ObliqueData& data, const NodeOffers& offers,
                             std::span<const uint32_t> columns, double l2, Pool*, const Control& control) {
  return SparseEntropy(X, data.scaling, offers.rows(), columns, offers.node().local(), offers.node().classes(), l2,
                       control);
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
    const size_t size = columns.size(), all = static_cast<size_t>(data_.columns()) + 1;
    const double length = start_length(options_.scale, size + 1);
    std::vector<double> start(size + 1);
    for (int s = 0; s < options_.n_init + kMoreStarts; ++s) {
      if (s >= options_.n_init && offers_.has_test()) break;
      for (size_t j = 0; j <= size; ++j) {
        const uint64_t draw = static_cast<uint64_t>(s) * all + (j < size ? columns[j] : all - 1);
        start[j] = length * normal(options_.seed, offers_.path(), draw);
      }
      const auto found = minimise(entropy, start, options_.lbfgs);
      const auto theta = spread(columns, found);
      const bool stands = !options_.recut && offers_.offer(theta, found.back()) >= 0;
      if (!stands) offers_.offer(theta, kFindThreshold);
    }
  }

  // Weights of some columns among those of all.
  std::vector<double> spread(std::span<const uint32_t> columns, std::span<const double> theta) const {
    std::vector<double> all(static_cast<size_t>(data_.columns()), 0.0);
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
