// conclave-sim: runs the production core through simulated worlds, one per seed.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <string_view>

#include <unistd.h>

#include "simulation/world.hpp"

namespace conclave::sim {
namespace {

struct Arguments {
  std::uint64_t seeds = 20'000;
  std::uint64_t fresh = 0;
  std::uint64_t from = 0;
  std::optional<std::uint64_t> seed;
  PlanOptions plan;
  bool trace = false;
};

constexpr const char* usage =
    "usage: conclave-sim [--seeds N] [--fresh N] [--from X] [--seconds S] [--candidates N]\n"
    "                    [--lease-ms N] [--seed X [--trace]]\n"
    "\n"
    "Runs the election core through simulated worlds, one for each seed, and checks in each that "
    "no\n"
    "two candidates lead at once, that terms grow, and the other promises of docs/design.\n"
    "\n"
    "  --seeds N       how many seeds, counted up from --from      (20000)\n"
    "  --fresh N       how many more, from a random start that is printed (0)\n"
    "  --from X        the first seed                               (0)\n"
    "  --seconds S     simulated seconds of each                    (60)\n"
    "  --candidates N  instead of 2 to 5, drawn from the seed\n"
    "  --lease-ms N    instead of 1000 to 3000, drawn from the seed\n"
    "  --seed X        one seed only; its transcript is printed when it fails, or with --trace\n"
    "\n"
    "Exit code 0: no rule was broken. 1: one was; the seed, the rule and the transcript are "
    "printed.\n"
    "2: the arguments are wrong.\n"
    "\n"
    "example: conclave-sim --seeds 100000 --seconds 120\n";

[[noreturn]] void wrong(const char* what, const char* which) {
  std::fprintf(stderr, "conclave-sim: %s: %s\n\n%s", what, which, usage);
  std::exit(2);
}

std::uint64_t number(const char* option, const char* text) {
  if (text == nullptr) wrong("a number is missing after", option);
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  if (*text == '\0' || *text == '-' || *end != '\0') wrong("not a whole number", text);
  return value;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (option == "--help" || option == "-h") {
      std::fputs(usage, stdout);
      std::exit(0);
    }
    if (option == "--trace") {
      arguments.trace = true;
      continue;
    }
    const std::uint64_t given = number(argv[i], value);
    if (option == "--seeds") {
      arguments.seeds = given;
    } else if (option == "--fresh") {
      arguments.fresh = given;
    } else if (option == "--from") {
      arguments.from = given;
    } else if (option == "--seed") {
      arguments.seed = given;
    } else if (option == "--seconds" && given > 0 && given <= 1'000'000) {
      arguments.plan.length = std::chrono::seconds{given};
    } else if (option == "--candidates" && given >= 1 && given <= 26) {
      arguments.plan.processes = static_cast<std::uint32_t>(given);
    } else if (option == "--lease-ms" && given >= 100 && given <= 60'000) {
      arguments.plan.lease = std::chrono::milliseconds{given};
    } else {
      wrong("unknown option, or its number is out of range", argv[i]);
    }
    ++i;
  }
  return arguments;
}

class Progress {
 public:
  explicit Progress(std::uint64_t total)
      : total_(total), on_terminal_(isatty(STDERR_FILENO) == 1) {}

  void at(std::uint64_t done) {
    const auto now = std::chrono::steady_clock::now();
    if (now - shown_ <
        (on_terminal_ ? std::chrono::milliseconds{200} : std::chrono::milliseconds{10'000})) {
      return;
    }
    shown_ = now;
    std::fprintf(stderr, "%sconclave-sim: %llu of %llu seeds%s", on_terminal_ ? "\r" : "",
                 static_cast<unsigned long long>(done), static_cast<unsigned long long>(total_),
                 on_terminal_ ? " " : "\n");
  }
  void clear() const {
    if (on_terminal_) std::fputs("\r\033[K", stderr);
  }

 private:
  std::uint64_t total_;
  bool on_terminal_;
  std::chrono::steady_clock::time_point shown_ = std::chrono::steady_clock::now();
};

void print_transcript(std::uint64_t seed, const PlanOptions& options) {
  const Plan plan = draw_plan(seed, options);
  Trace trace;
  World(plan, &trace).run();
  for (const std::string& line : trace.lines()) std::puts(line.c_str());
}

// True if every rule held.
bool run_seed(std::uint64_t seed, const PlanOptions& options, std::uint64_t& elections) {
  const Plan plan = draw_plan(seed, options);
  World world(plan);
  const Verdict& verdict = world.run();
  elections += world.elections();
  if (verdict.is_clean()) return true;
  print_transcript(seed, options);
  std::printf("\nBROKEN: %s: %s\nreplay: conclave-sim --seed %llu --seconds %lld\n",
              verdict.rule().c_str(), verdict.detail().c_str(),
              static_cast<unsigned long long>(seed),
              static_cast<long long>(options.length / std::chrono::seconds{1}));
  return false;
}

int run(const Arguments& arguments) {
  std::uint64_t elections = 0;
  if (arguments.seed) {
    if (arguments.trace) print_transcript(*arguments.seed, arguments.plan);
    return run_seed(*arguments.seed, arguments.plan, elections) ? 0 : 1;
  }
  std::random_device entropy;
  const std::uint64_t fresh_from = (std::uint64_t{entropy()} << 20U) + (1ULL << 52U);
  if (arguments.fresh > 0) {
    std::printf("fresh seeds: %llu from %llu\n", static_cast<unsigned long long>(arguments.fresh),
                static_cast<unsigned long long>(fresh_from));
  }
  const std::uint64_t total = arguments.seeds + arguments.fresh;
  const auto started = std::chrono::steady_clock::now();
  Progress progress(total);
  for (std::uint64_t i = 0; i < total; ++i) {
    progress.at(i);
    const std::uint64_t seed =
        i < arguments.seeds ? arguments.from + i : fresh_from + (i - arguments.seeds);
    if (!run_seed(seed, arguments.plan, elections)) return 1;
  }
  progress.clear();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  const double simulated =
      static_cast<double>(total) * std::chrono::duration<double>(arguments.plan.length).count();
  std::printf(
      "%llu seeds, %.0f simulated seconds, %llu elections, no rule broken; %.1f s, %.0f simulated "
      "seconds per second\n",
      static_cast<unsigned long long>(total), simulated, static_cast<unsigned long long>(elections),
      took.count(), simulated / took.count());
  return 0;
}

}  // namespace
}  // namespace conclave::sim

int main(int argc, char** argv) { return conclave::sim::run(conclave::sim::parse(argc, argv)); }
