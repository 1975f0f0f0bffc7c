// A store in trouble, and what a candidate makes of it. In manual time.
#include <gtest/gtest.h>

#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

using testing::Fault;
using testing::Verb;

class TroubleTest : public ::testing::Test {
 protected:
  void TearDown() override {
    store->heal();
    world.stop(me);
    world.stop(other);
  }

  ManualWorld world;
  std::shared_ptr<FaultyStore> store = world.store();
  Candidate me{store, "reports", {.id = "me", .executor = world.desk}};
  Candidate other{world.store(), "reports", {.id = "other", .executor = world.desk}};
  EventQueue& events = me.events();
};

TEST_F(TroubleTest, T03ALeaderThatIsCutOffStepsDownBeforeAnotherOneLeads) {
  me.start();
  world.settle();
  other.start();
  world.settle();
  auto& others = other.events();
  store->partition();
  world.pass(10s);
  EXPECT_FALSE(me.is_leader());
  EXPECT_TRUE(other.is_leader());
  const auto lost = await(events, EventKind::lost);
  const auto elected = await(others, EventKind::elected);
  ASSERT_TRUE(lost && elected);
  EXPECT_EQ(lost->reason, LossReason::lease_expired);
  EXPECT_LT(lost->at, elected->at);
  EXPECT_LT(lost->term, elected->term);
}

TEST_F(TroubleTest, T04TheOneThatIsHealedFollowsWithoutAnError) {
  me.start();
  world.settle();
  other.start();
  store->partition();
  world.pass(10s);
  store->heal();
  world.pass(1s);
  drain(events);
  world.pass(10s);
  EXPECT_EQ(me.role(), Role::follower);
  EXPECT_EQ(me.snapshot().leader, "other");
  for (const Event& event : drain(events)) EXPECT_NE(event.kind, EventKind::error);
}

TEST_F(TroubleTest, R08ALostReplyToCampaignIsNotWaitedForALease) {
  store->next(Verb::campaign, Fault::lose_reply());
  me.start();
  world.pass(1s);
  EXPECT_TRUE(me.is_leader());
  EXPECT_EQ(me.snapshot().counters.terms, 1U);
  EXPECT_GE(store->count(Verb::campaign), 2U);
}

TEST_F(TroubleTest, R08ALostReplyToResignIsRepeatedUntilItIsAnswered) {
  me.start();
  world.settle();
  other.start();
  world.settle();
  store->next(Verb::resign, Fault::lose_request());
  me.resign();
  world.settle();
  EXPECT_FALSE(me.is_leader());
  EXPECT_FALSE(other.is_leader());
  world.pass(1s);
  EXPECT_TRUE(other.is_leader()) << "well within the lease";
}

TEST_F(TroubleTest, AnErrorOfTheStoreIsAnEventAndACounter) {
  const Error loading{ErrorCode::unavailable, "the server is loading", true, false};
  store->next(Verb::campaign, Fault::unknown(loading));
  store->next(Verb::campaign, Fault::refuse({ErrorCode::denied, "no such user", false, false}));
  me.start();
  world.pass(10s);
  EXPECT_TRUE(me.is_leader()) << "it never stops by itself";
  EXPECT_EQ(me.snapshot().counters.failed(ErrorCode::unavailable), 1U);
  EXPECT_EQ(me.snapshot().counters.failed(ErrorCode::denied), 1U);
  const auto first = await(events, EventKind::error);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->error, loading);
  EXPECT_EQ(await(events, EventKind::error)->error->message, "no such user");
}

TEST_F(TroubleTest, JeopardyIsToldOnceAndEndsWithARenewal) {
  me.start();
  world.settle();
  store->next(Verb::renew, Fault::unknown({ErrorCode::unavailable, "x", true, true}));
  store->next(Verb::renew, Fault::unknown({ErrorCode::unavailable, "x", true, true}));
  world.pass(3s);
  int jeopardies = 0;
  for (const Event& event : drain(events)) {
    if (event.kind == EventKind::jeopardy) jeopardies += 1;
  }
  EXPECT_EQ(jeopardies, 1);
  EXPECT_FALSE(me.snapshot().jeopardy);
  EXPECT_EQ(me.snapshot().counters.failed(ErrorCode::unavailable), 2U);
}

TEST_F(TroubleTest, R02AWipedStoreEndsTheTermAndANewOneFollows) {
  me.start();
  world.settle();
  const Term before = me.snapshot().term;
  wipe(*world.space);
  world.pass(2s);
  EXPECT_EQ(await(events, EventKind::lost)->reason, LossReason::record_gone);
  world.pass(10s);
  EXPECT_TRUE(me.is_leader());
  EXPECT_GT(me.snapshot().term, before) << "higher than any it has seen";
}

TEST_F(TroubleTest, AFrozenStoreThatGoesOnRevivesNothing) {
  me.start();
  world.settle();
  other.start();
  world.settle();
  store->freeze();
  world.pass(10s);
  EXPECT_FALSE(me.is_leader());
  EXPECT_TRUE(other.is_leader());
  store->heal();
  world.pass(3s);
  EXPECT_FALSE(me.is_leader());
  EXPECT_TRUE(other.is_leader());
  EXPECT_EQ(other.snapshot().counters.terms, 1U);
}

TEST_F(TroubleTest, RandomTroubleNeverMakesTwoLeaders) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    ManualWorld chaos;
    std::vector<std::shared_ptr<FaultyStore>> stores;
    std::vector<std::unique_ptr<Candidate>> all;
    for (std::uint64_t i = 0; i < 3; ++i) {
      stores.push_back(chaos.store());
      stores.back()->randomly(seed * 10 + i, {.lose_request = 0.1,
                                              .lose_reply = 0.1,
                                              .delay_request = 0.1,
                                              .delay_reply = 0.1,
                                              .duplicate = 0.1,
                                              .unknown = 0.1,
                                              .drop_observation = 0.3,
                                              .longest_delay = 2s});
      all.push_back(std::make_unique<Candidate>(
          stores.back(), "reports", Options{.id = std::to_string(i), .executor = chaos.desk}));
      all.back()->start();
    }
    std::uint64_t led = 0;
    for (int step = 0; step < 60'000; ++step) {
      chaos.loop.run_until(chaos.clock.now() + 1ms);
      int leaders = 0;
      for (const auto& each : all) leaders += each->is_leader() ? 1 : 0;
      ASSERT_LE(leaders, 1) << "seed " << seed << " step " << step;
      if (step % 5000 == 4999) all[static_cast<std::size_t>(step / 5000) % 3]->resign();
      chaos.desk->run_ready();
    }
    for (const auto& each : all) led += each->snapshot().counters.terms;
    EXPECT_GT(led, 3U);
    for (const auto& each : stores) each->randomly(1, {});
    for (const auto& each : all) {
      each->request_stop();
    }
    chaos.pass(20s);
  }
}

}  // namespace
}  // namespace conclave::rig
