// A Leadership as an object: where it may live and die, and what keeps the term until it does.
#include <gtest/gtest.h>

#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

static_assert(!std::is_copy_constructible_v<Leadership>);
static_assert(std::is_nothrow_move_constructible_v<Leadership>);
static_assert(std::is_nothrow_move_assignable_v<Leadership>);

TEST(LeadershipTest, MayDieOnAnotherThread) {
  World world;
  Candidate me(world.store(), "reports", {.id = "a"});
  auto term = me.lead();
  ASSERT_TRUE(term);
  std::jthread([moved = std::move(*term)]() mutable {
    EXPECT_TRUE(moved.valid());
    const Leadership mine = std::move(moved);
    EXPECT_FALSE(moved.valid());  // NOLINT: what is left behind holds nothing
    EXPECT_TRUE(mine.valid());
  }).join();
  EXPECT_FALSE(term->valid());
  Candidate other(world.store(), "reports", {.id = "b"});
  EXPECT_TRUE(other.lead());
}

TEST(LeadershipTest, AssigningToItReleasesWhatItHeld) {
  World world;
  auto store = world.store();
  Candidate me(store, "reports", {.id = "a"});
  Candidate elsewhere(store, "letters", {.id = "a"});
  auto reports = me.lead();
  auto letters = elsewhere.lead();
  ASSERT_TRUE(reports && letters);
  auto& events = me.events();
  *reports = std::move(*letters);
  EXPECT_TRUE(reports->valid());
  EXPECT_TRUE(elsewhere.is_leader());
  EXPECT_TRUE(await(events, EventKind::lost));
  auto& same = *reports;
  *reports = std::move(same);  // NOLINT: to itself
  EXPECT_TRUE(reports->valid());
}

TEST(LeadershipTest, MayOutliveTheCandidate) {
  World world;
  std::optional<Leadership> term;
  {
    Candidate me(world.store(), "reports", {.id = "a", .drain_limit = 50ms});
    term = me.lead();
    ASSERT_TRUE(term);
    EXPECT_TRUE(term->valid());
  }
  EXPECT_TRUE(fires(term->stopping()));
  term.reset();
  Candidate other(world.store(), "reports", {.id = "b"});
  EXPECT_TRUE(other.lead());
}

TEST(LeadershipTest, IsNotValidAnyMoreOnceTheTermIsLost) {
  ManualWorld world;
  const auto store = world.store();
  Candidate me(store, "reports", {.executor = world.desk});
  std::optional<Leadership> term;
  me.lead({}, [&](std::optional<Leadership> next) { term = std::move(next); });
  world.settle();
  ASSERT_TRUE(term);
  EXPECT_TRUE(term->valid());
  store->partition();
  world.pass(3s);
  EXPECT_FALSE(term->valid());
  EXPECT_FALSE(me.is_leader());
  EXPECT_TRUE(fires(term->stopping()));
  EXPECT_EQ(me.role(), Role::draining) << "the work is late";
  term.reset();
  store->heal();
  world.stop(me);
}

TEST(LeadershipTest, CoversWhatIsLeftOfTheLease) {
  ManualWorld world;
  const auto store = world.store(5s);
  Candidate me(store, "reports", {.executor = world.desk});
  std::optional<Leadership> term;
  me.lead({}, [&](std::optional<Leadership> next) { term = std::move(next); });
  world.settle();
  ASSERT_TRUE(term);
  EXPECT_TRUE(term->covers(0s));
  EXPECT_TRUE(term->covers(4s - 1ns)) << "four fifths of the lease";
  EXPECT_FALSE(term->covers(4s));
  EXPECT_FALSE(term->covers(Duration::max()));
  store->partition();
  world.clock.advance(1s);
  EXPECT_TRUE(term->covers(3s - 1ns));
  EXPECT_FALSE(term->covers(3s));
  world.clock.advance(3s);
  EXPECT_FALSE(term->covers(0s));
  EXPECT_FALSE(term->valid());
  EXPECT_TRUE(term->covers(-1s)) << "it did a second ago";
  store->heal();
  term.reset();
  world.stop(me);
}

// Renewals go on while the work drains, and only its end releases the place.
TEST(LeadershipTest, KeepsTheTermUntilItDiesAfterResign) {
  ManualWorld world;
  Candidate me(world.store(), "reports", {.id = "a", .executor = world.desk});
  Candidate other(world.store(), "reports", {.id = "b", .executor = world.desk});
  me.start();
  world.settle();
  auto work = me.leadership();
  ASSERT_TRUE(work);
  other.start();
  world.settle();
  me.resign();
  world.settle();
  EXPECT_TRUE(fires(work->stopping()));
  EXPECT_EQ(me.role(), Role::draining);
  EXPECT_FALSE(me.leadership()) << "nothing new begins";
  const auto renewals = me.snapshot().counters.renewals;
  world.pass(10s);
  EXPECT_TRUE(me.is_leader());
  EXPECT_TRUE(work->valid());
  EXPECT_GE(me.snapshot().counters.renewals, renewals + 9) << "one a second";
  EXPECT_FALSE(other.is_leader());
  work.reset();
  world.settle();
  EXPECT_FALSE(me.is_leader());
  EXPECT_TRUE(other.is_leader());
  world.stop(me);
  world.stop(other);
}

TEST(LeadershipTest, EveryOneOfATermIsWaitedFor) {
  ManualWorld world;
  Candidate me(world.store(), "reports", {.executor = world.desk});
  me.start();
  world.settle();
  auto one = me.leadership();
  auto two = me.leadership();
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->term(), two->term());
  one.reset();
  world.settle();
  EXPECT_EQ(me.role(), Role::leader) << "after start() the term goes on without them";
  one = me.leadership();
  me.resign();
  one.reset();
  world.settle();
  EXPECT_TRUE(me.is_leader());
  two.reset();
  world.settle();
  EXPECT_FALSE(me.is_leader());
  world.stop(me);
}

TEST(LeadershipTest, P02DrainThatOverrunsIsReportedAndNotRenewed) {
  ManualWorld world;
  const auto store = world.store();
  Candidate me(store, "reports", {.id = "a", .drain_limit = 5s, .executor = world.desk});
  Candidate other(world.store(), "reports", {.id = "b", .executor = world.desk});
  auto& events = me.events();
  me.start();
  world.settle();
  other.start();
  auto work = me.leadership();
  ASSERT_TRUE(work);
  me.resign();
  world.pass(4900ms);
  EXPECT_TRUE(me.is_leader());
  world.pass(200ms);
  EXPECT_EQ(me.snapshot().counters.drain_overruns, 1U);
  EXPECT_EQ(me.snapshot().counters.failed(ErrorCode::work_failed), 1U);
  EXPECT_TRUE(me.is_leader()) << "until the deadline";
  const auto resigned = store->count(testing::Verb::resign);
  for (int step = 0; step < 50 && me.is_leader(); ++step) world.pass(50ms);
  EXPECT_FALSE(me.is_leader());
  EXPECT_FALSE(work->valid());
  EXPECT_FALSE(other.is_leader());
  EXPECT_EQ(store->count(testing::Verb::resign), resigned) << "nothing is released";
  world.pass(3s);
  EXPECT_TRUE(other.is_leader()) << "the successor leads after the lease";
  const auto seen = drain(events);
  EXPECT_TRUE(alternates(seen));
  EXPECT_EQ(story(seen),
            "started elected leader_changed stopping error lost leader_changed "
            "leader_changed");
  work.reset();
  world.stop(other);
  world.stop(me);
}

TEST(LeadershipDeathTest, P02DrainThatOverrunsAbortsWhereThatIsWanted) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        ManualWorld world;
        Candidate me(world.store(), "reports",
                     {.drain_limit = 5s, .overrun = Overrun::abort, .executor = world.desk});
        me.start();
        world.settle();
        const auto work = me.leadership();
        me.resign();
        world.pass(6s);
        std::_Exit(0);
      },
      ::testing::KilledBySignal(SIGABRT), "");
}

TEST(LeadershipTest, AVoluntaryReleaseIsFollowedByTheCoolDown) {
  ManualWorld world;
  Candidate me(world.store(), "reports", {.cool_down = 7s, .executor = world.desk});
  std::optional<Leadership> term;
  const auto lead = [&] {
    me.lead({}, [&](std::optional<Leadership> next) { term = std::move(next); });
  };
  lead();
  world.settle();
  ASSERT_TRUE(term);
  term.reset();
  lead();
  world.pass(6900ms);
  EXPECT_FALSE(term) << "others go first";
  world.pass(200ms);
  EXPECT_TRUE(term) << "but there are none";
  term.reset();
  world.stop(me);
}

TEST(LeadershipTest, TheCoolDownEndsWhenAnotherOneHasLed) {
  ManualWorld world;
  Candidate me(world.store(), "reports", {.id = "a", .cool_down = 1h, .executor = world.desk});
  Candidate other(world.store(), "reports", {.id = "b", .executor = world.desk});
  me.start();
  world.settle();
  other.start();
  me.resign();
  world.settle();
  EXPECT_TRUE(other.is_leader());
  other.resign();
  world.settle();
  EXPECT_TRUE(me.is_leader());
  world.stop(me);
  world.stop(other);
}

}  // namespace
}  // namespace conclave::rig
