// Random draws as a pure function of (seed, stream, draw): no shared state, no order in time.
//
// A node's stream is its path from the root (root 1, left 2p, right 2p + 1, folded once it is deeper
// than 63 levels), so a draw depends neither on the number of threads nor on the order of growth.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <numbers>

namespace boscage {

// The finaliser of splitmix64: every input bit reaches every output bit.
constexpr uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// Streams and draws are numbers of any integer type.
constexpr uint64_t draw_bits(uint64_t seed, std::integral auto stream, std::integral auto draw) {
  constexpr uint64_t golden = 0x9e3779b97f4a7c15;  // 2^64 divided by the golden ratio
  return mix(mix(mix(seed + golden) ^ static_cast<uint64_t>(stream)) + golden * (static_cast<uint64_t>(draw) + 1));
}

// Uniform in [0, 1), a multiple of 2^-53.
constexpr double uniform(uint64_t seed, std::integral auto stream, std::integral auto draw) {
  return static_cast<double>(draw_bits(seed, stream, draw) >> 11) * 0x1.0p-53;
}

// Standard normal by Box and Muller; draws 2·draw and 2·draw + 1 of the stream are used.
inline double normal(uint64_t seed, std::integral auto stream, std::integral auto draw) {
  const double u = 1.0 - uniform(seed, stream, 2 * draw);
  const double v = uniform(seed, stream, 2 * draw + 1);
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

// Path of a child; below 63 levels the exact path, deeper a hash of it.
constexpr uint64_t child_path(uint64_t path, bool right) {
  const uint64_t next = 2 * path + (right ? 1 : 0);
  return path < (1ULL << 62) ? next : (mix(next) | (1ULL << 63));
}

}  // namespace boscage
