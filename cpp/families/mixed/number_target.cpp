#include "families/mixed/number_target.hpp"

#include <cmath>

#include "families/axis/category_scan.hpp"
#include "families/axis/column_scan.hpp"
#include "families/mixed/soft_squares.hpp"
#include "numeric/minimise.hpp"

namespace boscage::mixed {

NumberTarget::NumberTarget(const Data& data, const NodeRows& rows, const Node& node,
                           std::span<const uint32_t> node_rows)
    : data_(data), outputs_(rows.numbers()->outputs()), local_(node_rows.size() * (outputs_ + 1)) {
  const NumberRows& numbers = *rows.numbers();
  const size_t stride = numbers.is_weighted() ? sums() : outputs_;
  for (size_t i = 0; i < node_rows.size(); ++i) {
    const double* from = numbers.data() + node_rows[i] * stride;
    double* to = local_.data() + i * sums();
    if (!numbers.is_weighted()) *to++ = 1.0;
    std::copy_n(from, stride, to);
  }
  const auto k = static_cast<int>(sums());
  potential_ =
      visit_numbers([&](const auto& g) { return g.total(node.sums.data(), k, node.numbers->report); }, data.criterion);
  near_ = 1e-11 * potential_;
  view_.total = node.sums;
  view_.weight = node.weight;
  view_.rows = node.rows;
  view_.min_samples_leaf = data.limits.min_samples_leaf;
  view_.min_weight_leaf = data.limits.min_weight_leaf;
  view_.noise = noise_of(data.criterion, node.sums);
}

template <class Visit>
auto NumberTarget::with_rows(const Visit& visit) const {
  return visit_for<Numbers>(
      [&](const auto& g) {
        return outputs_ == 1 ? visit(g, WeightedValues{local_.data()}) : visit(g, ManyValues{local_.data(), outputs_});
      },
      data_.criterion);
}

CutPlace NumberTarget::cut(std::span<const double> scores, CutScratch& scratch) const {
  const auto order = scratch.order.sort_marked(scores);
  const Best best = with_rows(
      [&](const auto& g, const auto& rows) { return scan_sorted(g, rows, order, view_, Start{}, scratch.sums); });
  if (best.gain < 0) return {};
  const auto at = static_cast<size_t>(best.position);
  return {best.gain, scores[order[at - 1] & kRowMask], scores[order[at] & kRowMask], best.position};
}

CutPlace NumberTarget::cut_whole(std::span<const double> values, double low, size_t count, AxisScratch& scratch) const {
  scratch.sums.assign(count * sums(), 0.0);
  scratch.counts.assign(count, 0);
  const Best best = with_rows([&](const auto& g, const auto& rows) {
    for (uint32_t i = 0; i < values.size(); ++i) {
      const auto value = static_cast<size_t>(values[i] - low);
      ++scratch.counts[value];
      rows.add(i, {}, scratch.sums.data() + value * sums());
    }
    return scan_groups(g, Groups{scratch.sums, scratch.counts}, {}, view_, Start{}, scratch.scan);
  });
  if (best.gain < 0) return {};
  auto next = static_cast<size_t>(best.position);
  while (scratch.counts[next] == 0) ++next;
  return {best.gain, low + static_cast<double>(best.position - 1), low + static_cast<double>(next), best.position};
}

Cut NumberTarget::cut_with_missing(std::span<const uint32_t> order, size_t present, AxisScratch& scratch) const {
  return with_rows([&]<class G, class Rows>(const G& g, const Rows& rows) {
    return ColumnScan<G, Rows>{g, rows, view_, scratch}.scan_order(order, present);
  });
}

Cut NumberTarget::cut_categories(std::span<const double> values, uint32_t categories, AxisScratch& scratch) const {
  return with_rows([&]<class G, class Rows>(const G& g, const Rows& rows) {
    count_categories(rows, values, categories, view_, scratch);
    return CategoryScan<G, Rows>{g, rows, view_, scratch}.counted(categories);
  });
}

// The numbers with their mean taken off, all in units in which their squares have the mean 1.
bool NumberTarget::choose(Finder, const OfferDraws& draws, Scratch& s) {
  const size_t n = s.positions.size(), filled = (n + kLanes - 1) / kLanes * kLanes;
  numbers_.assign(outputs_ * filled, 0.0);
  factor_.assign(outputs_, 1.0);
  chosen_weight_ = 0;
  for (const uint32_t position : s.positions) chosen_weight_ += weight(position);
  double squares = 0;
  for (size_t j = 0; j < outputs_; ++j) {
    double* numbers = numbers_.data() + j * filled;
    double mean = 0;
    for (size_t i = 0; i < n; ++i) mean += local_[s.positions[i] * sums() + j + 1];
    mean /= chosen_weight_;
    for (size_t i = 0; i < n; ++i) {
      const double w = weight(s.positions[i]);
      numbers[i] = local_[s.positions[i] * sums() + j + 1] / w - mean;
      squares += w * numbers[i] * numbers[i];
    }
    if (outputs_ > 1) factor_[j] = normal(draws.seed(Draw::groups), draws.path, j);
  }
  const double unit = std::sqrt(squares / (chosen_weight_ * static_cast<double>(outputs_)));
  if (!(unit > 0)) return false;
  for (double& number : numbers_) number /= unit;
  return true;
}

bool NumberTarget::wodt(std::span<const double> start, const LbfgsOptions& options, Scratch& s,
                        const Control& control) const {
  s.scale(s.scaled);
  SoftSquares objective(s.scaled_view(), s.share.data(), numbers_, outputs_, chosen_weight_, data_.options.l2);
  s.theta = minimise(objective, start, options, [&] {
    control.check();
    return false;
  });
  return true;
}

bool NumberTarget::ridge(Scratch& s) const {
  const size_t filled = to_size(s.weight.size());
  s.target.assign(filled, 0.0);
  for (size_t j = 0; j < outputs_; ++j)
    for (size_t i = 0; i < filled; ++i) s.target[i] += factor_[j] * numbers_[j * filled + i];
  return solve_ridge(s.scaled_view(), s.weight, s.target, data_.options.l2 * std::sqrt(chosen_weight_), s.ridge,
                     s.theta);
}

}  // namespace boscage::mixed
