// Measures elections and hand-overs, beside a minimal client of the same store in the same run.
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include <conclave/admin.hpp>

#include "apps/conclave/bench.hpp"
#include "apps/conclave/clock.hpp"
#include "apps/conclave/exit_codes.hpp"
#include "apps/conclave/joiner.hpp"
#include "apps/conclave/output.hpp"
#include "apps/conclave/verbs.hpp"

namespace conclave::app {
namespace {

// The median of some bare questions.
double round_trip_us(const StoreArguments& arguments) {
  const auto store = open(arguments.url, arguments.options);
  std::vector<double> samples;
  for (int i = 0; i < 101; ++i) {
    const Instant asked = boot_now();
    if (const auto answer = inspect(*store, bench_election()); !answer) {
      throw std::runtime_error(answer.error().message);
    }
    samples.push_back(micros(boot_now() - asked));
  }
  std::nth_element(samples.begin(), samples.begin() + 50, samples.end());
  return samples[50];
}

Figures measure(const BenchArguments& arguments, const Signals& signals) {
  if (arguments.what == "first") return bench_first(arguments, signals);
  if (arguments.what == "handoff") return bench_hand_over(arguments, signals);
  if (arguments.what == "crash") return bench_crash(arguments, signals);
  if (arguments.what == "check") return bench_check(arguments, signals);
  return bench_scale(arguments, signals);
}

// Nothing is left behind.
void purge(const BenchArguments& arguments) {
  const auto store = open(arguments.store.url, arguments.store.options);
  static_cast<void>(remove(*store, bench_election(), Remains::nothing));
  for (int i = 0; arguments.what == "scale" && i < arguments.candidates; ++i) {
    static_cast<void>(remove(*store, bench_election() + "-" + std::to_string(i), Remains::nothing));
  }
}

}  // namespace

std::string bench_election() { return "conclave-bench-" + std::to_string(::getpid()); }

int bench(const BenchArguments& arguments) {
  const bool processes = arguments.what == "handoff" || arguments.what == "crash";
  if (processes && arguments.store.url.starts_with("memory:")) {
    complain(
        "memory: is not shared between processes, and the candidates of this benchmark are "
        "processes: use another store, such as file:");
    return wrong_usage;
  }
  const Signals signals{SIGINT, SIGTERM, SIGHUP};
  const double rtt_us = round_trip_us(arguments.store);
  try {
    const Figures figures = measure(arguments, signals);
    purge(arguments);
    return print_figures(arguments, figures, rtt_us);
  } catch (const Interrupted& interrupted) {
    purge(arguments);
    complain("interrupted: ended all candidates");
    return by_signal + interrupted.signal;
  }
}

}  // namespace conclave::app
