// Waits and futures.
#include <conclave/waits.hpp>

#include <gtest/gtest.h>

#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

class WaitsTest : public ::testing::Test {
 protected:
  World world;
  Candidate rival{world.store(), "reports", {.id = "rival"}};
  std::shared_ptr<FaultyStore> store = world.faulty_store();
  Candidate me{store, "reports", {.id = "me"}};
};

TEST_F(WaitsTest, UntilLeaderIsTrueOnceItLeads) {
  me.start();
  EXPECT_TRUE(wait_until_leader(me, hang_guard));
  EXPECT_TRUE(me.is_leader());
  EXPECT_TRUE(wait_until_leader(me)) << "at once";
  EXPECT_TRUE(wait_until_leader(me, 0s));
  EXPECT_TRUE(wait_until_leader(me, Duration::max()));
}

TEST_F(WaitsTest, UntilLeaderIsFalseWhenTheTimeHasPassed) {
  const auto held = rival.lead();
  me.start();
  EXPECT_FALSE(wait_until_leader(me, 1ms));
  EXPECT_FALSE(wait_until_leader(me, 0s));
  EXPECT_FALSE(wait_until_leader(me, -1s));
}

TEST_F(WaitsTest, UntilLeaderIsFalseWhenTheTokenFires) {
  const auto held = rival.lead();
  me.start();
  std::stop_source stop;
  std::jthread stopper([&] {
    EXPECT_TRUE(await(me.events(), EventKind::follower));
    stop.request_stop();
  });
  EXPECT_FALSE(wait_until_leader(me, stop.get_token()));
  EXPECT_FALSE(wait_until_leader(me, stop.get_token())) << "and when it has";
}

TEST_F(WaitsTest, UntilLeaderIsFalseWhenTheCandidateStops) {
  const auto held = rival.lead();
  me.start();
  std::jthread stopper([&] {
    EXPECT_TRUE(await(me.events(), EventKind::follower));
    EXPECT_TRUE(me.stop());
  });
  EXPECT_FALSE(wait_until_leader(me));
  stopper.join();
  EXPECT_FALSE(wait_until_leader(me)) << "and when it has";
  EXPECT_FALSE(wait_until_role_known(me));
}

// Whoever begins to wait while somebody else stops is not forgotten.
TEST_F(WaitsTest, UntilLeaderEndsWheneverTheStopComes) {
  const auto held = rival.lead();
  for (int turn = 0; turn < 300; ++turn) {
    me.start();
    std::jthread stopper([&] { me.stop(); });
    EXPECT_FALSE(wait_until_leader(me));
  }
}

TEST_F(WaitsTest, UntilLeaderWaitsForOneThatIsStartedLater) {
  std::jthread starter([&] { me.start(); });
  EXPECT_TRUE(wait_until_leader(me));
}

TEST_F(WaitsTest, UntilRoleKnownWaitsForTheStore) {
  store->partition();
  me.start();
  EXPECT_FALSE(wait_until_role_known(me, 1ms));
  store->heal();
  EXPECT_EQ(wait_until_role_known(me), Role::leader);
}

TEST_F(WaitsTest, UntilRoleKnownTellsAFollower) {
  const auto held = rival.lead();
  me.start();
  EXPECT_EQ(wait_until_role_known(me, hang_guard), Role::follower);
}

TEST_F(WaitsTest, FutureTermIsReadyWithTheNextTerm) {
  auto held = rival.lead();
  const Term before = held->term();
  me.start();
  auto future = future_term(me);
  EXPECT_EQ(wait_until_role_known(me), Role::follower);
  EXPECT_EQ(future.wait_for(0s), std::future_status::timeout);
  held.reset();
  ASSERT_EQ(future.wait_for(hang_guard), std::future_status::ready);
  const Term term = future.get();
  EXPECT_GT(term, before);
  EXPECT_EQ(term, me.snapshot().term);
}

TEST_F(WaitsTest, FutureTermIsReadyWithThePresentTerm) {
  me.start();
  ASSERT_TRUE(wait_until_leader(me));
  auto future = future_term(me);
  ASSERT_EQ(future.wait_for(hang_guard), std::future_status::ready);
  EXPECT_EQ(future.get(), me.snapshot().term);
}

TEST_F(WaitsTest, FutureTermMayBeAskedForBeforeTheStart) {
  auto future = future_term(me);
  me.start();
  ASSERT_EQ(future.wait_for(hang_guard), std::future_status::ready);
  EXPECT_TRUE(future.get().exists());
}

void expect_broken(std::future<Term> future) {
  ASSERT_EQ(future.wait_for(hang_guard), std::future_status::ready);
  try {
    (void)future.get();
    ADD_FAILURE();
  } catch (const std::future_error& error) {
    EXPECT_EQ(error.code(), std::future_errc::broken_promise);
  }
}

TEST_F(WaitsTest, FutureTermIsBrokenByAStop) {
  const auto held = rival.lead();
  me.start();
  auto future = future_term(me);
  EXPECT_TRUE(me.stop());
  expect_broken(std::move(future));
}

TEST_F(WaitsTest, FutureTermIsBrokenByTheEndOfTheCandidate) {
  const auto held = rival.lead();
  auto candidate = std::make_unique<Candidate>(world.store(), "reports", Options{.id = "other"});
  auto idle = future_term(*candidate);
  candidate.reset();
  expect_broken(std::move(idle));
  candidate = std::make_unique<Candidate>(world.store(), "reports", Options{.id = "other"});
  candidate->start();
  auto running = future_term(*candidate);
  candidate.reset();
  expect_broken(std::move(running));
}

TEST_F(WaitsTest, ManyFuturesAtOnceAreAllReady) {
  me.start();
  ASSERT_TRUE(wait_until_leader(me));
  std::vector<std::future<Term>> futures;
  for (int i = 0; i < 2000; ++i) futures.push_back(future_term(me));
  for (auto& future : futures) ASSERT_EQ(future.wait_for(hang_guard), std::future_status::ready);
  EXPECT_TRUE(me.stop());
}

}  // namespace
}  // namespace conclave::rig
