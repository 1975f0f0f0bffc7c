// The wall clock of the server is set, far forward or back. Nobody else's clock moves.
#include "conformance/redis_faults.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;
using fault::TcpGate;

std::unique_ptr<StoreFixture> make_own_rig() { return std::make_unique<OwnRedisFixture>(); }

class RedisClock : public RedisFaults {
 protected:
  void expect_no_effect(std::chrono::nanoseconds step) {
    const Member leader = join("a");
    ASSERT_TRUE(until_leads(leader));
    const Term term = leader->term();
    const Member follower = join("b");
    ASSERT_TRUE(until_follows(follower, "a"));
    run_for(lease());
    server().step_clock(step);
    const Member fresh = join("c");
    expect_kept(leader, term);
    leader->stop();
    ASSERT_TRUE(run_until([&] { return follower->leads() || fresh->leads(); }));
    EXPECT_GT(std::max(follower->term(), fresh->term()), term);
  }

  // The leader is silent from just before the step on. Both who follows and who comes afterwards
  // wait until it is over, and then one of them leads.
  void expect_takeover(std::chrono::nanoseconds step) {
    TcpGate gate(server().port());
    const Member leader = join_behind(gate, "a");
    ASSERT_TRUE(until_leads(leader));
    const Term term = leader->term();
    const Member follower = join("b");
    ASSERT_TRUE(until_follows(follower, "a"));
    run_for(lease());
    ASSERT_TRUE(until_renewed(leader));
    gate.blackhole();
    server().step_clock(step);
    const Member fresh = join("c");
    ASSERT_TRUE(run_until([&] { return follower->leads() || fresh->leads(); }));
    EXPECT_FALSE(leader->leads());
    EXPECT_GT(std::max(follower->term(), fresh->term()), term);
  }

  [[nodiscard]] ServerTime server_time() {
    const auto time = server().lines({"TIME"});
    return ServerTime{std::chrono::seconds{std::stoll(time[0])} +
                      std::chrono::microseconds{std::stoll(time[1])}};
  }
};

TEST_P(RedisClock, P07_AStepForwardHasNoEffectOnALeader) { expect_no_effect(1h); }
TEST_P(RedisClock, P07_AStepBackHasNoEffectOnALeader) { expect_no_effect(-1h); }
TEST_P(RedisClock, P07_AfterAStepForwardNobodyIsElectedEarly) { expect_takeover(1h); }
TEST_P(RedisClock, P07_AfterAStepBackATakeoverHappensByOwnEyes) { expect_takeover(-1h); }
TEST_P(RedisClock, P07_ASmallStepIsNoticedToo) { expect_takeover(lease() / 2); }

// Whoever knows the server's time well, and asks early, is not misled either.
TEST_P(RedisClock, P07_AWakeUpAfterAStepForwardElectsNobodyEarly) {
  TcpGate gate(server().port());
  const Member leader = join_behind(gate, "a");
  ASSERT_TRUE(until_leads(leader));
  const Member follower = join("b");
  ASSERT_TRUE(run_until([&] { return follower.faults->count(Verb::campaign) >= 3; }));
  ASSERT_TRUE(until_renewed(leader));
  gate.blackhole();
  server().step_clock(1h);
  const std::uint64_t asked = follower.faults->count(Verb::campaign);
  for (const std::string& inbox : server().lines({"PUBSUB", "CHANNELS", "conclave:inbox:*"})) {
    server().command({"PUBLISH", inbox, "turn\n" + std::string(record) + "\nb"});
  }
  ASSERT_TRUE(run_until([&] { return follower.faults->count(Verb::campaign) > asked; }));
  ASSERT_TRUE(until_leads(follower));
  EXPECT_FALSE(leader->leads());
}

TEST_P(RedisClock, P07_AServerThatIsLaterThanExpectedDoesNotTrustItself) {
  const auto store = connect();
  static_cast<void>(granted(*store, bid("a", 1)));
  const ServerTime expected = server_time();
  server().step_clock(1h);
  Bid other = bid("b", 2);
  other.seen.expected_server_time = expected;
  EXPECT_TRUE(held(*store, other).record);
  // Without a step it would have.
  other.seen.expected_server_time = server_time() + 10ms;
  EXPECT_EQ(granted(*store, other).vacancy, Vacancy::expired);
}

TEST_P(RedisClock, P07_AVersionNeverComesBackWhenTheClockDoes) {
  const auto store = connect();
  const Granted grant = granted(*store, bid("a", 1));
  const auto version = held(*store, bid("b", 2)).record.value_or(Record{}).version();
  server().step_clock(-1h);
  ASSERT_TRUE(std::holds_alternative<Renewed>(renew(*store, renewal(bid("a", 1), grant.term))));
  const auto after = held(*store, bid("b", 2)).record.value_or(Record{}).version();
  EXPECT_EQ(after.term, version.term);
  EXPECT_GT(after.stamp, version.stamp);
  // Whoever has seen the old one has no evidence.
  Bid other = bid("b", 2);
  other.seen.unchanged = version;
  EXPECT_TRUE(held(*store, other).record);
}

// Whoever stands further back lets those before it go first, for a time that must not become an
// hour.
TEST_P(RedisClock, P07_AVacatedPlaceIsTakenWhereverTheClockGoes) {
  const auto store = connect();
  std::uint64_t attempt = 0;
  for (const bool released : {true, false}) {
    for (const std::chrono::hours step : {-1h, 1h}) {
      SCOPED_TRACE((released ? "released " : "abandoned ") + std::to_string(step.count()));
      const Bid first = bid("a", ++attempt);
      const Term term = granted(*store, first).term;
      static_cast<void>(held(*store, bid("ghost", ++attempt)));
      static_cast<void>(held(*store, bid("b", ++attempt)));
      const Resignation leaves = resignation(first, term, released);
      ASSERT_TRUE(std::holds_alternative<Done>(resign(*store, leaves)));
      server().step_clock(step);
      const Granted next = granted(*store, bid("b", attempt));
      EXPECT_EQ(next.vacancy, released ? Vacancy::released : Vacancy::abandoned);
      EXPECT_GT(next.term, term);
      const Resignation leaves_too = resignation(bid("b", attempt), next.term, true);
      ASSERT_TRUE(std::holds_alternative<Done>(resign(*store, leaves_too)));
      ASSERT_TRUE(std::holds_alternative<Done>(end(*store)));
      ASSERT_TRUE(std::holds_alternative<Done>(remove(*store)));
    }
  }
}

// The same with whole candidates: one who follows, and one who has never seen the place.
TEST_P(RedisClock, P07_AStepBackOverAVacatedPlaceHoldsUpNobody) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  leader->stop();
  ASSERT_TRUE(until_stopped(leader));
  server().step_clock(-1h);
  const Member fresh = join("b");
  ASSERT_TRUE(until_leads(fresh));
  EXPECT_GT(fresh->term(), term);
  const Member follower = join("c");
  ASSERT_TRUE(until_follows(follower, "b"));
  fresh->stop();
  server().step_clock(-1h);
  ASSERT_TRUE(until_leads(follower));
}

TEST_P(RedisClock, P04_TermsGrowThroughAWipeAlsoWhenTheClockGoesBack) {
  const Member first = join("a");
  ASSERT_TRUE(until_leads(first));
  const Member second = join("b");
  ASSERT_TRUE(until_follows(second, "a"));
  first->stop();
  ASSERT_TRUE(until_leads(second));
  const Term term = second->term();
  second->stop();
  ASSERT_TRUE(until_stopped(second));
  server().step_clock(-1h);
  server().command({"FLUSHALL"});
  second->start();
  ASSERT_TRUE(until_leads(second));
  EXPECT_GT(second->term(), term);
}

INSTANTIATE_TEST_SUITE_P(redis, RedisClock, ::testing::Values(MakeFixture{make_own_rig}),
                         [](const auto&) { return "redis"; });

}  // namespace
}  // namespace conclave::conformance
