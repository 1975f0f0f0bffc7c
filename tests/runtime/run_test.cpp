// run(): work that begins anew with every term.
#include <conclave/run.hpp>

#include <gtest/gtest.h>

#include <atomic>

#include <conclave/admin.hpp>

#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

void wait_until_stopping(const Leadership& term) {
  Signal stop;
  const std::stop_callback callback(term.stopping(), [&] { stop.set(); });
  EXPECT_TRUE(stop.wait());
}

TEST(RunTest, WorksWhileItLeadsAndEndsWithTheToken) {
  World world;
  Candidate me(world.store(), "reports");
  auto& events = me.events();
  std::stop_source stop;
  int terms = 0;
  run(me, stop.get_token(), [&](const Leadership& term) {
    EXPECT_TRUE(term.valid());
    EXPECT_TRUE(me.is_leader());
    terms += 1;
    stop.request_stop();
  });
  EXPECT_EQ(terms, 1);
  EXPECT_TRUE(await(events, EventKind::lost));
  EXPECT_FALSE(me.is_leader());
}

TEST(RunTest, T16RunTwiceIsAnInvalidState) {
  World world;
  Candidate me(world.store(), "reports", {.cool_down = 1ms});
  std::stop_source stop;
  run(me, stop.get_token(), [&](const Leadership& term) {
    // While it works, and in a thread as in any other.
    EXPECT_THROW(run(me, {}, [](const Leadership&) { ADD_FAILURE(); }), InvalidState);
    std::jthread([&] {
      EXPECT_THROW(run(me, {}, [](const Leadership&) { ADD_FAILURE(); }), InvalidState);
    }).join();
    EXPECT_TRUE(term.valid());
    stop.request_stop();
  });
  std::stop_source again;
  run(me, again.get_token(), [&](const Leadership&) { again.request_stop(); });
  me.stop();
  me.start();
  EXPECT_THROW(run(me, {}, [](const Leadership&) {}), InvalidState);
}

TEST(RunTest, T16RunWhileAnotherOneWaitsIsAnInvalidState) {
  World world;
  Candidate rival(world.store(), "reports", {.id = "rival"});
  const auto held = rival.lead();
  Candidate me(world.store(), "reports", {.id = "me"});
  std::jthread first([&](const std::stop_token& stop) {
    run(me, stop, [](const Leadership&) { ADD_FAILURE(); });
  });
  ASSERT_TRUE(await(me.events(), EventKind::follower));
  EXPECT_THROW(run(me, {}, [](const Leadership&) {}), InvalidState);
  EXPECT_THROW((void)me.lead(), InvalidState);
}

TEST(RunTest, T16WorkThatThrowsIsReportedFreesThePlaceAndGoesOn) {
  World world;
  Candidate me(world.store(), "reports", {.id = "a"});
  Candidate other(world.store(), "reports", {.id = "b"});
  auto& events = me.events();
  std::stop_source stop;
  int terms = 0;
  std::jthread runner([&] {
    run(me, stop.get_token(), [&](const Leadership&) {
      if (++terms == 1) throw std::runtime_error("out of paper");
      stop.request_stop();
    });
  });
  const auto error = await(events, EventKind::error);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->error->code, ErrorCode::work_failed);
  EXPECT_EQ(error->error->message, "the work threw: out of paper");
  {
    const auto term = other.lead();
    EXPECT_TRUE(term) << "the place is free at once";
  }
  runner.join();
  EXPECT_EQ(terms, 2);
}

// The work need not know the token of run().
TEST(RunTest, ATokenThatFiresWhileItWorksFiresStopping) {
  World world;
  Candidate me(world.store(), "reports");
  auto& events = me.events();
  Signal leads;
  std::jthread runner([&](const std::stop_token& stop) {
    run(me, stop, [&](const Leadership& term) {
      leads.set();
      wait_until_stopping(term);
    });
  });
  ASSERT_TRUE(leads.wait());
  runner.request_stop();
  runner.join();
  EXPECT_TRUE(await(events, EventKind::lost));
}

TEST(RunTest, T16CancelledWhileLeadingReleasesThePlace) {
  World world;
  Candidate me(world.store(), "reports", {.id = "a"});
  Candidate other(world.store(), "reports", {.id = "b"});
  Signal leads;
  std::jthread runner([&](const std::stop_token& stop) {
    run(me, stop, [&](const Leadership&) {
      leads.set();
      Signal cancelled;
      const std::stop_callback callback(stop, [&] { cancelled.set(); });
      EXPECT_TRUE(cancelled.wait());
    });
  });
  ASSERT_TRUE(leads.wait());
  runner.request_stop();
  EXPECT_TRUE(other.lead());
}

TEST(RunTest, ReturnsWhenTheCandidateIsStoppedWhileItWorks) {
  World world;
  auto store = world.store();
  for (int turn = 0; turn < 100; ++turn) {
    Candidate me(store, "reports");
    Signal leads;
    std::atomic<int> terms{0};
    std::jthread runner([&] {
      run(me, {}, [&](const Leadership& term) {
        terms += 1;
        leads.set();
        wait_until_stopping(term);
      });
    });
    ASSERT_TRUE(leads.wait());
    EXPECT_TRUE(me.stop());
    runner.join();
    EXPECT_EQ(terms, 1) << "nothing begins after the stop";
    EXPECT_FALSE(me.is_leader());
  }
}

// Also when everything is over long before the work asks for the next term.
TEST(RunTest, ReturnsWhenTheCandidateHasStoppedBeforeTheWorkIsThrough) {
  World world;
  Candidate me(world.store(), "reports");
  auto& events = me.events();
  int terms = 0;
  run(me, {}, [&](const Leadership& term) {
    terms += 1;
    auto& mine = const_cast<Leadership&>(term);  // NOLINT: lets go before it returns
    me.request_stop();
    { const Leadership dies = std::move(mine); }
    EXPECT_TRUE(await(events, EventKind::stopped));
  });
  EXPECT_EQ(terms, 1);
}

TEST(RunTest, ReturnsWhenTheElectionIsEnded) {
  World world;
  auto store = world.store();
  Candidate me(store, "reports");
  Signal leads;
  std::jthread runner([&] {
    run(me, {}, [&](const Leadership& term) {
      leads.set();
      wait_until_stopping(term);
      EXPECT_FALSE(term.valid());
    });
  });
  ASSERT_TRUE(leads.wait());
  EXPECT_TRUE(*end(*store, "reports"));
  runner.join();
}

TEST(RunTest, TermsAlternateAmongThoseWhoRun) {
  World world;
  std::atomic<int> inside{0};
  std::atomic<int> terms{0};
  std::vector<std::jthread> runners;
  for (int i = 0; i < 3; ++i) {
    runners.emplace_back([&, i] {
      Candidate me(world.store(), "reports", {.id = std::to_string(i)});
      std::stop_source stop;
      run(me, stop.get_token(), [&](const Leadership& term) {
        EXPECT_EQ(inside.fetch_add(1), 0);
        EXPECT_TRUE(term.valid());
        inside -= 1;
        if (++terms >= 60) stop.request_stop();
      });
    });
  }
  runners.clear();
  EXPECT_GE(terms, 60);
}

}  // namespace
}  // namespace conclave::rig
