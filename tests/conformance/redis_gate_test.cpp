// A bad network between a candidate and Redis.
#include "conformance/redis_faults.hpp"

namespace conclave::conformance {
namespace {

using fault::Direction;
using fault::TcpGate;

std::unique_ptr<StoreFixture> make_shared_rig() { return std::make_unique<RedisFixture>(); }

class RedisGate : public RedisFaults {
 protected:
  // Whoever is cut off loses its term by its own clock, the other one leads, and what was held back
  // in the network meanwhile changes nothing.
  void expect_takeover(const std::function<void(TcpGate&)>& fault) {
    TcpGate gate(server().port());
    const Member leader = join_behind(gate, "a");
    ASSERT_TRUE(until_leads(leader));
    const Term term = leader->term();
    const Member follower = join("b");
    ASSERT_TRUE(until_renewed(leader));
    fault(gate);
    ASSERT_TRUE(run_until([&] { return leader->count<core::Lost>() == 1; }));
    EXPECT_EQ(leader->last<core::Lost>()->reason, LossReason::lease_expired);
    ASSERT_TRUE(until_leads(follower));
    EXPECT_GT(follower->term(), term);
    const Term next = follower->term();
    gate.pass();
    ASSERT_TRUE(until_follows(leader, "b"));
    run_for(lease());
    EXPECT_TRUE(follower->leads());
    EXPECT_EQ(follower->term(), next);
    follower->stop();
    EXPECT_TRUE(until_leads(leader));
  }

  void expect_no_loss(const std::function<void(TcpGate&)>& fault) {
    TcpGate gate(server().port());
    const Member leader = join_behind(gate, "a");
    ASSERT_TRUE(until_leads(leader));
    const Term term = leader->term();
    const Member follower = join("b");
    ASSERT_TRUE(until_renewed(leader));
    fault(gate);
    ASSERT_TRUE(until_renewed(leader));
    expect_kept(leader, term);
    leader->stop();
    EXPECT_TRUE(until_leads(follower));
  }
};

TEST_P(RedisGate, P01_ABlackholeEndsTheTermByTheOwnClock) {
  expect_takeover([](TcpGate& gate) { gate.blackhole(); });
}

TEST_P(RedisGate, P01_RepliesThatAreHeldBackEndTheTermByTheOwnClock) {
  // The server carries the renewals out, as long as it gets any.
  expect_takeover([](TcpGate& gate) { gate.blackhole(Direction::to_client); });
}

TEST_P(RedisGate, P01_RequestsThatAreHeldBackEndTheTermByTheOwnClock) {
  expect_takeover([](TcpGate& gate) { gate.blackhole(Direction::to_target); });
}

TEST_P(RedisGate, T03_RefusedConnectionsEndTheTermByTheOwnClock) {
  expect_takeover([](TcpGate& gate) {
    gate.refuse();
    gate.reset_all();
  });
}

TEST_P(RedisGate, ADelayBeyondTheRequestTimeOutEndsTheTermByTheOwnClock) {
  const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(lease() / 8);
  expect_takeover([&](TcpGate& gate) { gate.delay(Direction::to_client, 2 * timeout); });
}

TEST_P(RedisGate, ADelayWithinTheRequestTimeOutCostsNothing) {
  const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(lease() / 8);
  expect_no_loss([&](TcpGate& gate) { gate.delay(timeout / 4); });
}

TEST_P(RedisGate, HalfOpenConnectionsAreReplacedInTime) {
  expect_no_loss([](TcpGate& gate) { gate.half_open(); });
}

TEST_P(RedisGate, ResetConnectionsAreReplacedInTime) {
  expect_no_loss([](TcpGate& gate) { gate.reset_all(); });
}

TEST_P(RedisGate, AShortBlackholeCostsNothing) {
  expect_no_loss([&](TcpGate& gate) {
    gate.blackhole();
    run_for(lease() / 4);
    gate.pass();
  });
}

TEST_P(RedisGate, AThinLineCostsNothing) {
  expect_no_loss([](TcpGate& gate) {
    gate.throttle(Direction::to_client, 100'000);
    gate.throttle(Direction::to_target, 100'000);
  });
}

TEST_P(RedisGate, T10_RefusedAtTheStartIsReportedAndRetried) {
  TcpGate gate(server().port());
  gate.refuse();
  const Member member = make_behind(gate, "a");
  member->start();
  ASSERT_TRUE(run_until([&] { return member->count<core::Failed>() >= 3; }));
  EXPECT_EQ(member->last<core::Failed>()->error.code, ErrorCode::unavailable);
  gate.pass();
  EXPECT_TRUE(until_leads(member));
}

TEST_P(RedisGate, T10_StopReturnsInABlackhole) {
  TcpGate gate(server().port());
  const Member leader = join_behind(gate, "a");
  ASSERT_TRUE(until_leads(leader));
  gate.blackhole();
  leader->stop();
  EXPECT_TRUE(until_stopped(leader));
}

TEST_P(RedisGate, AFollowerWithHalfOpenConnectionsStillTakesOver) {
  TcpGate gate(server().port());
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Member follower = join_behind(gate, "b");
  gate.half_open();
  leader->stop();
  EXPECT_TRUE(until_leads(follower));
}

TEST_P(RedisGate, AnObserverWithHalfOpenConnectionsHearsAgain) {
  TcpGate gate(server().port());
  const auto store = connect_through(gate);
  struct Told {
    bool vacant = false;
    std::string leader;
  };
  const auto told = std::make_shared<Told>();  // belongs to the loop
  on(*store, [&] {
    store->observe("election", "watcher", [this, told](const Observation& what) {
      told->vacant = told->vacant || std::holds_alternative<Vacant>(what);
      if (const auto* shown = std::get_if<Record>(&what)) told->leader = shown->leader;
      fixture().changed();
    });
  });
  ASSERT_TRUE(run_until([&] { return told->vacant; }));
  gate.half_open();
  const Member leader = join("a");
  EXPECT_TRUE(run_until([&] { return told->leader == "a"; }));
}

// ---------------------------------------------------------------- cut at every point

// Over the greeting, the subscription and the campaign of a candidate that comes.
TEST_P(RedisGate, R12_ACampaignThatIsCutAnywhereIsGrantedOnce) {
  for (const Direction direction : {Direction::to_client, Direction::to_target}) {
    std::uint64_t whole = 0;
    {
      TcpGate gate(server().port());
      const Member member = join_behind(gate, "counted");
      ASSERT_TRUE(until_leads(member));
      const auto passed = gate.counters();
      whole = direction == Direction::to_client ? passed.bytes_to_client : passed.bytes_to_target;
      member->stop();
      ASSERT_TRUE(until_stopped(member));
    }
    for (std::uint64_t bytes = 0; bytes < whole; bytes += whole / 24 + 1) {
      SCOPED_TRACE("cut after " + std::to_string(bytes) + " of " + std::to_string(whole));
      TcpGate gate(server().port());
      const Term before = inspect(*connect()).last_term;
      gate.cut_after(direction, bytes);
      const Member member = make_behind(gate, "a");
      member->start();
      ASSERT_TRUE(until_leads(member));
      EXPECT_GT(member->term(), before);
      EXPECT_EQ(inspect(*connect()).last_term, member->term());
      member->stop();
      ASSERT_TRUE(until_stopped(member));
    }
  }
}

// A reply to a campaign that was carried out is lost: the grant is recognised.
TEST_P(RedisGate, R08_ALostGrantIsRecognised) {
  const auto admin = connect();
  TcpGate gate(server().port());
  const auto store = connect_through(gate);
  Bid first = bid("a", 1);
  ASSERT_TRUE(std::holds_alternative<Inspection>(InspectAnswer{inspect(*store)}));
  static_cast<void>(campaign(*store, {"another", "a", Attempt{1, 2}, {}, {}, {}}));
  gate.blackhole(Direction::to_client);
  const CampaignAnswer lost = campaign(*store, first);
  ASSERT_TRUE(std::holds_alternative<Unknown>(lost));
  EXPECT_TRUE(std::get<Unknown>(lost).error.in_doubt);
  const Term term = inspect(*admin).last_term;
  EXPECT_TRUE(term.exists());
  gate.pass();
  const Instant before = now();
  CampaignAnswer again = campaign(*store, first);
  while (std::holds_alternative<Unknown>(again)) again = campaign(*store, first);
  ASSERT_TRUE(std::holds_alternative<Granted>(again));
  EXPECT_EQ(std::get<Granted>(again).term, term);
  EXPECT_EQ(std::get<Granted>(again).vacancy, Vacancy::absent);
  EXPECT_GE(std::get<Granted>(again).since, before);
}

TEST_P(RedisGate, R08_ALeaderWhoseRenewalsAreCutAnywhereKeepsItsTerm) {
  TcpGate gate(server().port());
  const Member leader = join_behind(gate, "a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  for (const Direction direction : {Direction::to_client, Direction::to_target}) {
    for (std::uint64_t bytes = 0; bytes < 200; bytes += bytes < 20 ? 3 : 37) {
      SCOPED_TRACE("cut after " + std::to_string(bytes));
      const std::uint64_t cut = gate.counters().cut;
      gate.cut_after(direction, bytes);
      ASSERT_TRUE(gate.wait_until([&](const auto& counted) { return counted.cut > cut; }));
      ASSERT_TRUE(until_renewed(leader));
    }
  }
  expect_kept(leader, term);
}

TEST_P(RedisGate, R12_AResignationThatIsCutAnywhereIsCarriedOut) {
  for (const Direction direction : {Direction::to_client, Direction::to_target}) {
    for (std::uint64_t bytes = 0; bytes < 240; bytes += bytes < 30 ? 5 : 60) {
      SCOPED_TRACE("cut after " + std::to_string(bytes));
      TcpGate gate(server().port());
      const Member leader = join_behind(gate, "a");
      ASSERT_TRUE(until_leads(leader));
      const Member follower = join("b");
      ASSERT_TRUE(until_renewed(leader));
      gate.cut_after(direction, bytes);
      leader->stop();
      ASSERT_TRUE(until_stopped(leader));
      ASSERT_TRUE(until_leads(follower));
      follower->stop();
      ASSERT_TRUE(until_stopped(follower));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(redis, RedisGate, ::testing::Values(MakeFixture{make_shared_rig}),
                         [](const auto&) { return "redis"; });

}  // namespace
}  // namespace conclave::conformance
