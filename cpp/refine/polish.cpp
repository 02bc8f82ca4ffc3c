#include "refine/polish.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/array.hpp"
#include "base/rng.hpp"
#include "refine/product.hpp"

namespace boscage::refine {

namespace {

constexpr int64_t kNodeChunk = 24, kLeafChunk = 16;
constexpr double kFirstMemory = 0.9, kSecondMemory = 0.999, kSmallestStep = 1e-8;
constexpr double kPriorWeight = 1.0;  // rows' worth of the root's class shares that every leaf begins with
constexpr double kSmallestShare = 1e-30;

int64_t chunks(int64_t size, int64_t chunk) { return (size + chunk - 1) / chunk; }

// Fisher and Yates, with draws of the epoch's own.
void shuffle(Array<int64_t>& order, uint64_t seed, int64_t epoch) {
  for (int64_t i = order.size(); i > 1; --i) {
    const double u = uniform(seed, epoch + 1, i);
    std::swap(order[i - 1], order[static_cast<int64_t>(u * static_cast<double>(i))]);
  }
}

// One step of Adam for `size` numbers whose slopes are given.
template <class T, class Slope>
void adam(T* point, T* first, T* second, int64_t size, double rate, int64_t step, const Slope& slope) {
  const double done = static_cast<double>(step) + 1;
  const T first_full = static_cast<T>(1 / (1 - std::pow(kFirstMemory, done)));
  const T second_full = static_cast<T>(1 / (1 - std::pow(kSecondMemory, done)));
  const T a = static_cast<T>(kFirstMemory), b = static_cast<T>(kSecondMemory), speed = static_cast<T>(rate);
  for (int64_t j = 0; j < size; ++j) {
    const T g = slope(j);
    first[j] = a * first[j] + (1 - a) * g;
    second[j] = b * second[j] + (1 - b) * g * g;
    point[j] -= speed * (first[j] * first_full) / (std::sqrt(second[j] * second_full) + static_cast<T>(kSmallestStep));
  }
}

}  // namespace

template <class T>
Polisher<T>::Polisher(const RowSource& source, const Standard& standard, const Sample& sample, SoftTree tree,
                      int64_t capacity, Pool& pool, Control& control)
    : sample_(sample),
      tree_(std::move(tree)),
      pool_(pool),
      control_(control),
      capacity_(std::clamp<int64_t>(capacity, 1, std::max<int64_t>(sample.size(), 1))),
      batch_(source, standard, capacity_, pool.threads()),
      stride_(padded<T>(tree_.width)) {
  const auto inner = tree_.shape.inner(), leaves = tree_.shape.leaves;
  const auto rows = padded<T>(capacity_), stride = stride_;
  theta_.assign(inner * stride, T(0));
  for (int64_t v = 0; v < inner; ++v)
    for (int64_t j = 0; j < tree_.width; ++j) theta_[v * stride + j] = static_cast<T>(tree_.theta[v * tree_.width + j]);
  theta_slope_.assign(inner * stride, T(0));
  scores_.resize(inner * rows);
  shares_.resize(leaves * rows);
  const int64_t cells = leaves * tree_.classes;
  logits_.assign(tree_.logits.begin(), tree_.logits.end());
  logits_.resize(cells, 0.0);
  logit_slope_.assign(cells, 0.0);
  values_.resize(cells);
  scratch_.assign(pool.threads(), Array<T>(pass_scratch<T>(tree_.shape)));
  order_.resize(sample.size());
  std::iota(order_.begin(), order_.end(), 0);
  for (const double w : sample.weight) total_ += w;
}

template <class T>
void Polisher<T>::fill(int64_t begin, const Dropout& dropout) {
  const int64_t size = std::min(capacity_, sample_.size() - begin);
  batch_.fill(sample_, Span(order_).subspan(begin, size), pool_, control_, dropout);
  pool_.parallel_for(chunks(tree_.shape.inner(), kNodeChunk), [&](int64_t chunk, int) {
    control_.check();
    multiply(theta_.data(), stride_, batch_.by_rows(), tree_.width, batch_.row_panels(), scores_.data(),
             batch_.padded_rows(), chunk * kNodeChunk, std::min(tree_.shape.inner(), (chunk + 1) * kNodeChunk));
  });
}

template <class T>
template <class Task>
void Polisher<T>::for_row_chunks(const Task& task) {
  const int64_t rows = batch_.padded_rows();
  pool_.parallel_for(chunks(rows, kPassRows), [&](int64_t chunk, int thread) {
    control_.check();
    const int64_t begin = chunk * kPassRows;
    const PassRows<T> here{
        scores_.data() + begin,           shares_.data() + begin, batch_.label() + begin, batch_.weight() + begin, rows,
        std::min(kPassRows, rows - begin)};
    task(here, chunk, scratch_[thread].data());
  });
}

// Softmax of the logits, leaf by leaf; values_ is classes × leaves.
template <class T>
void Polisher<T>::set_values() {
  const int64_t k = tree_.classes, leaves = tree_.shape.leaves;
  Array<double> e(k);
  for (int64_t l = 0; l < leaves; ++l) {
    const T* mine = logits_.data() + l * k;
    const double top = static_cast<double>(*std::max_element(mine, mine + k));
    double sum = 0;
    for (int64_t c = 0; c < k; ++c) sum += e[c] = std::exp(static_cast<double>(mine[c]) - top);
    for (int64_t c = 0; c < k; ++c) values_[c * leaves + l] = static_cast<T>(e[c] / sum);
  }
}

// Every test is stretched so that mean |theta.x + bias| over the rows that reach its node by hard routing is 1.
template <class T>
void Polisher<T>::scale_tests() {
  const int64_t inner = tree_.shape.inner();
  Array<double> size(inner, 0.0), weight(inner, 0.0);
  for (int64_t begin = 0; begin < sample_.size(); begin += capacity_) {
    fill(begin);
    for (int64_t i = 0; i < batch_.rows(); ++i) {
      for (int32_t v = 0; v >= 0;) {
        const auto node = v;
        const auto z = static_cast<double>(scores_[node * batch_.padded_rows() + i]);
        const auto w = static_cast<double>(batch_.weight()[i]);
        size[node] += w * std::abs(z);
        weight[node] += w;
        v = z > 0 ? tree_.shape.right[node] : tree_.shape.left[node];
      }
    }
  }
  for (int64_t v = 0; v < inner; ++v) {
    const auto node = v;
    const double factor = weight[node] / size[node];
    if (!std::isfinite(factor) || !(factor > 0)) continue;
    for (int64_t j = 0; j < stride_; ++j) {
      T& x = theta_[v * stride_ + j];
      x = static_cast<T>(static_cast<double>(x) * factor);
    }
  }
}

template <class T>
void Polisher<T>::add_by_leaf(Array<double>& sums) {
  const int64_t k = tree_.classes, rows = batch_.padded_rows();
  pool_.parallel_for(chunks(tree_.shape.leaves, kLeafChunk), [&](int64_t chunk, int) {
    const int64_t end = std::min(tree_.shape.leaves, (chunk + 1) * kLeafChunk);
    for (int64_t l = chunk * kLeafChunk; l < end; ++l) {
      double* mine = sums.data() + l * k;
      const T* share = shares_.data() + l * rows;
      for (int64_t i = 0; i < rows; ++i) mine[batch_.label()[i]] += static_cast<double>(share[i]);
    }
  });
}

template <class T>
Array<double> Polisher<T>::leaf_sums() {
  Array<double> sums(tree_.shape.leaves * tree_.classes, 0.0);
  for (int64_t begin = 0; begin < sample_.size(); begin += capacity_) {
    fill(begin);
    for_row_chunks([&](const PassRows<T>& rows, int64_t, T* scratch) {
      soft_reach(tree_.shape, static_cast<T>(tree_.slope), rows, scratch);
    });
    add_by_leaf(sums);
  }
  return sums;
}

// Leaves begin at their class shares by reach, with a little of the root's.
template <class T>
void Polisher<T>::start_leaves() {
  const Array<double> sums = leaf_sums();
  const auto k = tree_.classes, leaves = tree_.shape.leaves;
  Array<double> root(k, 0.0);
  for (int64_t i = 0; i < sample_.label.size(); ++i) root[sample_.label[i]] += sample_.weight[i] / total_;
  for (int64_t l = 0; l < leaves; ++l) {
    double all = kPriorWeight;
    for (int64_t c = 0; c < k; ++c) all += sums[l * k + c];
    for (int64_t c = 0; c < k; ++c) {
      const double share = (sums[l * k + c] + kPriorWeight * root[c]) / all;
      logits_[l * k + c] = static_cast<T>(std::log(std::max(share, kSmallestShare)));
    }
  }
}

// Loss of the batch; slopes of its sum in theta_slope_ and logit_slope_.
template <class T>
double Polisher<T>::slopes_of_batch() {
  set_values();
  chunk_loss_.assign(chunks(batch_.padded_rows(), kPassRows), 0.0);
  for_row_chunks([&](const PassRows<T>& rows, int64_t chunk, T* scratch) {
    chunk_loss_[chunk] = soft_pass(tree_.shape, static_cast<T>(tree_.slope), values_.data(), rows, scratch);
  });
  pool_.parallel_for(chunks(tree_.shape.inner(), kNodeChunk), [&](int64_t chunk, int) {
    control_.check();
    multiply(scores_.data(), batch_.padded_rows(), batch_.by_columns(), batch_.padded_rows(), batch_.column_panels(),
             theta_slope_.data(), stride_, chunk * kNodeChunk, std::min(tree_.shape.inner(), (chunk + 1) * kNodeChunk));
  });
  std::fill(logit_slope_.begin(), logit_slope_.end(), 0.0);
  add_by_leaf(logit_slope_);
  const int64_t k = tree_.classes, leaves = tree_.shape.leaves;
  for (int64_t l = 0; l < leaves; ++l) {
    double* mine = logit_slope_.data() + l * k;
    const double all = std::accumulate(mine, mine + k, 0.0);
    for (int64_t c = 0; c < k; ++c) mine[c] = all * static_cast<double>(values_[c * leaves + l]) - mine[c];
  }
  return std::accumulate(chunk_loss_.begin(), chunk_loss_.end(), 0.0);
}

template <class T>
void Polisher<T>::take_step(const PolishOptions& options, double rate, int64_t step) {
  const auto scale =
      static_cast<T>(static_cast<double>(sample_.size()) / (static_cast<double>(batch_.rows()) * total_));
  const int64_t width = tree_.width, inner = tree_.shape.inner();
  const auto l2 = static_cast<T>(options.l2);
  pool_.parallel_for(chunks(inner, kNodeChunk), [&](int64_t chunk, int) {
    const int64_t end = std::min(inner, (chunk + 1) * kNodeChunk);
    for (int64_t v = chunk * kNodeChunk; v < end; ++v) {
      const int64_t at = v * stride_;
      T* point = theta_.data() + at;
      const T* slope = theta_slope_.data() + at;
      adam(point, first_.data() + at, second_.data() + at, width - 1, rate, step,
           [&](int64_t j) { return scale * slope[j] + l2 * point[j]; });
      const int64_t bias = width - 1;
      adam(point + bias, first_.data() + at + bias, second_.data() + at + bias, 1, rate, step,
           [&](int64_t) { return scale * slope[bias]; });
    }
  });
  const int64_t begin = inner * stride_;
  adam(logits_.data(), first_.data() + begin, second_.data() + begin, logits_.size(), rate, step,
       [&](int64_t j) { return scale * static_cast<T>(logit_slope_[j]); });
}

template <class T>
Polished Polisher<T>::run(const PolishOptions& options) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  Polished out;
  scale_tests();
  tree_.slope = options.first_slope;
  start_leaves();
  first_.assign(theta_.size() + logits_.size(), T(0));
  second_ = first_;
  const int64_t steps = options.epochs * chunks(sample_.size(), capacity_);
  int64_t step = 0;
  for (int64_t epoch = 0; epoch < options.epochs && !out.timed_out; ++epoch) {
    shuffle(order_, options.seed, epoch);
    double loss = 0;
    for (int64_t begin = 0; begin < sample_.size(); begin += capacity_, ++step) {
      const double done = static_cast<double>(step) / static_cast<double>(steps);
      tree_.slope = options.first_slope * std::pow(options.last_slope / options.first_slope, done);
      fill(begin, {options.dropout, options.seed, static_cast<uint64_t>(epoch) + 1});
      loss += slopes_of_batch();
      take_step(options, options.learning_rate * 0.5 * (1 + std::cos(std::numbers::pi * done)), step);
      if (std::chrono::duration<double>(Clock::now() - start).count() > options.time_limit) {
        out.timed_out = step + 1 < steps;
        break;
      }
    }
    out.losses.push_back(loss / total_);
    control_.advance(1);
  }
  if (!out.timed_out) tree_.slope = options.last_slope;
  std::iota(order_.begin(), order_.end(), 0);
  out.leaf_sums = leaf_sums();
  set_values();
  const auto k = tree_.classes, leaves = tree_.shape.leaves;
  out.leaf_value.resize(leaves * k);
  for (int64_t l = 0; l < leaves; ++l)
    for (int64_t c = 0; c < k; ++c) out.leaf_value[l * k + c] = static_cast<double>(values_[c * leaves + l]);
  out.theta.resize(tree_.shape.inner() * tree_.width);
  for (int64_t v = 0; v < tree_.shape.inner(); ++v)
    for (int64_t j = 0; j < tree_.width; ++j)
      out.theta[v * tree_.width + j] = tree_.slope * static_cast<double>(theta_[v * stride_ + j]);
  return out;
}

template <class T>
double Polisher<T>::value(double l2, Array<double>& theta_slope, Array<double>& logit_slope) {
  const int64_t inner = tree_.shape.inner(), width = tree_.width;
  theta_slope.assign(inner * width, 0.0);
  logit_slope.assign(logits_.size(), 0.0);
  double value = 0;
  for (int64_t begin = 0; begin < sample_.size(); begin += capacity_) {
    fill(begin);
    value += slopes_of_batch() / total_;
    for (int64_t v = 0; v < inner; ++v)
      for (int64_t j = 0; j < width; ++j)
        theta_slope[v * width + j] += static_cast<double>(theta_slope_[v * stride_ + j]) / total_;
    for (int64_t i = 0; i < logit_slope.size(); ++i) logit_slope[i] += logit_slope_[i] / total_;
  }
  for (int64_t v = 0; v < inner; ++v) {
    for (int64_t j = 0; j + 1 < width; ++j) {
      const auto x = static_cast<double>(theta_[v * stride_ + j]);
      value += l2 / 2 * x * x;
      theta_slope[v * width + j] += l2 * x;
    }
  }
  return value;
}

template class Polisher<float>;
template class Polisher<double>;

}  // namespace boscage::refine
