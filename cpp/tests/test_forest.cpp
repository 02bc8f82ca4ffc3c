#include <numeric>

#include "data/bags.hpp"
#include "predict/leaf_rows.hpp"
#include "tests/check.hpp"

using namespace boscage;

TEST("a range of a bag is that of the whole bag") {
  constexpr int64_t rows = 3 * kBagBlock + 17, draws = 9000;
  const auto by_block = draws_by_block(5, rows, draws);
  const auto limit = draws_limit(5, rows, draws);
  const auto with = draw_with_replacement(5, by_block, {rows, 0, rows});
  const auto without = draw_without_replacement(5, limit, {rows, 0, rows});
  const auto exponential = draw_exponential(5, {rows, 0, rows});
  CHECK(std::accumulate(with.begin(), with.end(), 0.0) == draws);
  CHECK(std::accumulate(without.begin(), without.end(), 0.0) == draws);
  for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 1}, {4000, 9000}, {rows - 3, rows}, {7, 7}}) {
    const BagRange range{rows, begin, end};
    const auto is_part = [&](const std::vector<double>& part, const std::vector<double>& whole) {
      return std::equal(part.begin(), part.end(), whole.begin() + begin, whole.begin() + end);
    };
    CHECK(is_part(draw_with_replacement(5, by_block, range), with));
    CHECK(is_part(draw_without_replacement(5, limit, range), without));
    CHECK(is_part(draw_exponential(5, range), exponential));
  }
  bool refused = false;
  try {
    draw_exponential(5, {rows, 4, rows + 1});
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  CHECK(refused);
}

TEST("quantiles of the rows in the leaves that were reached") {
  const std::vector<uint32_t> leaf{1, 1, 2, 2, 2, 1, 2, 1};  // two trees of four rows
  const std::vector<int64_t> nodes{3, 3}, rank{0, 1, 2, 3}, reached{1, 1, 2, 2};
  const std::vector<double> levels{0.0, 0.5, 1.0}, weight{1, 1, 1, 3};
  Control control;
  std::vector<int64_t> out(6);
  // First row: 0 and 1 share a weight of 1, as do 1 and 3. Second row: 2 and 3, as well as 0 and 2.
  LeafRows(leaf, nodes, {}).quantiles(reached, rank, levels, out.data(), 2, control);
  CHECK((out == std::vector<int64_t>{0, 1, 3, 0, 2, 3}));
  LeafRows(leaf, nodes, weight).quantiles(reached, rank, levels, out.data(), 1, control);
  CHECK((out == std::vector<int64_t>{0, 1, 3, 0, 2, 3}));
  for (const int64_t wrong : {int64_t{-1}, int64_t{3}}) {
    bool refused = false;
    try {
      const std::vector<int64_t> bad{1, wrong};
      LeafRows(leaf, nodes, {}).quantiles(bad, rank, levels, out.data(), 1, control);
    } catch (const std::invalid_argument&) {
      refused = true;
    }
    CHECK(refused);
  }
}
