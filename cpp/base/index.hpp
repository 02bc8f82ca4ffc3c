// Sizes and indexes are signed 64-bit numbers everywhere; the containers of the standard library want unsigned ones.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace boscage {

// The size of a container as a signed number.
template <class Container>
constexpr int64_t signed_size(const Container& container) {
  return static_cast<int64_t>(container.size());
}

// A size or an index for a container: never negative.
template <std::integral Int>
constexpr size_t to_size(Int count) {
  return static_cast<size_t>(count);
}

}  // namespace boscage
