// A vector of a length that is set once, with room for a few items in itself: no memory of its own up to N of them.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace boscage {

template <class T, size_t N>
class InlineVector {
 public:
  InlineVector() = default;
  explicit InlineVector(size_t count, const T& value = T{}) {
    std::uninitialized_fill_n(allocate(count), count, value);
  }
  InlineVector(std::span<const T> values) {
    std::uninitialized_copy_n(values.data(), values.size(), allocate(values.size()));
  }
  InlineVector(std::initializer_list<T> values) : InlineVector(std::span<const T>(values.begin(), values.size())) {}
  InlineVector(const std::vector<T>& values) : InlineVector(std::span<const T>(values)) {}
  InlineVector(const InlineVector& other) : InlineVector(std::span<const T>(other.data(), other.size())) {}
  InlineVector(InlineVector&& other) noexcept : size_(std::exchange(other.size_, 0)), place_(other.place_) {}
  InlineVector& operator=(const InlineVector& other) { return *this = InlineVector(other); }
  InlineVector& operator=(InlineVector&& other) noexcept {
    if (this == &other) return *this;
    release();
    size_ = std::exchange(other.size_, 0);
    place_ = other.place_;
    return *this;
  }
  ~InlineVector() { release(); }

  void assign(size_t count, const T& value) { *this = InlineVector(count, value); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return size_ > N ? place_.heap : place_.here; }
  const T* data() const { return size_ > N ? place_.heap : place_.here; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }

 private:
  static_assert(std::is_trivially_copyable_v<T>, "items are moved with the object that holds them");
  union Place {
    Place() : heap(nullptr) {}
    T* heap;
    T here[N];
  };

  T* allocate(size_t count) {
    if (count > N) place_.heap = std::allocator<T>().allocate(count);
    size_ = count;
    return data();
  }

  void release() {
    if (size_ > N) std::allocator<T>().deallocate(place_.heap, size_);
  }

  size_t size_ = 0;
  Place place_;
};

}  // namespace boscage
