#include "grow/cut.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <utility>

#include "base/index.hpp"

namespace boscage {

namespace {

// Unsigned order of the result = order of the numbers; both zeros are one number.
uint64_t sortable(double score) {
  const auto bits = std::bit_cast<uint64_t>(score + 0.0);
  return bits >> 63 ? ~bits : bits | (1ULL << 63);
}

// Below this a comparison sort is quicker than counting digits.
constexpr size_t kCountingRows = 300;
constexpr int kDigitBits = 11, kDigits = 1 << kDigitBits, kPasses = 3;
constexpr int kPrefixShift = 64 - kDigitBits * kPasses;
// Whole weights, such as the counts of a bootstrap, of up to so much for each row have their logarithms tabulated.
constexpr double kMostCounts = 4;

}  // namespace

double CutPlace::threshold() const {
  const double mid = low / 2 + high / 2;
  return low <= mid && mid < high ? mid : low;
}

std::span<const uint32_t> ScoreOrder::sort(std::span<const double> scores) {
  const size_t n = scores.size();
  entries_.resize(n);
  for (size_t i = 0; i < n; ++i) entries_[i] = {sortable(scores[i]), static_cast<uint32_t>(i)};
  if (n < kCountingRows) {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.key < b.key; });
  } else {
    sort_by_digits();
  }
  order_.resize(n);
  for (size_t i = 0; i < n; ++i) order_[i] = entries_[i].position;
  return order_;
}

// Counting sort on the leading 33 bits, then each run that they do not tell apart by comparison.
void ScoreOrder::sort_by_digits() {
  const size_t n = entries_.size();
  other_.resize(n);
  counts_.assign(to_size(kDigits) * kPasses, 0);
  const auto digit = [](uint64_t key, int pass) {
    return to_size(key >> (kPrefixShift + pass * kDigitBits)) & (kDigits - 1);
  };
  for (const Entry& entry : entries_)
    for (int pass = 0; pass < kPasses; ++pass) ++counts_[to_size(pass) * kDigits + digit(entry.key, pass)];
  for (int pass = 0; pass < kPasses; ++pass) {
    uint32_t* count = counts_.data() + to_size(pass) * kDigits;
    if (count[digit(entries_[0].key, pass)] == n) continue;
    uint32_t before = 0;
    for (int value = 0; value < kDigits; ++value) before += std::exchange(count[value], before);
    for (const Entry& entry : entries_) other_[count[digit(entry.key, pass)]++] = entry;
    entries_.swap(other_);
  }
  for (size_t i = 0; i < n;) {
    size_t end = i + 1;
    while (end < n && entries_[end].key >> kPrefixShift == entries_[i].key >> kPrefixShift) ++end;
    if (end > i + 1)
      std::sort(entries_.begin() + static_cast<std::ptrdiff_t>(i), entries_.begin() + static_cast<std::ptrdiff_t>(end),
                [](const Entry& a, const Entry& b) { return a.key < b.key; });
    i = end;
  }
}

NodeCutter::NodeCutter(std::span<const uint32_t> rows, std::span<const WeightedRow> weighted, int32_t classes,
                       const AnyCriterion& criterion, const Limits& limits)
    : local_(rows.size()), all_classes_(to_size(classes)), criterion_(criterion), limits_(limits) {
  std::vector<double> total(all_classes_, 0.0);
  for (const uint32_t row : rows) total[weighted[row].label] += weighted[row].weight;
  std::vector<uint32_t> number(all_classes_, 0);
  for (uint32_t c = 0; c < number.size(); ++c) {
    if (!(total[c] > 0)) continue;
    number[c] = static_cast<uint32_t>(present_.size());
    identity_.push_back(number[c]);
    present_.push_back(c);
    total_.push_back(total[c]);
  }
  for (size_t i = 0; i < rows.size(); ++i) local_[i] = {weighted[rows[i]].weight, number[weighted[rows[i]].label]};
  potential_ = visit_classes([&](const auto& g) { return g.total(total_.data(), this->classes()); }, criterion_);
  view_.weight = std::accumulate(total_.begin(), total_.end(), 0.0);
  set_view(limits);
  if (!std::holds_alternative<Entropy>(criterion_)) return;
  const bool counts =
      std::all_of(local_.begin(), local_.end(), [](const auto& row) { return row.weight == std::floor(row.weight); });
  if (counts && view_.weight <= kMostCounts * static_cast<double>(rows.size()))
    terms_ = EntropyTerms(static_cast<int64_t>(view_.weight));
}

NodeCutter::NodeCutter(std::span<const uint32_t> rows, const NumberRows& numbers, const AnyCriterion& criterion,
                       const Limits& limits)
    : local_(rows.size()), total_(2, 0.0), all_classes_(0), criterion_(criterion), limits_(limits) {
  double report = 0;
  values_.reserve(2 * rows.size());
  soft_.share.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const double weight = numbers.weight(rows[i]), product = numbers.product(rows[i]);
    local_[i] = {weight, 0};
    values_.insert(values_.end(), {weight, product});
    soft_.add(weight, product / weight);
    total_[0] += weight;
    total_[1] += product;
    report += numbers.report(rows[i]);
  }
  potential_ = visit_for<Numbers>([&](const auto& g) { return g.total(total_.data(), 2, report); }, criterion_);
  soft_.finish();
  view_.weight = total_[0];
  set_view(limits);
}

void NodeCutter::set_view(const Limits& limits) {
  view_.local = identity_;
  view_.total = total_;
  view_.rows = signed_size(local_);
  view_.min_samples_leaf = limits.min_samples_leaf;
  view_.min_weight_leaf = limits.min_weight_leaf;
  // Differences this small are rounding: a cut worth no more counts as worth nothing.
  view_.noise = noise_of(criterion_, total_);
  near_ = 1e-11 * potential_;
}

// Defined before its use: Clang 16 forgets instances that a generic lambda asks for first.
template <class C>
Best NodeCutter::scan(const C& criterion, std::span<const uint32_t> entries, CutScratch& scratch) const {
  constexpr bool runs = std::is_same_v<C, Entropy> || std::is_same_v<C, Gini>;
  if (!runs || (classes() == 2 && std::is_same_v<C, Gini>))
    return scan_sorted(criterion, WeightedRows(local_.data()), entries, view_, Start{}, scratch.sums);
  Best best;
  RunningGain<C> running(criterion, total_, terms_);
  double weight = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    const WeightedRow& row = local_[entries[i] & kRowMask];
    if (entries[i] & kNewValue && allows(static_cast<int64_t>(i), weight)) {
      const double value = above_noise(running.gain());
      if (best.position < 0 || is_better(value, best.gain)) best = {value, static_cast<int64_t>(i)};
    }
    running.to_left(row.label, row.weight);
    weight += row.weight;
  }
  return best;
}

CutPlace NodeCutter::find(std::span<const double> scores, CutScratch& scratch) const {
  const auto order = scratch.order.sort(scores);
  scratch.entries.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    scratch.entries[i] = order[i] | (i > 0 && scores[order[i]] != scores[order[i - 1]] ? kNewValue : 0U);
  const Best best =
      is_numbers()
          ? visit_for<Numbers>(
                [&](const auto& g) {
                  return scan_sorted(g, WeightedValues{values_.data()}, scratch.entries, view_, Start{}, scratch.sums);
                },
                criterion_)
          : visit_classes([&](const auto& g) { return scan(g, scratch.entries, scratch); }, criterion_);
  if (best.gain < 0) return {};
  const auto at = to_size(best.position);
  return {best.gain, scores[order[at - 1]], scores[order[at]], best.position};
}

bool NodeCutter::allows(int64_t left_rows, double left_weight) const {
  const int64_t fewest = std::max<int64_t>(1, limits_.min_samples_leaf);
  return left_rows >= fewest && rows() - left_rows >= fewest && left_weight >= limits_.min_weight_leaf &&
         view_.weight - left_weight >= limits_.min_weight_leaf;
}

// The facts of the sides are made once the test is chosen.
bool NodeCutter::measure_numbers(std::span<const double> scores, double threshold, MeasuredTest& out) const {
  for (Side* side : {&out.left, &out.right}) {
    side->rows = 0;
    side->sums.assign(2, 0.0);
  }
  for (size_t i = 0; i < scores.size(); ++i) {
    Side& side = scores[i] > threshold ? out.right : out.left;
    ++side.rows;
    side.sums[0] += values_[2 * i];
    side.sums[1] += values_[2 * i + 1];
  }
  if (!allows(out.left.rows, out.left.sums[0])) return false;
  out.gain = visit_for<Numbers>([&](const auto& g) { return g.gain(out.right.sums.data(), out.left.sums.data(), 2); },
                                criterion_);
  if (out.gain < 0) return false;
  if (out.gain <= view_.noise) out.gain = 0;
  out.drop = out.gain;
  return true;
}

bool NodeCutter::measure(std::span<const double> scores, double threshold, MeasuredTest& out) const {
  if (is_numbers()) return measure_numbers(scores, threshold, out);
  for (Side* side : {&out.left, &out.right}) {
    side->rows = 0;
    side->sums.assign(all_classes_, 0.0);
  }
  for (size_t i = 0; i < scores.size(); ++i) {
    Side& side = scores[i] > threshold ? out.right : out.left;
    ++side.rows;
    side.sums[present_[local_[i].label]] += local_[i].weight;
  }
  const auto classes = static_cast<int>(all_classes_);
  for (const Side* side : {&out.left, &out.right}) {
    const double weight = std::accumulate(side->sums.begin(), side->sums.end(), 0.0);
    if (side->rows < std::max<int64_t>(1, limits_.min_samples_leaf) || weight < limits_.min_weight_leaf) return false;
  }
  const double *right = out.right.sums.data(), *left = out.left.sums.data();
  visit_classes(
      [&](const auto& g) {
        out.gain = g.gain(right, left, classes);
        out.drop = g.drop(right, left, classes);
      },
      criterion_);
  if (out.gain <= view_.noise) out.gain = 0;
  return true;
}

}  // namespace boscage
