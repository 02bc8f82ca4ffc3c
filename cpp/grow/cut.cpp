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
constexpr int kPrefixShift = 32, kDigitBits = 11, kDigits = 1 << kDigitBits, kPasses = 3;
// Whole weights, such as the counts of a bootstrap, of up to so much for each row have their logarithms tabulated.
constexpr double kMostCounts = 4;

}  // namespace

double CutPlace::threshold() const {
  const double mid = low / 2 + high / 2;
  return low <= mid && mid < high ? mid : low;
}

std::span<const uint32_t> ScoreOrder::sort(std::span<const double> scores) {
  order_.resize(scores.size());
  scores.size() < kCountingRows ? sort_few(scores) : sort_by_digits(scores);
  return order_;
}

std::span<const uint32_t> ScoreOrder::sort_marked(std::span<const double> scores) {
  sort(scores);
  double before = order_.empty() ? 0 : scores[order_[0]];
  for (uint32_t& entry : order_) {
    const double here = scores[entry];
    if (here != before) entry |= kNewValue;
    before = here;
  }
  return order_;
}

void ScoreOrder::sort_few(std::span<const double> scores) {
  few_.resize(scores.size());
  for (uint32_t i = 0; i < few_.size(); ++i) few_[i] = {sortable(scores[i]), i};
  std::sort(few_.begin(), few_.end(), [](const Entry& a, const Entry& b) { return a.key < b.key; });
  for (size_t i = 0; i < few_.size(); ++i) order_[i] = few_[i].position;
}

// Counting sort on the leading 32 bits, then each run that they do not tell apart by comparison.
void ScoreOrder::sort_by_digits(std::span<const double> scores) {
  const size_t n = scores.size();
  entries_.resize(n);
  other_.resize(n);
  counts_.assign(to_size(kDigits) * kPasses, 0);
  const auto digit = [](uint32_t key, int pass) { return to_size(key >> (pass * kDigitBits)) & (kDigits - 1); };
  for (uint32_t i = 0; i < n; ++i) {
    const auto key = static_cast<uint32_t>(sortable(scores[i]) >> kPrefixShift);
    entries_[i] = {key, i};
    for (int pass = 0; pass < kPasses; ++pass) ++counts_[to_size(pass) * kDigits + digit(key, pass)];
  }
  for (int pass = 0; pass < kPasses; ++pass) {
    uint32_t* count = counts_.data() + to_size(pass) * kDigits;
    if (count[digit(entries_[0].key, pass)] == n) continue;
    uint32_t before = 0;
    for (int value = 0; value < kDigits; ++value) before += std::exchange(count[value], before);
    for (const Prefix& entry : entries_) other_[count[digit(entry.key, pass)]++] = entry;
    entries_.swap(other_);
  }
  for (size_t i = 0; i < n; ++i) order_[i] = entries_[i].position;
  const auto key_of = [&](uint32_t position) { return sortable(scores[position]); };
  for (size_t i = 0; i < n;) {
    size_t end = i + 1;
    bool varies = false;
    for (; end < n && entries_[end].key == entries_[i].key; ++end) varies |= scores[order_[end]] != scores[order_[i]];
    if (varies)
      std::sort(order_.begin() + static_cast<std::ptrdiff_t>(i), order_.begin() + static_cast<std::ptrdiff_t>(end),
                [&](uint32_t a, uint32_t b) { return key_of(a) < key_of(b); });
    i = end;
  }
}

NodeCutter::NodeCutter(std::span<const uint32_t> rows, const Target& target, const AnyCriterion& criterion,
                       const Limits& limits)
    : local_(rows.size()), all_classes_(to_size(target.classes)), criterion_(criterion), limits_(limits) {
  std::vector<double> total(all_classes_, 0.0);
  for (size_t i = 0; i < rows.size(); ++i) {
    local_[i] = {target.weight_of(rows[i]), static_cast<uint32_t>(target.label[rows[i]])};
    total[local_[i].label] += local_[i].weight;
  }
  std::vector<uint32_t> number(all_classes_, 0);
  for (uint32_t c = 0; c < number.size(); ++c) {
    if (!(total[c] > 0)) continue;
    number[c] = static_cast<uint32_t>(present_.size());
    identity_.push_back(number[c]);
    present_.push_back(c);
    total_.push_back(total[c]);
  }
  for (WeightedRow& row : local_) row.label = number[row.label];
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
    : local_(rows.size()),
      soft_(numbers.outputs()),
      total_(numbers.outputs() + 1, 0.0),
      all_classes_(0),
      criterion_(criterion),
      limits_(limits) {
  double report = 0;
  values_.reserve(total_.size() * rows.size());
  for (auto& share : soft_.share) share.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const double weight = numbers.weight(rows[i]);
    local_[i] = {weight, 0};
    values_.push_back(weight);
    total_[0] += weight;
    soft_.add_row(weight);
    for (size_t j = 0; j < numbers.outputs(); ++j) {
      const double product = numbers.product(rows[i], j);
      values_.push_back(product);
      total_[j + 1] += product;
      soft_.add(weight, j, product / weight);
    }
    report += numbers.report(rows[i]);
  }
  const auto size = static_cast<int>(total_.size());
  potential_ = visit_for<Numbers>([&](const auto& g) { return g.total(total_.data(), size, report); }, criterion_);
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
  const auto order = scratch.order.sort_marked(scores);
  const Best best = is_numbers() ? visit_for<Numbers>(
                                       [&](const auto& g) {
                                         const auto scan = [&](const auto& rows) {
                                           return scan_sorted(g, rows, order, view_, Start{}, scratch.sums);
                                         };
                                         return total_.size() == 2
                                                    ? scan(WeightedValues{values_.data()})
                                                    : scan(ManyValues{values_.data(), total_.size() - 1});
                                       },
                                       criterion_)
                                 : visit_classes([&](const auto& g) { return scan(g, order, scratch); }, criterion_);
  if (best.gain < 0) return {};
  const auto at = to_size(best.position);
  return {best.gain, scores[order[at - 1] & kRowMask], scores[order[at] & kRowMask], best.position};
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
    side->sums.assign(total_.size(), 0.0);
  }
  for (size_t i = 0; i < scores.size(); ++i) {
    Side& side = scores[i] > threshold ? out.right : out.left;
    ++side.rows;
    const auto sums = sums_of(i);
    for (size_t k = 0; k < sums.size(); ++k) side.sums[k] += sums[k];
  }
  if (!allows(out.left.rows, out.left.sums[0])) return false;
  const auto size = static_cast<int>(total_.size());
  out.gain = visit_for<Numbers>(
      [&](const auto& g) { return g.gain(out.right.sums.data(), out.left.sums.data(), size); }, criterion_);
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
