// Benchmarks within one process: one look, many candidates.
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <thread>

#include <conclave/candidate.hpp>
#include <conclave/waits.hpp>

#include "apps/conclave/bench.hpp"
#include "apps/conclave/clock.hpp"
#include "apps/conclave/joiner.hpp"

namespace conclave::app {
namespace {

using namespace std::chrono_literals;

double resident_bytes() {
  long total = 0;
  long resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return static_cast<double>(resident * ::sysconf(_SC_PAGESIZE));
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

template <typename Look>
double each_us(Look look) {
  constexpr int looks = 100'000;
  const Instant begun = boot_now();
  for (int i = 0; i < looks; ++i) look();
  return micros(boot_now() - begun) / looks;
}

// Until each leads, and the last one has renewed its lease: then the start is over. It looks, since
// a candidate that was waited for keeps more than one that was not.
void wait_for_all(const std::deque<Candidate>& candidates, const Signals& signals) {
  const Instant limit = boot_now() + 60s;
  const auto wait = [&](const Candidate& of, const auto& what) {
    while (!what()) {
      heed(signals);
      if (boot_now() > limit) throw std::runtime_error(of.election() + ": not elected");
      std::this_thread::sleep_for(1ms);
    }
  };
  for (const Candidate& each : candidates) {
    wait(each, [&] { return each.is_leader(); });
  }
  const Candidate& last = candidates.back();
  wait(last, [&] { return last.snapshot().counters.renewals > 0; });
}

}  // namespace

// Ours to one reading of the clock.
Figures bench_check(const BenchArguments& arguments, const Signals& signals) {
  Figures figures;
  const auto store = open(arguments.store.url, arguments.store.options);
  Candidate candidate(store, bench_election());
  candidate.start();
  if (!wait_until_leader(candidate, 30s)) {
    throw std::runtime_error("was not elected: does somebody else take part in " +
                             bench_election() + "?");
  }
  Candidate follower(store, bench_election());
  bool leads = true;
  std::vector<double> as_follower;
  Progress progress(arguments.rounds, signals);
  for (int round = 0; round < arguments.rounds; ++round) {
    figures.ours_us.push_back(each_us([&] { leads = candidate.is_leader() && leads; }));
    figures.raw_us.push_back(each_us([] { static_cast<void>(boot_now()); }));
    as_follower.push_back(each_us([&] { leads = !follower.is_leader() && leads; }));
    progress.step();
  }
  if (!leads) throw std::runtime_error("lost its term while it was measured");
  std::sort(as_follower.begin(), as_follower.end());
  figures.extras.emplace_back("follower_p50_us", as_follower[as_follower.size() / 2]);
  return figures;
}

// Candidates of this process, each in an election of its own, for as many seconds as rounds.
Figures bench_scale(const BenchArguments& arguments, const Signals& signals) {
  Figures figures;
  const auto store = open(arguments.store.url, arguments.store.options);
  std::deque<Candidate> candidates;
  const auto start = [&](int number) {
    const Instant begun = boot_now();
    candidates.emplace_back(store, scale_election(number), Options{.id = "me"});
    candidates.back().start();
    figures.ours_us.push_back(micros(boot_now() - begun));
  };
  start(0);  // it brings what all of them share
  wait_for_all(candidates, signals);
  const double before = resident_bytes();
  for (int i = 1; i < arguments.candidates; ++i) start(i);
  wait_for_all(candidates, signals);
  ::malloc_trim(0);  // what only the start needed
  const double cpu = cpu_seconds();
  const Instant begun = boot_now();
  Progress progress(arguments.rounds, signals);
  for (int second = 0; second < arguments.rounds; ++second) {
    rest(1s, signals);
    progress.step();
  }
  const double elapsed = seconds(boot_now() - begun);
  const double used = cpu_seconds() - cpu;
  double late = 0;
  double leaders = 0;
  double terms = 0;
  for (const Candidate& each : candidates) {
    const Counters counters = each.snapshot().counters;
    late += static_cast<double>(counters.late_renewals);
    terms += static_cast<double>(counters.terms);
    leaders += each.is_leader() ? 1 : 0;
  }
  figures.extras = {{"candidates", arguments.candidates},
                    {"leaders", leaders},
                    {"bytes_each", (resident_bytes() - before) / arguments.candidates},
                    {"core_percent", 100 * used / elapsed},
                    {"late_renewals", late},
                    {"terms_lost", terms - arguments.candidates}};
  return figures;
}

}  // namespace conclave::app
