// Callbacks in real time: order, latecomers, exceptions, slow ones, many threads.
#include <gtest/gtest.h>

#include <atomic>

#include <conclave/callbacks.hpp>

#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

TEST(CallbacksTest, T18ManyOfEachKindAreCalledInOrder) {
  World world;
  Candidate rival(world.store(), "reports", {.id = "rival"});
  auto held = rival.lead();
  Candidate me(world.store(), "reports", {.id = "me"});
  std::string told;
  Signal elected;
  Callbacks callbacks(me);
  for (const char digit : {'1', '2', '3'}) {
    callbacks.on_elected([&, digit](const Leadership&) { (told += "elected") += digit; })
        .on_stopping([&, digit](Term, LossReason) { (told += " stopping") += digit; })
        .on_lost([&, digit](Term, LossReason) { (told += " lost") += digit; })
        .on_follower([&, digit] { told = told.empty() ? "" : told + " follower" + digit; })
        .on_stopped([&, digit] { (told += " stopped") += digit; });
  }
  callbacks.on_elected([&](const Leadership&) { elected.set(); });
  me.start();
  ASSERT_TRUE(await(me.events(), EventKind::follower));
  held.reset();
  ASSERT_TRUE(elected.wait());
  EXPECT_TRUE(me.stop());
  EXPECT_EQ(told,
            "elected1elected2elected3 stopping1 stopping2 stopping3 lost1 lost2 lost3 stopped1 "
            "stopped2 stopped3");
}

TEST(CallbacksTest, T18TheTermIsHeldInElectedAndInStoppingAndNotInLost) {
  World world;
  Candidate me(world.store(), "reports", {.id = "me"});
  Signal lost;
  Term led{};
  Callbacks callbacks(me);
  callbacks
      .on_elected([&](const Leadership& term) {
        EXPECT_TRUE(term.valid());
        EXPECT_TRUE(me.is_leader());
        EXPECT_EQ(me.snapshot().leader, "me");
        led = term.term();
        me.resign();
      })
      .on_stopping([&](Term term, LossReason reason) {
        EXPECT_TRUE(me.is_leader()) << "the hand-over waits for it";
        EXPECT_EQ(term, led);
        EXPECT_EQ(reason, LossReason::resigned);
      })
      .on_lost([&](Term term, LossReason reason) {
        EXPECT_FALSE(me.is_leader());
        EXPECT_EQ(term, led);
        EXPECT_EQ(reason, LossReason::resigned);
        lost.set();
      });
  me.start();
  EXPECT_TRUE(lost.wait());
}

TEST(CallbacksTest, StoppingDelaysTheHandOverUntilItReturns) {
  World world;
  Candidate me(world.store(), "reports", {.id = "a"});
  Candidate other(world.store(), "reports", {.id = "b"});
  auto& others = other.events();
  Signal elected;
  Signal asked;
  Signal finished;
  std::atomic<bool> is_over{false};
  Callbacks callbacks(me);
  callbacks.on_elected([&](const Leadership&) { elected.set(); })
      .on_stopping([&](Term, LossReason) {
        asked.set();
        EXPECT_TRUE(finished.wait());
        EXPECT_TRUE(me.is_leader());
        is_over = true;
      });
  me.start();
  ASSERT_TRUE(elected.wait());
  other.start();
  ASSERT_TRUE(await(others, EventKind::follower));
  me.resign();
  ASSERT_TRUE(asked.wait());
  EXPECT_TRUE(me.is_leader());
  EXPECT_FALSE(other.is_leader());
  finished.set();
  ASSERT_TRUE(await(others, EventKind::elected));
  EXPECT_TRUE(is_over);
}

TEST(CallbacksTest, LatecomersAreToldThePresentState) {
  World world;
  Candidate me(world.store(), "reports", {.id = "me"});
  me.start();
  ASSERT_TRUE(await(me.events(), EventKind::elected));
  Signal elected;
  Signal leader;
  Callbacks callbacks(me);
  callbacks.on_elected([&](const Leadership& term) {
    EXPECT_TRUE(term.valid());
    elected.set();
  });
  ASSERT_TRUE(elected.wait());
  Count again;
  callbacks.on_elected([&](const Leadership&) { again.add(); })
      .on_leader_changed([&](const std::string& who, Term) {
        if (who == "me") leader.set();
      });
  EXPECT_TRUE(leader.wait());
  EXPECT_TRUE(again.reach(1));
  me.resign();
  ASSERT_TRUE(await(me.events(), EventKind::follower));
  Signal follower;
  callbacks.on_follower([&] { follower.set(); });
  EXPECT_TRUE(follower.wait());
  EXPECT_EQ(again.value(), 1);
}

TEST(CallbacksTest, T16WhatTheyThrowIsContainedAndReported) {
  World world;
  Candidate me(world.store(), "reports");
  auto& events = me.events();
  std::string errors;
  Signal elected;
  Callbacks callbacks(me);
  callbacks.on_error([&](const Error& error) { errors += error.message + "\n"; })
      .on_elected([](const Leadership&) { throw std::runtime_error("one"); })
      .on_elected([](const Leadership&) { throw 2; })  // NOLINT
      .on_elected([&](const Leadership&) { elected.set(); })
      .on_lost([](Term, LossReason) { throw std::runtime_error("three"); })
      .on_stopped([] { throw std::runtime_error("four"); });
  me.start();
  ASSERT_TRUE(elected.wait()) << "the next ones are called";
  EXPECT_TRUE(me.is_leader()) << "and the term goes on";
  EXPECT_TRUE(me.stop());
  EXPECT_EQ(errors,
            "the callback for elected threw: one\n"
            "the callback for elected threw something that is no std::exception\n"
            "the callback for lost threw: three\n"
            "the callback for stopped threw: four\n");
  EXPECT_EQ(me.snapshot().counters.failed(ErrorCode::work_failed), 4U);
  int told = 0;
  for (const Event& event : drain(events)) told += event.kind == EventKind::error ? 1 : 0;
  EXPECT_EQ(told, 4);
}

// A callback of error that throws would report an error, and be called again for ever.
TEST(CallbacksTest, T16ACallbackOfErrorThatThrowsDoesNotSpin) {
  ManualWorld world;
  Candidate me(world.store(), "reports", {.executor = world.desk});
  int calls = 0;
  Callbacks callbacks(me);
  callbacks.on_error([&](const Error&) {
    if (++calls < 1000) throw std::runtime_error("again");
  });
  me.start();
  me.report({ErrorCode::work_failed, "a test", false, false});
  world.settle();
  EXPECT_LE(calls, 2);
  world.stop(me);
}

TEST(CallbacksTest, T18ASlowOneDelaysNoRenewal) {
  ManualWorld world;
  Candidate me(world.store(), "reports");  // user code in the pool, in real time
  Signal inside;
  Signal go_on;
  Callbacks callbacks(me);
  callbacks.on_elected([&](const Leadership&) {
    inside.set();
    EXPECT_TRUE(go_on.wait());
  });
  me.start();
  world.settle();
  ASSERT_TRUE(inside.wait());
  world.pass(60s);  // twenty leases
  EXPECT_TRUE(me.is_leader());
  EXPECT_EQ(me.snapshot().counters.terms, 1U);
  EXPECT_EQ(me.snapshot().counters.late_renewals, 0U);
  EXPECT_GE(me.snapshot().counters.renewals, 59U);
  go_on.set();
  std::jthread stopper([&] { EXPECT_TRUE(me.stop()); });
  while (me.role() != Role::stopped) world.settle();
}

TEST(CallbacksTest, T18ASlowOneDelaysNoRenewalInRealTime) {
  World world;
  Candidate me(world.store(1500ms), "reports");
  auto& events = me.events();
  Signal go_on;
  Callbacks callbacks(me);
  callbacks.on_elected([&](const Leadership& term) {
    EXPECT_TRUE(go_on.wait());
    EXPECT_TRUE(term.valid());
  });
  me.start();
  for (int renewals = 0; renewals < 4; ++renewals) {
    ASSERT_TRUE(await(events, EventKind::extended));
  }
  go_on.set();
  EXPECT_TRUE(me.stop());
  EXPECT_EQ(me.snapshot().counters.terms, 1U);
  EXPECT_EQ(me.snapshot().counters.callback_overruns, 1U);
}

TEST(CallbacksTest, RegisteredFromManyThreadsWhileTermsComeAndGo) {
  World world;
  Candidate one(world.store(), "reports", {.id = "a"});
  Candidate two(world.store(), "reports", {.id = "b"});
  one.start();
  two.start();
  std::atomic<int> broken{0};
  Count terms;
  // Every listener has to hear elected and lost in turn, whenever it came.
  struct Ear {
    Ear(Candidate& of, std::atomic<int>& broken_ones, Count& all) : callbacks(of) {
      callbacks
          .on_lost([this, &broken_ones](Term term, LossReason) {
            if (heard && std::exchange(present, Term{}) != term) ++broken_ones;
          })
          .on_elected([this, &broken_ones, &all](const Leadership& term) {
            if (present.exists()) ++broken_ones;
            present = term.term();
            heard = true;
            all.add();
            told.set();
          })
          .on_follower([this] { told.set(); });
    }
    Term present{};
    bool heard = false;
    Signal told;
    Callbacks callbacks;  // the first to go
  };
  {
    std::vector<std::jthread> threads;
    for (Candidate* each : {&one, &two, &one, &two}) {
      threads.emplace_back([&, each](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          const Ear ear(*each, broken, terms);
          EXPECT_TRUE(ear.told.wait()) << "the present state";
        }
      });
    }
    Count elections;
    const Ear first(one, broken, elections);
    const Ear second(two, broken, elections);
    for (int turn = 1; turn <= 100; ++turn) {
      ASSERT_TRUE(elections.reach(turn));
      (one.is_leader() ? one : two).resign();
    }
  }
  EXPECT_GT(terms.value(), 0);
  EXPECT_EQ(broken, 0);
}

TEST(CallbacksTest, DestroyingThemWaitsForTheOneThatRuns) {
  World world;
  Candidate me(world.store(), "reports");
  for (int turn = 0; turn < 20; ++turn) {
    Signal inside;
    std::atomic<bool> returned{false};
    auto callbacks = std::make_unique<Callbacks>(me);
    callbacks->on_elected([&](const Leadership&) {
      inside.set();
      std::this_thread::yield();
      returned = true;
    });
    me.start();
    ASSERT_TRUE(inside.wait());
    callbacks.reset();
    EXPECT_TRUE(returned);
    EXPECT_TRUE(me.stop());
  }
}

}  // namespace
}  // namespace conclave::rig
