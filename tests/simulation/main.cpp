// conclave-sim: runs the production core through simulated worlds, one per seed.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
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
    "  --seconds S     simulated seconds of each, at least 20       (60)\n"
    "  --candidates N  2 to 26, instead of 2 to 5 drawn from the seed\n"
    "  --lease-ms N    100 to 60000, instead of 1000 to 3000 drawn from the seed\n"
    "  --seed X        one seed only; its transcript is printed when it fails, or with --trace\n"
    "\n"
    "Exit code 0: no rule was broken. 1: one was; the seed, the rule and the transcript are "
    "printed.\n"
    "2: the arguments are wrong.\n"
    "\n"
    "example: conclave-sim --seeds 100000 --seconds 120\n";

[[noreturn]] void wrong(const std::string& sentence) {
  std::fprintf(stderr, "conclave-sim: %s; conclave-sim --help shows the options\n",
               sentence.c_str());
  std::exit(2);
}

struct Option {
  std::string_view name;
  std::uint64_t least;
  std::uint64_t most;
  void (*set)(Arguments&, std::uint64_t);
};

constexpr std::uint64_t anything = std::numeric_limits<std::uint64_t>::max();

const Option options[] = {
    {"--seeds", 1, anything, [](Arguments& a, std::uint64_t n) { a.seeds = n; }},
    {"--fresh", 0, anything, [](Arguments& a, std::uint64_t n) { a.fresh = n; }},
    {"--from", 0, anything, [](Arguments& a, std::uint64_t n) { a.from = n; }},
    {"--seed", 0, anything, [](Arguments& a, std::uint64_t n) { a.seed = n; }},
    {"--seconds", 20, 1'000'000,
     [](Arguments& a, std::uint64_t n) { a.plan.length = std::chrono::seconds{n}; }},
    {"--candidates", 2, 26,
     [](Arguments& a, std::uint64_t n) { a.plan.processes = static_cast<std::uint32_t>(n); }},
    {"--lease-ms", 100, 60'000,
     [](Arguments& a, std::uint64_t n) { a.plan.lease = std::chrono::milliseconds{n}; }},
};

std::uint64_t number(const Option& option, const char* text) {
  const std::string name(option.name);
  if (text == nullptr) wrong(name + " needs a number");
  const std::string_view digits = text;
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(digits.begin(), digits.end(), value);
  if (code == std::errc::invalid_argument || end != digits.end()) {
    wrong(name + " needs a whole number, not \"" + text + "\"");
  }
  if (code != std::errc{} || value < option.least || value > option.most) {
    wrong(name + " is out of range: it goes from " + std::to_string(option.least) + " to " +
          std::to_string(option.most));
  }
  return value;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view given = argv[i];
    if (given == "--help" || given == "-h") {
      std::fputs(usage, stdout);
      std::exit(0);
    }
    if (given == "--trace") {
      arguments.trace = true;
      continue;
    }
    const auto* option = std::find_if(std::begin(options), std::end(options),
                                      [&](const Option& each) { return each.name == given; });
    if (option == std::end(options)) wrong("unknown option " + std::string(given));
    option->set(arguments, number(*option, i + 1 < argc ? argv[i + 1] : nullptr));
    ++i;
  }
  if (arguments.trace && !arguments.seed) wrong("--trace needs --seed: it shows one world");
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

const char* name_of(Family family) {
  switch (family) {
    case Family::server_clock: return "a record, judged by the server's clock";
    case Family::own_clock: return "a record, judged by the candidates' own clocks";
    case Family::session: return "sessions with a queue";
  }
  return "unknown";
}

void print_transcript(std::uint64_t seed, const PlanOptions& given) {
  const Plan plan = draw_plan(seed, given);
  std::printf("seed %llu: %zu candidates, lease %lld ms, store: %s\n",
              static_cast<unsigned long long>(seed), plan.processes.size(),
              static_cast<long long>(plan.lease / std::chrono::milliseconds{1}),
              name_of(plan.family));
  Trace trace;
  World(plan, &trace).run();
  for (const std::string& line : trace.lines()) std::puts(line.c_str());
}

// True if every rule held.
bool run_seed(std::uint64_t seed, const PlanOptions& options_given, std::uint64_t& elections) {
  const Plan plan = draw_plan(seed, options_given);
  World world(plan);
  const Verdict& verdict = world.run();
  elections += world.elections();
  if (verdict.is_clean()) return true;
  print_transcript(seed, options_given);
  std::string replay = "--seed " + std::to_string(seed) + " --seconds " +
                       std::to_string(options_given.length / std::chrono::seconds{1});
  if (options_given.processes > 0) {
    replay += " --candidates " + std::to_string(options_given.processes);
  }
  if (options_given.lease > Duration::zero()) {
    replay += " --lease-ms " + std::to_string(options_given.lease / std::chrono::milliseconds{1});
  }
  std::printf("\nBROKEN: %s: %s\nreplay: conclave-sim %s\n", verdict.rule().c_str(),
              verdict.detail().c_str(), replay.c_str());
  return false;
}

int run(const Arguments& arguments) {
  std::uint64_t elections = 0;
  if (arguments.seed) {
    if (arguments.trace) print_transcript(*arguments.seed, arguments.plan);
    if (!run_seed(*arguments.seed, arguments.plan, elections)) return 1;
    std::printf("%llu elections, no rule broken\n", static_cast<unsigned long long>(elections));
    return 0;
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
