// s(z) = 1 / (1 + e^-z) and s(-z), eight at a time and with the same bits on every machine.
//
// To be inlined into kernels that are compiled for several instruction sets (BOSCAGE_CLONES).
#pragma once

#include "base/lanes.hpp"

namespace boscage {

// e^x for x <= 0: 2^k times a polynomial of the rest, |rest| <= ln 2 / 2.
BOSCAGE_INLINE Lanes exp_of_negative(Lanes x) {
  const Lanes lowest = all(-700.0), magic = all(6755399441055744.0);  // adding it rounds to an integer
  x = x < lowest ? lowest : x;
  const Lanes shifted = x * 1.4426950408889634 + magic;
  const Lanes k = shifted - magic;
  const Lanes r = (x - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;
  Lanes p = all(1.0 / 479001600);
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  return reinterpret_cast<Lanes>(reinterpret_cast<Bits>(p) + (reinterpret_cast<Bits>(shifted) << 52));
}

struct Sides {
  Lanes right, left;
};

BOSCAGE_INLINE Sides expit(Lanes z) {
  const Lanes e = exp_of_negative(z > 0 ? -z : z);
  const Lanes large = 1.0 / (1.0 + e), small = e * large;
  return {z > 0 ? large : small, z > 0 ? small : large};
}

}  // namespace boscage
