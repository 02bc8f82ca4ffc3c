// Array and Span: std::vector and std::span whose sizes are signed 64-bit numbers, as everywhere in the core, and which
// take integers of any type. They convert to and from the types of the standard library.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/index.hpp"

namespace boscage {

template <class T, class Allocator = std::allocator<T>>
class Array : public std::vector<T, Allocator> {
  using Base = std::vector<T, Allocator>;

 public:
  Array() = default;
  explicit Array(std::integral auto size) : Base(static_cast<size_t>(size)) {}
  Array(std::integral auto size, const T& value) : Base(static_cast<size_t>(size), value) {}
  Array(std::initializer_list<T> values) : Base(values) {}
  template <std::input_iterator Iterator>
  Array(Iterator begin, Iterator end) : Base(begin, end) {}
  Array(Base values) : Base(std::move(values)) {}

  int64_t size() const { return static_cast<int64_t>(Base::size()); }
  int64_t capacity() const { return static_cast<int64_t>(Base::capacity()); }
  // Hashes and row numbers, which are unsigned, need no conversion.
  template <std::integral Index>
  decltype(auto) operator[](Index i) {
    return Base::operator[](static_cast<size_t>(i));
  }
  template <std::integral Index>
  decltype(auto) operator[](Index i) const {
    return Base::operator[](static_cast<size_t>(i));
  }

  void reserve(std::integral auto size) { Base::reserve(static_cast<size_t>(size)); }
  void resize(std::integral auto size) { Base::resize(static_cast<size_t>(size)); }
  void resize(std::integral auto size, const T& value) { Base::resize(static_cast<size_t>(size), value); }
  void assign(std::integral auto size, const T& value) { Base::assign(static_cast<size_t>(size), value); }
  void assign(std::initializer_list<T> values) { Base::assign(values); }
  template <std::input_iterator Iterator>
  void assign(Iterator begin, Iterator end) {
    Base::assign(begin, end);
  }
};

template <class Iterator>
Array(Iterator, Iterator) -> Array<typename std::iterator_traits<Iterator>::value_type>;

template <class T>
class Span : public std::span<T> {
  using Base = std::span<T>;

 public:
  constexpr Span() = default;
  constexpr Span(Base values) : Base(values) {}
  template <class Container>
    requires std::constructible_from<Base, Container&&> && (!std::is_same_v<std::remove_cvref_t<Container>, Span>)
  constexpr Span(Container&& values) : Base(std::forward<Container>(values)) {}
  constexpr Span(T* begin, std::integral auto size) : Base(begin, static_cast<size_t>(size)) {}
  constexpr Span(T* begin, T* end) : Base(begin, end) {}

  constexpr int64_t size() const { return static_cast<int64_t>(Base::size()); }
  template <std::integral Index>
  constexpr T& operator[](Index i) const {
    return Base::operator[](static_cast<size_t>(i));
  }

  constexpr Span first(std::integral auto size) const { return Base::first(static_cast<size_t>(size)); }
  constexpr Span last(std::integral auto size) const { return Base::last(static_cast<size_t>(size)); }
  constexpr Span subspan(std::integral auto begin) const { return Base::subspan(static_cast<size_t>(begin)); }
  constexpr Span subspan(std::integral auto begin, std::integral auto size) const {
    return Base::subspan(static_cast<size_t>(begin), static_cast<size_t>(size));
  }
};

template <class Container>
Span(Container&&) -> Span<std::remove_reference_t<decltype(*std::data(std::declval<Container&>()))>>;
template <class T>
Span(T*, int64_t) -> Span<T>;

}  // namespace boscage
