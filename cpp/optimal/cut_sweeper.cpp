#include "optimal/cut_sweeper.hpp"

#include "base/array.hpp"

namespace boscage::optimal {

// What all columns share: class numbers 0.. of this node, order with marks (two classes) or runs.
template <class T>
void CutSweeper<T>::prepare(const Node& node) {
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
// those at the ends of the run. Calls visit(start, end, class or -1, cut before it) for every group.
template <class T>
template <class Visit>
void CutSweeper<T>::walk_groups(int k, Visit&& visit) const {
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
template <class T>
void CutSweeper<T>::mark_order() {
  dense_.assign(node_->features, 0);
  marked_.resize(node_->order.size());
  code_.resize(node_->rows + 3);
  for (int k = 0; k < node_->features; ++k) mark_column(k);
}

template <class T>
void CutSweeper<T>::mark_column(int k) {
  const int64_t rows = node_->rows;
  const uint32_t* order = node_->sorted(k);
  const int32_t* rank = node_->ranks(k);
  uint32_t* marked = marked_.data() + k * rows;
  if (!problem_.tied[k] && node_->features < 4) {
    dense_[k] = 1;
    std::copy(order, order + rows, marked);
    return;
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
  if (sparse_cost <= dense_cost) return;
  dense_[k] = groups == rows;
  for (int64_t i = 0; i < rows; ++i)
    marked[i] = order[i] | (!dense_[k] && code[i] >> 1 != code[i + 1] >> 1 ? kCutHere : 0U);
}

template <class T>
void CutSweeper<T>::list_runs() {
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

template <class T>
void CutSweeper<T>::select(int feature) {
  feature_ = feature;
  const int32_t* rank = node_->ranks(feature);
  for (int64_t i = 0; i < node_->rows; ++i) items_[i].key = static_cast<T>(rank[i]);
}

// Class weights left of every cut: left_[lane * classes + c].
template <class T>
void CutSweeper<T>::sum_left(const Array<SweptCut>& cuts) {
  const uint32_t* order = node_->sorted(feature_);
  left_.assign(cuts.size() * classes_, 0);
  sums_.assign(classes_, 0);
  int64_t i = 0;
  for (int64_t lane = 0; lane < cuts.size(); ++lane) {
    for (; i < cuts[lane].position; ++i) sums_[label_[order[i]]] += node_->weight[order[i]];
    std::copy(sums_.begin(), sums_.end(), left_.begin() + lane * classes_);
  }
}

template <class T>
int64_t CutSweeper<T>::class_total(int c) const {
  for (int global = 0; global < node_->classes; ++global)
    if (local_[global] == c) return node_->class_weight[global];
  return 0;
}

template <class T>
int64_t CutSweeper<T>::stump_value(int64_t stump_error, int64_t leaf_error) const {
  return std::min(leaf_error * problem_.scale + problem_.penalty, stump_error * problem_.scale + 2 * problem_.penalty);
}

template <class T>
void CutSweeper<T>::evaluate(Array<SweptCut>& cuts) {
  work_ += node_->rows * node_->features;
  const uint32_t* order = node_->sorted(feature_);
  const int32_t* rank = node_->ranks(feature_);
  for (int64_t lane = 0; lane < kLanes; ++lane)
    lane_cut_[lane] = lane < cuts.size() ? static_cast<T>(rank[order[cuts[lane].position - 1]]) : T{-1};
  binary_ ? evaluate_binary(cuts) : evaluate_classes(cuts);
}

// Columns per call of the kernel, so that the stop flag is looked at often enough.
template <class T>
int CutSweeper<T>::columns_at_once() const {
  return static_cast<int>(std::clamp<int64_t>(4'000'000 / node_->rows, 1, node_->features));
}

template <class T>
void CutSweeper<T>::evaluate_binary(Array<SweptCut>& cuts) {
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
  for (int64_t lane = 0; lane < cuts.size(); ++lane) {
    const int64_t left = cuts[lane].left_weight;
    const int64_t ones = (left + sweep.left[lane]) / 2;  // from the sum and the difference of the classes
    for (int side = 0; side < 2; ++side) {
      const int64_t w1 = side == 0 ? ones : all[1] - ones, w0 = side == 0 ? left - ones : all[0] - (left - ones);
      const int64_t stump = std::min<int64_t>(w0 + low[side][lane], w1 - high[side][lane]);
      cuts[lane].side[side] = stump_value(stump, std::min(w0, w1));
    }
  }
}

// total_[side][class * kLanes + lane]: class weights on both sides of every lane's cut.
template <class T>
void CutSweeper<T>::fill_totals(int lanes) {
  for (int side = 0; side < 2; ++side) {
    total_[side].assign(classes_ * kLanes, 0);
    rest_[side].resize(classes_ * kLanes);
  }
  for (int lane = 0; lane < kLanes; ++lane)
    for (int c = 0; c < classes_; ++c) {
      const int64_t left = lane < lanes ? left_[lane * classes_ + c] : 0;
      total_[0][c * kLanes + lane] = static_cast<T>(left);
      total_[1][c * kLanes + lane] = static_cast<T>(class_total(c) - left);
    }
}

template <class T>
void CutSweeper<T>::evaluate_classes(Array<SweptCut>& cuts) {
  sum_left(cuts);
  fill_totals(static_cast<int>(cuts.size()));
  ClassSweep<T> sweep;
  sweep.items = items_.data();
  sweep.rows = node_->rows;
  sweep.classes = classes_;
  for (int side = 0; side < 2; ++side) sweep.total[side] = total_[side].data(), sweep.rest[side] = rest_[side].data();
  std::copy(lane_cut_, lane_cut_ + kLanes, sweep.cut);
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
  for (int64_t lane = 0; lane < cuts.size(); ++lane)
    for (int side = 0; side < 2; ++side) {
      int64_t sum = 0, most = 0;
      for (int c = 0; c < classes_; ++c) {
        const int64_t w = total_[side][c * kLanes + lane];
        sum += w;
        most = std::max(most, w);
      }
      const int64_t right = std::max<int64_t>(correct[side][lane], most);
      cuts[lane].side[side] = stump_value(sum - right, sum - most);
    }
}

template class CutSweeper<int32_t>;
template class CutSweeper<int64_t>;

}  // namespace boscage::optimal
