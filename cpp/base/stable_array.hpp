// An array that grows at its end and never moves its items: references stay valid, and growing copies nothing.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/index.hpp"

namespace boscage {

// Blocks of 64, 128, 256, … items.
template <class T>
class StableArray {
 public:
  StableArray() = default;
  StableArray(StableArray&& other) noexcept
      : blocks_(std::exchange(other.blocks_, {})), size_(std::exchange(other.size_, 0)) {}
  StableArray& operator=(StableArray other) noexcept {
    std::swap(blocks_, other.blocks_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~StableArray() {
    for (int64_t i = 0; i < size_; ++i) std::destroy_at(&(*this)[i]);
    for (size_t block = 0; block < kBlocks && blocks_[block] != nullptr; ++block)
      std::allocator<T>().deallocate(blocks_[block], room(block));
  }

  int64_t size() const { return size_; }
  template <std::integral Index>
  T& operator[](Index i) {
    return *place(to_size(i));
  }
  template <std::integral Index>
  const T& operator[](Index i) const {
    return *place(to_size(i));
  }

  T& emplace_back() {
    const Place at(to_size(size_));
    if (blocks_[at.block] == nullptr) blocks_[at.block] = std::allocator<T>().allocate(room(at.block));
    T* item = std::construct_at(blocks_[at.block] + at.offset);
    ++size_;
    return *item;
  }
  // At least `count` items.
  void extend(int64_t count) {
    while (size_ < count) emplace_back();
  }

 private:
  static constexpr size_t kFirstBits = 6, kFirst = size_t{1} << kFirstBits, kBlocks = 48;

  struct Place {
    explicit Place(size_t i) {
      const auto top = to_size(std::bit_width(i + kFirst)) - 1;
      block = top - kFirstBits;
      offset = (i + kFirst) ^ (size_t{1} << top);
    }
    size_t block, offset;
  };

  static size_t room(size_t block) { return kFirst << block; }
  T* place(size_t i) const {
    const Place at(i);
    return blocks_[at.block] + at.offset;
  }

  std::array<T*, kBlocks> blocks_{};
  int64_t size_ = 0;
};

}  // namespace boscage
