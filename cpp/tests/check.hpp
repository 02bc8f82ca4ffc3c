// A tiny test harness: TEST("name") { CHECK(condition); }.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace boscage::test {

struct Case {
  std::string name;
  std::function<void()> body;
};

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

inline int& failures() {
  static int count = 0;
  return count;
}

struct Register {
  Register(const char* name, std::function<void()> body) { cases().push_back({name, std::move(body)}); }
};

inline void check(bool ok, const char* what, const char* file, int line) {
  if (ok) return;
  ++failures();
  std::fprintf(stderr, "%s:%d: CHECK(%s) failed\n", file, line, what);
}

}  // namespace boscage::test

#define BOSCAGE_JOIN2(a, b) a##b
#define BOSCAGE_JOIN(a, b) BOSCAGE_JOIN2(a, b)
#define TEST(name)                                                                                             \
  static void BOSCAGE_JOIN(test_, __LINE__)();                                                                 \
  static const boscage::test::Register BOSCAGE_JOIN(register_, __LINE__){name, BOSCAGE_JOIN(test_, __LINE__)}; \
  static void BOSCAGE_JOIN(test_, __LINE__)()
#define CHECK(condition) boscage::test::check((condition), #condition, __FILE__, __LINE__)
