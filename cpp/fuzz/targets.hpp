// The fuzz targets by name. Each takes any bytes and ends the process where a promise is broken.
#pragma once

#include <cstddef>
#include <cstdint>

namespace boscage::fuzz {

using Target = int (*)(const uint8_t* data, size_t size);

int axis(const uint8_t* data, size_t size);
int batches(const uint8_t* data, size_t size);
int joint(const uint8_t* data, size_t size);
int oblique(const uint8_t* data, size_t size);
int mixed(const uint8_t* data, size_t size);
int numbers(const uint8_t* data, size_t size);
int online(const uint8_t* data, size_t size);
int optimal(const uint8_t* data, size_t size);
int predict(const uint8_t* data, size_t size);
int stochastic(const uint8_t* data, size_t size);

struct NamedTarget {
  const char* name;
  Target target;
};

inline constexpr NamedTarget kTargets[] = {
    {"axis", axis},       {"batches", batches}, {"joint", joint},     {"mixed", mixed},     {"numbers", numbers},
    {"oblique", oblique}, {"online", online},   {"optimal", optimal}, {"predict", predict}, {"stochastic", stochastic}};

}  // namespace boscage::fuzz
