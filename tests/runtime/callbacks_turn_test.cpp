// Callbacks on an executor that is stepped by hand: what is told when their turn comes late.
#include <gtest/gtest.h>

#include <conclave/callbacks.hpp>

#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

class CallbacksTurnTest : public ::testing::Test {
 protected:
  CallbacksTurnTest() {
    callbacks
        .on_elected([this](const Leadership& term) {
          told += " elected" + std::to_string(term.term().value);
        })
        .on_stopping(
            [this](Term term, LossReason) { told += " stopping" + std::to_string(term.value); })
        .on_lost([this](Term term, LossReason) { told += " lost" + std::to_string(term.value); })
        .on_follower([this] { told += " follower"; })
        .on_stopped([this] { told += " stopped"; });
    world.settle();
  }

  void begin() {
    me.start();
    world.loop.run_ready();
    EXPECT_EQ(told, "") << "nothing on the loop";
  }

  ManualWorld world;
  std::shared_ptr<FaultyStore> store = world.store();
  std::string told;
  Candidate me{store, "reports", {.cool_down = 1ms, .executor = world.desk}};
  Callbacks callbacks{me};
};

TEST_F(CallbacksTurnTest, ATermThatIsOverBeforeItsTurnIsSkippedWithBoth) {
  begin();
  EXPECT_TRUE(me.is_leader());
  me.request_stop();
  world.loop.run_ready();
  EXPECT_FALSE(me.is_leader()) << "nobody works on it: nothing is waited for";
  world.settle();
  EXPECT_EQ(told, " stopped");
}

TEST_F(CallbacksTurnTest, ATermThatIsBeingGivenUpBeforeItsTurnIsSkippedToo) {
  begin();
  auto work = me.leadership();
  ASSERT_TRUE(work);
  me.resign();
  world.loop.run_ready();
  EXPECT_TRUE(me.is_leader());
  world.settle();
  EXPECT_EQ(told, "") << "it was told to stop before anybody heard that it began";
  work.reset();
  world.settle();
  EXPECT_EQ(told, " follower");
  world.stop(me);
}

TEST_F(CallbacksTurnTest, OnlyTheTermThatIsPresentIsTold) {
  begin();
  for (int turn = 0; turn < 3; ++turn) {
    me.resign();
    world.loop.run_for(5ms);  // through the cool-down
  }
  EXPECT_TRUE(me.is_leader());
  EXPECT_EQ(me.snapshot().counters.terms, 4U);
  world.settle();
  EXPECT_EQ(told, " follower follower follower elected4");
  world.stop(me);
  EXPECT_EQ(told, " follower follower follower elected4 stopping4 lost4 stopped");
}

TEST_F(CallbacksTurnTest, AThousandTermsBehindItStillAlternates) {
  begin();
  for (int turn = 0; turn < 1000; ++turn) {
    me.resign();
    world.loop.run_for(5ms);
  }
  world.settle();
  EXPECT_TRUE(told.ends_with(" elected1001")) << told;
  EXPECT_EQ(told.find("lost"), std::string::npos);
  world.stop(me);
  EXPECT_TRUE(told.ends_with(" elected1001 stopping1001 lost1001 stopped")) << told;
}

TEST_F(CallbacksTurnTest, AnElectedTermIsAlwaysToldItsEnd) {
  begin();
  world.settle();
  EXPECT_EQ(told, " elected1");
  store->partition();
  world.loop.run_for(10s);  // expires while the desk sleeps
  store->heal();
  world.loop.run_for(10s);
  EXPECT_FALSE(me.is_leader()) << "the work is not over before the callbacks have heard of it";
  world.settle();
  EXPECT_TRUE(told.starts_with(" elected1 stopping1 lost1")) << told;
  world.pass(10s);
  EXPECT_TRUE(told.ends_with(" elected2")) << told;
  world.stop(me);
}

TEST_F(CallbacksTurnTest, TheHandOverWaitsForTheirTurn) {
  begin();
  world.settle();
  me.resign();
  world.loop.run_for(1s);
  EXPECT_TRUE(me.is_leader()) << "stopping was not told yet";
  world.settle();
  EXPECT_FALSE(me.is_leader());
  EXPECT_EQ(told, " elected1 stopping1 lost1 follower");
  world.stop(me);
}

TEST_F(CallbacksTurnTest, WhenTheyGoWhileTheTermIsOnNothingIsWaitedFor) {
  auto theirs = std::make_unique<Callbacks>(me);
  theirs->on_elected([](const Leadership&) {});
  begin();
  world.settle();
  theirs.reset();
  world.settle();
  me.resign();
  world.settle();
  EXPECT_FALSE(me.is_leader());
  world.stop(me);
}

// They may be made before, between and after runs, and on one candidate several times.
TEST_F(CallbacksTurnTest, SeveralSetsHearTheSame) {
  std::string second;
  Callbacks more(me);
  more.on_elected([&](const Leadership&) { second += " elected"; }).on_lost([&](Term, LossReason) {
    second += " lost";
  });
  begin();
  world.settle();
  world.stop(me);
  me.start();
  world.settle();
  world.stop(me);
  EXPECT_EQ(told, " elected1 stopping1 lost1 stopped elected2 stopping2 lost2 stopped");
  EXPECT_EQ(second, " elected lost elected lost");
}

TEST_F(CallbacksTurnTest, TheyMayOutliveTheCandidate) {
  auto candidate = std::make_unique<Candidate>(store, "letters", Options{.executor = world.desk});
  Callbacks late(*candidate);
  candidate.reset();
  late.on_elected([](const Leadership&) { ADD_FAILURE(); }).on_stopped([] { ADD_FAILURE(); });
  world.settle();
}

TEST_F(CallbacksTurnTest, LatecomersAreNotToldOfALeaderOfTheRunBefore) {
  Candidate rival(world.store(), "reports", {.id = "rival", .executor = world.desk});
  rival.start();
  world.settle();
  me.start();
  world.settle();
  std::string leader;
  callbacks.on_leader_changed([&](const std::string& who, Term) { leader = who; });
  world.settle();
  EXPECT_EQ(leader, "rival");
  world.stop(me);
  store->partition();
  me.start();
  world.settle();
  std::string late;
  callbacks.on_leader_changed([&](const std::string& who, Term) { late = who; });
  world.settle();
  EXPECT_EQ(late, "") << "nothing is known yet";
  store->heal();
  world.stop(me);
  world.stop(rival);
}

}  // namespace
}  // namespace conclave::rig
