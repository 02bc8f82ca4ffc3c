// Vector types of a given width in bytes, the only place that defines them: Vector<T, bytes> for values in registers,
// Loose<T, bytes> for numbers anywhere in memory.
//
// Functions that use them are compiled for several instruction sets (instruction_sets.hpp), all with the same bits.
#pragma once

namespace boscage {

template <class T, int bytes>
struct VectorOf {
  typedef T Type __attribute__((vector_size(bytes)));
  typedef T Anywhere __attribute__((vector_size(bytes), aligned(alignof(T)), may_alias));
};

template <class T, int bytes = 64>
using Vector = typename VectorOf<T, bytes>::Type;
template <class T, int bytes = 64>
using Loose = typename VectorOf<T, bytes>::Anywhere;
static_assert(alignof(Loose<double>) == alignof(double));

}  // namespace boscage
