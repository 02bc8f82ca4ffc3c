// Rows of the user's X as doubles, whatever they are stored in: what learning after growing reads.
//
// RowReader: one for each thread, since it keeps a row on its way. "Seen" rows are what linear tests multiply (with
// the constant, where there is one), "plain" rows are in the user's units, with numbers for categories and NaN filled.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/array.hpp"
#include "data/row_map.hpp"

namespace boscage::refine {

class RowReader {
 public:
  virtual ~RowReader() = default;
  virtual void read(int64_t row, double* out) = 0;
};

// Makes a reader; called once for each thread.
struct RowSource {
  std::function<std::unique_ptr<RowReader>()> reader;
  int64_t rows = 0, width = 0;
};

template <class Rows>
class MappedReader final : public RowReader {
 public:
  MappedReader(const Rows& rows, const RowMap& map, Span<const int64_t> n_categories, bool seen)
      : rows_(rows), mapper_(map, n_categories, false), seen_(seen) {
    width_ = n_categories.size() + (seen && map.has_constant ? 1 : 0);
  }

  void read(int64_t row, double* out) override {
    mapper_.load(rows_, row);
    const RowView& view = seen_ ? mapper_.seen() : mapper_.plain();
    if (view.dense != nullptr) {
      std::copy_n(view.dense, width_, out);
      return;
    }
    std::fill_n(out, width_, 0.0);
    for (int64_t k = 0; k < view.stored; ++k) out[view.columns[k]] = view.values[k];
  }

 private:
  Rows rows_;
  RowMapper mapper_;
  bool seen_;
  int64_t width_;
};

template <class Rows>
RowSource mapped_rows(const Rows& rows, const RowMap& map, Span<const int64_t> n_categories, bool seen) {
  const int64_t width = n_categories.size() + (seen && map.has_constant ? 1 : 0);
  return {[=] { return std::make_unique<MappedReader<Rows>>(rows, map, n_categories, seen); }, rows.rows, width};
}

}  // namespace boscage::refine
