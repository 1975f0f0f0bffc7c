// lead(): waiting for a term, being stopped, and campaigning only while somebody waits.
#include <gtest/gtest.h>

#include <latch>

#include <conclave/admin.hpp>

#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

TEST(LeadTest, GivesATermThatAnotherOneFollowsWhenItDies) {
  World world;
  Candidate first(world.store(), "reports", {.id = "a"});
  Candidate second(world.store(), "reports", {.id = "b"});
  auto term = first.lead();
  ASSERT_TRUE(term);
  EXPECT_TRUE(term->valid());
  EXPECT_TRUE(first.is_leader());
  EXPECT_FALSE(second.is_leader());
  const Term before = term->term();
  term.reset();
  const auto next = second.lead();
  ASSERT_TRUE(next);
  EXPECT_GT(next->term(), before);
  EXPECT_FALSE(first.is_leader());
  EXPECT_TRUE(second.is_leader());
}

TEST(LeadTest, ByCallbackGivesTheTermOnTheExecutor) {
  World world;
  Candidate me(world.store(), "reports");
  Signal done;
  std::optional<Leadership> term;
  me.lead({}, [&](std::optional<Leadership> next) {
    term = std::move(next);
    done.set();
  });
  ASSERT_TRUE(done.wait());
  ASSERT_TRUE(term);
  EXPECT_TRUE(term->valid());
}

TEST(LeadTest, WhatItsCallbackThrowsIsReportedAndTheTermReleased) {
  World world;
  Candidate me(world.store(), "reports", {.id = "a"});
  auto& events = me.events();
  me.lead({}, [](std::optional<Leadership>) { throw std::runtime_error("no luck"); });
  const auto error = await(events, EventKind::error);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->error->code, ErrorCode::work_failed);
  EXPECT_NE(error->error->message.find("no luck"), std::string::npos);
  Candidate other(world.store(), "reports", {.id = "b"});
  EXPECT_TRUE(other.lead());
}

TEST(LeadTest, IsEmptyForATokenThatHasFiredAndNeverCampaigns) {
  World world;
  const auto store = world.faulty_store();
  Candidate me(store, "reports", {.id = "a"});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(me.lead(stop.get_token()));
  Signal done;
  me.lead(stop.get_token(), [&](const std::optional<Leadership>& term) {
    EXPECT_FALSE(term);
    done.set();
  });
  EXPECT_TRUE(done.wait());
  EXPECT_EQ(store->count(testing::Verb::campaign), 0U);
}

TEST(LeadTest, IsEmptyWhenTheTokenFiresWhileItWaits) {
  World world;
  Candidate leader(world.store(), "reports", {.id = "a"});
  const auto held = leader.lead();
  Candidate me(world.store(), "reports", {.id = "b"});
  std::stop_source stop;
  auto& events = me.events();
  std::jthread stopper([&] {
    EXPECT_TRUE(await(events, EventKind::follower));
    stop.request_stop();
  });
  EXPECT_FALSE(me.lead(stop.get_token()));
  EXPECT_TRUE(leader.is_leader());
}

TEST(LeadTest, ByCallbackIsEmptyWhenTheTokenFires) {
  World world;
  Candidate leader(world.store(), "reports", {.id = "a"});
  const auto held = leader.lead();
  Candidate me(world.store(), "reports", {.id = "b"});
  std::stop_source stop;
  Signal done;
  me.lead(stop.get_token(), [&](const std::optional<Leadership>& term) {
    EXPECT_FALSE(term);
    done.set();
  });
  EXPECT_TRUE(await(me.events(), EventKind::follower));
  EXPECT_FALSE(done.is_set());
  stop.request_stop();
  EXPECT_TRUE(done.wait());
}

TEST(LeadTest, ATokenThatFiresAfterwardsAsksForTheEndOfTheTerm) {
  World world;
  Candidate me(world.store(), "reports");
  Candidate other(world.store(), "reports", {.id = "other"});
  std::stop_source stop;
  auto term = me.lead(stop.get_token());
  ASSERT_TRUE(term);
  Signal stopping;
  const std::stop_callback told(term->stopping(), [&] { stopping.set(); });
  stop.request_stop();
  EXPECT_TRUE(stopping.wait());
  EXPECT_TRUE(term->valid()) << "until the work has ended";
  term.reset();
  EXPECT_TRUE(other.lead());
  EXPECT_FALSE(me.lead(stop.get_token()));
}

TEST(LeadTest, ByCallbackATokenEndsTheTermToo) {
  World world;
  Candidate me(world.store(), "reports");
  std::stop_source stop;
  Signal stopping;
  me.lead(stop.get_token(), [&](std::optional<Leadership> term) {
    const std::stop_callback told(term->stopping(), [&] { stopping.set(); });
    stop.request_stop();
    EXPECT_TRUE(stopping.wait());
  });
  EXPECT_TRUE(stopping.wait());
}

TEST(LeadTest, ATokenOfATermThatIsOverDoesNotEndTheNextOne) {
  World world;
  Candidate me(world.store(), "reports", {.cool_down = 1ms});
  std::stop_source first;
  auto term = me.lead(first.get_token());
  ASSERT_TRUE(term);
  auto moved = std::move(*term);
  term.reset();
  EXPECT_TRUE(moved.valid());
  { const Leadership gone = std::move(moved); }
  const auto next = me.lead();
  ASSERT_TRUE(next);
  first.request_stop();
  EXPECT_TRUE(inspect(*world.store(), "reports")) << "whatever was on its way has happened";
  EXPECT_FALSE(next->stopping().stop_requested());
}

TEST(LeadTest, TwoAtOnceAreAnInvalidState) {
  World world;
  Candidate leader(world.store(), "reports", {.id = "a"});
  const auto held = leader.lead();
  Candidate me(world.store(), "reports", {.id = "b"});
  std::stop_source stop;
  std::latch returned(1);
  std::jthread first([&] {
    EXPECT_FALSE(me.lead(stop.get_token()));
    returned.count_down();
  });
  EXPECT_TRUE(await(me.events(), EventKind::follower));
  EXPECT_THROW((void)me.lead(), InvalidState);
  EXPECT_THROW(me.lead({}, [](std::optional<Leadership>) {}), InvalidState);
  stop.request_stop();
  returned.wait();
}

TEST(LeadTest, AfterStartIsAnInvalidStateAndTheOtherWayRound) {
  World world;
  Candidate me(world.store(), "reports");
  me.start();
  EXPECT_THROW((void)me.lead(), InvalidState);
  ASSERT_TRUE(await(me.events(), EventKind::elected));
  EXPECT_THROW((void)me.lead(), InvalidState);
  EXPECT_TRUE(me.stop());
  const auto term = me.lead();
  ASSERT_TRUE(term);
  EXPECT_THROW(me.start(), InvalidState);
}

TEST(LeadTest, NobodyWhoIsNotInItStandsForElection) {
  World world;
  Candidate me(world.store(), "reports", {.id = "a"});
  Candidate other(world.store(), "reports", {.id = "b"});
  for (int turn = 0; turn < 20; ++turn) {
    // Each leads once, although the other one has let go and is not stopped.
    auto term = me.lead();
    ASSERT_TRUE(term);
    term.reset();
    auto next = other.lead();
    ASSERT_TRUE(next);
  }
  EXPECT_FALSE(me.is_leader());
}

TEST(LeadTest, AfterItWasGivenUpThePlaceIsFreeForOthers) {
  World world;
  Candidate leader(world.store(), "reports", {.id = "a"});
  auto held = leader.lead();
  Candidate me(world.store(), "reports", {.id = "b"});
  std::stop_source stop;
  Signal done;
  me.lead(stop.get_token(), [&](const std::optional<Leadership>&) { done.set(); });
  ASSERT_TRUE(await(me.events(), EventKind::follower));
  stop.request_stop();
  ASSERT_TRUE(done.wait());
  held.reset();
  Candidate third(world.store(), "reports", {.id = "c"});
  EXPECT_TRUE(third.lead());
  EXPECT_FALSE(me.is_leader());
}

TEST(LeadTest, RequestStopEndsIt) {
  World world;
  Candidate leader(world.store(), "reports", {.id = "a"});
  const auto held = leader.lead();
  Candidate me(world.store(), "reports", {.id = "b"});
  std::jthread stopper([&] {
    EXPECT_TRUE(await(me.events(), EventKind::follower));
    me.request_stop();
  });
  EXPECT_FALSE(me.lead());
}

// The loop of the first page ends, also when the stop comes while it works and everything is over
// before it asks again.
TEST(LeadTest, AStopDuringATermIsToldToTheNextCall) {
  World world;
  Candidate me(world.store(), "reports");
  auto& events = me.events();
  auto term = me.lead();
  ASSERT_TRUE(term);
  me.request_stop();
  term.reset();
  ASSERT_TRUE(await(events, EventKind::stopped));
  EXPECT_FALSE(me.lead());
  EXPECT_TRUE(me.lead()) << "and only to that one";
}

TEST(LeadTest, AStopBetweenTermsIsNotToldToWhoBeginsAnew) {
  World world;
  Candidate me(world.store(), "reports");
  auto term = me.lead();
  term.reset();
  EXPECT_TRUE(me.stop());
  EXPECT_TRUE(me.lead());
}

// Who works in the loop of the first page cannot know of it otherwise.
TEST(LeadTest, AStopBetweenTermsByAnotherThreadIsToldToTheNextCall) {
  World world;
  Candidate me(world.store(), "reports");
  Signal between;
  Signal stopped;
  std::jthread loop([&] {
    auto term = me.lead();
    term.reset();
    between.set();
    EXPECT_TRUE(stopped.wait());
    EXPECT_FALSE(me.lead());
    EXPECT_TRUE(me.lead()) << "only to that one";
  });
  ASSERT_TRUE(between.wait());
  EXPECT_TRUE(me.stop());
  stopped.set();
}

TEST(LeadTest, AStopBetweenTermsByAnotherThreadIsToldToTheNextCallback) {
  World world;
  Candidate me(world.store(), "reports", {.cool_down = 1ms});
  EventQueue& events = me.events();  // begins with the first call
  Signal between;
  Signal stopped;
  Signal over;
  const auto on_strand = [&](std::optional<Leadership> term) {
    term.reset();
    between.set();
    EXPECT_TRUE(stopped.wait());
    me.lead({}, [&](const std::optional<Leadership>& next) {
      EXPECT_FALSE(next);
      over.set();
    });
  };
  me.lead({}, on_strand);
  ASSERT_TRUE(between.wait());
  me.request_stop();
  ASSERT_TRUE(await(events, EventKind::stopped));
  stopped.set();
  EXPECT_TRUE(over.wait());
}

// Who was told that it is over begins anew, whoever stops it in between.
TEST(LeadTest, AStopAfterAnEmptyOneIsOwedToNobody) {
  World world;
  Candidate me(world.store(), "reports", {.cool_down = 1ms});
  std::jthread([&](const std::stop_token&) {
    std::stop_source stop;
    auto term = me.lead(stop.get_token());
    EXPECT_TRUE(term);
    term.reset();
    stop.request_stop();
    EXPECT_FALSE(me.lead(stop.get_token()));
  }).join();
  EXPECT_TRUE(me.stop());
  EXPECT_TRUE(me.lead());
}

TEST(LeadTest, IsEmptyWhenTheElectionIsEnded) {
  World world;
  auto store = world.store();
  Candidate leader(store, "reports", {.id = "a"});
  auto& news = leader.events();
  auto held = leader.lead();
  Candidate me(world.store(), "reports", {.id = "b"});
  std::jthread ender([&] {
    EXPECT_TRUE(await(me.events(), EventKind::follower));
    EXPECT_TRUE(*end(*store, "reports"));
  });
  EXPECT_FALSE(me.lead());
  EXPECT_TRUE(await(news, EventKind::lost));
  EXPECT_FALSE(leader.is_leader());
  held.reset();
  EXPECT_FALSE(leader.lead());
}

}  // namespace
}  // namespace conclave::rig
