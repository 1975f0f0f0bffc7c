// An observer: sees who leads, and never leads.
#include <conclave/observer.hpp>

#include <gtest/gtest.h>

#include <atomic>

#include <conclave/admin.hpp>

#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

TEST(ObserverTest, SeesTheLeaderAndWhatItSaysOfItself) {
  World world;
  Candidate me(world.store(), "reports", {.id = "a", .metadata = "10.0.0.1:80"});
  const auto term = me.lead();
  Observer observer(world.store(), "reports");
  const auto leader = observer.wait_for_leader(hang_guard);
  ASSERT_TRUE(leader);
  EXPECT_EQ(leader->id, "a");
  EXPECT_EQ(leader->metadata, "10.0.0.1:80");
  EXPECT_EQ(leader->term, term->term());
  EXPECT_GE(leader->age, 0s);
  EXPECT_TRUE(observer.is_known());
  EXPECT_TRUE(observer.leader());
  EXPECT_TRUE(observer.wait_for_leader(Duration::max()));
}

TEST(ObserverTest, SeesChangesAndNobody) {
  World world;
  Candidate one(world.store(), "reports", {.id = "a"});
  Candidate two(world.store(), "reports", {.id = "b"});
  Observer observer(world.store(), "reports");
  auto& events = observer.events();
  auto event = await(events, EventKind::leader_changed);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->leader, "") << "nobody";
  EXPECT_FALSE(observer.leader());
  EXPECT_TRUE(observer.is_known());
  EXPECT_FALSE(observer.wait_for_leader(0s));
  for (Candidate* each : {&one, &two}) {
    auto term = each->lead();
    event = await(events, EventKind::leader_changed);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->leader, each->id());
    EXPECT_EQ(event->term, term->term());
    EXPECT_EQ(observer.leader()->id, each->id());
    term.reset();
    event = await(events, EventKind::leader_changed);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->leader, "");
  }
}

TEST(ObserverTest, NeverStandsForElection) {
  World world;
  const auto store = world.faulty_store();
  Observer observer(store, "reports");
  ASSERT_TRUE(await(observer.events(), EventKind::leader_changed));
  Candidate me(world.store(), "reports");
  EXPECT_TRUE(me.lead());
  EXPECT_EQ(store->count(testing::Verb::campaign), 0U);
}

// A lease that merely runs out is told by nobody: it has to be looked for.
TEST(ObserverTest, SeesThatAHolderHasCrashed) {
  ManualWorld world;
  const auto silent = world.store();
  Candidate me(silent, "reports", {.id = "a", .executor = world.desk});
  me.start();
  world.settle();
  Observer observer(world.store(), "reports");
  world.settle();
  ASSERT_TRUE(observer.leader());
  drain(observer.events());
  silent->partition();
  world.pass(2900ms);
  EXPECT_TRUE(observer.leader()) << "the lease is not over";
  world.pass(2s);
  EXPECT_FALSE(observer.leader());
  const auto seen = drain(observer.events());
  EXPECT_EQ(story(seen), "leader_changed");
  silent->heal();
  world.stop(me);
  world.settle();
}

TEST(ObserverTest, SaysHowOldItsWordIs) {
  ManualWorld world;
  Candidate me(world.store(), "reports", {.id = "a", .executor = world.desk});
  me.start();
  world.settle();
  const auto store = world.store();
  Observer observer(store, "reports");
  world.settle();
  store->partition();
  world.pass(700ms);
  ASSERT_TRUE(observer.leader());
  EXPECT_EQ(observer.leader()->age, 700ms);
  world.stop(me);
}

// A store that hangs: every look is given up and reported, and none is left behind.
TEST(ObserverTest, ReportsAStoreThatDoesNotAnswer) {
  ManualWorld world;
  const auto store = world.store();
  store->partition();
  Observer observer(store, "reports");
  world.pass(10s);
  EXPECT_FALSE(observer.is_known());
  const auto seen = drain(observer.events());
  ASSERT_FALSE(seen.empty());
  for (const Event& event : seen) {
    ASSERT_EQ(event.kind, EventKind::error);
    EXPECT_TRUE(event.error->retryable);
  }
  store->heal();
  world.pass(2s);
  EXPECT_TRUE(observer.is_known());
}

TEST(ObserverTest, IsToldThatTheElectionWasEnded) {
  World world;
  auto store = world.store();
  Candidate me(world.store(), "reports");
  auto term = me.lead();
  Observer observer(store, "reports");
  ASSERT_TRUE(observer.wait_for_leader(hang_guard));
  EXPECT_TRUE(*end(*store, "reports"));
  EXPECT_TRUE(await(observer.events(), EventKind::stopped));
  EXPECT_FALSE(observer.leader());
}

// Nobody tells: it is seen by looking, and told once.
TEST(ObserverTest, FindsByLookingThatTheElectionWasEnded) {
  ManualWorld world;
  const auto store = world.store();
  Candidate me(world.store(), "reports", {.executor = world.desk});
  me.start();
  store->randomly(1, {.drop_observation = 1});
  Observer observer(store, "reports");
  world.pass(2s);
  ASSERT_TRUE(observer.leader());
  drain(observer.events());
  store->executor().post([&] { store->end("reports", [](const Answer&) {}); });
  world.pass(20s);
  EXPECT_EQ(story(drain(observer.events())), "leader_changed stopped");
  EXPECT_FALSE(observer.leader());
}

TEST(ObserverTest, MayBeDestroyedWhileEventsCome) {
  World world;
  Candidate one(world.store(), "reports", {.id = "a", .cool_down = 1ms});
  auto store = world.store();
  std::jthread leader([&](const std::stop_token& stop) {
    while (auto term = one.lead(stop)) std::this_thread::yield();
  });
  for (int turn = 0; turn < 300; ++turn) {
    {
      Observer observer(turn % 2 == 0 ? store : world.store(), "reports");
      if (turn % 3 == 0) {
        EXPECT_TRUE(observer.wait_for_leader(hang_guard));
      }
      while (observer.events().try_pop()) {
      }
    }
    EXPECT_TRUE(inspect(*store, "reports")) << "whatever was on its way has happened";
  }
}

TEST(ObserverTest, T17BadInputIsRefused) {
  World world;
  EXPECT_THROW(Observer(nullptr, "reports"), std::invalid_argument);
  EXPECT_THROW(Observer(world.store(), ""), std::invalid_argument);
}

}  // namespace
}  // namespace conclave::rig
