// Hard trees whose linear tests have few terms: a block of rows is divided node by node, as in growing.
//
// The terms of a test are read once for all rows of the block that reach it, and no branch depends on a single row.
// Scores have the bits of dot.hpp, so rows arrive where the walk of a single row would bring them.
#pragma once

#include <cstdint>

#include "base/array.hpp"

namespace boscage {

struct TestTerm {
  double weight = 0;
  int32_t column = 0;
  int32_t lane = 0;  // column mod 8
};

struct SparseTest {
  double threshold = 0;
  int32_t left = -1, right = -1;  // -1 at a leaf
  int32_t begin = 0, terms = 0;   // an axis test has one term of weight 1
};

struct SparseTests {
  Array<SparseTest> nodes;  // numbered as in the tree
  Array<TestTerm> terms;

  bool empty() const { return nodes.empty(); }
};

// Buffers of one thread, reused from tree to tree.
struct DivideScratch {
  struct Part {
    int32_t node, begin, end;
  };
  Array<uint32_t> rows, moved;
  Array<Part> open;
  Array<double> scores;
};

// The leaf of each of the rows first + scratch.rows[i] of a table of `stride` numbers a row, all of them finite:
// leaves[scratch.rows[i]].
void divide_by_tests(const SparseTests& tree, const double* first, int64_t stride, DivideScratch& scratch,
                     int64_t* leaves);

}  // namespace boscage
