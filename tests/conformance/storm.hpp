// One fail-over after the other, each by another fault of a process, the network or the server;
// what the candidates said of themselves is checked at the end.
//
// CONCLAVE_STORM_SEED repeats the faults of a run, CONCLAVE_STORM_FAILOVERS says how many there
// are. Resignations come on top of that.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <random>

#include "conformance/conformance.hpp"
#include "fault/tcp_gate.hpp"

namespace conclave::conformance {

inline std::uint64_t storm_setting(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets any
  return text != nullptr ? std::stoull(text) : otherwise;
}

// Faults has server() with a port(), and make_behind(gate, id).
template <typename Faults>
class Storm : public Faults {
 protected:
  using TcpGate = fault::TcpGate;
  using Direction = fault::Direction;
  using Member = typename Faults::Member;
  struct Contender {
    std::unique_ptr<TcpGate> gate;
    Member member;
  };

  // Something that must not matter to anybody.
  virtual void disturb_the_server() = 0;
  // After which another one has to lead.
  virtual void trouble_the_server(Contender& leader) = 0;
  virtual void heal_the_server() {}
  // Followers know who leads; where they do not, they know that somebody does.
  [[nodiscard]] virtual bool tells_names() { return true; }

  void run_storm() {
    run_rounds();
    if (this->HasFailure() || this->contradiction()) std::cout << diary_;
  }

  void run_rounds() {
    const std::uint64_t seed = storm_setting("CONCLAVE_STORM_SEED", std::random_device{}());
    const std::uint64_t wanted = storm_setting("CONCLAVE_STORM_FAILOVERS", 50);
    std::cout << "CONCLAVE_STORM_SEED=" << seed << '\n';
    SCOPED_TRACE("CONCLAVE_STORM_SEED=" + std::to_string(seed));
    random_.seed(seed);
    begin(4);
    ASSERT_TRUE(until_next(Term{}));
    std::size_t struck = 0;
    while (struck < wanted + resignations_) {
      ASSERT_TRUE(this->run_until([&] { return leader() != nullptr; }));
      Contender* const first = leader();
      if (first == nullptr) continue;
      disturb_a_follower(*first);
      disturb_the_server();
      this->run_for(this->lease() * static_cast<int>(below(20)) / 100);
      Contender* const victim = leader();
      if (victim == nullptr) continue;
      const Term term = victim->member->term();
      note(victim->member->id() + " leads with term " + std::to_string(term.value));
      const auto end_fault = strike(*victim);
      ASSERT_TRUE(until_next(term));
      end_fault();
      heal();
      note("healed");
      struck += 1;
    }
    std::cout << struck - resignations_ << " fail-overs and " << resignations_
              << " resignations, by " << made_ << " candidates\n";
    ASSERT_TRUE(until_settled());
    for (Contender& each : contenders_) each.member->stop();
    for (Contender& each : contenders_) EXPECT_TRUE(this->until_stopped(each.member));
  }

  // What a failed run was up to, by the clock of the candidates.
  void note(const std::string& what) { diary_ += in_milliseconds(this->now()) + ' ' + what + '\n'; }

  std::size_t below(std::size_t limit) { return random_() % limit; }

  // The process is killed, and another one started.
  void replace(Contender& contender) {
    note("kill " + (contender.member.candidate ? contender.member->id() : "nobody"));
    contender.member = this->make_behind(*contender.gate, "candidate " + std::to_string(++made_));
    contender.member->start();
  }

  [[nodiscard]] Contender* leader() {
    for (Contender& each : contenders_) {
      if (each.member->leads()) return &each;
    }
    return nullptr;
  }
  // Everybody knows who leads, and the leader is heard by the server.
  [[nodiscard]] bool until_settled() {
    return this->run_until([&] {
      const Contender* const found = leader();
      return found != nullptr &&
             std::all_of(contenders_.begin(), contenders_.end(), [&](const Contender& each) {
               return &each == found ||
                      (each.member->role() == Role::follower && knows(each, *found));
             });
    });
  }
  [[nodiscard]] bool knows(const Contender& each, const Contender& leader) {
    const std::string name = each.member->leader();
    return tells_names() ? name == leader.member->id() : !name.empty();
  }
  void calm_the_network() {
    for (Contender& each : contenders_) each.gate->pass();
  }

  // Two that are not promised to be survived together: with some leases between them.
  void one_at_a_time(const std::function<void()>& one, int leases = 1) {
    if (this->now() < apart_from_) this->run_for(apart_from_ - this->now());
    one();
    apart_from_ = this->now() + leases * this->lease();
  }

 private:
  void begin(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      contenders_.push_back({std::make_unique<TcpGate>(this->server().port()), {}});
      replace(contenders_.back());
    }
  }
  [[nodiscard]] bool until_next(Term after) {
    return this->run_until([&] {
      const Contender* const found = leader();
      return found != nullptr && found->member->term() > after;
    });
  }

  // Something that must not matter to those who are left.
  void disturb_a_follower(const Contender& leader) {
    Contender& victim = contenders_[below(contenders_.size())];
    if (&victim == &leader) return;
    const std::size_t what = below(8);
    note("disturbance " + std::to_string(what) + " of " + victim.member->id());
    switch (what) {
      case 0: victim.gate->reset_all(); break;
      case 1: victim.gate->half_open(); break;
      case 2: victim.gate->cut_after(Direction::to_client, below(500)); break;
      case 3: victim.gate->cut_after(Direction::to_target, below(500)); break;
      case 4: victim.gate->delay(std::chrono::milliseconds(below(40))); break;
      case 5: victim.member->resign(); break;
      case 6: replace(victim); break;
      default: break;
    }
  }

  // Brings a fault upon the leader, or upon all. What has to be ended afterwards is returned.
  std::function<void()> strike(Contender& leader) {
    using namespace std::chrono_literals;
    TcpGate& gate = *leader.gate;
    const std::size_t what = below(16);
    note("strike " + std::to_string(what));
    switch (what) {
      case 0:
      case 1: replace(leader); break;
      case 2:
      case 3: leader.member->stall(); return [&leader] { leader.member->go_on(); };
      case 4: gate.blackhole(); break;
      case 5: gate.blackhole(Direction::to_client); break;
      case 6: gate.blackhole(Direction::to_target); break;
      case 7:
        gate.refuse();
        gate.half_open();
        break;
      case 8: gate.delay(200ms); break;
      case 9: resign(leader, [&] { gate.reset_all(); }); break;
      case 10: resign(leader, [&] { gate.cut_after(Direction::to_client, below(100)); }); break;
      case 11: resign(leader, [] {}); break;
      default: trouble_the_server(leader); break;
    }
    return [] {};
  }

  void resign(Contender& leader, const std::function<void()>& fault) {
    fault();
    leader.member->resign();
    resignations_ += 1;
  }

  // What is left of the last round is over.
  void heal() {
    calm_the_network();
    heal_the_server();
  }

  std::mt19937_64 random_;
  std::string diary_;
  std::size_t made_ = 0;
  std::size_t resignations_ = 0;
  Instant apart_from_{};
  std::vector<Contender> contenders_;
};

}  // namespace conclave::conformance
