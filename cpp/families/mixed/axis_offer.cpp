// Axis offers: the best cut of each of a few random columns.
#include <algorithm>
#include <cmath>
#include <limits>

#include "families/mixed/node_search.hpp"

namespace boscage::mixed {

namespace {

// Columns of so many whole numbers, side by side, are counted by value and not sorted.
constexpr double kMostCounted = 1024;

}  // namespace

// In the type of X, so that training and prediction compare the same numbers; never -0.
template <class Target>
double NodeSearch<Target>::threshold_between(double low, double high) const {
  return std::visit(
             [&](const auto& X) {
               using T = std::decay_t<decltype(X(0, 0))>;
               return middle(static_cast<T>(low), static_cast<T>(high));
             },
             data_.X) +
         0.0;
}

// Of equal cuts of one offer that of the smallest column is kept, in whatever order they are tried.
template <class Target>
bool NodeSearch<Target>::is_better_axis(double gain, int32_t column) const {
  const bool is_own = best_.offer == draws_.offer && best_.test.feature >= 0;
  return is_better(gain) || (is_own && column < best_.test.feature && !target_.is_better(best_.gain, gain));
}

// Columns that are not constant, and more of them until one has a valid cut.
template <class Target>
void NodeSearch<Target>::offer_axis() {
  RandomColumns order(draws_.seed(Draw::columns), draws_.path, columns_);
  int64_t wanted = data_.options.axis_columns;
  for (bool has_cut = false; !order.empty() && (wanted > 0 || !has_cut);) {
    const int32_t column = columns_[order.next()];
    uint8_t& known = s_.known[static_cast<size_t>(column)];
    if (known == kConstant) continue;
    s_.reader.read_column(rows_, column, s_.values);
    const ValueFacts facts = facts_of(s_.values);
    known = facts.varies ? kVaries : kConstant;
    if (!facts.varies) continue;
    --wanted;
    has_cut |= data_.is_category(static_cast<size_t>(column)) ? cut_categories(column) : cut_numbers(column, facts);
  }
}

// Whether there is a valid cut; the best one is kept.
template <class Target>
bool NodeSearch<Target>::cut_numbers(int32_t column, const ValueFacts& facts) {
  if (facts.has_missing) return cut_with_missing(column);
  const CutPlace place = find_place(facts);
  if (place.is_valid()) keep_axis(place.gain, column, threshold_between(place.low, place.high), false, false);
  return place.is_valid();
}

template <class Target>
CutPlace NodeSearch<Target>::find_place(const ValueFacts& facts) {
  const double range = facts.high - facts.low;
  const bool is_counted = facts.is_whole && range < kMostCounted &&
                          (range + 1) * static_cast<double>(target_.sums()) <= 2 * static_cast<double>(rows_.size());
  if (!is_counted) return target_.cut(s_.values, s_.cut);
  return target_.cut_whole(s_.values, facts.low, static_cast<size_t>(range) + 1, s_.axis);
}

template <class Target>
void NodeSearch<Target>::keep_axis(double gain, int32_t column, double threshold, bool has_missing, bool missing_left) {
  if (!is_better_axis(gain, column)) return;
  begin_best(gain, column);
  best_.test.threshold = threshold;
  best_.test.missing_left = missing_left;
  best_.saw_missing = has_missing;
  for (size_t i = 0; i < s_.values.size(); ++i)
    best_.goes_left[i] = has_missing && !std::isfinite(s_.values[i]) ? missing_left : s_.values[i] <= threshold;
}

template <class Target>
bool NodeSearch<Target>::cut_with_missing(int32_t column) {
  auto& values = s_.values;
  for (double& x : values)
    if (x != x) x = std::numeric_limits<double>::infinity();  // the last in order
  const auto order = s_.cut.order.sort_marked(values);
  const auto value_at = [&](size_t i) { return values[order[i] & kRowMask]; };
  size_t present = order.size();
  while (present > 0 && !std::isfinite(value_at(present - 1))) --present;
  const Cut cut = target_.cut_with_missing(order, present, s_.axis);
  if (cut.gain < 0) return false;
  const auto at = static_cast<size_t>(cut.position);
  const double low = value_at(at - 1);
  const double threshold = at < present ? threshold_between(low, value_at(at)) : low + 0.0;
  keep_axis(cut.gain, column, threshold, true, cut.missing_left);
  return true;
}

template <class Target>
bool NodeSearch<Target>::cut_categories(int32_t column) {
  const auto categories = static_cast<uint32_t>(data_.n_categories[static_cast<size_t>(column)]);
  const Cut cut = target_.cut_categories(s_.values, categories, s_.axis);
  if (cut.gain >= 0 && is_better_axis(cut.gain, column)) {
    begin_best(cut.gain, column);
    best_.test.categories = cut.categories;
    best_.test.missing_left = cut.missing_left;
    best_.saw_missing = true;  // the side is chosen by the scan
    for (size_t i = 0; i < s_.values.size(); ++i) {
      const double x = s_.values[i];
      best_.goes_left[i] = x == x ? has_category(cut.categories, static_cast<int64_t>(x)) : cut.missing_left;
    }
  }
  return cut.gain >= 0;
}

template void NodeSearch<ClassTarget>::offer_axis();
template void NodeSearch<NumberTarget>::offer_axis();

}  // namespace boscage::mixed
