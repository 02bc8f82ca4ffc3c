// The inputs that fuzzing kept run again: each target ends the process where a promise is broken.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/targets.hpp"
#include "tests/check.hpp"

TEST("every input of the fuzz corpus keeps the promises") {
  for (const auto& [name, target] : boscage::fuzz::kTargets) {
    int inputs = 0;
    for (const auto& entry : std::filesystem::directory_iterator(std::string(BOSCAGE_CORPUS) + "/" + name)) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
      CHECK(target(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()) == 0);
      ++inputs;
    }
    CHECK(inputs > 10);
  }
}
