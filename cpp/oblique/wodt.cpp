#include "oblique/wodt.hpp"

#include <cmath>

#include "oblique/soft_entropy.hpp"
#include "rng.hpp"

namespace boscage {

namespace {

// Starts tried beyond n_init while no start has led to a valid cut.
constexpr int kMoreStarts = 2;

template <class T>
std::vector<double> minimise(SoftEntropy<T>& objective, std::span<const double> start, const LbfgsOptions& options) {
  Lbfgs optimiser(start, options);
  while (optimiser.need() != Lbfgs::Need::done) {
    if (optimiser.need() == Lbfgs::Need::value) {
      optimiser.tell_value(objective.value(optimiser.point()));
    } else {
      optimiser.tell_gradient(objective.gradient());
    }
  }
  return {optimiser.best().begin(), optimiser.best().end()};
}

}  // namespace

std::vector<double> fit_plane(const ObliqueData& data, std::span<const uint32_t> rows,
                              std::span<const WeightedRow> labels, int classes, std::span<const double> start,
                              const Control& control) {
  return std::visit(
      [&]<class T>(const Matrix<T>& X) {
        const Tile<T> tile(X, data.scaling, rows, nullptr);
        SoftEntropy<T> objective(tile, labels, classes, 0.0, nullptr, control);
        LbfgsOptions options;
        options.max_iter = 300;
        options.tolerance = 1e-8;
        return minimise(objective, start, options);
      },
      data.X);
}

void Wodt::search(const ObliqueData& data, NodeOffers& offers, Pool* inner, const Control& control) const {
  std::visit([&](const auto& X) { search_rows(X, data, offers, inner, control); }, data.X);
}

template <class T>
void Wodt::search_rows(const Matrix<T>& X, const ObliqueData& data, NodeOffers& offers, Pool* inner,
                       const Control& control) const {
  const Tile<T> tile(X, data.scaling, offers.rows(), inner);
  if (!tile.is_one_point()) {
    SoftEntropy<T> objective(tile, offers.node().local(), offers.node().classes(), options_.l2, inner, control);
    const auto size = static_cast<size_t>(objective.size());
    const double length = 1.0 / std::sqrt(static_cast<double>(size));
    std::vector<double> start(size);
    for (int s = 0; s < options_.n_init + kMoreStarts; ++s) {
      if (s >= options_.n_init && offers.has_test()) break;
      for (size_t j = 0; j < size; ++j)
        start[j] = length * normal(options_.seed, offers.path(), static_cast<uint64_t>(s) * size + j);
      const auto theta = minimise(objective, start, options_.lbfgs);
      const bool stands = !options_.recut && offers.offer(theta, theta.back()) >= 0;
      if (!stands) offers.offer(theta, kFindThreshold);
    }
  }
  if (!offers.has_test()) offers.offer_axis();
}

}  // namespace boscage
