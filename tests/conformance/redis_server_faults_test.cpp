// Redis is restarted, with its data, with old ones or with none, or stands still.
#include "conformance/redis_faults.hpp"

namespace conclave::conformance {
namespace {

using fault::TcpGate;

std::unique_ptr<StoreFixture> make_own_rig() { return std::make_unique<OwnRedisFixture>(); }

class RedisRestart : public RedisFaults {
 protected:
  // The server is restarted within the lease, under a leader and one who follows.
  void expect_kept_through(const std::function<void()>& restart) {
    const Member leader = join("a");
    ASSERT_TRUE(until_leads(leader));
    const Term term = leader->term();
    const Member follower = join("b");
    ASSERT_TRUE(until_follows(follower, "a"));
    ASSERT_TRUE(until_renewed(leader));
    restart();
    const Member fresh = join("c");
    expect_kept(leader, term);
    EXPECT_TRUE(until_follows(follower, "a"));
    EXPECT_TRUE(until_follows(fresh, "a"));
  }

  // The leader has been confirmed just before, and cannot tell the server anything afterwards.
  void expect_waited_for(const std::function<void()>& restart) {
    TcpGate gate(server().port());
    const Member leader = join_behind(gate, "a");
    ASSERT_TRUE(until_leads(leader));
    const Term term = leader->term();
    ASSERT_TRUE(until_renewed(leader));
    gate.refuse();
    gate.reset_all();
    restart();
    const Member fresh = join("c");
    ASSERT_TRUE(run_until([&] { return leaders().back() != "a"; }));
    EXPECT_FALSE(leader->leads());
    EXPECT_GT(inspect(*fresh.faults).last_term, term);
  }

  // What was a replica of somebody decides alone.
  void promote() {
    server().command({"REPLICAOF", "127.0.0.1", "1"});
    server().command({"REPLICAOF", "NO", "ONE"});
  }

  [[nodiscard]] static Duration age_in(const CampaignAnswer& answer) {
    const auto* const granted = std::get_if<Granted>(&answer);
    const auto* const held = std::get_if<Held>(&answer);
    if (granted != nullptr) return granted->server_age.value_or(Duration::zero());
    return held != nullptr ? held->server_age.value_or(Duration::zero()) : Duration::zero();
  }

  // A copy of the data in which x has released its term, or holds it.
  std::string copy_with(bool released) {
    const Member former = join("x");
    EXPECT_TRUE(until_leads(former));
    std::string copy = server().save_rdb();
    former->stop();
    EXPECT_TRUE(until_stopped(former));
    return released ? server().save_rdb() : copy;
  }
};

TEST_P(RedisRestart, WithDataTheLeaderKeepsItsTerm) {
  expect_kept_through([&] { server().restart_with_data(); });
}

TEST_P(RedisRestart, WithoutDataTheLeaderWritesItsRecordAnew) {
  expect_kept_through([&] { server().restart_without_data(); });
}

TEST_P(RedisRestart, WithoutDataAFreshCandidateWaitsForALeaderThatIsLate) {
  TcpGate gate(server().port());
  const Member leader = join_behind(gate, "a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  ASSERT_TRUE(until_renewed(leader));
  gate.refuse();
  server().restart_without_data();
  const Member fresh = join("c");
  EXPECT_EQ(fresh->role(), Role::follower);
  gate.pass();
  expect_kept(leader, term);
}

TEST_P(RedisRestart, WithDataNobodyLeadsBeforeALeaderThatIsCutOffIsOver) {
  expect_waited_for([&] { server().restart_with_data(); });
}

TEST_P(RedisRestart, WithoutDataNobodyLeadsBeforeALeaderThatIsCutOffIsOver) {
  expect_waited_for([&] { server().restart_without_data(); });
}

TEST_P(RedisRestart, WithAnOldReleaseNobodyLeadsBeforeALaterLeaderIsOver) {
  const std::string copy = copy_with(true);
  expect_waited_for([&] { server().restore_rdb(copy); });
}

TEST_P(RedisRestart, WithAnOldHolderNobodyLeadsBeforeALaterLeaderIsOver) {
  const std::string copy = copy_with(false);
  expect_waited_for([&] { server().restore_rdb(copy); });
}

TEST_P(RedisRestart, WithAnOldReleaseALaterLeaderKeepsItsTerm) {
  const std::string copy = copy_with(true);
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  const Member follower = join("b");
  ASSERT_TRUE(until_follows(follower, "a"));
  ASSERT_TRUE(until_renewed(leader));
  server().restore_rdb(copy);
  run_for(2 * lease());
  EXPECT_TRUE(leader->leads());
  EXPECT_EQ(leader->term(), term);
  EXPECT_EQ(inspect(*connect()).last_term, term);
}

// It was saved while the same term was held, some leases ago.
TEST_P(RedisRestart, WithAnOldRenewalTheLeaderKeepsItsTerm) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const std::string copy = server().save_rdb();
  run_for(lease());
  expect_kept(leader, leader->term());
  const Term term = leader->term();
  const Member follower = join("b");
  ASSERT_TRUE(until_renewed(leader));
  server().restore_rdb(copy);
  const Member fresh = join("c");
  expect_kept(leader, term);
}

// Nobody's connection ends. The second time there is a note of the first.
TEST_P(RedisRestart, APromotedServerIsAnotherOne) {
  const auto store = connect();
  for (std::uint64_t times = 1; times <= 2; ++times) {
    const Bid asked{"election " + std::to_string(times), "a", Attempt{1, times}, {}, {}, {}};
    CampaignAnswer answer = campaign(*store, asked);
    EXPECT_GE(age_in(answer), lease());
    promote();
    answer = campaign(*store, bid("a", 1));
    ASSERT_TRUE(std::holds_alternative<Unknown>(answer));
    while (std::holds_alternative<Unknown>(answer)) answer = campaign(*store, bid("a", 1));
    EXPECT_LT(age_in(answer), lease());
    run_for(lease());
  }
}

TEST_P(RedisRestart, AfterAPromotionNobodyLeadsBeforeALeaderThatIsCutOffIsOver) {
  const Member follower = join("x", {});
  ASSERT_TRUE(until_leads(follower));
  follower->stop();
  ASSERT_TRUE(until_stopped(follower));
  const auto store = connect();
  ASSERT_TRUE(inspect(*store).last_term.exists());  // greeted before
  const Member late = make_on(std::make_shared<FaultyStore>(store), "d");
  expect_waited_for([&] {
    promote();
    server().command({"FLUSHALL"});  // it had not heard of the last grant
    late->start();
  });
}

TEST_P(RedisRestart, P01_AServerThatStandsStillEndsTheTermByTheOwnClock) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  const Member follower = join("b");
  ASSERT_TRUE(until_renewed(leader));
  server().pause();
  const Instant paused = now();
  ASSERT_TRUE(run_until([&] { return leader->count<core::Lost>() == 1; }));
  EXPECT_EQ(leader->last<core::Lost>()->reason, LossReason::lease_expired);
  EXPECT_LE(leader->last<core::Lost>()->at, paused + lease());
  run_for(lease());
  EXPECT_FALSE(leader->leads() || follower->leads());
  server().resume();
  ASSERT_TRUE(run_until([&] { return leader->leads() || follower->leads(); }));
  run_for(lease());
  EXPECT_NE(leader->leads(), follower->leads());
  EXPECT_GT(std::max(leader->term(), follower->term()), term);
}

TEST_P(RedisRestart, AServerThatStandsStillForAMomentCostsNothing) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  const Member follower = join("b");
  ASSERT_TRUE(until_renewed(leader));
  server().pause();
  run_for(lease() / 2);
  server().resume();
  expect_kept(leader, term);
}

TEST_P(RedisRestart, T10_AServerThatIsDownIsFoundAgain) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  const Member follower = join("b");
  server().kill();
  ASSERT_TRUE(run_until([&] { return leader->count<core::Lost>() == 1; }));
  EXPECT_GE(leader->count<core::Failed>(), 1U);
  server().start();
  ASSERT_TRUE(run_until([&] { return leader->leads() || follower->leads(); }));
  EXPECT_GT(std::max(leader->term(), follower->term()), term);
}

INSTANTIATE_TEST_SUITE_P(redis, RedisRestart, ::testing::Values(MakeFixture{make_own_rig}),
                         [](const auto&) { return "redis"; });

}  // namespace
}  // namespace conclave::conformance
