// Measures elections and hand-overs, beside a minimal client of the same store in the same run.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include <conclave/admin.hpp>
#include <conclave/candidate.hpp>

#include "apps/conclave/bench.hpp"
#include "apps/conclave/bench_redis_client.hpp"
#include "apps/conclave/clock.hpp"
#include "apps/conclave/exit_codes.hpp"
#include "apps/conclave/joiner.hpp"
#include "apps/conclave/output.hpp"
#include "apps/conclave/verbs.hpp"

namespace conclave::app {
namespace {

// The median of some bare questions.
double round_trip_us(Store& store) {
  std::vector<double> samples;
  for (int i = 0; i < 101; ++i) {
    const Instant asked = boot_now();
    if (const auto answer = inspect(store, bench_election()); !answer) {
      throw std::runtime_error(answer.error().message);
    }
    samples.push_back(micros(boot_now() - asked));
  }
  std::nth_element(samples.begin(), samples.begin() + 50, samples.end());
  return samples[50];
}

// What the store refuses its candidates is told before anything waits for them.
void wait_for_trial(Candidate& candidate, Duration patience, const Signals& signals) {
  EventQueue& events = candidate.events();
  candidate.start();
  const Instant limit = boot_now() + patience;
  while (!candidate.is_leader()) {
    const auto event = events.wait_for(std::chrono::milliseconds{100});
    heed(signals);
    if (event && event->error && !event->error->retryable) {
      throw std::runtime_error(event->error->message);
    }
    if (boot_now() > limit) throw std::runtime_error("a candidate was not elected in time");
  }
}

// Whether there can be an election at all, and how long a question to who has one takes.
double try_out(const StoreArguments& arguments, const Signals& signals) {
  const auto store = open(arguments.url, arguments.options);
  if (const auto answer = inspect(*store, bench_election()); !answer) {  // not even that
    throw std::runtime_error(answer.error().message);
  }
  Candidate candidate(store, bench_election());
  wait_for_trial(candidate, std::chrono::seconds{60} + 5 * store->lease(), signals);
  const double rtt_us = round_trip_us(*store);
  candidate.stop();
  purge(arguments, {bench_election()});
  return rtt_us;
}

Figures measure(const BenchArguments& arguments, const Signals& signals) {
  if (arguments.what == "first") return bench_first(arguments, signals);
  if (arguments.what == "handoff") return bench_hand_over(arguments, signals);
  if (arguments.what == "crash") {
    return arguments.elections > 1 ? bench_crash_of_many(arguments, signals)
                                   : bench_crash(arguments, signals);
  }
  if (arguments.what == "check") return bench_check(arguments, signals);
  if (arguments.what == "idle") return bench_idle(arguments, signals);
  return bench_scale(arguments, signals);
}

std::vector<std::string> elections_of(const BenchArguments& arguments) {
  std::vector<std::string> elections{bench_election()};
  const int more = arguments.what == "scale" ? arguments.candidates
                   : arguments.elections > 1 ? arguments.elections
                                             : 0;
  for (int i = 0; i < more; ++i) elections.push_back(scale_election(i));
  return elections;
}

// Nothing where it can be measured.
std::optional<std::string> hindrance(const BenchArguments& arguments) {
  const std::string& url = arguments.store.url;
  const bool processes = arguments.what == "handoff" || arguments.what == "crash";
  if (processes && url.starts_with("memory:")) {
    return "memory: is not shared between processes, and the candidates of this benchmark are "
           "processes: use another store, such as file:";
  }
  const bool counts = redis_address(url) || url.starts_with("postgres");
  if (arguments.what == "idle" && !counts) {
    return "not available: there is no server that counts its commands, or it is not asked for "
           "them over TLS: use redis://host:port or postgres://host/database";
  }
  if (arguments.what != "crash" && arguments.elections > 1) {
    return "--elections is for bench crash; bench scale has --candidates, each in an election of "
           "its own";
  }
  return std::nullopt;
}

}  // namespace

// What a killed leader holds can be removed when its lease is over.
void purge(const StoreArguments& arguments, const std::vector<std::string>& elections) {
  const auto store = open(arguments.url, arguments.options);
  const auto is_left = [&](const std::string& each) {
    const auto removed = remove(*store, each, Remains::nothing);
    return !removed && removed.error().code == ErrorCode::invalid_state;
  };
  std::vector<std::string> left;
  for (const std::string& each : elections) {
    if (!is_left(each)) continue;
    static_cast<void>(end(*store, each));
    left.push_back(each);
  }
  const Duration patience = 2 * store->lease() + std::chrono::seconds{1};
  Instant limit = boot_now() + patience;
  while (!left.empty() && boot_now() < limit) {
    if (is_left(left.back())) {
      static_cast<void>(end(*store, left.back()));
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
    } else {
      left.pop_back();
      limit = boot_now() + patience;
    }
  }
}

std::string bench_election() { return "conclave-bench-" + std::to_string(::getpid()); }

std::string scale_election(int number) {
  return "b" + std::to_string(::getpid()) + "-" + std::to_string(number);
}

int bench(const BenchArguments& arguments) {
  if (const auto why = hindrance(arguments)) {
    complain(*why);
    return wrong_usage;
  }
  const Signals signals{SIGINT, SIGTERM, SIGHUP};
  try {
    const double rtt_us = try_out(arguments.store, signals);
    const Figures figures = measure(arguments, signals);
    purge(arguments.store, elections_of(arguments));
    return print_figures(arguments, figures, rtt_us);
  } catch (const Interrupted& interrupted) {
    purge(arguments.store, elections_of(arguments));
    complain("interrupted: ended all candidates");
    return by_signal + interrupted.signal;
  }
}

}  // namespace conclave::app
