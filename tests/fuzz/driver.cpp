// Mutates the seeds of a fuzzer: the same inputs in every run with the same seed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>

#include "fuzz/fuzz.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace conclave::fuzz {
namespace {

struct Run {
  std::uint64_t number = 0;
  std::string input;
};
Run present;  // for whoever reports a failure

void show_input() {
  std::fprintf(stderr, "run %llu, input of %zu bytes:\n",
               static_cast<unsigned long long>(present.number), present.input.size());
  for (const char each : present.input) {
    const auto c = static_cast<unsigned char>(each);
    if (c >= ' ' && c < 127 && c != '\\') {
      std::fputc(c, stderr);
    } else {
      std::fprintf(stderr, "\\x%02x", c);
    }
  }
  std::fputc('\n', stderr);
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::string next() {
    std::string input = seeds_[below(seeds_.size())];
    for (std::size_t steps = below(6); steps > 0; --steps) mutate(input);
    if (input.size() > 4096) input.resize(4096);
    return input;
  }

 private:
  std::size_t below(std::size_t limit) { return random_() % std::max<std::size_t>(limit, 1); }
  char any() { return static_cast<char>(random_()); }

  void mutate(std::string& input) {
    const std::size_t at = below(input.size() + 1);
    const std::size_t count = below(std::min<std::size_t>(input.size() - at, 16) + 1);
    switch (below(8)) {
      case 0: input.insert(at, 1, any()); break;
      case 1: input.erase(at, count); break;
      case 2: input.insert(at, input.substr(at, count)); break;
      case 3: input.insert(at, words_[below(words_.size())]); break;
      case 4: input.replace(at, count, words_[below(words_.size())]); break;
      case 5: input.resize(at); break;
      case 6: input += seeds_[below(seeds_.size())]; break;
      default:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
    }
  }

  std::mt19937_64 random_;
  std::vector<std::string> seeds_ = seeds();
  std::vector<std::string> words_ = words();
};

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

void take(std::uint64_t number, std::string input) {
  present = {number, std::move(input)};
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(present.input.data()),
                         present.input.size());
}

}  // namespace

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  show_input();
  std::_Exit(1);
}

}  // namespace conclave::fuzz

int main(int count, char** arguments) {
  using namespace conclave::fuzz;
  std::set_terminate([] {
    show_input();
    std::abort();
  });
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_death_callback(show_input);
#endif
  const std::uint64_t usual = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 100'000;
  const std::uint64_t runs = from_environment("CONCLAVE_FUZZ_RUNS", usual);
  Mutator mutator(from_environment("CONCLAVE_FUZZ_SEED", 1));
  for (const std::string& each : seeds()) take(0, each);
  for (std::uint64_t i = 1; i <= runs; ++i) take(i, mutator.next());
  std::printf("%llu runs\n", static_cast<unsigned long long>(runs));
}
