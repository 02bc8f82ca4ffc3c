// Numbers to predict while a tree grows in memory: what each row adds to the sums of the node that holds it.
//
// Values are on the grid of the row's node (data/number_grid.hpp) and are rewritten where a node has a grid of its own.
// Which rows are in which node is not known here.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "criteria/criteria.hpp"
#include "data/target.hpp"
#include "grow/number_side.hpp"
#include "grow/quantile_sweep.hpp"
#include "grow/split.hpp"

namespace boscage {

class NumberRows {
 public:
  // Of the rows listed.
  NumberRows(const Target& target, const AnyCriterion& criterion, std::span<const uint32_t> rows);

  size_t outputs() const { return outputs_; }
  bool is_weighted() const { return stride_ > outputs_; }
  // By row: its weight (if weighted or of several outputs), then weight times value of each output.
  const double* data() const { return data_.data(); }
  double weight(uint32_t row) const { return target_.weight_of(row); }
  double product(uint32_t row, size_t j) const { return data_[row * stride_ + (stride_ - outputs_) + j]; }
  double report(uint32_t row) const { return reports_[row]; }

  Side total() const { return total_; }
  // The rows that go left, and the others, of a node with this grid; with ranks in increasing order of y.
  std::pair<Side, Side> measure(std::span<const uint32_t> rows, const uint8_t* goes_left,
                                const std::shared_ptr<const NumberGrid>& grid) const;
  // The same of rows that are not on this grid yet, where sums decide.
  std::pair<Side, Side> measure_ahead(std::span<const uint32_t> rows, const uint8_t* goes_left,
                                      const std::shared_ptr<const NumberGrid>& grid) const;
  // Puts rows on another grid.
  void write(std::span<const uint32_t> rows, const NumberGrid& grid);

  // Rows in increasing order of y inside each node's segment, and their places there from 1; if ranks decide.
  bool has_ranks() const { return std::holds_alternative<Quantile>(criterion_); }
  std::span<uint32_t> order() { return order_; }
  std::span<const uint32_t> order() const { return order_; }
  void number(std::span<const uint32_t> ordered);
  const uint32_t* rank() const { return rank_.data(); }
  // A node's values in that order.
  void load(std::span<const uint32_t> ordered, RankedNode& node) const;

 private:
  double y(uint32_t row, size_t j) const { return target_.number[row * outputs_ + j]; }
  template <class Criterion>
  double report(const Criterion& criterion, uint32_t row, const NumberGrid& grid, double* v) const;
  double plain_value(uint32_t row, const NumberGrid& grid) const;
  template <class Chosen, class Value>
  void find_quantile(std::span<const uint32_t> ordered, const Chosen& chosen, NumberSums& sums,
                     const Value& value) const;
  std::pair<Side, Side> sides_of(std::span<const uint32_t> rows, const uint8_t* goes_left,
                                 const std::shared_ptr<const NumberGrid>& grid, NumberSums (&sides)[2]) const;
  template <class Chosen>
  Side measure_on(std::span<const uint32_t> rows, const Chosen& chosen, NumberSums sums) const;

  Target target_;
  AnyCriterion criterion_;
  size_t outputs_, stride_;
  bool has_whole_weights_ = true;
  std::vector<double> data_, reports_;
  std::vector<double> plain_;           // with ranks: values without their weights
  std::vector<uint32_t> order_, rank_;  // with ranks
  Side total_;
};

}  // namespace boscage
