// A fuzzer for compilers without libFuzzer, with a few of its options:
//
//   fuzz_axis [-runs=N] [-max_total_time=SECONDS] [-max_len=BYTES] [-seed=N] [-artifact_prefix=PATH] FOLDER_OR_FILE...
//
// Every file, and every one of the folders, is run; then inputs are mutated until time or runs are over. Those that
// reach a new edge of the program (GCC's -fsanitize-coverage=trace-pc) are kept, in memory and in the first folder. The
// bytes that end the process are written to PATHcrash.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kEdges = 1 << 18;
uint8_t seen[kEdges], now[kEdges];
thread_local uintptr_t before = 0;
Bytes current;
std::string prefix;

}  // namespace

// Called at every edge: two neighbouring places of the program make one entry of the map.
extern "C" __attribute__((no_sanitize("address", "undefined"))) void __sanitizer_cov_trace_pc() {
  const auto here = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  now[(here ^ (before << 1)) % kEdges] = 1;
  before = here;
}

namespace {

void write(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

void on_death() {
  write(prefix + "crash", current);
  std::fprintf(stderr, "the input was written to %scrash\n", prefix.c_str());
}

void on_signal(int signal) {
  on_death();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// Whether the input reached an edge that none did before.
bool run(const Bytes& bytes) {
  current = bytes;
  std::memset(now, 0, kEdges);
  before = 0;
  alarm(60);  // an input that takes longer ends the process
  LLVMFuzzerTestOneInput(current.data(), current.size());
  alarm(0);
  bool is_new = false;
  for (size_t i = 0; i < kEdges; ++i)
    if (now[i] && !seen[i]) seen[i] = 1, is_new = true;
  return is_new;
}

void change(Bytes& bytes, const std::vector<Bytes>& corpus, size_t most, std::mt19937_64& random) {
  const auto place = [&](size_t size) { return static_cast<ptrdiff_t>(random() % size); };
  const auto kind = random() % 7;
  if (bytes.empty() || kind == 0) {
    const auto count = 1 + random() % 16;
    const auto at = bytes.begin() + place(bytes.size() + 1);
    Bytes added;
    for (size_t i = 0; i < count; ++i) added.push_back(static_cast<uint8_t>(random()));
    bytes.insert(at, added.begin(), added.end());
  } else if (kind == 1) {
    const ptrdiff_t begin = place(bytes.size());
    bytes.erase(bytes.begin() + begin, bytes.begin() + begin + place(bytes.size() - static_cast<size_t>(begin)) + 1);
  } else if (kind == 2) {
    bytes[random() % bytes.size()] ^= static_cast<uint8_t>(1U << (random() % 8));
  } else if (kind == 3) {
    const Bytes& other = corpus[random() % corpus.size()];
    const size_t cut = random() % bytes.size();
    bytes.resize(cut);
    if (other.size() > cut) bytes.insert(bytes.end(), other.begin() + static_cast<ptrdiff_t>(cut), other.end());
  } else if (kind == 4) {
    const ptrdiff_t begin = place(bytes.size()), end = begin + place(bytes.size() - static_cast<size_t>(begin)) + 1;
    const Bytes piece(bytes.begin() + begin, bytes.begin() + end);
    bytes.insert(bytes.begin() + place(bytes.size()), piece.begin(), piece.end());
  } else {
    bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
  }
  bytes.resize(std::min(bytes.size(), most));
}

Bytes read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

int64_t option(const std::string& argument, const char* name, int64_t standard) {
  const std::string head = std::string("-") + name + "=";
  return argument.rfind(head, 0) == 0 ? std::atoll(argument.c_str() + head.size()) : standard;
}

}  // namespace

int main(int argc, char** argv) {
  int64_t runs = -1, seconds = 0, most = 2048, seed = 1;
  std::vector<std::string> folders, inputs;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    runs = option(argument, "runs", runs);
    seconds = option(argument, "max_total_time", seconds);
    most = option(argument, "max_len", most);
    seed = option(argument, "seed", seed);
    if (argument.rfind("-artifact_prefix=", 0) == 0) prefix = argument.substr(17);
    if (argument[0] != '-') (std::filesystem::is_directory(argument) ? folders : inputs).push_back(argument);
  }
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(on_death);
  for (const int signal : {SIGABRT, SIGALRM}) std::signal(signal, on_signal);
  std::vector<Bytes> corpus{{}};
  run(corpus[0]);
  const auto add = [&](const std::filesystem::path& path) {
    corpus.push_back(read(path));
    run(corpus.back());
  };
  for (const std::string& input : inputs) add(input);
  for (const std::string& folder : folders)
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.is_regular_file()) add(entry.path());
  const size_t given = corpus.size();
  const auto start = std::chrono::steady_clock::now();
  const auto is_over = [&](int64_t done) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    return (runs >= 0 && done >= runs) || (seconds > 0 && spent.count() >= static_cast<double>(seconds)) ||
           (runs < 0 && seconds <= 0);
  };
  std::mt19937_64 random(static_cast<uint64_t>(seed));
  int64_t done = 0;
  for (; !is_over(done); ++done) {
    Bytes bytes = corpus[random() % corpus.size()];
    for (uint64_t changes = 1 + random() % 4; changes > 0; --changes)
      change(bytes, corpus, static_cast<size_t>(most), random);
    if (!run(bytes)) continue;
    corpus.push_back(bytes);
    if (!folders.empty()) write(folders[0] + "/new-" + std::to_string(seed) + "-" + std::to_string(done), bytes);
  }
  size_t edges = 0;
  for (const uint8_t edge : seen) edges += edge;
  std::printf("%zu inputs given, %lld more run, %zu kept; %zu edges\n", given - 1, static_cast<long long>(done),
              corpus.size() - given, edges);
  return 0;
}
