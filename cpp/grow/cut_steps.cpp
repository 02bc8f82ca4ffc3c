// The best step along a line of hyperplanes: NodeCutter::find_step.
//
// Rows cross the hyperplane one after the other as the step grows. Their steps are first put into bins, in order, and
// only bins that could hold a better step than the one at hand are sorted. A bound for all gains in a bin: the
// potential is concave and of degree 1, so the sides have at least the potential they have without the rows that move
// in the bin.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

#include "grow/cut.hpp"

namespace boscage {

namespace {

constexpr size_t kBinnedRows = 256;                                    // fewer are sorted at once
constexpr size_t kRowsPerBin = 64, kFewestBins = 16, kMostBins = 128;  // on each side of step 0
constexpr size_t kSampled = 31;

// About as many steps in each bin: 1 / (1 + |step| / scale) is nearly uniform where scores and changes are normal.
// Every operation is monotone as rounded, so the order of bins is that of steps.
struct StepBins {
  double scale, half;

  uint16_t operator()(double step) const {
    const auto from_end = static_cast<int32_t>(scale / (scale + std::abs(step)) * half);
    return static_cast<uint16_t>(step < 0 ? from_end : 2 * static_cast<int32_t>(half) - from_end);
  }
};

StepBins make_bins(std::span<const double> steps) {
  double sample[kSampled];
  for (size_t i = 0; i < kSampled; ++i) sample[i] = std::abs(steps[i * steps.size() / kSampled]);
  std::nth_element(sample, sample + kSampled / 2, sample + kSampled);
  const size_t half = std::clamp(steps.size() / kRowsPerBin, kFewestBins, kMostBins);
  return {std::clamp(sample[kSampled / 2], 1e-290, 1e290), static_cast<double>(half)};
}

// One search, from step = -infinity: rows whose score falls with the step begin on the right, the others cross to it.
template <class C>
class StepSearch {
 public:
  StepSearch(const NodeCutter& node, const C& criterion, std::span<const double> start, std::span<const double> change,
             CutScratch& scratch)
      : node_(node),
        criterion_(criterion),
        change_(change),
        s_(scratch),
        classes_(node.total().size()),
        left_(classes_, 0.0),
        running_(criterion, node.total(), node.terms()) {
    collect(start);
  }

  CutPlace run(double beat) {
    if (s_.crossing.empty()) return {};
    const bool all = beat < 0 || s_.crossing.size() < kBinnedRows || kNumbers || std::is_same_v<C, Separation>;
    if (all) {
      s_.bin.assign(s_.crossing.size(), 0);
    } else {
      const StepBins bins = make_bins(s_.crossing);
      s_.bin.resize(s_.crossing.size());
      for (size_t m = 0; m < s_.crossing.size(); ++m) s_.bin[m] = bins(s_.crossing[m]);
    }
    count_moves();
    if (!all && !find_likely(beat)) return {};
    choose();
    return scan();
  }

 private:
  static constexpr bool kNumbers = std::is_same_v<typename C::Target, Numbers>;

  // The rows that cross and where; those that do not are on the left for good, or on the right.
  void collect(std::span<const double> start) {
    s_.moving.resize(start.size());
    s_.crossing.resize(start.size());
    size_t count = 0;
    for (uint32_t i = 0; i < start.size(); ++i) {
      const double crossing = -start[i] / change_[i];
      s_.moving[count] = i;
      s_.crossing[count] = crossing;
      if (std::isfinite(crossing)) {
        ++count;
      } else if (!(start[i] > 0)) {
        add(i, left_.data());
        ++left_rows_;
      }
    }
    s_.moving.resize(count);
    s_.crossing.resize(count);
  }

  const WeightedRow& row(uint32_t i) const { return node_.local()[i]; }
  void add(uint32_t i, double* sums) const {
    if constexpr (kNumbers) {
      const auto values = node_.sums_of(i);
      for (size_t k = 0; k < values.size(); ++k) sums[k] += values[k];
    } else {
      sums[row(i).label] += row(i).weight;
    }
  }
  void run_to_left(uint32_t i, double sign) {
    if constexpr (kNumbers) {
      const auto values = node_.sums_of(i);
      for (uint32_t k = 0; k < values.size(); ++k) running_.to_left(k, sign * values[k]);
    } else {
      running_.to_left(row(i).label, sign * row(i).weight);
    }
  }
  bool goes_left(uint32_t i) const { return !(change_[i] > 0); }

  // By bin the weight of each class that goes right and that goes left, and how many rows.
  void count_moves() {
    const size_t bins = 1U + *std::max_element(s_.bin.begin(), s_.bin.end());
    s_.moved.assign(bins * 2 * classes_, 0.0);
    s_.moved_rows.assign(bins * 2, 0);
    for (size_t m = 0; m < s_.moving.size(); ++m) {
      const uint32_t i = s_.moving[m];
      const size_t place = 2U * s_.bin[m] + goes_left(i);
      add(i, s_.moved.data() + place * classes_);
      ++s_.moved_rows[place];
    }
    for (size_t bin = 0; bin < bins; ++bin) {  // what goes right begins on the left
      for (size_t c = 0; c < classes_; ++c) left_[c] += moved(bin, false)[c];
      left_rows_ += s_.moved_rows[2 * bin];
    }
    s_.likely.assign(bins, 1);
  }

  const double* moved(size_t bin, bool to_left) const {
    return s_.moved.data() + (2 * bin + (to_left ? 1 : 0)) * classes_;
  }

  // Marks the bins whose bound is above `beat`; are there any?
  bool find_likely(double beat) {
    std::vector<double> left(left_), sides(2 * classes_);
    bool found = false;
    for (size_t bin = 0; bin < s_.likely.size(); ++bin) {
      s_.likely[bin] = 0;
      if (s_.moved_rows[2 * bin] + s_.moved_rows[2 * bin + 1] == 0) continue;
      const double *to_right = moved(bin, false), *to_left = moved(bin, true);
      for (size_t c = 0; c < classes_; ++c) {
        sides[c] = left[c] - to_right[c];
        sides[classes_ + c] = node_.total()[c] - left[c] - to_left[c];
        left[c] += to_left[c] - to_right[c];
      }
      const double least = potential(sides.data()) + potential(sides.data() + classes_);
      s_.likely[bin] = node_.potential() - least > beat;
      found |= s_.likely[bin] != 0;
    }
    return found;
  }

  double potential(const double* w) const {
    if constexpr (std::is_same_v<C, Entropy>) {
      double all = 0, terms = 0;
      for (size_t c = 0; c < classes_; ++c) {
        all += w[c];
        terms += node_.terms()(w[c]);
      }
      return node_.terms()(all) - terms;
    } else if constexpr (!kNumbers) {
      return criterion_.total(w, static_cast<int>(classes_));
    } else {
      return 0;  // not known from sums alone: no bin is passed over
    }
  }

  // The rows of likely bins, in s_.entries, and their steps.
  void choose() {
    s_.entries.clear();
    s_.chosen.clear();
    for (size_t m = 0; m < s_.moving.size(); ++m) {
      if (!s_.likely[s_.bin[m]]) continue;
      s_.entries.push_back(static_cast<uint32_t>(m));
      s_.chosen.push_back(s_.crossing[m]);
    }
  }

  CutPlace scan() {
    CutPlace best;
    const auto order = s_.order.sort(s_.chosen);
    std::vector<double> shown(classes_, 0.0);  // what running_ has on the left
    size_t k = 0;
    for (size_t bin = 0; bin < s_.likely.size(); ++bin) {
      const bool likely = s_.likely[bin] != 0;
      for (size_t c = 0; likely && c < classes_; ++c) running_.to_left(static_cast<uint32_t>(c), left_[c] - shown[c]);
      if (likely) k = scan_bin(bin, order, k, best);
      for (size_t c = 0; c < classes_; ++c) left_[c] += moved(bin, true)[c] - moved(bin, false)[c];
      left_rows_ += s_.moved_rows[2 * bin + 1] - s_.moved_rows[2 * bin];
      if (likely) shown = left_;
    }
    if (best.is_valid()) best.high = next_step(best.low);
    return best;
  }

  // The places after each of a bin's rows, which begin at order[k]; returns where they end. After the last row of all
  // there is no other side of the line to compare with.
  size_t scan_bin(size_t bin, std::span<const uint32_t> order, size_t k, CutPlace& best) {
    int64_t rows = left_rows_;
    double weight = C::Target::weight(left_.data(), static_cast<int>(classes_));
    const bool is_last = bin + 1 == s_.likely.size();
    for (bool more = true; k < order.size() && more; ++k) {
      const size_t m = s_.entries[order[k]];
      const uint32_t i = s_.moving[m];
      const double sign = goes_left(i) ? 1 : -1, low = s_.crossing[m];
      run_to_left(i, sign);
      rows += goes_left(i) ? 1 : -1;
      weight += sign * row(i).weight;
      more = k + 1 < order.size() && s_.bin[s_.entries[order[k + 1]]] == bin;
      if (!(more ? s_.chosen[order[k + 1]] > low : !is_last) || !node_.allows(rows, weight)) continue;
      const double gain = running_.gain();
      if (kNumbers && gain < 0) continue;
      const double value = node_.above_noise(gain);
      if (!best.is_valid() || node_.is_better(value, best.gain)) best = {value, low, low, 0};
    }
    return k;
  }

  double next_step(double low) const {
    double next = std::numeric_limits<double>::infinity();
    for (const double crossing : s_.crossing)
      if (crossing > low) next = std::min(next, crossing);
    return next;
  }

  const NodeCutter& node_;
  const C& criterion_;
  std::span<const double> change_;
  CutScratch& s_;
  size_t classes_;
  std::vector<double> left_;  // by class, at the beginning of a bin
  int64_t left_rows_ = 0;
  RunningGain<C> running_;
};

}  // namespace

CutPlace NodeCutter::find_step(std::span<const double> start, std::span<const double> change, double beat,
                               CutScratch& scratch) const {
  const auto search = [&](const auto& g) { return StepSearch(*this, g, start, change, scratch).run(beat); };
  return is_numbers() ? visit_for<Numbers>(search, criterion_) : visit_classes(search, criterion_);
}

}  // namespace boscage
