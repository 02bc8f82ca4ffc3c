// Bytes as a source of numbers: what the fuzz targets make their rows, weights and parameters of.
//
// Past the end every byte is 0, so any input is a valid one. Small numbers and repeated values are frequent, since ties
// and constant columns are where searches go wrong; the rest are raw bits.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

namespace boscage::fuzz {

// A broken promise ends the process, so that both libFuzzer and the tests see it.
inline void require(bool condition, const char* promise) {
  if (condition) return;
  std::fprintf(stderr, "broken: %s\n", promise);
  std::abort();
}

class Input {
 public:
  Input(const uint8_t* data, size_t size) : at_(data), left_(size) {}

  bool is_empty() const { return left_ == 0; }
  size_t left() const { return left_; }

  uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *at_++;
  }
  bool flag() { return (byte() & 1) != 0; }

  template <class T>
  T bits() {
    std::array<uint8_t, sizeof(T)> raw{};  // what is missing is 0
    const size_t count = std::min(left_, sizeof(T));
    if (count > 0) std::memcpy(raw.data(), at_, count);
    at_ += count;
    left_ -= count;
    T value;
    std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }

  // From low to high, both included.
  int64_t between(int64_t low, int64_t high) {
    const auto range = static_cast<uint64_t>(high - low) + 1;
    const uint64_t draw = range <= 256 ? byte() : bits<uint32_t>();
    return low + static_cast<int64_t>(draw % range);
  }

  template <class T>
  T choose(std::initializer_list<T> from) {
    return from.begin()[byte() % from.size()];
  }

  // A finite number of type T, or NaN where it is allowed.
  template <class T>
  T number(bool may_be_missing) {
    constexpr T largest = std::numeric_limits<T>::max(), smallest = std::numeric_limits<T>::denorm_min();
    const uint8_t kind = byte();
    if (kind < 192) return static_cast<T>(kind % 16) - 8;
    if (kind < 208) return static_cast<T>(static_cast<int8_t>(byte())) / 16;
    if (kind < 224) return choose({T(0), -T(0), smallest, -smallest, std::numeric_limits<T>::min(), largest, -largest});
    if (kind < 232) return T(1e14) + static_cast<T>(byte());
    if (kind < 240 && may_be_missing) return std::numeric_limits<T>::quiet_NaN();
    const T raw = bits<T>();
    return std::isfinite(raw) ? raw : T(0);
  }

 private:
  const uint8_t* at_;
  size_t left_;
};

// Positive weights as fits pass them on: on a grid on which every sum is exact, their total between 2^-60 and 2^60.
inline std::vector<double> draw_weights(Input& input, int64_t rows) {
  std::vector<double> weight;
  if (!input.flag()) return weight;
  for (int64_t i = 0; i < rows; ++i) {
    const uint8_t kind = input.byte();
    const int exponent = kind < 240 ? 0 : static_cast<int>(input.between(-50, 50));
    weight.push_back(std::ldexp(kind % 8 + 1.0, exponent));
  }
  double total = 0;
  for (const double value : weight) total += value;
  const double spacing = std::ldexp(1.0, std::ilogb(total) - 51);
  for (double& value : weight) value = std::max(std::rint(value / spacing) * spacing, spacing);
  return weight;
}

}  // namespace boscage::fuzz
