// Hand-overs between candidates that are processes.
#include <signal.h>

#include <algorithm>
#include <functional>
#include <map>

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
      : signals_(signals),
        patience_(20s + 5 * arguments.store.options.lease.value_or(3s)),
        crowd_(arguments.store, bench_election()) {
    for (int i = 1; i <= std::max(arguments.candidates, 2); ++i) {
      crowd_.add("candidate-" + std::to_string(i));
    }
    wait_for("elected");
    settle();
  }

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
  Duration kill() {
    const std::string victim = leader_;
    const Instant killed = boot_now();
    crowd_.at(victim).send(SIGKILL);
    const Duration took = wait_for("elected") - killed;
    crowd_.remove(victim);
    follows_.erase(victim);
    crowd_.add(victim);
    settle();
    return took;
  }

 private:
  // The next thing that somebody says, and what it tells of who follows whom.
  Said hear() {
    auto said = crowd_.next(patience_, signals_.fd());
    heed(signals_);
    if (!said) throw std::runtime_error("the candidates did not elect a leader in time");
    if (said->event == "elected") leader_ = said->candidate;
    if (said->event == "leader_changed") follows_[said->candidate] = said->leader;
    return *std::move(said);
  }

  Instant wait_for(const std::string& event) {
    while (true) {
      const Said said = hear();
      if (said.event == event) return said.at;
    }
  }

  // Everybody has seen the leader, the newest one, too: nobody measures a start.
  void settle() {
    const auto sees_it = [this](const Joiner& each) { return follows_[each.id()] == leader_; };
    while (!std::all_of(crowd_.all().begin(), crowd_.all().end(), sees_it)) hear();
  }

  const Signals& signals_;
  const Duration patience_;
  Crowd crowd_;
  std::string leader_;
  std::map<std::string, std::string> follows_;
};

Figures measure(const BenchArguments& arguments, const Signals& signals,
                const std::function<Duration(Fleet&)>& ours,
                const std::function<double(RawClient&)>& raw) {
  Figures figures;
  Fleet fleet(arguments, signals);
  const RawClients clients = make_raw_clients(arguments.store.url);
  Progress progress(arguments.rounds, signals);
  for (int round = 0; round < arguments.rounds; ++round) {
    figures.ours_us.push_back(micros(ours(fleet)));
    measure_raw(clients, raw, figures);
    progress.step();
  }
  return figures;
}

}  // namespace

// From the start of a candidate's campaign to its election; each is a process of its own.
Figures bench_first(const BenchArguments& arguments, const Signals& signals) {
  Figures figures;
  const RawClients clients = make_raw_clients(arguments.store.url);
  Progress progress(arguments.rounds, signals);
  for (int round = 0; round < arguments.rounds; ++round) {
    Crowd crowd(arguments.store, bench_election());
    crowd.add("candidate");
    std::optional<Instant> started;
    while (const auto said = crowd.next(30s, signals.fd())) {
      if (said->event == "started") started = said->at;
      if (said->event == "elected" && started) {
        figures.ours_us.push_back(micros(said->at - *started));
        break;
      }
    }
    if (figures.ours_us.size() != static_cast<std::size_t>(round) + 1) {
      throw std::runtime_error("the candidate was not elected in time");
    }
    measure_raw(
        clients, [](RawClient& client) { return client.first_us(); }, figures);
    progress.step();
  }
  return figures;
}

Figures bench_hand_over(const BenchArguments& arguments, const Signals& signals) {
  return measure(
      arguments, signals, [](Fleet& fleet) { return fleet.resign(); },
      [](RawClient& client) { return client.hand_over_us(); });
}

Figures bench_crash(const BenchArguments& arguments, const Signals& signals) {
  return measure(
      arguments, signals, [](Fleet& fleet) { return fleet.kill(); },
      [](RawClient& client) { return client.crash_us(); });
}

}  // namespace conclave::app
