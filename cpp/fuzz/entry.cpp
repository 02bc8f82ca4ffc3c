// The entry that libFuzzer and driver.cpp call: BOSCAGE_FUZZ is the name of a target.
#include "fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return boscage::fuzz::BOSCAGE_FUZZ(data, size);
}
