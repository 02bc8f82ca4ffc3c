// Eight doubles at once, for kernels whose bits must not depend on the machine.
//
// Functions that use them are compiled for several instruction sets (instruction_sets.hpp), all with the same bits.
#pragma once

#include <cstdint>
#include <new>
#include <utility>

#include "base/array.hpp"
#include "base/instruction_sets.hpp"
#include "base/vectors.hpp"

namespace boscage {

constexpr int64_t kLanes = 8;

using Lanes = Vector<double>;
using HalfLanes = Vector<double, 32>;
using Bits = Vector<int64_t>;
using Singles = Vector<float, 32>;
using TwoSingles = Vector<float>;
using LoadDouble = Loose<double>;
using LoadHalf = Loose<double, 32>;
using LoadFloat = Loose<float, 32>;
using LoadTwo = Loose<float>;

BOSCAGE_INLINE Lanes load(const double* from) { return *reinterpret_cast<const LoadDouble*>(from); }
BOSCAGE_INLINE Lanes load(const float* from) {
  return __builtin_convertvector(*reinterpret_cast<const LoadFloat*>(from), Lanes);
}
BOSCAGE_INLINE void store(double* to, Lanes value) { *reinterpret_cast<LoadDouble*>(to) = value; }
BOSCAGE_INLINE Singles load_singles(const float* from) { return *reinterpret_cast<const LoadFloat*>(from); }
BOSCAGE_INLINE void store(float* to, Singles value) { *reinterpret_cast<LoadFloat*>(to) = value; }
BOSCAGE_INLINE TwoSingles load_two(const float* from) { return *reinterpret_cast<const LoadTwo*>(from); }
BOSCAGE_INLINE void store(float* to, TwoSingles value) { *reinterpret_cast<LoadTwo*>(to) = value; }
BOSCAGE_INLINE Singles low(TwoSingles both) { return __builtin_shufflevector(both, both, 0, 1, 2, 3, 4, 5, 6, 7); }
BOSCAGE_INLINE Singles high(TwoSingles both) {
  return __builtin_shufflevector(both, both, 8, 9, 10, 11, 12, 13, 14, 15);
}
BOSCAGE_INLINE TwoSingles repeat(Singles x) {
  return __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7);
}
BOSCAGE_INLINE Lanes all(double value) { return Lanes{} + value; }
BOSCAGE_INLINE double sum(Lanes v) { return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7])); }

// Adds the last products, fewer than four.
BOSCAGE_INLINE void add_last(HalfLanes& sums, const double* a, const double* b, int64_t count) {
  if (count > 0) sums[0] += a[0] * b[0];
  if (count > 1) sums[1] += a[1] * b[1];
  if (count > 2) sums[2] += a[2] * b[2];
}

// The dot product of dot.hpp, to be inlined into kernels: the same order of additions, the same bits. The last columns
// are added in registers: a loop over their number would go through memory.
BOSCAGE_INLINE double dot_lanes(const double* a, const double* b, int64_t size) {
  Lanes total{};
  int64_t j = 0;
  for (; j + kLanes <= size; j += kLanes) total += load(a + j) * load(b + j);
  HalfLanes first = __builtin_shufflevector(total, total, 0, 1, 2, 3);
  HalfLanes second = __builtin_shufflevector(total, total, 4, 5, 6, 7);
  if (size - j < 4) {
    add_last(first, a + j, b + j, size - j);
  } else {
    first += *reinterpret_cast<const LoadHalf*>(a + j) * *reinterpret_cast<const LoadHalf*>(b + j);
    add_last(second, a + j + 4, b + j + 4, size - j - 4);
  }
  return ((first[0] + first[1]) + (first[2] + first[3])) + ((second[0] + second[1]) + (second[2] + second[3]));
}

// Memory that begins where a cache line does: lanes that cross lines cost twice.
template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}
  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* place, size_t) { ::operator delete(place, kLine); }
  // What is not given a value has none: resize() writes nothing.
  template <class U, class... Values>
  void construct(U* place, Values&&... values) {
    if constexpr (sizeof...(Values) == 0) {
      ::new (static_cast<void*>(place)) U;
    } else {
      ::new (static_cast<void*>(place)) U(std::forward<Values>(values)...);
    }
  }
  bool operator==(const LineAllocator&) const { return true; }
};

template <class T>
using LineVector = Array<T, LineAllocator<T>>;

}  // namespace boscage
