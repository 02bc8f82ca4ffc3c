// How the tests see a row: z = s (scale * (x - shift), constant), s = 1 / norm or 1. X itself is never rewritten.
//
// Frame: the map and one reciprocal norm per row. Everything that is linear in z is folded back to x: a test w
// becomes theta = w * scale and an offset. Also the rows, labels and weights a learner reads: TrainingRows.
// Must not know tests' quality, nodes or trees.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "matrix.hpp"
#include "parallel.hpp"
#include "rows.hpp"

namespace boscage::stochastic {

// Sums are made over blocks of this many rows of the global row order and reduced pairwise by block number, so
// that threads, batches and clusters all give the same bytes.
constexpr int64_t kBlockRows = 4096;

inline int64_t block_count(int64_t rows) { return (rows + kBlockRows - 1) / kBlockRows; }

enum class Scale { standard, unit, none };

struct FrameSettings {
  Scale scale = Scale::standard;
  bool has_constant = true;
  double constant = 1.0;
};

struct Frame {
  int64_t columns = 0;
  std::vector<double> shift, factor;  // empty: 0 and 1
  bool centre_late = false;           // sums and scores are made of x and centred afterwards, by correction terms
  bool has_constant = false;
  double constant = 0;
  bool unit_rows = false;
  std::vector<double> norm;  // reciprocal norms, one per row; empty: 1

  int64_t width() const { return columns + (has_constant ? 1 : 0); }
};

template <class Rows>
struct TrainingRows {
  Rows X;
  std::span<const int32_t> label;
  std::span<const double> weight;  // empty: 1
  int32_t classes = 0;

  int64_t size() const { return X.rows; }
  double weight_of(int64_t row) const { return weight.empty() ? 1.0 : weight[static_cast<size_t>(row)]; }
};

// Centre and spread of the columns, then the norms. Rows used as given must have norm at most 1.
template <class Rows>
Frame make_frame(const TrainingRows<Rows>& rows, const FrameSettings& settings, Pool& pool, const Control& control);

}  // namespace boscage::stochastic
