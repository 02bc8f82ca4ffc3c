#include "grow/number_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace boscage {

NumberRows::NumberRows(const Target& target, const AnyCriterion& criterion, std::span<const uint32_t> rows)
    : target_(target), criterion_(criterion), outputs_(static_cast<size_t>(target.outputs)) {
  const auto n = static_cast<size_t>(target.rows());
  stride_ = outputs_ == 1 && target.weight.empty() ? 1 : outputs_ + 1;
  data_.resize(n * stride_);
  reports_.resize(n);
  if (stride_ > outputs_)
    for (uint32_t row = 0; row < n; ++row) data_[row * stride_] = weight(row);
  std::vector<uint32_t> all(rows.begin(), rows.end());
  if (has_ranks()) {
    std::stable_sort(all.begin(), all.end(), [&](uint32_t a, uint32_t b) { return y(a, 0) < y(b, 0); });
    order_ = all;
    rank_.resize(n);
    plain_.resize(n);
    number(order_);
  }
  const NumberRange range = range_of(target, rows);
  has_whole_weights_ = range.has_whole_weights;
  const auto grid = range.grid(criterion_);
  write(all, *grid);
  const std::vector<uint8_t> all_left(n, 1);
  total_ = measure(all, all_left.data(), grid).first;  // with ranks `all` is in the order of y
}

// v: room for the outputs.
template <class Criterion>
double NumberRows::report(const Criterion& criterion, uint32_t row, const NumberGrid& grid, double* v) const {
  for (size_t j = 0; j < outputs_; ++j) v[j] = grid.scaled(y(row, j) - grid.outputs[j].centre);
  return grid.report(criterion.report(v, static_cast<int>(outputs_)), weight(row));
}

void NumberRows::write(std::span<const uint32_t> rows, const NumberGrid& grid) {
  std::vector<double> v(outputs_);
  visit_numbers(
      [&](const auto& criterion) {
        for (const uint32_t row : rows) {
          double* values = data_.data() + row * stride_ + (stride_ - outputs_);
          for (size_t j = 0; j < outputs_; ++j) values[j] = grid.value(y(row, j), j, weight(row));
          if (has_ranks()) {
            plain_[row] = plain_value(row, grid);
          } else {
            reports_[row] = report(criterion, row, grid, v.data());
          }
        }
      },
      criterion_);
}

// On the grid, without its weight.
double NumberRows::plain_value(uint32_t row, const NumberGrid& grid) const {
  const double step = grid.outputs[0].step;
  return std::nearbyint(grid.scaled(y(row, 0) - grid.outputs[0].centre) / step) * step;
}

void NumberRows::number(std::span<const uint32_t> ordered) {
  for (uint32_t i = 0; i < ordered.size(); ++i) rank_[ordered[i]] = i + 1;
}

void NumberRows::load(std::span<const uint32_t> ordered, RankedNode& node) const {
  node.q = std::get<Quantile>(criterion_).q;
  node.value.assign(1, 0.0);
  node.weight.assign(1, 0.0);
  node.product.assign(1, 0.0);
  for (const uint32_t row : ordered) {
    node.value.push_back(plain_[row]);
    node.weight.push_back(weight(row));
    node.product.push_back(data_[row * stride_ + (stride_ - 1)]);
  }
  const auto [least, most] = std::minmax_element(node.weight.begin() + 1, node.weight.end());
  node.has_similar_weights = *most <= RankedNode::kFewSteps * *least;
}

std::pair<Side, Side> NumberRows::measure(std::span<const uint32_t> rows, const uint8_t* goes_left,
                                          const std::shared_ptr<const NumberGrid>& grid) const {
  NumberSums sides[2] = {NumberSums(outputs_), NumberSums(outputs_)};
  double* const sums[2] = {sides[0].sums.data(), sides[1].sums.data()};
  OutputFacts* const facts[2] = {sides[0].outputs.data(), sides[1].outputs.data()};
  const auto add = [&](size_t outputs) {
    for (const uint32_t row : rows) {
      const size_t side = goes_left[row] ? 0 : 1;
      ++sides[side].rows;
      sides[side].report += reports_[row];
      sums[side][0] += weight(row);
      const double* values = data_.data() + row * stride_ + (stride_ - outputs);
      for (size_t j = 0; j < outputs; ++j) {
        sums[side][j + 1] += values[j];
        facts[side][j].widen(target_.number[row * outputs + j]);
      }
    }
  };
  outputs_ == 1 ? add(1) : add(outputs_);
  return sides_of(rows, goes_left, grid, sides);
}

std::pair<Side, Side> NumberRows::measure_ahead(std::span<const uint32_t> rows, const uint8_t* goes_left,
                                                const std::shared_ptr<const NumberGrid>& grid) const {
  NumberSums sides[2] = {NumberSums(outputs_), NumberSums(outputs_)};
  std::vector<double> v(outputs_);
  visit_numbers(
      [&](const auto& criterion) {
        for (const uint32_t row : rows) {
          NumberSums& side = sides[goes_left[row] ? 0 : 1];
          ++side.rows;
          side.sums[0] += weight(row);
          side.report += report(criterion, row, *grid, v.data());
          for (size_t j = 0; j < outputs_; ++j) {
            side.sums[j + 1] += grid->value(y(row, j), j, weight(row));
            side.outputs[j].widen(y(row, j));
          }
        }
      },
      criterion_);
  return sides_of(rows, goes_left, grid, sides);
}

// Sums on the grid become sides, on a grid of their own where this one is too coarse.
std::pair<Side, Side> NumberRows::sides_of(std::span<const uint32_t> rows, const uint8_t* goes_left,
                                           const std::shared_ptr<const NumberGrid>& grid,
                                           NumberSums (&sides)[2]) const {
  std::pair<Side, Side> found;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    Side& side = i == 0 ? found.first : found.second;
    if (sides[i].rows == 0) continue;
    const auto is_here = [&](uint32_t row) { return (goes_left[row] != 0) == (i == 0); };
    if (grid->is_coarse_for(sides[i].outputs, sides[i].sums[0])) {
      side = measure_on(rows, is_here, std::move(sides[i]));
      continue;
    }
    if (has_ranks())
      find_quantile(rows, is_here, sides[i],
                    [&](uint32_t row) { return std::pair(plain_[row], data_[row * stride_ + stride_ - 1]); });
    side = number_side(std::move(sides[i]), grid);
  }
  return found;
}

// The quantile of the chosen rows, which come in increasing order, and what they lose at it. value(row): without and
// with its weight.
template <class Chosen, class Value>
void NumberRows::find_quantile(std::span<const uint32_t> ordered, const Chosen& chosen, NumberSums& sums,
                               const Value& value) const {
  const Quantile& criterion = std::get<Quantile>(criterion_);
  RankedNode node;
  node.q = criterion.q;
  const double wanted = criterion.q * sums.sums[0];
  double weights = 0, products = 0;
  bool is_met = false;  // exactly: the quantile lies between this value and the next
  for (const uint32_t row : ordered) {
    if (!chosen(row)) continue;
    if (is_met) {
      sums.quantile = *sums.quantile / 2 + y(row, 0) / 2;
      return;
    }
    const auto [plain, product] = value(row);
    weights += weight(row);
    products += product;
    if (weights < wanted) continue;
    sums.quantile = y(row, 0);
    const double loss = node.loss(plain, sums.sums[0], sums.sums[1], weights, products);
    sums.report = criterion.factor * std::max(loss, 0.0);
    if (weights > wanted) return;
    is_met = true;
  }
}

// The chosen rows on a grid of their own; their weight and range are known.
template <class Chosen>
Side NumberRows::measure_on(std::span<const uint32_t> rows, const Chosen& chosen, NumberSums sums) const {
  const auto grid = NumberRange{sums.outputs, sums.sums[0], has_whole_weights_}.grid(criterion_);
  std::fill(sums.sums.begin() + 1, sums.sums.end(), 0.0);
  sums.report = 0;
  std::vector<double> v(outputs_);
  visit_numbers(
      [&](const auto& criterion) {
        for (const uint32_t row : rows) {
          if (!chosen(row)) continue;
          for (size_t j = 0; j < outputs_; ++j) sums.sums[j + 1] += grid->value(y(row, j), j, weight(row));
          if (!has_ranks()) sums.report += report(criterion, row, *grid, v.data());
        }
      },
      criterion_);
  if (has_ranks())
    find_quantile(rows, chosen, sums, [&](uint32_t row) {
      return std::pair(plain_value(row, *grid), grid->value(y(row, 0), 0, weight(row)));
    });
  return number_side(std::move(sums), grid);
}

}  // namespace boscage
