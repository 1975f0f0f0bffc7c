// One fail-over after the other, each by another fault of a process, the network or the server;
// what the candidates said of themselves is checked at the end.
//
// CONCLAVE_STORM_SEED repeats the faults of a run, CONCLAVE_STORM_FAILOVERS says how many there
// are.
#include <cstdlib>
#include <iostream>
#include <random>

#include "conformance/redis_faults.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;
using fault::Direction;
using fault::TcpGate;

class StormFixture : private OwnRedis, public RedisFixture {
 public:
  StormFixture() : RedisFixture(own, 400ms) {}
};

std::unique_ptr<StoreFixture> make_storm_rig() { return std::make_unique<StormFixture>(); }

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets any
  return text != nullptr ? std::stoull(text) : otherwise;
}

class RedisStorm : public RedisFaults {
 protected:
  struct Contender {
    std::unique_ptr<TcpGate> gate;
    Member member;
  };

  std::size_t below(std::size_t limit) { return random_() % limit; }

  void begin(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      contenders_.push_back({std::make_unique<TcpGate>(server().port()), {}});
      replace(contenders_.back());
    }
  }

  // The process is killed, and another one started.
  void replace(Contender& contender) {
    contender.member = make_behind(*contender.gate, "candidate " + std::to_string(++made_));
    contender.member->start();
  }

  [[nodiscard]] Contender* leader() {
    for (Contender& each : contenders_) {
      if (each.member->leads()) return &each;
    }
    return nullptr;
  }
  [[nodiscard]] bool until_next(Term after) {
    return run_until([&] {
      const Contender* const found = leader();
      return found != nullptr && found->member->term() > after;
    });
  }
  // Everybody knows who leads, and the leader is heard by the server.
  [[nodiscard]] bool until_settled() {
    return run_until([&] {
      const Contender* const found = leader();
      return found != nullptr &&
             std::all_of(contenders_.begin(), contenders_.end(), [&](const Contender& each) {
               return &each == found || (each.member->role() == Role::follower &&
                                         each.member->leader() == found->member->id());
             });
    });
  }

  // Something that must not matter to those who are left.
  void disturb_a_follower(const Contender& leader) {
    Contender& victim = contenders_[below(contenders_.size())];
    if (&victim == &leader) return;
    switch (below(8)) {
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
    TcpGate& gate = *leader.gate;
    const auto heal = [&gate] { gate.pass(); };
    switch (below(16)) {
      case 0:
      case 1: replace(leader); return [] {};
      case 2:
      case 3: leader.member->stall(); return [&leader] { leader.member->go_on(); };
      case 4: gate.blackhole(); return heal;
      case 5: gate.blackhole(Direction::to_client); return heal;
      case 6: gate.blackhole(Direction::to_target); return heal;
      case 7:
        gate.refuse();
        gate.half_open();
        return heal;
      case 8: gate.delay(200ms); return heal;
      case 9:
        gate.reset_all();
        leader.member->resign();
        return [] {};
      case 10:
        gate.cut_after(Direction::to_client, below(100));
        leader.member->resign();
        return [] {};
      case 11: leader.member->resign(); return [] {};
      case 12: return wipe_under(leader);
      case 13: return pause_server();
      default: return restart_server(leader);
    }
  }

  // The wipe itself costs nothing; the crash that follows does.
  std::function<void()> wipe_under(Contender& leader) {
    for (Contender& each : contenders_) each.gate->pass();
    EXPECT_TRUE(until_settled());
    if (!leader.member->leads()) return [] {};
    const std::size_t renewed = leader.member->count<core::Extended>();
    server().command({"FLUSHALL"});
    EXPECT_TRUE(run_until([&] {
      return !leader.member->leads() || leader.member->count<core::Extended>() > renewed;
    }));
    replace(leader);
    return [] {};
  }

  std::function<void()> pause_server() {
    server().pause();
    run_for(lease() * static_cast<int>(5 + below(10)) / 5);
    server().resume();
    return [] {};
  }

  std::function<void()> restart_server(Contender& leader) {
    below(3) == 0 ? server().restart_without_data() : server().restart_with_data();
    if (leader.member->leads()) replace(leader);
    return [] {};
  }

  std::mt19937_64 random_;
  std::size_t made_ = 0;
  std::vector<Contender> contenders_;
};

TEST_P(RedisStorm, R13_AtMostOneLeaderThroughManyFailovers) {
  const std::uint64_t seed = setting("CONCLAVE_STORM_SEED", std::random_device{}());
  const std::uint64_t wanted = setting("CONCLAVE_STORM_FAILOVERS", 50);
  std::cout << "CONCLAVE_STORM_SEED=" << seed << '\n';
  SCOPED_TRACE("CONCLAVE_STORM_SEED=" + std::to_string(seed));
  random_.seed(seed);
  begin(4);
  ASSERT_TRUE(until_next(Term{}));
  while (leaders().size() <= wanted) {
    Contender* const struck = leader();
    if (struck == nullptr) {
      ASSERT_TRUE(run_until([&] { return leader() != nullptr; }));
      continue;
    }
    const Term term = struck->member->term();
    disturb_a_follower(*struck);
    run_for(lease() * static_cast<int>(below(20)) / 100);
    const auto heal = strike(*struck);
    ASSERT_TRUE(until_next(term));
    heal();
    for (Contender& each : contenders_) each.gate->pass();
  }
  std::cout << leaders().size() - 1 << " fail-overs by " << made_ << " candidates\n";
  ASSERT_TRUE(until_settled());
  for (Contender& each : contenders_) each.member->stop();
  for (Contender& each : contenders_) EXPECT_TRUE(until_stopped(each.member));
}

INSTANTIATE_TEST_SUITE_P(redis, RedisStorm, ::testing::Values(MakeFixture{make_storm_rig}),
                         [](const auto&) { return "redis"; });

}  // namespace
}  // namespace conclave::conformance
