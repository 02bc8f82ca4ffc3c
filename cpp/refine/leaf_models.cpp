#include "refine/leaf_models.hpp"

#include <algorithm>
#include <cmath>

#include "base/array.hpp"
#include "numeric/lbfgs.hpp"
#include "refine/product.hpp"

namespace boscage::refine {

namespace {

constexpr int64_t kMostRows = 2048;  // of a batch: larger leaves are read again for every step
constexpr double kImpossible = -1000.0;

// The rows of one leaf as a sample of their own.
struct LeafRows {
  Array<int64_t> rows;
  Array<int32_t> label;  // place among the classes present
  Array<double> weight;
  Array<int32_t> present;
  double total = 0;

  Sample sample() const { return {rows, label, weight}; }
};

LeafRows rows_of(const Sample& sample, const Members& members, int64_t leaf, int64_t classes) {
  LeafRows out;
  const auto begin = members.offsets[leaf];
  const auto end = members.offsets[leaf + 1];
  Array<int32_t> place(classes, -1);
  for (int64_t m = begin; m < end; ++m) place[sample.label[members.rows[m]]] = 0;
  for (int32_t c = 0; c < classes; ++c) {
    if (place[c] < 0) continue;
    place[c] = static_cast<int32_t>(out.present.size());
    out.present.push_back(c);
  }
  for (int64_t m = begin; m < end; ++m) {
    const auto row = members.rows[m];
    out.rows.push_back(sample.rows[row]);
    out.label.push_back(place[sample.label[row]]);
    out.weight.push_back(members.weight[m]);
    out.total += members.weight[m];
  }
  return out;
}

// The standard of all rows, centred at the leaf.
Standard centred(const RowSource& source, const Standard& standard, const LeafRows& leaf) {
  Standard out = standard;
  std::fill(out.mean.begin(), out.mean.end(), 0.0);
  const auto reader = source.reader();
  Array<double> row(out.mean.size());
  for (int64_t i = 0; i < leaf.rows.size(); ++i) {
    reader->read(leaf.rows[i], row.data());
    for (int64_t j = 0; j < row.size(); ++j) out.mean[j] += leaf.weight[i] / leaf.total * row[j];
  }
  for (int64_t j = 0; j < row.size(); ++j)  // the mean of the largest numbers may be rounded up to infinity
    if (!std::isfinite(out.mean[j])) out.mean[j] = std::clamp(out.mean[j], standard.low[j], standard.high[j]);
  return out;
}

// Mean loss of a leaf's rows and the penalty, with slopes; the point is classes present × (columns and delta).
template <class T>
class LeafLoss {
 public:
  LeafLoss(const RowSource& source, const Standard& standard, const LeafRows& leaf, Array<double> start, double absent,
           double l2, const Control& control)
      : leaf_(leaf),
        start_(std::move(start)),
        absent_(absent),
        l2_(l2 / leaf.total),
        control_(control),
        capacity_(std::min<int64_t>(leaf.rows.size(), kMostRows)),
        batch_(source, standard, capacity_, 1),
        stride_(padded<T>(batch_.width())) {
    const int64_t k = start_.size();
    theta_.resize(k * stride_);
    slope_.resize(k * stride_);
    scores_.resize(k * (padded<T>(capacity_)));
    gradient_.resize(k * batch_.width());
    order_.resize(leaf.rows.size());
    for (int64_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<int64_t>(i);
  }

  int64_t size() const { return gradient_.size(); }
  Span<const double> gradient() const { return gradient_; }

  double value(Span<const double> point) {
    const int64_t k = start_.size(), width = batch_.width();
    for (int64_t c = 0; c < k; ++c)
      for (int64_t j = 0; j < width; ++j) theta_[c * stride_ + j] = static_cast<T>(point[c * width + j]);
    std::fill(gradient_.begin(), gradient_.end(), 0.0);
    double loss = 0;
    const auto rows = leaf_.rows.size();
    for (int64_t begin = 0; begin < rows; begin += capacity_) {
      control_.check();
      if (rows > capacity_ || batch_.rows() == 0) {
        const auto count = std::min(capacity_, rows - begin);
        batch_.fill(leaf_.sample(), Span(order_).subspan(begin, count), alone_, control_);
      }
      loss += add_batch(begin);
    }
    double squares = 0;
    for (int64_t i = 0; i < gradient_.size(); ++i) {
      squares += point[i] * point[i];
      gradient_[i] = gradient_[i] / leaf_.total + l2_ * point[i];
    }
    return loss / leaf_.total + l2_ / 2 * squares;
  }

 private:
  double add_batch(int64_t begin) {
    const int64_t k = start_.size(), width = batch_.width(), rows = batch_.padded_rows();
    multiply(theta_.data(), stride_, batch_.by_rows(), width, batch_.row_panels(), scores_.data(), rows, 0, k);
    Array<double> z(k);
    double loss = 0;
    for (int64_t i = 0; i < rows; ++i) {
      const auto at = begin + i;
      const double weight = i < batch_.rows() ? leaf_.weight[at] : 0.0;
      loss += weight * row_loss(i, rows, weight, i < batch_.rows() ? leaf_.label[at] : 0, z);
    }
    multiply(scores_.data(), rows, batch_.by_columns(), rows, batch_.column_panels(), slope_.data(), stride_, 0, k);
    for (int64_t c = 0; c < k; ++c)
      for (int64_t j = 0; j < width; ++j) gradient_[c * width + j] += static_cast<double>(slope_[c * stride_ + j]);
    return loss;
  }

  // Loss of a row; its scores become weight * (probability - is the class).
  double row_loss(int64_t i, int64_t rows, double weight, int32_t label, Array<double>& z) {
    double top = 0;  // the absent classes' scores are about 0 in the same scale
    for (int64_t c = 0; c < z.size(); ++c) {
      z[c] = start_[c] + static_cast<double>(scores_[c * rows + i]);
      top = std::max(top, z[c]);
    }
    const double own = z[label];
    double sum = absent_ * std::exp(-top);
    for (double& score : z) sum += score = std::exp(score - top);
    for (int64_t c = 0; c < z.size(); ++c)
      scores_[c * rows + i] = static_cast<T>(weight * (z[c] / sum - (static_cast<int32_t>(c) == label ? 1.0 : 0.0)));
    return top + std::log(sum) - own;
  }

  const LeafRows& leaf_;
  Array<double> start_;  // log q of the classes present
  double absent_, l2_;
  const Control& control_;
  int64_t capacity_;
  Batch<T> batch_;
  int64_t stride_;
  Pool alone_{1};
  Array<int64_t> order_;
  Array<T> theta_, slope_, scores_;
  Array<double> gradient_;
};

template <class T>
Array<double> minimise(LeafLoss<T>& loss, const LeafModelOptions& options) {
  LbfgsOptions settings;
  settings.max_iter = options.max_iter;
  settings.tolerance = options.tolerance;
  settings.norm_limit = 1e6;
  Lbfgs search(Array<double>(loss.size(), 0.0), settings);
  while (search.need() != Lbfgs::Need::done) {
    if (search.need() == Lbfgs::Need::value)
      search.tell_value(loss.value(search.point()));
    else
      search.tell_gradient(loss.gradient());
  }
  return {search.best().begin(), search.best().end()};
}

}  // namespace

template <class T>
LeafModelArrays fit_leaf_models(const RowSource& source, const Standard& standard, const Sample& sample,
                                const Members& members, Span<const double> shares, int64_t classes,
                                const LeafModelOptions& options, Pool& pool, Control& control) {
  const int64_t leaves = members.leaves(), d = source.width;
  LeafModelArrays out{Array<double>(leaves * classes * d, 0.0), Array<double>(leaves * classes, 0.0)};
  pool.parallel_for(leaves, [&](int64_t leaf, int) {
    control.check();
    double* intercept = out.intercept.data() + leaf * classes;
    const double* q = shares.data() + leaf * classes;
    for (int64_t c = 0; c < classes; ++c) intercept[c] = q[c] > 0 ? std::log(q[c]) : kImpossible;
    const LeafRows rows = rows_of(sample, members, leaf, classes);
    if (rows.present.size() < 2) return control.advance(1);
    Array<double> start;
    double absent = 1;
    for (const int32_t c : rows.present) {
      start.push_back(intercept[c]);
      absent -= q[c];
    }
    const Standard own = centred(source, standard, rows);
    LeafLoss<T> loss(source, own, rows, std::move(start), std::max(absent, 0.0), options.l2, control);
    const Array<double> point = minimise(loss, options);
    for (int64_t p = 0; p < rows.present.size(); ++p) {
      const int64_t c = rows.present[p];
      const double* theta = point.data() + static_cast<int64_t>(p) * (d + 1);
      double* coef = out.coef.data() + (leaf * classes + c) * d;
      intercept[c] += theta[d];
      for (int64_t j = 0; j < d; ++j) {
        coef[j] = theta[j] * own.inverse[j];
        intercept[c] -= coef[j] * own.mean[j];
      }
    }
    control.advance(1);
  });
  return out;
}

template LeafModelArrays fit_leaf_models<float>(const RowSource&, const Standard&, const Sample&, const Members&,
                                                Span<const double>, int64_t, const LeafModelOptions&, Pool&, Control&);
template LeafModelArrays fit_leaf_models<double>(const RowSource&, const Standard&, const Sample&, const Members&,
                                                 Span<const double>, int64_t, const LeafModelOptions&, Pool&, Control&);

}  // namespace boscage::refine
