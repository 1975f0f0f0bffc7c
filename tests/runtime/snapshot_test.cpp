// Snapshots and counters, in manual time: every figure is exact.
#include <gtest/gtest.h>

#include <conclave/callbacks.hpp>

#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

class SnapshotTest : public ::testing::Test {
 protected:
  Options on_desk(const std::string& id) { return {.id = id, .executor = world.desk}; }

  ManualWorld world;
};

TEST_F(SnapshotTest, FollowsACandidateThroughItsRoles) {
  Candidate me(world.store(), "reports", on_desk("a"));
  Snapshot now = me.snapshot();
  EXPECT_EQ(now.election, "reports");
  EXPECT_EQ(now.candidate, "a");
  EXPECT_EQ(now.role, Role::bootstrap);
  EXPECT_FALSE(now.is_leader);
  EXPECT_FALSE(now.term.exists());
  EXPECT_FALSE(now.last_contact);
  EXPECT_EQ(now.leader, "");

  me.start();
  world.settle();
  now = me.snapshot();
  EXPECT_EQ(now.role, Role::leader);
  EXPECT_TRUE(now.is_leader);
  EXPECT_EQ(now.term, Term{1});
  EXPECT_EQ(now.lease_remaining, 2400ms);
  EXPECT_EQ(now.leader, "a");
  EXPECT_EQ(now.leader_term, Term{1});
  EXPECT_EQ(now.last_contact, 0s);
  EXPECT_EQ(now.counters.terms, 1U);
  EXPECT_EQ(now.counters.transitions, 1U);

  auto work = me.leadership();
  me.resign();
  world.settle();
  now = me.snapshot();
  EXPECT_EQ(now.role, Role::draining);
  EXPECT_TRUE(now.is_leader);
  EXPECT_EQ(now.term, Term{1});
  work.reset();
  world.settle();
  now = me.snapshot();
  EXPECT_EQ(now.role, Role::follower);
  EXPECT_FALSE(now.is_leader);
  EXPECT_FALSE(now.term.exists());
  EXPECT_EQ(now.lease_remaining, 0s);
  EXPECT_EQ(now.counters.transitions, 2U) << "to nobody included";

  world.stop(me);
  now = me.snapshot();
  EXPECT_EQ(now.role, Role::stopped);
  EXPECT_FALSE(now.is_leader);
}

TEST_F(SnapshotTest, TellsTheLeaderAndThePlaceOfAFollower) {
  Candidate leader(world.store(), "reports", on_desk("a"));
  Candidate first(world.store(), "reports", on_desk("b"));
  Candidate second(world.store(), "reports", on_desk("c"));
  for (Candidate* each : {&leader, &first, &second}) {
    each->start();
    world.settle();
  }
  EXPECT_EQ(first.snapshot().leader, "a");
  EXPECT_EQ(first.snapshot().leader_term, leader.snapshot().term);
  EXPECT_EQ(first.snapshot().place, 1U);
  EXPECT_EQ(second.snapshot().place, 2U);
  world.stop(leader);
  EXPECT_EQ(second.snapshot().leader, "b");
  for (Candidate* each : {&first, &second}) world.stop(*each);
}

TEST_F(SnapshotTest, CountsRenewalsFailuresAndContact) {
  const auto store = world.store();
  Candidate me(store, "reports", on_desk("a"));
  me.start();
  world.settle();
  world.pass(10s);
  Snapshot now = me.snapshot();
  EXPECT_GE(now.counters.renewals, 9U);
  EXPECT_EQ(now.counters.late_renewals, 0U);
  EXPECT_LE(now.last_contact, 1s);
  EXPECT_FALSE(now.jeopardy);

  const auto renewals = now.counters.renewals + 1;
  while (me.snapshot().counters.renewals < renewals) world.pass(1ms);
  store->partition();
  world.pass(1500ms);
  now = me.snapshot();
  EXPECT_TRUE(now.jeopardy);
  EXPECT_EQ(now.counters.renewals, renewals);
  EXPECT_GE(now.counters.failed(ErrorCode::timed_out), 1U);
  EXPECT_GE(now.last_contact, 1400ms);
  store->heal();
  world.pass(1s);
  EXPECT_FALSE(me.snapshot().jeopardy);
  EXPECT_EQ(me.snapshot().counters.terms, 1U);

  me.report({ErrorCode::work_failed, "x", false, false});
  me.report({ErrorCode::work_failed, "y", false, false});
  EXPECT_EQ(me.snapshot().counters.failed(ErrorCode::work_failed), 2U);
  world.stop(me);
}

TEST_F(SnapshotTest, CountsARenewalThatCameLate) {
  Candidate me(world.store(), "reports", on_desk("a"));
  me.start();
  world.settle();
  world.clock.advance(1500ms);  // half a second too late: more than a tenth of the lease
  world.settle();
  EXPECT_EQ(me.snapshot().counters.late_renewals, 1U);
  world.pass(5s);
  EXPECT_EQ(me.snapshot().counters.late_renewals, 1U);
  EXPECT_EQ(me.snapshot().counters.terms, 1U);
  world.stop(me);
}

TEST_F(SnapshotTest, CountsHowLongItKnewOfNoLeader) {
  const auto store = world.store();
  Candidate me(store, "reports", on_desk("a"));
  const auto leaderless = [&] { return me.snapshot().counters.leaderless; };
  EXPECT_EQ(leaderless(), 0s);
  world.pass(5s);
  EXPECT_EQ(leaderless(), 0s) << "it does not run";
  me.start();
  EXPECT_EQ(leaderless(), 0s) << "the loop has not heard of it";
  world.settle();
  EXPECT_EQ(leaderless(), 0s);
  world.pass(4s);
  EXPECT_EQ(leaderless(), 0s) << "it leads";
  me.healthy(false);
  world.pass(2s);
  EXPECT_EQ(leaderless(), 2s);
  world.pass(1s);
  EXPECT_EQ(leaderless(), 3s);
  me.healthy(true);
  world.pass(3s);  // the cool-down; then it leads
  const Duration total = leaderless();
  EXPECT_GE(total, 3s);
  EXPECT_TRUE(me.is_leader());
  world.pass(10s);
  EXPECT_EQ(leaderless(), total);
  world.stop(me);
  world.pass(10s);
  EXPECT_EQ(leaderless(), total) << "nobody counts any more";
  me.start();
  EXPECT_EQ(leaderless(), total);
  world.stop(me);
}

// From one leader straight to the next: the time of the first is not leaderless time.
TEST_F(SnapshotTest, DoesNotCountTheTimeOfALeaderWhoseEndItMissed) {
  Candidate first(world.store(), "reports", on_desk("a"));
  Candidate second(world.store(), "reports", on_desk("b"));
  first.start();
  world.settle();
  const auto store = world.store();
  Candidate me(store, "reports", on_desk("me"));
  me.start();
  world.settle();
  EXPECT_EQ(me.snapshot().leader, "a");
  second.start();
  world.pass(60s);
  store->partition();
  // b is told of its turn after me, who does not come.
  world.stop(first);
  world.pass(1s);
  ASSERT_TRUE(second.is_leader());
  store->heal();
  world.settle();
  EXPECT_EQ(me.snapshot().leader, "b");
  EXPECT_LT(me.snapshot().counters.leaderless, 1s);
  world.stop(me);
  world.stop(second);
}

// Each by itself, however many of them one event has.
TEST_F(SnapshotTest, CountsCallbacksThatTookTooLong) {
  const Duration grace = 600ms;
  Candidate me(world.store(), "reports", {.grace = grace, .executor = world.desk});
  const auto overruns = [&] { return me.snapshot().counters.callback_overruns; };
  Callbacks callbacks(me);
  for (int i = 0; i < 3; ++i) {
    callbacks.on_elected([&](const Leadership&) { world.clock.advance(grace / 3); });
  }
  me.start();
  world.settle();
  EXPECT_EQ(overruns(), 0U) << "a grace for all of them, and none took longer";
  for (int i = 0; i < 2; ++i) {
    callbacks.on_error([&](const Error&) { world.clock.advance(grace + 1ms); });
  }
  callbacks.on_error([&](const Error&) { world.clock.advance(grace); });
  me.report({ErrorCode::work_failed, "a test", false, false});
  world.settle();
  EXPECT_EQ(overruns(), 2U);
  world.stop(me);
  me.lead({}, [&](const std::optional<Leadership>&) { world.clock.advance(grace + 1ms); });
  world.settle();
  EXPECT_EQ(overruns(), 3U);
  world.stop(me);
}

TEST_F(SnapshotTest, TellsTheAgeOfWhatItKnowsOfTheLeader) {
  Candidate leader(world.store(), "reports", on_desk("a"));
  const auto store = world.store();
  Candidate me(store, "reports", on_desk("b"));
  EXPECT_FALSE(me.snapshot().leader_age);
  leader.start();
  world.settle();
  EXPECT_EQ(leader.snapshot().leader_age, 0s) << "it is its own";
  me.start();
  world.settle();
  EXPECT_EQ(me.snapshot().leader_age, 0s);
  store->partition();
  world.pass(700ms);
  EXPECT_EQ(me.snapshot().leader_age, 700ms);
  store->heal();
  world.pass(10s);
  EXPECT_LE(me.snapshot().leader_age, 3s) << "it looks from time to time";
  EXPECT_LE(leader.snapshot().leader_age, 1s) << "it renews";
  store->partition();
  world.stop(leader);
  EXPECT_FALSE(leader.snapshot().leader_age) << "nobody leads";
  EXPECT_GE(me.snapshot().leader_age, 5s) << "nobody has told it";
  store->heal();
  world.stop(me);
}

TEST_F(SnapshotTest, TermLimitHandsOverAndAloneLeadsAgain) {
  Candidate me(world.store(), "reports",
               {.id = "a", .cool_down = 1s, .term_limit = 10s, .executor = world.desk});
  auto& events = me.events();
  me.start();
  world.pass(33s + 100ms);  // three times ten seconds and a rest of one
  EXPECT_EQ(me.snapshot().counters.terms, 4U);
  for (const Event& event : drain(events)) {
    if (event.kind != EventKind::lost) continue;
    EXPECT_EQ(event.reason, LossReason::term_limit);
  }
  world.stop(me);
}

}  // namespace
}  // namespace conclave::rig
