// stop() and its limit: what it waits for, and what false means.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <future>

#include <conclave/callbacks.hpp>

#include "runtime/ready.hpp"
#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

using runtime::Ready;

TEST(StopTest, WaitsForTheWork) {
  World world;
  Candidate me(world.store(), "reports");
  auto& events = me.events();
  me.start();
  ASSERT_TRUE(await(events, EventKind::elected));
  auto work = me.leadership();
  ASSERT_TRUE(work);
  std::atomic<bool> ended{false};
  std::jthread worker([&, mine = std::move(*work)]() mutable {
    EXPECT_TRUE(await(events, EventKind::stopping));
    EXPECT_TRUE(me.is_leader());
    ended = true;
    const Leadership dies = std::move(mine);
  });
  EXPECT_TRUE(me.stop());
  EXPECT_TRUE(ended);
  EXPECT_FALSE(me.is_leader());
}

TEST(StopTest, ALimitOfAnyLengthIsUnderstood) {
  World world;
  Candidate me(world.store(), "reports");
  for (const Duration limit : {Duration::max(), Duration{1h}, Duration::max() / 2}) {
    me.start();
    EXPECT_TRUE(await(me.events(), EventKind::elected));
    EXPECT_TRUE(me.stop(limit));
  }
  me.start();
  EXPECT_TRUE(await(me.events(), EventKind::elected));
  me.stop(Duration::min());
  EXPECT_TRUE(me.stop());
}

// The store never answers. Neither the stop nor the destruction waits for it for long, and the
// place is released as soon as it is back.
TEST(StopTest, R06StoreDownStopReturnsAndReleasesLater) {
  World world;
  const auto store = world.faulty_store();
  {
    Candidate me(store, "reports", {.id = "a"});
    auto& events = me.events();
    me.start();
    ASSERT_TRUE(await(events, EventKind::elected));
    store->partition();
    me.stop();
    EXPECT_FALSE(me.is_leader());
    EXPECT_EQ(me.role(), Role::stopped);
  }
  const auto observed = world.store();
  Candidate other(observed, "reports", {.id = "b"});
  auto& events = other.events();
  other.start();
  ASSERT_TRUE(await(events, EventKind::leader_changed)) << "the store knows nothing of the stop";
  store->heal();
  const auto elected = await(events, EventKind::elected);
  ASSERT_TRUE(elected);
  EXPECT_EQ(other.snapshot().counters.terms, 1U);
}

TEST(StopTest, T10StoreDownFromTheBeginning) {
  World world;
  const auto store = world.faulty_store(400ms);
  store->partition();
  Candidate me(store, "reports");
  auto& events = me.events();
  me.start();
  const auto error = await(events, EventKind::error);
  ASSERT_TRUE(error);
  EXPECT_TRUE(error->error->retryable);
  EXPECT_EQ(me.role(), Role::bootstrap) << "nothing is known";
  EXPECT_FALSE(me.snapshot().last_contact);
  me.stop();
  EXPECT_FALSE(me.is_leader());
  store->heal();
  EXPECT_TRUE(me.stop());
  me.start();
  EXPECT_TRUE(await(events, EventKind::elected));
}

// A callback hangs. stop() gives up; from then on nothing begins.
class HangingCallbackTest : public ::testing::Test {
 protected:
  void SetUp() override {
    callbacks
        .on_elected([this](const Leadership& term) {
          told += "elected ";
          terms.push_back(term.term());
          elections.add();
          hangs.set();
          EXPECT_TRUE(!blocks || go_on.wait());
          returned.set();
        })
        .on_stopping([this](Term, LossReason) { told += "stopping "; })
        .on_lost([this](Term term, LossReason) {
          told += "lost ";
          terms.push_back(term);
        })
        .on_stopped([this] { told += "stopped "; });
    me.start();
    ASSERT_TRUE(hangs.wait());
  }

  World world;
  std::string told;
  std::vector<Term> terms;
  std::atomic<bool> blocks{true};
  Count elections;
  Signal hangs;
  Signal go_on;
  Signal returned;
  Candidate me{world.store(), "reports"};
  EventQueue& events = me.events();
  Callbacks callbacks{me};
};

TEST_F(HangingCallbackTest, AfterFalseNothingBegins) {
  EXPECT_FALSE(me.stop(0s));
  go_on.set();
  ASSERT_TRUE(returned.wait());
  ASSERT_TRUE(await(events, EventKind::stopped)) << "the queue still tells the truth";
  // Whatever would follow is in line now: somebody who asks for a place in it is not served.
  std::atomic<bool> ran{false};
  me.executor().post([&] { ran = true; });
  Candidate other(world.store(), "reports", {.id = "other"});
  EXPECT_TRUE(other.lead()) << "the place is free";
  EXPECT_FALSE(ran);
  EXPECT_EQ(told, "elected ");
  EXPECT_TRUE(me.stop()) << "this one waits for the rest";
  EXPECT_TRUE(ran);
  EXPECT_EQ(told, "elected stopping lost stopped ");
}

TEST_F(HangingCallbackTest, OneThatGivesUpDoesNotSilenceAnotherThatWaits) {
  auto waits = std::async(std::launch::async, [&] { return me.stop(); });
  ASSERT_TRUE(await(events, EventKind::stopping)) << "it has asked";
  for (int turn = 0; turn < 100; ++turn) EXPECT_FALSE(me.stop(1us));
  go_on.set();
  EXPECT_TRUE(waits.get());
  EXPECT_EQ(told, "elected stopping lost stopped ");
}

TEST_F(HangingCallbackTest, AStartGoesOnWhereTheStoryBrokeOff) {
  EXPECT_FALSE(me.stop(0s));
  blocks = false;
  go_on.set();
  ASSERT_TRUE(await(events, EventKind::stopped));
  me.start();
  ASSERT_TRUE(elections.reach(2));
  EXPECT_TRUE(me.stop());
  EXPECT_EQ(told, "elected stopping lost stopped elected stopping lost stopped ");
  ASSERT_EQ(terms.size(), 4U);
  EXPECT_EQ(terms[0], terms[1]);
  EXPECT_EQ(terms[2], terms[3]);
  EXPECT_LT(terms[0], terms[2]);
}

TEST_F(HangingCallbackTest, QueuesAlternateAcrossIt) {
  const auto queue = me.subscribe();
  EXPECT_FALSE(me.stop(0s));
  blocks = false;
  go_on.set();
  ASSERT_TRUE(await(events, EventKind::stopped));
  me.start();
  ASSERT_TRUE(await(events, EventKind::elected));
  EXPECT_TRUE(me.stop());
  const auto seen = drain(*queue);
  EXPECT_TRUE(alternates(seen)) << story(seen);
}

TEST_F(HangingCallbackTest, NobodyCallsOnReadyUntilItSpeaksAgain) {
  const auto queue = me.subscribe();
  drain(*queue);
  Count calls;
  Ready::tell(*queue, [&] { calls.add(); });
  EXPECT_FALSE(me.stop(0s));
  drain(*queue);
  const int before = calls.value();
  go_on.set();
  ASSERT_TRUE(await(events, EventKind::stopped));
  EXPECT_EQ(calls.value(), before);
  EXPECT_TRUE(me.stop());
  EXPECT_EQ(calls.value(), before + 1);
  const auto seen = drain(*queue);
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back().kind, EventKind::stopped);
}

TEST_F(HangingCallbackTest, WhoWaitsInAnotherThreadIsTold) {
  const auto queue = me.subscribe();
  auto waiting =
      std::async(std::launch::async, [&] { return await(*queue, EventKind::stopped).has_value(); });
  EXPECT_FALSE(me.stop(0s));
  go_on.set();
  EXPECT_TRUE(waiting.get());
}

TEST_F(HangingCallbackTest, DestroyingTheCandidateDropsWhatWasHeldBack) {
  // Its own scope: the fixture's candidate stays as it is.
  World elsewhere;
  std::atomic<int> begun{0};
  Signal inside;
  Signal out;
  Signal over;
  auto other =
      std::make_unique<Candidate>(elsewhere.store(400ms), "letters", Options{.drain_limit = 50ms});
  auto theirs = std::make_unique<Callbacks>(*other);
  theirs->on_elected([&](const Leadership&) {
    begun += 1;
    inside.set();
    EXPECT_TRUE(out.wait());
    over.set();
  });
  theirs->on_stopped([&] { begun += 1; });
  other->start();
  ASSERT_TRUE(inside.wait());
  other.reset();  // gives up waiting for the callback
  out.set();
  ASSERT_TRUE(over.wait());
  theirs.reset();
  EXPECT_EQ(begun, 1);
  go_on.set();
}

// Several give up at once, in whatever order: what comes next is told all the same.
TEST(StopTest, ThoseWhoGiveUpAtOnceLeaveNobodyMuted) {
  constexpr int turns = 1000;
  World world;
  const auto store = world.store();
  Candidate me(store, "reports");
  std::barrier together(3);
  const auto give_up = [&] {
    for (int turn = 0; turn < turns; ++turn) {
      together.arrive_and_wait();
      me.stop(0s);
      me.stop(0s);
      together.arrive_and_wait();
    }
  };
  std::jthread one(give_up);
  std::jthread two(give_up);
  for (int turn = 0; turn < turns; ++turn) {
    Signal go_on;
    me.start();
    me.executor().post([&] { EXPECT_TRUE(go_on.wait()); });
    together.arrive_and_wait();
    together.arrive_and_wait();
    go_on.set();
    EXPECT_TRUE(me.stop(5s)) << "turn " << turn;
  }
}

// The patience with a store is not the patience with callbacks: those have the time of the work.
TEST(StopTest, WaitsForASlowCallbackLongerThanForAStore) {
  World world;
  const auto store = world.faulty_store();
  // Long enough for the stop to see that only the store is waited for.
  store->next(testing::Verb::resign, testing::Fault::delay_reply(100ms));
  Candidate me(store, "reports");
  Signal elected;
  Signal inside;
  Signal go_on;
  Callbacks callbacks(me);
  callbacks.on_elected([&](const Leadership&) { elected.set(); });
  callbacks.on_lost([&](Term, LossReason) {
    inside.set();
    EXPECT_TRUE(go_on.wait());
  });
  me.start();
  ASSERT_TRUE(elected.wait());
  auto stopped = std::async(std::launch::async, [&] { return me.stop(); });
  ASSERT_TRUE(inside.wait());
  EXPECT_EQ(stopped.wait_for(2100ms), std::future_status::timeout) << "a store has two seconds";
  go_on.set();
  EXPECT_TRUE(stopped.get());
}

// Whoever stops waits for the run it has seen, not for the next one.
TEST(StopTest, DoesNotWaitForARunThatBeganAfterIt) {
  World world;
  Candidate me(world.store(), "reports");
  auto& events = me.events();
  for (int turn = 0; turn < 200; ++turn) {
    me.start();
    std::jthread stopper([&] { EXPECT_TRUE(me.stop()); });
    ASSERT_TRUE(await(events, EventKind::stopped));
    me.start();
    stopper.join();
    EXPECT_TRUE(me.stop());
    ASSERT_TRUE(await(events, EventKind::stopped));
  }
}

TEST(StopTest, NothingIsCalledAfterItHasReturned) {
  World world;
  auto store = world.store();
  for (int turn = 0; turn < 500; ++turn) {
    Candidate me(store, "reports");
    std::atomic<bool> returned{false};
    std::atomic<int> late{0};
    Signal elected;
    const auto call = [&] { late += returned ? 1 : 0; };
    Callbacks callbacks(me);
    callbacks.on_elected([&](const Leadership&) { elected.set(); })
        .on_lost([&](Term, LossReason) { call(); })
        .on_stopped(call);
    Count ready;
    const auto queue = me.subscribe();
    Ready::tell(*queue, [&] { call(); });
    me.start();
    ASSERT_TRUE(elected.wait());
    drain(*queue);
    ASSERT_TRUE(me.stop());
    returned = true;
    drain(*queue);
    me.executor().post([&] { ready.add(); });
    ASSERT_TRUE(ready.reach(1));
    ASSERT_EQ(late, 0) << "turn " << turn;
  }
}

}  // namespace
}  // namespace conclave::rig
