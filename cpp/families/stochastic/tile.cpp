#include "families/stochastic/tile.hpp"

#include <algorithm>

namespace boscage::stochastic {

namespace {

// Numbers that stay in the first cache, with what is known of their rows, while all tests read them.
constexpr int64_t kTileNumbers = 1 << 11, kFewestRows = 16, kMostRows = 256;

int64_t rounded_up(int64_t rows) { return (rows + kTileStep - 1) / kTileStep * kTileStep; }

}  // namespace

template <class T>
Tile<T>::Tile(const Frame& frame)
    : most_rows_(std::clamp(kTileNumbers / tile_width(frame.columns), kFewestRows, kMostRows) / kTileStep * kTileStep),
      // The last row is read beyond its end where squares are made.
      data_(most_rows_ * tile_width(frame.columns) + 8, 0.0),
      square_shift_(tile_width(frame.columns), 0.0),
      square_factor_(tile_width(frame.columns), 0.0) {
  rows_.columns = frame.columns;
  std::fill_n(square_factor_.begin(), frame.columns, 1.0);
  if (!frame.centre_late) shift_ = frame.shift;
  if (!frame.unit_rows) return;
  if (frame.centre_late) std::copy(frame.shift.begin(), frame.shift.end(), square_shift_.begin());
  std::copy(frame.factor.begin(), frame.factor.end(), square_factor_.begin());
}

template <class T>
void Tile<T>::load(const Matrix<T>& X, const uint32_t* list, int64_t begin, int64_t count) {
  count_ = count;
  rows_.rows = rounded_up(count);
  rows_.data = data_.data();
  const int64_t width = tile_width(X.columns);
  load_tile(
      {X.data, X.row_stride, X.column_stride, X.columns, list, begin, count, shift_.empty() ? nullptr : shift_.data()},
      data_.data());
  std::fill(data_.begin() + count * width, data_.begin() + rows_.rows * width, 0.0);
  // The rows of the next tile, most likely.
  const bool is_whole = list == nullptr && X.column_stride == 1 && X.row_stride == X.columns;
  rows_.next = reinterpret_cast<const char*>(X.data + (begin + count) * X.row_stride);
  rows_.next_bytes = is_whole ? X.columns * static_cast<int64_t>(sizeof(T)) : 0;
}

template <class T>
const double* Tile<T>::squares() {
  squares_.resize(most_rows_);
  square_rows(rows_, square_shift_.data(), square_factor_.data(), squares_.data());
  return squares_.data();
}

template <class T>
TileSums<T>::TileSums(const Frame& frame, int32_t classes, int32_t outputs, std::span<const Division* const> divisions)
    : outputs_(outputs),
      channels_(outputs > 0 ? number_channels(outputs) : classes),
      tile_(frame),
      divisions_(divisions.begin(), divisions.end()),
      sums_width_(tile_width(frame.columns) + 8),
      found_(channels_, 0) {
  const int64_t d = frame.columns, n = most_rows(), width = tile_width(d);
  theta_.assign(signed_size(divisions) * width, 0.0);
  for (int64_t i = 0; i < signed_size(divisions); ++i) {
    const Division& division = *divisions_[to_size(i)];
    for (int64_t j = 0; j < d; ++j) theta_[i * width + column_place(j, d)] = division.test.theta[to_size(j)];
    side_of_.push_back(sides_);
    sides_ += static_cast<int64_t>(division.sum_left) + division.sum_right;
  }
  if (divisions_.empty()) sides_ = 1;
  norm_.resize(n);
  weight_.resize(n);
  spare_.resize(3 * n);
  side_weight_.resize(n * sides_);
  side_multiplier_.resize(n * sides_);
  if (outputs > 0) {
    value_.resize(n * outputs);
    share_weight_.resize(n * sides_);
    share_multiplier_.resize(n * sides_);
  }
  order_.resize(outputs > 0 ? n : n * classes);
  sums_.resize(sides_ * channels_ * sums_width_);
  clear();
  const auto sides = to_size(sides_);
  weights_.resize(sides);
  multipliers_.resize(sides);
  to_.resize(sides);
}

template <class T>
void TileSums<T>::clear() {
  std::fill(sums_.begin(), sums_.end(), 0.0);
}

template <class T>
void TileSums<T>::start(int64_t side, const double* sums) {
  const int64_t d = tile_.rows().columns;
  for (int32_t k = 0; k < channels_; ++k, sums += d + 2) {
    double* mine = sums_of(k, side);
    mine[tile_width(d)] = sums[0];
    mine[one_place(d)] = sums[1];
    for (int64_t j = 0; j < d; ++j) mine[column_place(j, d)] = sums[j + 2];
  }
}

template <class T>
double* TileSums<T>::finish(int64_t side, double* sums) const {
  const int64_t d = tile_.rows().columns;
  for (int32_t k = 0; k < channels_; ++k, sums += d + 2) {
    const double* mine = sums_.data() + (k * sides_ + side) * sums_width_;
    sums[0] = mine[tile_width(d)];
    sums[1] = mine[one_place(d)];
    for (int64_t j = 0; j < d; ++j) sums[j + 2] = mine[column_place(j, d)];
  }
  return sums;
}

template <class T>
void TileSums<T>::load(const TrainingRows<Matrix<T>>& rows, const double* norm, const uint32_t* list, int64_t begin,
                       int64_t count) {
  tile_.load(rows.X, list, begin, count);
  const auto take = [&](const double* from, LineVector<double>& to) {
    if (from == nullptr) {
      std::fill_n(to.begin(), count, 1.0);
    } else if (list == nullptr) {
      std::copy_n(from + begin, count, to.begin());
    } else {
      for (int64_t i = 0; i < count; ++i) to[i] = from[list[i]];
    }
    std::fill(to.begin() + count, to.begin() + tile_.rows().rows, 0.0);
  };
  take(norm, norm_);
  take(rows.weight.empty() ? nullptr : rows.weight.data(), weight_);
  tile_.rows().norm = norm_.data();
  tile_.rows().weight = weight_.data();
  find_classes(rows, list, begin);
}

// Lists the rows of each class; of numbers, where all rows are in all channels, copies the values.
template <class T>
void TileSums<T>::find_classes(const TrainingRows<Matrix<T>>& rows, const uint32_t* list, int64_t begin) {
  for (const int32_t k : present_) found_[k] = 0;
  present_.clear();
  const auto row_of = [&](int64_t i) { return list != nullptr ? static_cast<int64_t>(list[i]) : begin + i; };
  if (outputs_ > 0) {
    for (int64_t i = 0; i < tile_.count(); ++i) {
      order_[i] = static_cast<int32_t>(i);
      std::copy_n(rows.values(row_of(i)), rows.outputs, value_.begin() + i * rows.outputs);
    }
    return;
  }
  for (int64_t i = 0; i < tile_.count(); ++i) {
    const int32_t k = rows.label[to_size(row_of(i))];
    if (found_[k] == 0) present_.push_back(k);
    order_[k * most_rows() + found_[k]++] = static_cast<int32_t>(i);
  }
}

template <class T>
void TileSums<T>::measure(const Frame& frame, const Matrix<T>& X, int64_t begin, int64_t first) {
  measure_tile(frame, tile_, X, begin, first, norm_.data());
}

template <class T>
void TileSums<T>::divide(int64_t i, const double* reach, double* left, double* right, int64_t* counts) {
  const Division& division = *divisions_[to_size(i)];
  TileRows& rows = tile_.rows();
  const int64_t n = most_rows(), count = tile_.count();
  const bool is_full = rows.rows == count;  // the kernel also reads and writes what lies behind the last row
  double *spare_reach = spare_.data(), *spare_left = spare_reach + n, *spare_right = spare_left + n;
  TileTest test{};
  test.theta = theta_.data() + i * tile_width(rows.columns);
  test.offset = division.test.offset;
  test.cut_left = division.cut_left;
  test.cut_right = division.cut_right;
  test.reach = reach;
  if (!is_full && reach != nullptr) {
    std::fill(std::copy_n(reach, count, spare_reach), spare_reach + rows.rows, 0.0);
    test.reach = spare_reach;
  }
  test.left = is_full || left == nullptr ? left : spare_left;
  test.right = is_full || right == nullptr ? right : spare_right;
  int64_t side = side_of_[to_size(i)];
  if (division.sum_left) {
    test.left_weight = side_weight_.data() + side * n;
    test.left_multiplier = side_multiplier_.data() + side++ * n;
  }
  if (division.sum_right) {
    test.right_weight = side_weight_.data() + side * n;
    test.right_multiplier = side_multiplier_.data() + side * n;
  }
  test.counts = counts;
  divide_rows(rows, test);
  rows.next_bytes = 0;  // on its way
  if (!is_full && left != nullptr) std::copy_n(spare_left, count, left);
  if (!is_full && right != nullptr) std::copy_n(spare_right, count, right);
}

template <class T>
void TileSums<T>::take_all(const double* reach) {
  for (int64_t i = 0; i < tile_.count(); ++i) {
    side_weight_[i] = weight_[i] * (reach != nullptr ? reach[i] : 1.0);
    side_multiplier_[i] = side_weight_[i] * norm_[i];
  }
}

template <class T>
void TileSums<T>::add() {
  const int64_t n = most_rows();
  const auto add_channel = [&](int32_t k, const LineVector<double>& weight, const LineVector<double>& multiplier,
                               const int32_t* members, int64_t count) {
    for (int64_t side = 0; side < sides_; ++side) {
      weights_[to_size(side)] = weight.data() + side * n;
      multipliers_[to_size(side)] = multiplier.data() + side * n;
      to_[to_size(side)] = sums_of(k, side);
    }
    add_rows(tile_.rows(), members, count, weights_.data(), multipliers_.data(), to_.data(), sides_);
  };
  for (const int32_t k : present_) add_channel(k, side_weight_, side_multiplier_, order_.data() + k * n, found_[k]);
  if (outputs_ == 0) return;
  for (int32_t k = 0; k < channels_; ++k) {
    share_out(k);
    add_channel(k, share_weight_, share_multiplier_, order_.data(), tile_.count());
  }
}

// What the rows have in one channel of numbers.
template <class T>
void TileSums<T>::share_out(int32_t channel) {
  for (int64_t i = 0; i < tile_.count(); ++i) {
    const double share = number_share(value_.data() + i * outputs_, outputs_, channel);
    for (int64_t at = i; at < sides_ * most_rows(); at += most_rows()) {
      share_weight_[at] = side_weight_[at] * share;
      share_multiplier_[at] = side_multiplier_[at] * share;
    }
  }
}

template class Tile<float>;
template class Tile<double>;
template class TileSums<float>;
template class TileSums<double>;

}  // namespace boscage::stochastic
