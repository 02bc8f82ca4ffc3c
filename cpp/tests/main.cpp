#include <cstring>
#include <thread>

#include "tests/check.hpp"

namespace {
// Read past the end of an array: proof that the sanitizer build really watches.
int plant_bug(int length) {
  std::vector<int> values(static_cast<size_t>(length), 1);
  const volatile int* first = values.data();
  return first[length];
}

// Two threads write the same number without a lock: proof that the thread sanitizer's build really watches.
int plant_race() {
  int number = 0;
  std::thread other([&] { ++number; });
  ++number;
  other.join();
  return number;
}
}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--plant-bug") == 0) return plant_bug(argc) & 0;
  if (argc > 1 && std::strcmp(argv[1], "--plant-race") == 0) return plant_race() & 0;
  using namespace boscage::test;
  int broken = 0;
  for (const auto& [name, body] : cases()) {
    const int before = failures();
    body();
    if (failures() > before) {
      ++broken;
      std::fprintf(stderr, "FAILED: %s\n", name.c_str());
    }
  }
  std::printf("%d passed, %d failed\n", static_cast<int>(cases().size()) - broken, broken);
  return broken == 0 ? 0 : 1;
}
