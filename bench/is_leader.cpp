// What one look costs: is_leader() as leader and as follower, and one reading of the clock.
#include <benchmark/benchmark.h>
#include <time.h>

#include <conclave/candidate.hpp>
#include <conclave/open.hpp>
#include <conclave/waits.hpp>

namespace {

void clock_boottime(benchmark::State& state) {
  timespec now{};
  for ([[maybe_unused]] auto each : state) {
    clock_gettime(CLOCK_BOOTTIME, &now);
    benchmark::DoNotOptimize(now);
  }
}

void is_leader_as_leader(benchmark::State& state) {
  conclave::Candidate leader(conclave::open("memory:"), "election");
  leader.start();
  if (!conclave::wait_until_leader(leader)) state.SkipWithError("was not elected");
  for ([[maybe_unused]] auto each : state) benchmark::DoNotOptimize(leader.is_leader());
  if (!leader.is_leader()) state.SkipWithError("did not stay leader");
}

void is_leader_as_follower(benchmark::State& state) {
  const auto store = conclave::open("memory:");
  conclave::Candidate leader(store, "election");
  conclave::Candidate follower(store, "election");
  leader.start();
  if (!conclave::wait_until_leader(leader)) state.SkipWithError("was not elected");
  follower.start();
  for ([[maybe_unused]] auto each : state) benchmark::DoNotOptimize(follower.is_leader());
  if (follower.is_leader()) state.SkipWithError("was elected");
}

BENCHMARK(clock_boottime)->Repetitions(5)->ReportAggregatesOnly();
BENCHMARK(is_leader_as_leader)->Repetitions(5)->ReportAggregatesOnly();
BENCHMARK(is_leader_as_follower)->Repetitions(5)->ReportAggregatesOnly();

}  // namespace

BENCHMARK_MAIN();
