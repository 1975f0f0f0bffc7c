// When the stop token of a term fires, and where.
#include <gtest/gtest.h>

#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

// A candidate in manual time that leads, and has work.
class StoppingTest : public ::testing::Test {
 protected:
  void lead(Options options = {}) {
    options.executor = world.desk;
    me.emplace(store, "reports", std::move(options));
    events = me->subscribe();
    me->start();
    world.settle();
    work = me->leadership();
    ASSERT_TRUE(work);
    EXPECT_FALSE(work->stopping().stop_requested());
  }

  // Why it was told to stop; the token has fired by then.
  std::optional<LossReason> reason() {
    world.settle();
    if (!work->stopping().stop_requested()) return std::nullopt;
    for (const Event& event : drain(*events)) {
      if (event.kind == EventKind::stopping) return event.reason;
    }
    return std::nullopt;
  }

  void TearDown() override {
    store->heal();
    work.reset();
    world.stop(*me);
  }

  ManualWorld world;
  std::shared_ptr<FaultyStore> store = world.store();
  std::optional<Candidate> me;
  std::shared_ptr<EventQueue> events;
  std::optional<Leadership> work;
};

TEST_F(StoppingTest, FiresOnResign) {
  lead();
  me->resign();
  EXPECT_EQ(reason(), LossReason::resigned);
}

TEST_F(StoppingTest, FiresOnRequestStop) {
  lead();
  me->request_stop();
  EXPECT_EQ(reason(), LossReason::stopped);
}

TEST_F(StoppingTest, FiresWhenTheApplicationIsUnhealthy) {
  lead();
  me->healthy(false);
  EXPECT_EQ(reason(), LossReason::unhealthy);
}

TEST_F(StoppingTest, FiresAtTheTermLimitAndNotBefore) {
  lead({.term_limit = 10s});
  world.pass(9900ms);
  EXPECT_EQ(reason(), std::nullopt);
  world.pass(200ms);
  EXPECT_EQ(reason(), LossReason::term_limit);
}

TEST_F(StoppingTest, FiresAGraceBeforeTheDeadlineWhenTheStoreIsGone) {
  lead();
  store->partition();
  world.pass(1700ms);
  EXPECT_EQ(reason(), std::nullopt);
  EXPECT_TRUE(me->snapshot().jeopardy);
  world.pass(200ms);  // 2.4 s of 3 s are its own, less 0.6 s of grace
  EXPECT_EQ(reason(), LossReason::lease_expired);
  EXPECT_TRUE(me->is_leader());
  EXPECT_TRUE(work->valid()) << "it may still finish";
  world.pass(700ms);
  EXPECT_FALSE(me->is_leader());
}

TEST_F(StoppingTest, StaysFiredWhenTheStoreComesBack) {
  lead();
  store->partition();
  world.pass(2s);
  ASSERT_TRUE(work->stopping().stop_requested());
  store->heal();
  world.pass(10s);
  EXPECT_TRUE(work->stopping().stop_requested());
  EXPECT_TRUE(me->is_leader()) << "a renewal lengthens the drain";
  EXPECT_FALSE(me->leadership());
}

TEST_F(StoppingTest, FiresWhenTheTermIsLostAtOnce) {
  lead();
  wipe(*world.space);
  world.pass(2s);
  EXPECT_EQ(reason(), LossReason::record_gone);
  EXPECT_FALSE(work->valid());
}

TEST_F(StoppingTest, ALostReplyDoesNotFireIt) {
  lead();
  store->next(testing::Verb::renew, testing::Fault::lose_reply());
  world.pass(20s);
  EXPECT_EQ(reason(), std::nullopt);
  EXPECT_EQ(me->snapshot().counters.terms, 1U);
}

TEST_F(StoppingTest, ItsCallbacksRunOnTheExecutorAndNotInTheCallThatCausesThem) {
  lead();
  bool called = false;
  const std::stop_callback callback(work->stopping(), [&] { called = true; });
  me->resign();
  world.loop.run_ready();
  EXPECT_FALSE(called) << "not on the loop";
  world.desk->run_ready();
  EXPECT_TRUE(called);
}

// A stop() that has returned true leaves nothing behind that would still call.
TEST_F(StoppingTest, StopWaitsForTheCallbacksOfTheToken) {
  const Host host;
  World real;
  Candidate candidate(real.store(), "reports", {.executor = host.executor});
  auto& news = candidate.events();
  candidate.start();
  ASSERT_TRUE(await(news, EventKind::elected));
  std::stop_token token;
  {
    const auto held = candidate.leadership();
    ASSERT_TRUE(held);
    token = held->stopping();
  }
  Signal go_on;
  Signal blocked;
  host.executor->post([&] {
    blocked.set();
    EXPECT_TRUE(go_on.wait());
  });
  ASSERT_TRUE(blocked.wait());
  std::atomic<bool> returned{false};
  std::atomic<bool> late{false};
  const std::stop_callback callback(token, [&] { late = returned.load(); });
  std::jthread stopper([&] {
    EXPECT_TRUE(candidate.stop());
    returned = true;
  });
  ASSERT_TRUE(await(news, EventKind::stopped));
  go_on.set();
  stopper.join();
  EXPECT_TRUE(token.stop_requested());
  EXPECT_FALSE(late);
  lead();  // for the fixture
}

TEST_F(StoppingTest, P08StopAndDestructionInACallbackOfTheTokenReturnAtOnce) {
  World real;
  auto candidate = std::make_unique<Candidate>(real.store(), "reports");
  auto& news = candidate->events();
  candidate->start();
  ASSERT_TRUE(await(news, EventKind::elected));
  auto held = candidate->leadership();
  ASSERT_TRUE(held);
  Signal destroyed;
  {
    const std::stop_callback callback(held->stopping(), [&] {
      candidate->stop();
      candidate.reset();
      destroyed.set();
    });
    held.reset();
    candidate->resign();
    EXPECT_TRUE(destroyed.wait());
  }
  lead();
}

}  // namespace
}  // namespace conclave::rig
