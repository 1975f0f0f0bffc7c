// Many candidates in one process, each leader of an election of its own.
//
// usage: conclave-bench-many-candidates [CANDIDATES [SECONDS]]
//
// Prints the resident memory per candidate, the processor time that keeping them costs, and how
// many renewals came later than a tenth of the lease. Default: 100,000 candidates, 30 s, lease 10
// s.
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <thread>

#include <conclave/candidate.hpp>
#include <conclave/open.hpp>
#include <conclave/waits.hpp>

namespace {

using namespace std::chrono_literals;

long resident_bytes() {
  long total = 0;
  long resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 100'000;
  const std::chrono::seconds period{argc > 2 ? std::atoi(argv[2]) : 30};
  if (count <= 0 || period <= 0s) {
    std::fprintf(stderr, "usage: conclave-bench-many-candidates [CANDIDATES [SECONDS]]\n");
    return 2;
  }
  const auto store = conclave::open("memory:?lease=10s");
  const long before = resident_bytes();
  std::deque<conclave::Candidate> candidates;
  for (int i = 0; i < count; ++i) {
    candidates.emplace_back(store, "election-" + std::to_string(i), conclave::Options{.id = "me"});
    candidates.back().start();
  }
  while (candidates.back().snapshot().counters.renewals == 0) std::this_thread::sleep_for(100ms);
  malloc_trim(0);  // what only the start needed
  const double cpu = cpu_seconds();
  const auto begun = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(period);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begun;
  const double used = cpu_seconds() - cpu;
  const long after = resident_bytes();
  std::uint64_t renewals = 0;
  std::uint64_t late = 0;
  int leaders = 0;
  std::uint64_t terms = 0;
  for (const auto& each : candidates) {
    const auto snapshot = each.snapshot();
    renewals += snapshot.counters.renewals;
    late += snapshot.counters.late_renewals;
    terms += snapshot.counters.terms;
    leaders += each.is_leader() ? 1 : 0;
  }
  std::printf(
      "{\"bench\":\"many_candidates\",\"candidates\":%d,\"leaders\":%d,\"bytes_each\":%.0f,"
      "\"core_percent\":%.1f,\"renewals\":%llu,\"late_renewals\":%llu,\"terms_lost\":%lld}\n",
      count, leaders, static_cast<double>(after - before) / count, 100.0 * used / elapsed.count(),
      static_cast<unsigned long long>(renewals), static_cast<unsigned long long>(late),
      static_cast<long long>(terms) - count);
  std::fflush(stdout);
  std::_Exit(0);  // a hundred thousand orderly stops would only cost time
}
