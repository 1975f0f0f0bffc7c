// Hand-overs between candidates that are processes.
#include <signal.h>

#include <algorithm>
#include <functional>
#include <map>
#include <thread>

#include <conclave/admin.hpp>
#include <conclave/open.hpp>

#include "apps/conclave/bench.hpp"
#include "apps/conclave/clock.hpp"
#include "apps/conclave/joiner.hpp"

namespace conclave::app {
namespace {

using namespace std::chrono_literals;

// A crowd of candidates of which one leads.
class Fleet {
 public:
  Fleet(const BenchArguments& arguments, const Signals& signals)
      : store_(arguments.store),
        signals_(signals),
        patience_(20s + 5 * arguments.store.options.lease.value_or(3s)),
        crowd_(arguments.store, bench_election()) {
    for (int i = 1; i <= std::max(arguments.candidates, 2); ++i) {
      crowd_.add("candidate-" + std::to_string(i));
    }
    wait_for("elected");
    settle();
  }
  ~Fleet() { crowd_.stop(); }
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  // From the instant at which the old leader's is_leader() turned false.
  Duration resign() {
    crowd_.at(leader_).send(SIGUSR1);
    std::optional<Instant> lost;
    std::optional<Instant> elected;
    while (!lost || !elected) {  // whoever comes may be heard before who goes
      const Said said = hear();
      if (said.event == "lost") lost = said.at;
      if (said.event == "elected") elected = said.at;
    }
    settle();
    return *elected - *lost;
  }

  // From just before the kill.
  Crash kill() {
    const std::string victim = leader_;
    const Instant killed = boot_now();
    crowd_.at(victim).send(SIGKILL);
    crowd_.at(victim).wait_for_end();  // what it has sent by then still counts
    const auto over = end_of_lease(store_, bench_election(), victim);
    const Instant elected = wait_for("elected");
    crowd_.remove(victim);
    follows_.erase(victim);
    crowd_.add(victim);
    settle();
    if (!over) return {micros(elected - killed)};
    return {micros(elected - killed), micros(elected - *over)};
  }

 private:
  // The next thing that somebody says, and what it tells of who follows whom.
  Said hear() {
    auto said = crowd_.next(patience_, signals_.fd());
    heed(signals_);
    if (!said) throw std::runtime_error("the candidates did not elect a leader in time");
    if (!said->refusal.empty()) throw std::runtime_error(said->refusal);
    if (said->event == "elected") {
      leader_ = said->candidate;
      term_ = said->term;
    }
    if (said->event == "leader_changed") follows_[said->candidate] = said->term;
    return *std::move(said);
  }

  Instant wait_for(const std::string& event) {
    while (true) {
      const Said said = hear();
      if (said.event == event) return said.at;
    }
  }

  // Everybody has seen the leader, the newest one, too: nobody measures a start. By its term, since
  // not every store knows its name.
  void settle() {
    const auto sees_it = [this](const Joiner& each) { return follows_[each.id()] == term_; };
    while (!std::all_of(crowd_.all().begin(), crowd_.all().end(), sees_it)) hear();
  }

  const StoreArguments& store_;
  const Signals& signals_;
  const Duration patience_;
  Crowd crowd_;
  std::string leader_;
  std::uint64_t term_ = 0;
  std::map<std::string, std::uint64_t> follows_;  // in which term
};

Figures measure(const BenchArguments& arguments, const Signals& signals,
                const std::function<Crash(Fleet&)>& ours,
                const std::function<Crash(RawClient&)>& raw) {
  Figures figures;
  const RawClients clients = make_raw_clients(arguments.store);
  Fleet fleet(arguments, signals);
  Progress progress(arguments.rounds, signals);
  // What the last hand-over has left to do belongs to none of the two.
  const auto rest = [] { std::this_thread::sleep_for(10ms); };
  for (int round = 0; round < arguments.rounds; ++round) {
    rest();
    const Crash crash = ours(fleet);
    figures.ours_us.push_back(crash.us);
    if (crash.beyond_lease_us) figures.beyond_lease_us.push_back(*crash.beyond_lease_us);
    rest();
    measure_raw(clients, raw, figures);
    progress.step();
  }
  return figures;
}

}  // namespace

// The middle of the quickest of some questions is when the server answered it.
std::optional<Instant> end_of_lease(const StoreArguments& arguments, const std::string& election,
                                    const std::string& leader) {
  const auto store = open(arguments.url, arguments.options);
  if (store->traits().judge != LeaseJudge::server) return std::nullopt;
  static_cast<void>(inspect(*store, election));  // connects
  Duration quickest = Duration::max();
  std::optional<Instant> end;
  for (int i = 0; i < 5; ++i) {
    const Instant asked = boot_now();
    const auto seen = inspect(*store, election);
    const Duration took = boot_now() - asked;
    const bool there = seen && seen->leader && seen->leader->leader == leader &&
                       seen->leader->renewed && seen->leader->server_time;
    if (!there || took >= quickest) continue;
    quickest = took;
    const Record& record = *seen->leader;
    end = asked + took / 2 + (*record.renewed + record.lease - *record.server_time);
  }
  return end;
}

// From the start of a candidate's campaign to its election; each is a process of its own, in an
// election that nobody has heard of before.
Figures bench_first(const BenchArguments& arguments, const Signals& signals) {
  Figures figures;
  const RawClients clients = make_raw_clients(arguments.store);
  Progress progress(arguments.rounds, signals);
  for (int round = 0; round < arguments.rounds; ++round) {
    Crowd crowd(arguments.store, bench_election());
    crowd.add("candidate");
    std::optional<Instant> started;
    while (const auto said = crowd.next(30s, signals.fd())) {
      if (!said->refusal.empty()) throw std::runtime_error(said->refusal);
      if (said->event == "started") started = said->at;
      if (said->event == "elected" && started) {
        figures.ours_us.push_back(micros(said->at - *started));
        break;
      }
    }
    if (figures.ours_us.size() != static_cast<std::size_t>(round) + 1) {
      throw std::runtime_error("the candidate was not elected in time");
    }
    crowd.stop();
    purge(arguments.store, {bench_election()});
    measure_raw(
        clients, [](RawClient& client) { return Crash{client.first_us()}; }, figures);
    progress.step();
  }
  return figures;
}

Figures bench_hand_over(const BenchArguments& arguments, const Signals& signals) {
  return measure(
      arguments, signals, [](Fleet& fleet) { return Crash{micros(fleet.resign())}; },
      [](RawClient& client) { return Crash{client.hand_over_us()}; });
}

Figures bench_crash(const BenchArguments& arguments, const Signals& signals) {
  return measure(
      arguments, signals, [](Fleet& fleet) { return fleet.kill(); },
      [](RawClient& client) { return client.crash(); });
}

}  // namespace conclave::app
