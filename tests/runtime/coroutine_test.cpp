// co_await next_term(): where it goes on, and how it ends.
#include <conclave/coroutine.hpp>

#include <gtest/gtest.h>

#include <exception>

#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

// A coroutine that runs by itself; what it throws is a failure of the test.
struct Detached {
  struct promise_type {  // NOLINT: the language asks for this name
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

struct Story {
  int terms = 0;
  bool refused = false;
  std::vector<std::thread::id> threads;
  Signal over;
};

Detached lead(Candidate& me, std::stop_token stop, Story& story) {
  while (auto term = co_await next_term(me, stop)) {
    EXPECT_TRUE(term->valid());
    story.threads.push_back(std::this_thread::get_id());
    story.terms += 1;
    if (story.terms == 3) me.request_stop();
  }
  story.over.set();
}

TEST(CoroutineTest, GoesOnWithEveryTermOnTheExecutor) {
  World world;
  const Host host;
  Candidate me(world.store(), "reports", {.cool_down = 1ms, .executor = host.executor});
  Story story;
  lead(me, {}, story);
  ASSERT_TRUE(story.over.wait());
  EXPECT_EQ(story.terms, 3);
  for (const auto id : story.threads) EXPECT_EQ(id, host.executor->id());
}

TEST(CoroutineTest, EndsWithTheToken) {
  World world;
  Candidate rival(world.store(), "reports", {.id = "rival"});
  const auto held = rival.lead();
  Candidate me(world.store(), "reports", {.id = "me"});
  std::stop_source stop;
  Story story;
  lead(me, stop.get_token(), story);
  ASSERT_TRUE(await(me.events(), EventKind::follower));
  stop.request_stop();
  ASSERT_TRUE(story.over.wait());
  EXPECT_EQ(story.terms, 0);
}

Detached lead_twice(Candidate& me, Story& story) {
  try {
    (void)co_await next_term(me);
  } catch (const InvalidState&) {
    story.refused = true;
  }
  story.over.set();
}

TEST(CoroutineTest, ThrowsInvalidStateAsLeadDoes) {
  World world;
  Candidate me(world.store(), "reports");
  me.start();
  Story story;
  lead_twice(me, story);
  ASSERT_TRUE(story.over.wait());
  EXPECT_TRUE(story.refused);
}

// The candidate, the token and the coroutine's frame are gone as soon as it has its term.
Detached lead_once(std::shared_ptr<Store> store, Signal& over,
                   std::shared_ptr<EventQueue>& events) {
  {
    std::stop_source stop;
    Candidate me(std::move(store), "reports");
    events = me.subscribe();
    const auto term = co_await next_term(me, stop.get_token());
    EXPECT_TRUE(term);
  }
  over.set();
}

TEST(CoroutineTest, P08MayDestroyTheCandidateAndItself) {
  World world;
  auto store = world.store();
  for (int turn = 0; turn < 300; ++turn) {
    Signal over;
    std::shared_ptr<EventQueue> events;
    lead_once(store, over, events);
    ASSERT_TRUE(over.wait());
    ASSERT_TRUE(await(*events, EventKind::stopped)) << "the place is free for the next one";
  }
}

// A token that fires at any moment, also while the coroutine is being suspended.
Detached lead_or_not(Candidate& me, std::stop_token stop, Count& over) {
  (void)co_await next_term(me, std::move(stop));
  over.add();
}

TEST(CoroutineTest, ATokenMayFireAtAnyMoment) {
  World world;
  Candidate me(world.store(), "reports", {.cool_down = 1ms});
  Count over;
  for (int turn = 1; turn <= 300; ++turn) {
    std::stop_source stop;
    std::jthread stopper([&] { stop.request_stop(); });
    lead_or_not(me, stop.get_token(), over);
    ASSERT_TRUE(over.reach(turn));
    // Not before: a new thread of the pool may get the id of a thread that was joined, and then
    // the library's stop_callback takes itself for one that ends within its own call. That does no
    // harm, but ThreadSanitizer does not see in what order the two had that id.
    stopper.join();
  }
}

}  // namespace
}  // namespace conclave::rig
