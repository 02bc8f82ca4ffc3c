#include "optimal/depth_two.hpp"

#include <numeric>

#include "optimal/sweep.hpp"

namespace boscage::optimal {
namespace {

struct Evaluated {
  int64_t index;    // into the cuts
  int64_t side[2];  // F_1 of both sides
  int64_t cost() const { return side[0] + side[1]; }
};

// Living cuts first..last.
struct Gap {
  int64_t first, last;
};

template <class T>
class Solver final : public DepthTwo {
 public:
  Solver(const Problem& problem, const Stopper& stopper) : problem_(problem), stopper_(stopper) {}

  Answer solve(const Node& node, int64_t budget, std::vector<int64_t>& least, int64_t& floor) override {
    prepare(node);
    const int64_t leaf = node.error() * problem_.scale + problem_.penalty;
    best_ = std::min(budget, leaf);
    answer_ = {leaf, leaf < budget, -1, -1};
    floor_ = std::min(leaf, problem_.penalty);
    visit_.resize(node.features);
    std::iota(visit_.begin(), visit_.end(), 0);
    std::stable_sort(visit_.begin(), visit_.end(), [&](int a, int b) { return least[a] < least[b]; });
    for (const int j : visit_)
      if (least[j] < best_) least[j] = std::max(least[j], scan(j, false));
    floor = floor_;
    if (answer_.exact) return answer_;
    int64_t bound = leaf;
    for (const int64_t c : least) bound = std::min(bound, c);
    return {std::max(bound, budget), false, -1, -1};
  }

  Answer first_split(const Node& node, int64_t value) override {
    prepare(node);
    for (int j = 0; j < node.features; ++j) {
      best_ = value + 1;
      answer_ = {};
      scan(j, true);
      if (answer_.exact) return answer_;
    }
    return {};
  }

 private:
  // What all columns share: class numbers 0..of this node, order with marks (two classes) or runs.
  void prepare(const Node& node) {
    node_ = &node;
    local_.assign(node.classes, -1);
    classes_ = 0;
    for (int c = 0; c < node.classes; ++c)
      if (node.class_weight[c] > 0) local_[c] = classes_++;
    items_.resize(node.rows);
    binary_ = classes_ <= 2;
    label_.resize(node.rows);
    for (int64_t i = 0; i < node.rows; ++i) {
      label_[i] = local_[node.label[i]];
      const T weight = static_cast<T>(node.weight[i]);
      items_[i].weight = binary_ && label_[i] == 0 ? -weight : weight;
    }
    binary_ ? mark_order() : list_runs();
  }

  // A stump need not cut between two groups of the same single class: its error there lies between
  // those at the ends of the run. Calls visit(k, i, cut) for every row place i of column k.
  template <class Visit>
  void walk_groups(int k, Visit&& visit) const {
    const uint32_t* order = node_->sorted(k);
    const int32_t* rank = node_->ranks(k);
    const int64_t rows = node_->rows;
    int previous = -1;  // class of the group before if single
    int64_t start = 0;
    while (start < rows) {
      int64_t end = start;
      int label = label_[order[start]];
      const int32_t value = rank[order[start]];
      while (end < rows && rank[order[end]] == value) {
        if (label_[order[end]] != label) label = -1;
        ++end;
      }
      visit(start, end, label, start > 0 && (label < 0 || label != previous));
      previous = label;
      start = end;
    }
  }

  // Stumps are read off at marked rows. Either every end of a group of equal ranks is marked, or only
  // those that matter (between two single rows of one class nothing does); whichever the branch
  // predictor and the kernel will like better.
  void mark_order() {
    const int64_t rows = node_->rows;
    dense_.assign(node_->features, 0);
    marked_.resize(node_->order.size());
    code_.resize(rows + 3);
    for (int k = 0; k < node_->features; ++k) {
      const uint32_t* order = node_->sorted(k);
      const int32_t* rank = node_->ranks(k);
      uint32_t* marked = marked_.data() + k * rows;
      if (!problem_.tied[k] && node_->features < 4) {
        dense_[k] = 1;
        std::copy(order, order + rows, marked);
        continue;
      }
      int32_t* code = code_.data() + 1;  // rank and class, with room for a neighbour at each end
      for (int64_t i = 0; i < rows; ++i) code[i] = 2 * rank[order[i]] + label_[order[i]];
      code[-1] = -1, code[rows] = code[rows + 1] = -1;
      int64_t groups = 0, marks = 0;
      for (int64_t i = 0; i < rows; ++i) {
        const int32_t here = code[i] >> 1, next = code[i + 1] >> 1;
        const bool end = here != next;
        const bool single = here != code[i - 1] >> 1 && next != code[i + 2] >> 1;
        const bool matters = end & (!single | (((code[i] ^ code[i + 1]) & 1) != 0));
        groups += end;
        marks += matters;
        marked[i] = order[i] | (matters ? kCutHere : 0U);
      }
      const int64_t dense_cost = 4 * rows + 15 * (rows - groups);
      const int64_t sparse_cost = 2 * rows + 3 * marks + 12 * std::min(marks, rows - marks);
      if (sparse_cost <= dense_cost) continue;
      dense_[k] = groups == rows;
      for (int64_t i = 0; i < rows; ++i)
        marked[i] = order[i] | (!dense_[k] && code[i] >> 1 != code[i + 1] >> 1 ? kCutHere : 0U);
    }
  }

  void list_runs() {
    runs_.clear();
    run_start_.assign(1, 0);
    for (int k = 0; k < node_->features; ++k) {
      const uint32_t* order = node_->sorted(k);
      walk_groups(k, [&](int64_t start, int64_t end, int label, bool cut_before) {
        const bool first = runs_.size() == run_start_.back();
        if (cut_before && !first) runs_.back().cut = true;
        if (!cut_before && !first && label >= 0) {
          runs_.back().end = static_cast<uint32_t>(end);
          return;
        }
        for (int64_t i = start; i < end; ++i) {
          const int32_t own = label_[order[i]];
          if (i > start && runs_.back().label == own) {
            runs_.back().end = static_cast<uint32_t>(i + 1);
          } else {
            runs_.push_back({static_cast<uint32_t>(i + 1), own, false});
          }
        }
      });
      run_start_.push_back(static_cast<uint32_t>(runs_.size()));
    }
  }

  // The cuts of column j that leave more than the penalty on both sides; also sets the lanes' keys.
  void list_cuts(int j) {
    const uint32_t* order = node_->sorted(j);
    const int32_t* rank = node_->ranks(j);
    const int64_t all = node_->total * problem_.scale, rows = node_->rows;
    cut_weight_.resize(rows);
    cut_position_.resize(rows);
    int64_t weight = 0, count = 0;
    for (int64_t i = 0; i + 1 < rows; ++i) {
      weight += node_->weight[order[i]] * problem_.scale;
      cut_weight_[count] = weight;
      cut_position_[count] = static_cast<int32_t>(i + 1);
      count += rank[order[i]] != rank[order[i + 1]];
    }
    cut_weight_.resize(count);
    const auto begin = cut_weight_.begin();
    first_cut_ = std::upper_bound(begin, cut_weight_.end(), problem_.penalty) - begin;
    last_cut_ = (std::lower_bound(begin, cut_weight_.end(), all - problem_.penalty) - begin) - 1;
    for (int64_t i = 0; i < rows; ++i) items_[i].key = static_cast<T>(rank[i]);
  }

  int32_t cut_rank(int j, int64_t cut) const { return node_->ranks(j)[node_->sorted(j)[cut_position_[cut] - 1]]; }

  // Least cost of a root split on j, or a lower bound of at least best_. With `first` the ceiling stays
  // and the lowest cut below it is looked for.
  int64_t scan(int j, bool first) {
    list_cuts(j);
    if (first_cut_ > last_cut_) return kNever;
    gaps_.assign(1, {first_cut_, last_cut_});
    done_.clear();
    int64_t least = kNever;
    while (!gaps_.empty()) {
      stopper_.check();
      pick();
      evaluate(j);
      for (const Evaluated& e : fresh_) {
        least = std::min(least, e.cost());
        floor_ = std::max({floor_, e.side[0], e.side[1]});
        if (e.cost() >= best_) continue;
        answer_ = {e.cost(), true, j, cut_rank(j, e.index)};
        if (first) {
          last_cut_ = e.index - 1;
          break;
        }
        best_ = e.cost();
      }
      merge_fresh();
      drop_hopeless(least);
    }
    return least;
  }

  // Up to kLanes of the living cuts, evenly spread.
  void pick() {
    int64_t count = 0, seen = 0;
    for (const Gap& gap : gaps_) count += gap.last - gap.first + 1;
    const int64_t lanes = std::min<int64_t>(count, kLanes);
    fresh_.clear();
    size_t at = 0;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const int64_t place = count <= kLanes ? lane : ((2 * lane + 1) * count) / (2 * lanes);
      while (place - seen > gaps_[at].last - gaps_[at].first) {
        seen += gaps_[at].last - gaps_[at].first + 1;
        ++at;
      }
      fresh_.push_back({gaps_[at].first + (place - seen), {0, 0}});
    }
  }

  // Class weights left of every fresh cut: left_[lane * classes + c].
  void sum_left(int j) {
    const uint32_t* order = node_->sorted(j);
    left_.assign(fresh_.size() * classes_, 0);
    sums_.assign(classes_, 0);
    int64_t i = 0;
    for (size_t lane = 0; lane < fresh_.size(); ++lane) {
      for (; i < cut_position_[fresh_[lane].index]; ++i) sums_[label_[order[i]]] += node_->weight[order[i]];
      std::copy(sums_.begin(), sums_.end(), left_.begin() + lane * classes_);
    }
  }

  int64_t class_total(int c) const {
    for (int global = 0; global < node_->classes; ++global)
      if (local_[global] == c) return node_->class_weight[global];
    return 0;
  }

  int64_t stump_value(int64_t stump_error, int64_t leaf_error) const {
    return std::min(leaf_error * problem_.scale + problem_.penalty,
                    stump_error * problem_.scale + 2 * problem_.penalty);
  }

  void evaluate(int j) {
    ++sweeps;
    for (int lane = 0; lane < kLanes; ++lane)
      lane_cut_[lane] = lane < lanes() ? static_cast<T>(cut_rank(j, fresh_[lane].index)) : T{-1};
    binary_ ? evaluate_binary() : evaluate_classes(j);
  }

  // Columns per call of the kernel, so that the stop flag is looked at often enough.
  int columns_at_once() const {
    return static_cast<int>(std::clamp<int64_t>(4'000'000 / node_->rows, 1, node_->features));
  }

  void evaluate_binary() {
    BinarySweep<T> sweep;
    sweep.items = items_.data();
    sweep.rows = node_->rows;
    std::copy(lane_cut_, lane_cut_ + kLanes, sweep.cut);
    T low[2][kLanes] = {}, high[2][kLanes] = {};
    const int step = columns_at_once();
    for (int k = 0; k < node_->features; k += step) {
      if (k > 0) stopper_.check();
      sweep.order = marked_.data() + k * node_->rows;
      sweep.dense = dense_.data() + k;
      sweep.columns = std::min(step, node_->features - k);
      sweep_kernels<T>().binary(sweep);
      for (int side = 0; side < 2; ++side)
        for (int lane = 0; lane < kLanes; ++lane) {
          low[side][lane] = std::min(low[side][lane], sweep.low[side][lane]);
          high[side][lane] = std::max(high[side][lane], sweep.high[side][lane]);
        }
    }
    const int64_t all[2] = {class_total(0), classes_ > 1 ? class_total(1) : 0};
    for (int lane = 0; lane < lanes(); ++lane) {
      const int64_t left = cut_weight_[fresh_[lane].index] / problem_.scale;
      const int64_t ones = (left + sweep.left[lane]) / 2;  // from the sum and the difference of the classes
      for (int side = 0; side < 2; ++side) {
        const int64_t w1 = side == 0 ? ones : all[1] - ones, w0 = side == 0 ? left - ones : all[0] - (left - ones);
        const int64_t stump = std::min<int64_t>(w0 + low[side][lane], w1 - high[side][lane]);
        fresh_[lane].side[side] = stump_value(stump, std::min(w0, w1));
      }
    }
  }

  void evaluate_classes(int j) {
    sum_left(j);
    ClassSweep<T> sweep;
    sweep.items = items_.data();
    sweep.rows = node_->rows;
    sweep.classes = classes_;
    for (int side = 0; side < 2; ++side) {
      total_[side].assign(classes_ * kLanes, 0);
      rest_[side].resize(classes_ * kLanes);
      sweep.total[side] = total_[side].data();
      sweep.rest[side] = rest_[side].data();
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      sweep.cut[lane] = lane_cut_[lane];
      for (int c = 0; c < classes_; ++c) {
        const int64_t left = lane < lanes() ? left_[lane * classes_ + c] : 0;
        total_[0][c * kLanes + lane] = static_cast<T>(left);
        total_[1][c * kLanes + lane] = static_cast<T>(class_total(c) - left);
      }
    }
    T correct[2][kLanes] = {};
    const int step = columns_at_once();
    for (int k = 0; k < node_->features; k += step) {
      if (k > 0) stopper_.check();
      sweep.order = node_->sorted(k);
      sweep.runs = runs_.data();
      sweep.run_start = run_start_.data() + k;
      sweep.columns = std::min(step, node_->features - k);
      sweep_kernels<T>().classes(sweep);
      for (int side = 0; side < 2; ++side)
        for (int lane = 0; lane < kLanes; ++lane)
          correct[side][lane] = std::max(correct[side][lane], sweep.correct[side][lane]);
    }
    for (int lane = 0; lane < lanes(); ++lane)
      for (int side = 0; side < 2; ++side) {
        int64_t sum = 0, most = 0;
        for (int c = 0; c < classes_; ++c) {
          const int64_t w = total_[side][c * kLanes + lane];
          sum += w;
          most = std::max(most, w);
        }
        const int64_t right = std::max<int64_t>(correct[side][lane], most);
        fresh_[lane].side[side] = stump_value(sum - right, sum - most);
      }
  }

  int lanes() const { return static_cast<int>(fresh_.size()); }

  void merge_fresh() {
    const auto middle = static_cast<int64_t>(done_.size());
    done_.insert(done_.end(), fresh_.begin(), fresh_.end());
    std::inplace_merge(done_.begin(), done_.begin() + middle, done_.end(),
                       [](const Evaluated& a, const Evaluated& b) { return a.index < b.index; });
  }

  // F_1 of the left side never falls from cut to cut and rises by at most the weight between; the right
  // side mirrors it. So the evaluated neighbours bound every cut between them.
  void drop_hopeless(int64_t& least) {
    old_gaps_.swap(gaps_);
    gaps_.clear();
    size_t next = 0;
    for (const Gap& gap : old_gaps_) {
      int64_t first = gap.first;
      while (next < done_.size() && done_[next].index < first) ++next;
      for (;; ++next) {
        const int64_t last = next < done_.size() ? std::min(gap.last, done_[next].index - 1) : gap.last;
        if (first <= std::min(last, last_cut_)) trim({first, std::min(last, last_cut_)}, next, least);
        if (next == done_.size() || done_[next].index > gap.last) break;
        first = done_[next].index + 1;
      }
    }
  }

  // Keeps of a gap what can still beat best_. after: the evaluated cut that follows, before it the one
  // that precedes.
  void trim(Gap gap, size_t after, int64_t& least) {
    const Evaluated* a = after > 0 ? &done_[after - 1] : nullptr;
    const Evaluated* b = after < done_.size() ? &done_[after] : nullptr;
    int64_t all = (a ? a->side[0] : problem_.penalty) + (b ? b->side[1] : problem_.penalty);
    if (a && b) all = std::max(all, b->side[0] + a->side[1] - (cut_weight_[b->index] - cut_weight_[a->index]));
    if (all >= best_) {
      least = std::min(least, all);
      return;
    }
    const auto begin = cut_weight_.begin();
    if (a && a->cost() >= best_) {
      const int64_t reach = cut_weight_[a->index] + a->cost() - best_;
      const int64_t keep = std::upper_bound(begin + gap.first, begin + gap.last + 1, reach) - begin;
      if (keep > gap.first) least = std::min(least, a->cost() - (cut_weight_[keep - 1] - cut_weight_[a->index]));
      gap.first = keep;
    }
    if (b && b->cost() >= best_ && gap.first <= gap.last) {
      const int64_t reach = cut_weight_[b->index] - (b->cost() - best_);
      const int64_t end = std::lower_bound(begin + gap.first, begin + gap.last + 1, reach) - begin;
      if (end <= gap.last) least = std::min(least, b->cost() - (cut_weight_[b->index] - cut_weight_[end]));
      gap.last = end - 1;
    }
    if (gap.first <= gap.last) gaps_.push_back(gap);
  }

  const Problem& problem_;
  const Stopper& stopper_;
  const Node* node_ = nullptr;
  int64_t best_ = 0, floor_ = 0;
  Answer answer_;
  bool binary_ = true;
  int classes_ = 0;
  std::vector<int32_t> local_, label_, code_;
  std::vector<Item<T>> items_;
  std::vector<uint32_t> marked_, run_start_;
  std::vector<uint8_t> dense_;
  std::vector<Run> runs_;
  std::vector<int> visit_;
  std::vector<int64_t> cut_weight_, left_, sums_;
  std::vector<int32_t> cut_position_;
  int64_t first_cut_ = 0, last_cut_ = 0;
  T lane_cut_[kLanes] = {};
  std::vector<Gap> gaps_, old_gaps_;
  std::vector<Evaluated> fresh_, done_;
  std::vector<T> total_[2], rest_[2];
};

}  // namespace

std::unique_ptr<DepthTwo> make_depth_two(const Problem& problem, const Stopper& stopper) {
  if (problem.narrow) return std::make_unique<Solver<int32_t>>(problem, stopper);
  return std::make_unique<Solver<int64_t>>(problem, stopper);
}

Answer best_stump(const Problem& problem, const Node& node) {
  Answer best{node.error() * problem.scale + problem.penalty, true, -1, -1};
  std::vector<int64_t> left(node.classes);
  for (int k = 0; k < node.features; ++k) {
    std::fill(left.begin(), left.end(), 0);
    const uint32_t* order = node.sorted(k);
    const int32_t* rank = node.ranks(k);
    for (int64_t i = 0; i + 1 < node.rows; ++i) {
      left[node.label[order[i]]] += node.weight[order[i]];
      if (rank[order[i]] == rank[order[i + 1]]) continue;
      int64_t most_left = 0, most_right = 0;
      for (int c = 0; c < node.classes; ++c) {
        most_left = std::max(most_left, left[c]);
        most_right = std::max(most_right, node.class_weight[c] - left[c]);
      }
      const int64_t cost = (node.total - most_left - most_right) * problem.scale + 2 * problem.penalty;
      if (cost < best.value) best = {cost, true, k, rank[order[i]]};
    }
  }
  return best;
}

}  // namespace boscage::optimal
