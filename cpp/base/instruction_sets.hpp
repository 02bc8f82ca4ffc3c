// The same code compiled for several instruction sets, the best of which is chosen when the program runs.
//
// Two ways, by what differs between the versions:
//
// - Nothing but the instructions: mark the function BOSCAGE_CLONES, its declaration in a header BOSCAGE_CLONED, and
// what
//   it calls BOSCAGE_INLINE. The choice is made when the library is loaded.
// - The width of the vectors too: put the code into a header of its own and include it once per set, between
//   BOSCAGE_BEGIN_AVX2 or BOSCAGE_BEGIN_AVX512 and BOSCAGE_END_SET; choose by instruction_set(). Templates of integers
//   are marked BOSCAGE_INTEGER_AVX2 or BOSCAGE_INTEGER_AVX512 one by one; choose by integer_instruction_set().
//
// Products and sums are never contracted and lanes are fixed, so all versions give the same bits. Compilers and
// systems without these means get the baseline alone.
#pragma once

#define BOSCAGE_INLINE inline __attribute__((always_inline))

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define BOSCAGE_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BOSCAGE_SANITIZED 1
#endif

// The loader chooses between clones, which only ELF has, and before a sanitizer is ready.
#if defined(__x86_64__) && defined(__ELF__) && !defined(BOSCAGE_SANITIZED)
#define BOSCAGE_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define BOSCAGE_CLONES
#endif

// Clang makes clones only of what its first declaration says; GCC would call clones that other files do not have.
#if defined(__clang__)
#define BOSCAGE_CLONED BOSCAGE_CLONES
#else
#define BOSCAGE_CLONED
#endif

#if defined(__x86_64__)
#define BOSCAGE_SETS 1
#define BOSCAGE_INTEGER_AVX2 __attribute__((target("avx2")))
#if defined(__clang__)
#define BOSCAGE_INTEGER_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define BOSCAGE_BEGIN_AVX2 _Pragma("clang attribute push(__attribute__((target(\"avx2\"))), apply_to = function)")
#define BOSCAGE_BEGIN_AVX512 _Pragma("clang attribute push(__attribute__((target(\"avx512f\"))), apply_to = function)")
#define BOSCAGE_END_SET _Pragma("clang attribute pop")
#else
#define BOSCAGE_INTEGER_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))
#define BOSCAGE_BEGIN_AVX2 _Pragma("GCC push_options") _Pragma("GCC target(\"avx2\")")
#define BOSCAGE_BEGIN_AVX512 _Pragma("GCC push_options") _Pragma("GCC target(\"avx512f,prefer-vector-width=512\")")
#define BOSCAGE_END_SET _Pragma("GCC pop_options")
#endif
#endif

namespace boscage {

enum class InstructionSet { baseline, avx2, avx512 };  // avx512: its foundation, AVX-512F

// The widest set of this processor.
inline InstructionSet instruction_set() {
#ifdef BOSCAGE_SETS
  static const InstructionSet set = __builtin_cpu_supports("avx512f") ? InstructionSet::avx512
                                    : __builtin_cpu_supports("avx2")  ? InstructionSet::avx2
                                                                      : InstructionSet::baseline;
  return set;
#else
  return InstructionSet::baseline;
#endif
}

// The same for integers of all sizes, of which AVX-512F alone knows the large ones only.
inline InstructionSet integer_instruction_set() {
#ifdef BOSCAGE_SETS
  static const bool is_whole =
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return instruction_set() == InstructionSet::avx512 && !is_whole ? InstructionSet::avx2 : instruction_set();
#else
  return InstructionSet::baseline;
#endif
}

}  // namespace boscage
