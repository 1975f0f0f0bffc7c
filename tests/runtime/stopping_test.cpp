// When the stop token of a term fires, and where.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>

#include <conclave/callbacks.hpp>
#include <conclave/waits.hpp>

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

  // Why it was told to stop; the token has fired by then, or will without anybody's help.
  std::optional<LossReason> reason() {
    world.settle();
    for (const Event& event : drain(*events)) {
      if (event.kind != EventKind::stopping) continue;
      EXPECT_TRUE(fires(work->stopping()));
      return event.reason;
    }
    EXPECT_FALSE(work->stopping().stop_requested());
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
  ASSERT_TRUE(fires(work->stopping()));
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

TEST_F(StoppingTest, ItsCallbacksRunNeitherOnTheLoopNorOnTheExecutor) {
  lead();
  std::thread::id where;
  Signal called;
  const std::stop_callback callback(work->stopping(), [&] {
    where = std::this_thread::get_id();
    called.set();
  });
  me->resign();
  world.loop.run_ready();
  EXPECT_TRUE(called.wait()) << "nobody has to run the executor for it";
  EXPECT_NE(where, std::this_thread::get_id()) << "here run the loop and the executor";
}

// More candidates than the pool has threads, and each one's callback waits for its token.
TEST(StopTokenTest, FiresWhileThePoolIsFull) {
  constexpr int many = 40;
  World world;
  const auto store = world.store(30s);
  std::deque<Candidate> candidates;
  std::deque<Callbacks> callbacks;
  Count inside;
  Count told;
  for (int i = 0; i < many; ++i) {
    auto& me = candidates.emplace_back(store, "reports-" + std::to_string(i));
    callbacks.emplace_back(me).on_elected([&](const Leadership& term) {
      inside.add();
      EXPECT_TRUE(fires(term.stopping()));
      told.add();
    });
    me.start();
    ASSERT_TRUE(wait_until_leader(me, hang_guard));
  }
  ASSERT_TRUE(inside.reach(32)) << "the pool is full";
  for (auto& me : candidates) me.request_stop();
  EXPECT_TRUE(told.reach(32));
  for (auto& me : candidates) EXPECT_TRUE(me.stop());
  EXPECT_EQ(told.value(), inside.value());
}

TEST(StopTokenTest, FiresWhileTheExecutorInTheOptionsIsBusy) {
  World world;
  const Host host;
  Candidate me(world.store(), "reports", {.executor = host.executor});
  Signal told;
  Callbacks callbacks(me);
  callbacks.on_elected([&](const Leadership& term) {
    me.request_stop();
    EXPECT_TRUE(fires(term.stopping()));
    told.set();
  });
  me.start();
  EXPECT_TRUE(told.wait());
  EXPECT_TRUE(me.stop());
}

// The callbacks of many tokens block, each until the last one has been called.
TEST(StopTokenTest, FiresWhileCallbacksOfOtherTokensBlock) {
  constexpr int many = 40;
  World world;
  const auto store = world.store();
  std::deque<Candidate> candidates;
  std::deque<Leadership> work;
  std::deque<std::stop_callback<std::function<void()>>> callbacks;
  Count called;
  for (int i = 0; i < many; ++i) {
    auto& me = candidates.emplace_back(store, "reports-" + std::to_string(i));
    me.start();
    ASSERT_TRUE(wait_until_leader(me, hang_guard));
    auto term = me.leadership();
    ASSERT_TRUE(term);
    callbacks.emplace_back(term->stopping(), [&] {
      called.add();
      EXPECT_TRUE(called.reach(many));
    });
    work.push_back(*std::move(term));
  }
  for (auto& me : candidates) me.resign();
  EXPECT_TRUE(called.reach(many));
  callbacks.clear();
  work.clear();
}

// A stop() that has returned true leaves nothing behind that would still call.
TEST_F(StoppingTest, StopWaitsForTheCallbacksOfTheToken) {
  World real;
  Candidate candidate(real.store(), "reports");
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
  std::atomic<bool> returned{false};
  std::atomic<bool> late{false};
  const std::stop_callback callback(token, [&] {
    EXPECT_TRUE(go_on.wait());
    late = returned.load();
  });
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
