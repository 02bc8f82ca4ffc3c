// The learner as named flat arrays: what files, pickles and copies hold.
//
// Archive: a sorted map from names to arrays of four plain types. Reader: takes arrays out again and refuses
// anything of the wrong type, length or range, so that a hostile file ends in BadState and never in a crash.
// Knows nothing of files or Python.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "base/array.hpp"
#include "online/kernels.hpp"

namespace boscage::online {

struct BadState : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

using AnyArray = std::variant<Array<int32_t>, Array<int64_t>, Array<float>, Array<double>>;
using Archive = std::map<std::string, AnyArray>;

class Reader {
 public:
  explicit Reader(Archive archive) : archive_(std::move(archive)) {}

  // The named array, of exactly `size` entries unless size is negative.
  template <class T>
  Array<T> take(const std::string& name, int64_t size = -1) {
    auto found = archive_.find(name);
    if (found == archive_.end()) throw BadState("the state lacks the array '" + name + "'");
    auto* values = std::get_if<Array<T>>(&found->second);
    if (values == nullptr) throw BadState("the state's array '" + name + "' has the wrong type");
    if (size >= 0 && values->size() != size) {
      throw BadState("the state's array '" + name + "' has " + std::to_string(values->size()) + " entries, not " +
                     std::to_string(size));
    }
    Array<T> taken = std::move(*values);
    archive_.erase(found);
    return taken;
  }

  // Finite numbers in [least, most].
  template <class T>
  Array<T> take_finite(const std::string& name, int64_t size, double least = -HUGE_VAL, double most = HUGE_VAL) {
    Array<T> values = take<T>(name, size);
    for (T value : values) {
      const auto number = static_cast<double>(value);
      if (!std::isfinite(number) || !(number >= least && number <= most)) {
        throw BadState("the state's array '" + name + "' holds a value out of range");
      }
    }
    return values;
  }

  // Weights small enough that no margin of a scaled row overflows.
  Array<float> take_weights(const std::string& name, int64_t size) {
    return take_finite<float>(name, size, -1e15, 1e15);
  }

  // Integers in [low, high).
  template <class T>
  Array<T> take_index(const std::string& name, int64_t size, int64_t low, int64_t high) {
    Array<T> values = take<T>(name, size);
    for (T value : values) {
      if (value < low || value >= high) throw BadState("the state's array '" + name + "' holds an index out of range");
    }
    return values;
  }

  // Starts of consecutive slices: 0 first, never falling, `pieces` + 1 entries.
  Array<int64_t> take_offsets(const std::string& name, int64_t pieces) {
    Array<int64_t> offsets = take<int64_t>(name, pieces + 1);
    for (int64_t i = 0; i < offsets.size(); ++i) {
      if (offsets[i] < (i == 0 ? 0 : offsets[i - 1])) throw BadState("the state's array '" + name + "' is not sorted");
    }
    if (offsets[0] != 0) throw BadState("the state's array '" + name + "' does not start at 0");
    return offsets;
  }

  // Entries of the named array; -1 if it is missing.
  int64_t length(const std::string& name) const {
    const auto found = archive_.find(name);
    if (found == archive_.end()) return -1;
    return std::visit([](const auto& values) { return values.size(); }, found->second);
  }
  bool has(const std::string& name) const { return archive_.count(name) > 0; }
  void finish() const {
    if (!archive_.empty()) throw BadState("the state holds an unknown array '" + archive_.begin()->first + "'");
  }

 private:
  Archive archive_;
};

template <class Vector>
int64_t bytes_of(const Vector& values) {
  return static_cast<int64_t>(to_size(values.capacity()) * sizeof(typename Vector::value_type));
}

inline Array<float> plain(const Floats& values) { return {values.begin(), values.end()}; }
inline Floats aligned(const Array<float>& values) { return {values.begin(), values.end()}; }

}  // namespace boscage::online
