// Vectors of 64 bytes for the kernels of this folder: sixteen floats or eight doubles, with e^x.
//
// Kernels are compiled for several instruction sets (instruction_sets.hpp), all with the same bits.
#pragma once

#include <cstdint>

#include "base/instruction_sets.hpp"
#include "base/vectors.hpp"

namespace boscage::refine {

template <class T>
constexpr int64_t kLane = static_cast<int64_t>(64 / sizeof(T));

template <class T>
constexpr int64_t padded(int64_t size) {
  return (size + kLane<T> - 1) / kLane<T> * kLane<T>;
}

template <class T>
struct ExpFacts;
template <>
struct ExpFacts<float> {
  using Bits = Vector<int32_t>;
  static constexpr float kMagic = 12582912.0f, kLowest = -87.0f;
  static constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  static constexpr int kMantissa = 23, kTerms = 7;
};
template <>
struct ExpFacts<double> {
  using Bits = Vector<int64_t>;
  static constexpr double kMagic = 6755399441055744.0, kLowest = -700.0;
  static constexpr double kLn2High = 0.693147180369123816490, kLn2Low = 1.90821492927058770002e-10;
  static constexpr int kMantissa = 52, kTerms = 13;
};
template <class T>
BOSCAGE_INLINE Vector<T> load(const T* from) {
  return *reinterpret_cast<const Loose<T>*>(from);
}
template <class T>
BOSCAGE_INLINE void store(T* to, Vector<T> value) {
  *reinterpret_cast<Loose<T>*>(to) = value;
}
template <class T>
BOSCAGE_INLINE Vector<T> all(T value) {
  return Vector<T>{} + value;
}

constexpr double kFactorials[] = {
    1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,      1.0 / 720,
    1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600};

// e^x for x <= 0: 2^k times the exponential series of the rest, |rest| <= ln 2 / 2.
template <class T>
BOSCAGE_INLINE Vector<T> exp_of_negative(Vector<T> x) {
  using Facts = ExpFacts<T>;
  const Vector<T> lowest = all<T>(Facts::kLowest), magic = all<T>(Facts::kMagic);  // adding it rounds to an integer
  x = x < lowest ? lowest : x;
  const Vector<T> shifted = x * static_cast<T>(1.4426950408889634) + magic;
  const Vector<T> k = shifted - magic;
  const Vector<T> r = (x - k * Facts::kLn2High) - k * Facts::kLn2Low;
  Vector<T> p = all<T>(static_cast<T>(kFactorials[Facts::kTerms - 1]));
  for (int i = Facts::kTerms - 2; i >= 0; --i) p = p * r + static_cast<T>(kFactorials[i]);
  using Bits = typename Facts::Bits;
  return reinterpret_cast<Vector<T>>(reinterpret_cast<Bits>(p) + (reinterpret_cast<Bits>(shifted) << Facts::kMantissa));
}

// 1 / (1 + e^-z).
template <class T>
BOSCAGE_INLINE Vector<T> expit(Vector<T> z) {
  const Vector<T> e = exp_of_negative<T>(z > T(0) ? -z : z);
  return (z > T(0) ? all<T>(1) : e) / (T(1) + e);
}

}  // namespace boscage::refine
