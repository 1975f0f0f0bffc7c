// start, stop, resign, healthy, destroy: from any thread, again and again.
#include <gtest/gtest.h>

#include <atomic>
#include <random>

#include <conclave/callbacks.hpp>

#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

TEST(LifeTest, T05StartWhileRunningIsAnInvalidState) {
  World world;
  Candidate me(world.store(), "reports");
  me.start();
  EXPECT_THROW(me.start(), InvalidState);
  EXPECT_TRUE(await(me.events(), EventKind::elected));
  EXPECT_THROW(me.start(), InvalidState);
  EXPECT_TRUE(me.is_leader()) << "it goes on undisturbed";
}

TEST(LifeTest, T05StopIsIdempotentAndStartBeginsAnew) {
  World world;
  Candidate me(world.store(), "reports");
  auto& events = me.events();
  EXPECT_TRUE(me.stop()) << "before it was started";
  me.start();
  const auto first = await(events, EventKind::elected);
  ASSERT_TRUE(first);
  EXPECT_TRUE(me.stop());
  EXPECT_TRUE(me.stop());
  me.request_stop();
  EXPECT_FALSE(me.is_leader());
  EXPECT_EQ(me.role(), Role::stopped);
  EXPECT_TRUE(await(events, EventKind::stopped));
  EXPECT_FALSE(events.try_pop()) << "once is enough";
  me.start();
  const auto second = await(events, EventKind::elected);
  ASSERT_TRUE(second);
  EXPECT_GT(second->term, first->term);
  EXPECT_EQ(me.snapshot().counters.failures, Counters{}.failures) << "and without any error";
}

TEST(LifeTest, T05ARoleIsNotThatOfTheRunBefore) {
  ManualWorld world;
  Candidate me(world.store(), "reports", {.executor = world.desk});
  EXPECT_EQ(me.role(), Role::bootstrap);
  me.start();
  world.settle();
  world.stop(me);
  EXPECT_EQ(me.role(), Role::stopped);
  me.start();
  EXPECT_EQ(me.role(), Role::bootstrap) << "the loop has not even heard of it";
  EXPECT_EQ(me.snapshot().role, Role::bootstrap);
  world.settle();
  EXPECT_EQ(me.role(), Role::leader);
  world.stop(me);
}

TEST(LifeTest, StopBeforeTheLoopHasHeardOfTheStartIsStillAStop) {
  ManualWorld world;
  Candidate me(world.store(), "reports", {.executor = world.desk});
  auto& events = me.events();
  me.start();
  world.stop(me);
  EXPECT_EQ(me.role(), Role::stopped);
  EXPECT_FALSE(me.is_leader());
  const auto seen = drain(events);
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back().kind, EventKind::stopped);
}

TEST(LifeTest, ResignLetsAnotherOneGoFirst) {
  World world;
  Candidate me(world.store(), "reports", {.id = "a"});
  Candidate other(world.store(), "reports", {.id = "b"});
  auto& mine = me.events();
  auto& others = other.events();
  me.start();
  ASSERT_TRUE(await(mine, EventKind::elected));
  other.start();
  ASSERT_TRUE(await(others, EventKind::follower));
  me.resign();
  EXPECT_TRUE(await(others, EventKind::elected));
  const auto lost = await(mine, EventKind::lost);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->reason, LossReason::resigned);
  EXPECT_FALSE(me.is_leader());
  other.resign();
  EXPECT_TRUE(await(mine, EventKind::elected)) << "it stands again";
}

TEST(LifeTest, UnhealthyHandsOverAndDoesNotStandMeanwhile) {
  World world;
  Candidate me(world.store(), "reports", {.id = "a"});
  Candidate other(world.store(), "reports", {.id = "b"});
  auto& mine = me.events();
  auto& others = other.events();
  me.start();
  ASSERT_TRUE(await(mine, EventKind::elected));
  other.start();
  ASSERT_TRUE(await(others, EventKind::follower));
  me.healthy(false);
  EXPECT_TRUE(await(others, EventKind::elected));
  EXPECT_EQ(await(mine, EventKind::lost)->reason, LossReason::unhealthy);
  other.stop();
  me.healthy(true);
  EXPECT_TRUE(await(mine, EventKind::elected));
}

// A bid that is granted and given back would keep the place from others for a lease.
TEST(LifeTest, OneThatStartsUnhealthyNeverBids) {
  World world;
  const auto store = world.faulty_store();
  Candidate me(store, "reports", {.id = "a"});
  me.healthy(false);
  me.start();
  ASSERT_TRUE(await(me.events(), EventKind::started));
  Candidate other(world.store(), "reports", {.id = "b"});
  const auto term = other.lead();
  EXPECT_TRUE(term);
  ASSERT_TRUE(await(me.events(), EventKind::follower));
  EXPECT_EQ(store->count(testing::Verb::campaign), 0U);
}

TEST(LifeTest, R06NeverLeaderAfterStop) {
  World world;
  auto store = world.store();
  Candidate me(store, "reports");
  for (int turn = 0; turn < 10'000; ++turn) {
    me.start();
    // Every now and then it has been elected by then, mostly not.
    if (turn % 16 == 0) std::this_thread::yield();
    ASSERT_TRUE(me.stop());
    ASSERT_FALSE(me.is_leader()) << "turn " << turn;
  }
  EXPECT_TRUE(me.lead()) << "the place is free";
}

TEST(LifeTest, R06StartAndStopFromManyThreads) {
  World world;
  Candidate me(world.store(), "reports");
  const auto events = me.subscribe(1 << 16);
  std::atomic<int> starts{0};
  {
    std::vector<std::jthread> threads;
    for (unsigned seed = 0; seed < 4; ++seed) {
      threads.emplace_back([&, seed] {
        std::minstd_rand random(seed + 1);
        for (int turn = 0; turn < 500; ++turn) {
          switch (random() % 5) {
            case 0:
            case 1:
              try {
                me.start();
                ++starts;
              } catch (const InvalidState&) {
              }
              break;
            case 2: EXPECT_TRUE(me.stop()); break;
            case 3: me.resign(); break;
            default: me.healthy(random() % 4 != 0);
          }
        }
      });
    }
  }
  me.healthy(true);
  EXPECT_TRUE(me.stop());
  EXPECT_FALSE(me.is_leader());
  const auto seen = drain(*events);
  EXPECT_TRUE(alternates(seen));
  const auto count = [&](EventKind kind) {
    return std::count_if(seen.begin(), seen.end(), [&](const auto& e) { return e.kind == kind; });
  };
  EXPECT_EQ(count(EventKind::started), starts);
  EXPECT_EQ(count(EventKind::stopped), starts);
  EXPECT_GT(starts, 0);
  me.start();
  EXPECT_TRUE(me.stop());
}

TEST(LifeTest, R06CandidatesComeAndGoOnOneStore) {
  World world;
  auto store = world.store();
  std::vector<std::jthread> threads;
  for (int each = 0; each < 4; ++each) {
    threads.emplace_back([&, each] {
      for (int turn = 0; turn < 200; ++turn) {
        Candidate me(store, "reports", {.id = std::to_string(each)});
        std::atomic<int> called{0};
        Callbacks callbacks(me);
        callbacks.on_elected([&](const Leadership&) { ++called; }).on_stopped([&] { ++called; });
        me.start();
        if (turn % 3 == 0) me.resign();
        if (turn % 2 == 0) {
          EXPECT_TRUE(me.stop());
        }
      }
    });
  }
  threads.clear();
  Candidate last(store, "reports");
  EXPECT_TRUE(last.lead());
}

// The store has its thread and memory back when the last candidate is gone, wherever that was.
TEST(LifeTest, AStoreIsDestroyedWithItsLastCandidate) {
  World world;
  Signal gone;
  {
    const auto store = telling(world.store(), gone);
    Candidate me(store, "reports");
    me.start();
    EXPECT_TRUE(await(me.events(), EventKind::elected));
  }
  EXPECT_TRUE(gone.wait());
}

}  // namespace
}  // namespace conclave::rig
