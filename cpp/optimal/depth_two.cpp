#include "optimal/depth_two.hpp"

#include <numeric>

#include "base/array.hpp"
#include "optimal/cut_sweeper.hpp"

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
  Solver(const Problem& problem, const Stopper& stopper)
      : problem_(problem), stopper_(stopper), sweeper_(problem, stopper) {}

  Answer solve(const Node& node, int64_t budget, Array<int64_t>& least, int64_t& floor) override {
    node_ = &node;
    sweeper_.prepare(node);
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
    node_ = &node;
    sweeper_.prepare(node);
    for (int j = 0; j < node.features; ++j) {
      best_ = value + 1;
      answer_ = {};
      scan(j, true);
      if (answer_.exact) return answer_;
    }
    return {};
  }

  int64_t work() const override { return sweeper_.work(); }

 private:
  // The cuts of column j that leave more than the penalty on both sides.
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
    sweeper_.select(j);
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
      evaluate();
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
    int64_t at = 0;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const int64_t place = count <= kLanes ? lane : ((2 * lane + 1) * count) / (2 * lanes);
      while (place - seen > gaps_[at].last - gaps_[at].first) {
        seen += gaps_[at].last - gaps_[at].first + 1;
        ++at;
      }
      fresh_.push_back({gaps_[at].first + (place - seen), {0, 0}});
    }
  }

  void evaluate() {
    swept_.clear();
    for (const Evaluated& e : fresh_)
      swept_.push_back({cut_position_[e.index], cut_weight_[e.index] / problem_.scale, {0, 0}});
    sweeper_.evaluate(swept_);
    for (int64_t i = 0; i < fresh_.size(); ++i)
      for (int side = 0; side < 2; ++side) fresh_[i].side[side] = swept_[i].side[side];
  }

  void merge_fresh() {
    const auto middle = done_.size();
    done_.insert(done_.end(), fresh_.begin(), fresh_.end());
    std::inplace_merge(done_.begin(), done_.begin() + middle, done_.end(),
                       [](const Evaluated& a, const Evaluated& b) { return a.index < b.index; });
  }

  // F_1 of the left side never falls from cut to cut and rises by at most the weight between; the right
  // side mirrors it. So the evaluated neighbours bound every cut between them.
  void drop_hopeless(int64_t& least) {
    old_gaps_.swap(gaps_);
    gaps_.clear();
    int64_t next = 0;
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
  void trim(Gap gap, int64_t after, int64_t& least) {
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
  CutSweeper<T> sweeper_;
  const Node* node_ = nullptr;
  int64_t best_ = 0, floor_ = 0;
  Answer answer_;
  Array<int> visit_;
  Array<int64_t> cut_weight_;
  Array<int32_t> cut_position_;
  int64_t first_cut_ = 0, last_cut_ = 0;
  Array<Gap> gaps_, old_gaps_;
  Array<Evaluated> fresh_, done_;
  Array<SweptCut> swept_;
};

}  // namespace

std::unique_ptr<DepthTwo> make_depth_two(const Problem& problem, const Stopper& stopper) {
  if (problem.narrow) return std::make_unique<Solver<int32_t>>(problem, stopper);
  return std::make_unique<Solver<int64_t>>(problem, stopper);
}

Answer best_stump(const Problem& problem, const Node& node) {
  Answer best{node.error() * problem.scale + problem.penalty, true, -1, -1};
  Array<int64_t> left(node.classes);
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
