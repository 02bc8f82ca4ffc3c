// The matrix product of the kernels: every entry is one sum in the order of its terms, whatever the threads.
//
// The right factor comes in panels of 64 bytes: entry (k, j) stands at
// right[(j / kLane) * depth * kLane + k * kLane + j % kLane].
#pragma once

#include "base/instruction_sets.hpp"
#include "refine/vectors.hpp"

namespace boscage::refine {

// Rows [begin, end) of out = left * right; left is row-major with rows `left_stride` apart, so is out.
BOSCAGE_CLONED void multiply(const float* left, int64_t left_stride, const float* right, int64_t depth, int64_t panels,
                             float* out, int64_t out_stride, int64_t begin, int64_t end);
BOSCAGE_CLONED void multiply(const double* left, int64_t left_stride, const double* right, int64_t depth,
                             int64_t panels, double* out, int64_t out_stride, int64_t begin, int64_t end);

}  // namespace boscage::refine
