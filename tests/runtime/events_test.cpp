// What a candidate's queue tells over a life, to whoever listens from the beginning or comes late.
#include <gtest/gtest.h>

#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

class EventsTest : public ::testing::Test {
 protected:
  Candidate make(const std::string& id, Options options = {}) {
    options.id = id;
    options.executor = world.desk;
    return Candidate(world.store(), "reports", std::move(options));
  }

  ManualWorld world;
};

TEST_F(EventsTest, TellAWholeLife) {
  Candidate me = make("a");
  Candidate other = make("b");
  auto& mine = me.events();
  auto& others = other.events();
  me.start();
  world.settle();
  other.start();
  world.settle();
  world.pass(1500ms);
  me.resign();
  world.settle();
  other.resign();
  world.settle();
  world.stop(me);
  world.stop(other);
  EXPECT_EQ(story(drain(mine)),
            "started elected leader_changed stopping lost leader_changed follower leader_changed "
            "leader_changed elected leader_changed stopping lost leader_changed stopped");
  EXPECT_EQ(story(drain(others)),
            "started leader_changed follower leader_changed elected leader_changed stopping lost "
            "leader_changed follower leader_changed leader_changed elected leader_changed stopping "
            "lost leader_changed stopped");
}

TEST_F(EventsTest, HoldWhatTheirKindPromises) {
  Candidate me = make("a");
  auto& events = me.events();
  const Instant begun = world.clock.now();
  me.start();
  world.settle();
  world.pass(1200ms);
  me.resign();
  world.settle();
  Event elected;
  Event extended;
  for (const Event& event : drain(events)) {
    EXPECT_GE(event.at, begun);
    switch (event.kind) {
      case EventKind::elected:
        elected = event;
        EXPECT_TRUE(event.term.exists());
        EXPECT_EQ(event.valid_until, begun + 2400ms) << "four fifths of the lease";
        break;
      case EventKind::extended:
        extended = event;
        EXPECT_EQ(event.term, elected.term);
        EXPECT_GT(event.valid_until, elected.valid_until);
        break;
      case EventKind::stopping:
      case EventKind::lost:
        EXPECT_EQ(event.term, elected.term);
        EXPECT_EQ(event.reason, LossReason::resigned);
        EXPECT_LE(event.at, extended.valid_until);
        break;
      case EventKind::leader_changed:
        EXPECT_EQ(event.term, elected.term);
        EXPECT_TRUE(event.leader == "a" || event.leader.empty());
        break;
      default: break;
    }
  }
  EXPECT_TRUE(extended.term.exists());
  world.stop(me);
}

TEST_F(EventsTest, LostIsToldForTheInstantOfTheDeadlineHoweverLate) {
  const auto store = world.store();
  Candidate me(store, "reports", {.executor = world.desk});
  auto& events = me.events();
  me.start();
  world.settle();
  const auto elected = await(events, EventKind::elected);
  ASSERT_TRUE(elected);
  store->partition();
  world.clock.advance(1h);  // as in a machine that was suspended
  EXPECT_FALSE(me.is_leader()) << "before anything has run";
  world.settle();
  const auto lost = await(events, EventKind::lost);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->at, elected->valid_until);
  EXPECT_EQ(lost->reason, LossReason::lease_expired);
  store->heal();
  world.stop(me);
}

// The loop is paused between the step and its publication, beyond the deadline.
TEST_F(EventsTest, LostIsNeverToldForAnInstantAfterTheDeadline) {
  struct JumpingClock final : Clock {
    explicit JumpingClock(const Clock& of) : base(of) {}
    [[nodiscard]] Instant now() const noexcept override {
      if (countdown > 0 && --countdown == 0) offset += 1h;
      return base.now() + offset;
    }
    const Clock& base;
    mutable int countdown = 0;  // readings until the jump
    mutable Duration offset{};
  } clock(world.clock);
  const auto store =
      make_memory_store(world.space, {.lease = 3s, .clock = clock, .executor = world.loop});
  for (int readings = 1; readings <= 6; ++readings) {
    Candidate me(store, std::to_string(readings), {.executor = world.desk});
    auto& events = me.events();
    me.start();
    world.settle();
    const auto elected = await(events, EventKind::elected);
    ASSERT_TRUE(elected);
    me.resign();
    clock.countdown = readings;
    world.settle();
    const auto lost = await(events, EventKind::lost);
    ASSERT_TRUE(lost);
    EXPECT_GE(lost->at, elected->at);
    EXPECT_LE(lost->at, elected->valid_until) << "a jump at reading " << readings;
    clock.countdown = 0;
    world.stop(me);
  }
}

TEST_F(EventsTest, ALatecomerIsToldThePresentState) {
  Candidate me = make("a");
  Candidate other = make("b");
  EXPECT_EQ(story(drain(*me.subscribe())), "") << "not started";
  me.start();
  const auto early = me.subscribe();
  world.settle();
  EXPECT_EQ(story(drain(*early)), "started elected leader_changed") << "each once";
  other.start();
  world.settle();
  const auto leader = drain(*me.subscribe());
  EXPECT_EQ(story(leader), "started elected leader_changed");
  EXPECT_EQ(leader.at(2).leader, "a");
  EXPECT_GT(leader.at(1).valid_until, world.clock.now());
  EXPECT_EQ(story(drain(*other.subscribe())), "started follower leader_changed");
  auto work = me.leadership();
  me.healthy(false);
  world.settle();
  const auto draining = drain(*me.subscribe());
  EXPECT_EQ(story(draining), "started elected leader_changed stopping");
  EXPECT_EQ(draining.back().reason, LossReason::unhealthy);
  work.reset();
  world.stop(me);
  world.stop(other);
  EXPECT_EQ(story(drain(*me.subscribe())), "") << "stopped";
}

TEST_F(EventsTest, OneWhoComesBetweenTwoRunsIsNotToldOfTheFirst) {
  const auto store = world.store();
  Candidate me(store, "reports", {.id = "a", .executor = world.desk});
  me.start();
  world.settle();
  world.stop(me);
  store->partition();
  me.start();
  const auto queue = me.subscribe();
  world.settle();
  EXPECT_EQ(story(drain(*queue)), "started");
  store->heal();
  world.stop(me);
}

TEST_F(EventsTest, R07NobodyReads) {
  const auto store = world.store();
  Candidate me(store, "reports", {.id = "a", .cool_down = 1ms, .executor = world.desk});
  const auto small = me.subscribe(16);
  auto& events = me.events();
  me.start();
  world.settle();
  for (int turn = 0; turn < 300; ++turn) {
    me.report({ErrorCode::work_failed, "error " + std::to_string(turn), false, false});
    me.resign();
    world.pass(5ms);
  }
  world.pass(60s);
  EXPECT_TRUE(me.is_leader());
  EXPECT_EQ(me.snapshot().counters.terms, 301U);
  EXPECT_EQ(me.snapshot().counters.late_renewals, 0U);
  for (EventQueue* queue : {small.get(), &events}) {
    EXPECT_GT(queue->missed(), 0U);
    const auto seen = drain(*queue);
    EXPECT_LE(seen.size(), queue == small.get() ? 16U : 64U);
    EXPECT_TRUE(alternates(seen));
    Term present{};
    Instant until{};
    std::string leader;
    for (const Event& event : seen) {
      if (event.kind == EventKind::elected) present = event.term;
      if (event.kind == EventKind::lost) present = {};
      if (event.kind == EventKind::extended) until = event.valid_until;
      if (event.kind == EventKind::leader_changed) leader = event.leader;
    }
    EXPECT_EQ(present, me.snapshot().term);
    EXPECT_EQ(until, world.clock.now() + me.snapshot().lease_remaining);
    EXPECT_EQ(leader, "a");
    EXPECT_EQ(seen.front().kind == EventKind::started || seen.front().kind == EventKind::lost,
              true);
  }
  world.stop(me);
}

}  // namespace
}  // namespace conclave::rig
