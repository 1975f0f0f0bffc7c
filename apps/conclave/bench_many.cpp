// The crash of a process that leads many elections: until all of them are led anew.
#include <poll.h>

#include <algorithm>
#include <deque>
#include <thread>

#include <conclave/candidate.hpp>
#include <conclave/open.hpp>

#include "apps/conclave/bench.hpp"
#include "apps/conclave/bench_raw_process.hpp"
#include "apps/conclave/clock.hpp"

namespace conclave::app {
namespace {

using namespace std::chrono_literals;

constexpr auto glance = 5ms;  // between two looks at queues, which know when something happened

std::string id_of(int process) { return "process-" + std::to_string(process); }

// A candidate of each election. Says a word when it leads all of them, or knows who does, and
// another one for each that it is elected in after that: when that was.
void stand(const StoreArguments& where, const std::vector<std::string>& elections, int process,
           const RawProcess::Parent& parent) {
  const std::string id = id_of(process);
  const auto store = open(where.url, where.options);
  std::deque<Candidate> candidates;
  for (const std::string& each : elections) {
    candidates.emplace_back(store, each, Options{.id = id});
    static_cast<void>(candidates.back().events());  // from the beginning
    candidates.back().start();
  }
  // The first one has to lead: where leases have to end, those of the round before seem to lead.
  const auto knows = [&](const Snapshot& of) {
    return of.is_leader || (process > 0 && !of.leader.empty() && of.leader != id);
  };
  for (const Candidate& each : candidates) {
    while (!knows(each.snapshot())) std::this_thread::sleep_for(glance);
  }
  const Instant known = boot_now();
  parent.say(known);
  while (true) {
    for (Candidate& each : candidates) {
      while (const auto event = each.events().try_pop()) {
        if (event->kind == EventKind::elected && event->at > known) parent.say(event->at);
      }
    }
    std::this_thread::sleep_for(glance);
  }
}

// One of them leads everywhere, the others follow.
class Processes {
 public:
  Processes(const BenchArguments& arguments, const Signals& signals)
      : store_(arguments.store),
        signals_(signals),
        patience_(60s + 5 * open(arguments.store.url, arguments.store.options)->lease()) {
    for (int i = 0; i < arguments.elections; ++i) elections_.push_back(scale_election(i));
    for (int i = 0; i < std::max(arguments.candidates, 2); ++i) {
      processes_.push_back(std::make_unique<RawProcess>(
          [&](const RawProcess::Parent& parent) { stand(store_, elections_, i, parent); }));
      static_cast<void>(hear());
    }
    // Until nobody is busy with having come: that they know who leads does not tell it.
    rest(500ms, signals_);
  }

  // Of the first one, which leads everywhere.
  Crash kill() {
    const Instant killed = boot_now();
    processes_.erase(processes_.begin());  // SIGKILL
    const auto over = end_of_lease(store_, elections_.front(), id_of(0));
    Instant last = killed;
    for (std::size_t i = 0; i < elections_.size(); ++i) last = std::max(last, hear());
    if (!over) return {micros(last - killed)};
    return {micros(last - killed), micros(last - *over)};
  }

 private:
  // The next word of whoever has one.
  Instant hear() {
    std::vector<pollfd> wanted{{signals_.fd(), POLLIN, 0}};
    for (const auto& each : processes_) wanted.push_back({each->fd(), POLLIN, 0});
    const auto limit = std::chrono::ceil<std::chrono::milliseconds>(patience_).count();
    const int ready = ::poll(wanted.data(), wanted.size(), static_cast<int>(limit));
    heed(signals_);
    for (std::size_t i = 0; ready > 0 && i < processes_.size(); ++i) {
      if ((wanted.at(i + 1).revents & POLLIN) != 0) return processes_.at(i)->hear();
    }
    throw std::runtime_error("the candidates did not elect a leader in time");
  }

  const StoreArguments& store_;
  const Signals& signals_;
  const Duration patience_;
  std::vector<std::string> elections_;
  std::vector<std::unique_ptr<RawProcess>> processes_;
};

}  // namespace

// Anew for each round: those who come after a crash share what its leader had.
Figures bench_crash_of_many(const BenchArguments& arguments, const Signals& signals) {
  Figures figures;
  figures.no_raw = "not available: the minimal client has one election";
  figures.extras = {{"elections", arguments.elections}};
  Progress progress(arguments.rounds, signals);
  for (int round = 0; round < arguments.rounds; ++round) {
    const Crash crash = Processes(arguments, signals).kill();
    figures.ours_us.push_back(crash.us);
    if (crash.beyond_lease_us) figures.beyond_lease_us.push_back(*crash.beyond_lease_us);
    progress.step();
  }
  return figures;
}

}  // namespace conclave::app
