// The queue by itself: waiting, its descriptor, on_ready, and what it drops.
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <thread>

#include "runtime/ready.hpp"
#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

using runtime::Ready;

Event of(EventKind kind, std::uint64_t term = 0) { return {.kind = kind, .term = Term{term}}; }

bool is_readable(int descriptor) {
  pollfd what{descriptor, POLLIN, 0};
  return ::poll(&what, 1, 0) == 1;
}

TEST(EventQueueTest, GivesThemInOrder) {
  EventQueue queue;
  EXPECT_FALSE(queue.try_pop());
  queue.push(of(EventKind::started));
  queue.push(of(EventKind::elected, 7));
  EXPECT_EQ(queue.try_pop()->kind, EventKind::started);
  EXPECT_EQ(queue.wait_for(0s)->term, Term{7});
  EXPECT_FALSE(queue.wait_for(0s));
  EXPECT_FALSE(queue.wait_for(-1s));
  EXPECT_FALSE(queue.wait_for(Duration::min()));
  EXPECT_EQ(queue.missed(), 0U);
}

TEST(EventQueueTest, WaitsForEverWhenThatIsAskedFor) {
  EventQueue queue;
  std::jthread later([&] { queue.push(of(EventKind::started)); });
  EXPECT_TRUE(queue.wait_for(Duration::max()));
}

TEST(EventQueueTest, ItsDescriptorIsReadableWhileThereAreEvents) {
  EventQueue queue;
  queue.push(of(EventKind::started));
  const int descriptor = queue.fd();
  ASSERT_GE(descriptor, 0);
  EXPECT_EQ(queue.fd(), descriptor);
  EXPECT_TRUE(is_readable(descriptor)) << "of one that came before it";
  queue.push(of(EventKind::follower));
  EXPECT_TRUE(queue.try_pop());
  EXPECT_TRUE(is_readable(descriptor));
  EXPECT_TRUE(queue.wait_for(0s));
  EXPECT_FALSE(is_readable(descriptor));
  EXPECT_FALSE(queue.try_pop());
  queue.push(of(EventKind::stopped));
  EXPECT_TRUE(is_readable(descriptor));
}

TEST(EventQueueTest, ItsDescriptorWakesAPoll) {
  World world;
  Candidate me(world.store(), "reports");
  auto& events = me.events();
  pollfd what{events.fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&what, 1, 0), 0);
  me.start();
  ASSERT_EQ(::poll(&what, 1, 30'000), 1);
  EXPECT_EQ(events.try_pop()->kind, EventKind::started);
}

TEST(EventQueueTest, ItsDescriptorSaysNothingWhenAllHasBecomeOldNews) {
  EventQueue queue(16);
  const int descriptor = queue.fd();
  queue.push(of(EventKind::elected, 1));
  queue.push(of(EventKind::jeopardy, 1));
  queue.push(of(EventKind::lost, 1));
  for (std::uint64_t term = 2; term <= 8; ++term) {
    EXPECT_TRUE(is_readable(descriptor));
    queue.push(of(EventKind::elected, term));
    queue.push(of(EventKind::lost, term));
  }
  EXPECT_FALSE(is_readable(descriptor)) << "seventeen events, and none worth keeping";
  EXPECT_FALSE(queue.try_pop());
  EXPECT_EQ(queue.missed(), 17U);
  queue.push(of(EventKind::started));
  EXPECT_TRUE(is_readable(descriptor));
}

TEST(EventQueueTest, OnReadyIsCalledWhenItWasEmpty) {
  EventQueue queue;
  int calls = 0;
  Ready::tell(queue, [&] { ++calls; });
  EXPECT_EQ(calls, 0);
  queue.push(of(EventKind::started));
  EXPECT_EQ(calls, 1);
  queue.push(of(EventKind::follower));
  EXPECT_EQ(calls, 1) << "it was not empty";
  EXPECT_TRUE(queue.try_pop());
  queue.push(of(EventKind::stopped));
  EXPECT_EQ(calls, 1);
  while (queue.try_pop()) {
  }
  queue.push(of(EventKind::started));
  EXPECT_EQ(calls, 2);
  int others = 0;
  Ready::tell(queue, [&] { ++others; });
  EXPECT_EQ(others, 1) << "at once: there are events already";
  Ready::tell(queue, nullptr);
  while (queue.try_pop()) {
  }
  queue.push(of(EventKind::started));
  EXPECT_EQ(calls + others, 3);
}

TEST(EventQueueTest, OnReadyMayRead) {
  EventQueue queue;
  std::string words;
  Ready::tell(queue, [&] {
    while (const auto event = queue.try_pop()) (words += to_string(event->kind)) += ' ';
  });
  queue.push(of(EventKind::started));
  queue.push(of(EventKind::stopped));
  EXPECT_EQ(words, "started stopped ");
}

TEST(EventQueueTest, OnReadyOfNothingWaitsForTheCallThatRuns) {
  EventQueue queue;
  Signal inside;
  std::atomic<bool> returned{false};
  Ready::tell(queue, [&] {
    inside.set();
    std::this_thread::yield();
    returned = true;
  });
  std::jthread writer([&] { queue.push(of(EventKind::started)); });
  ASSERT_TRUE(inside.wait());
  Ready::tell(queue, nullptr);
  EXPECT_TRUE(returned);
}

TEST(EventQueueTest, OnReadyMayEndItself) {
  EventQueue queue;
  int calls = 0;
  Ready::tell(queue, [&] {
    ++calls;
    Ready::tell(queue, nullptr);
  });
  queue.push(of(EventKind::started));
  EXPECT_TRUE(queue.try_pop());
  queue.push(of(EventKind::stopped));
  EXPECT_EQ(calls, 1);
}

TEST(EventQueueTest, ExtensionsOfOneTermTakeOnePlace) {
  EventQueue queue;
  for (int i = 1; i <= 5; ++i) {
    Event event = of(EventKind::extended, 3);
    event.valid_until = Instant{std::chrono::seconds{i}};
    queue.push(event);
  }
  queue.push(of(EventKind::extended, 4));
  EXPECT_EQ(queue.missed(), 4U);
  EXPECT_EQ(queue.try_pop()->valid_until, Instant{5s}) << "the newest";
  EXPECT_EQ(queue.try_pop()->term, Term{4});
  EXPECT_FALSE(queue.try_pop());
}

TEST(EventQueueTest, R07IsBoundedAndCountsWhatItDrops) {
  EventQueue queue(16);
  constexpr std::uint64_t terms = 1000;
  for (std::uint64_t term = 1; term <= terms; ++term) {
    queue.push(of(EventKind::elected, term));
    queue.push(of(EventKind::jeopardy, term));
    queue.push(of(EventKind::stopping, term));
    if (term < terms) queue.push(of(EventKind::lost, term));
  }
  const auto left = drain(queue);
  EXPECT_LE(left.size(), 16U);
  EXPECT_EQ(queue.missed() + left.size(), terms * 4 - 1);
  EXPECT_TRUE(alternates(left));
  EXPECT_EQ(left.back().kind, EventKind::stopping);
  EXPECT_EQ(left.back().term, Term{terms});
}

TEST(EventQueueTest, ASmallCapacityIsRaisedToWhatTheStateNeeds) {
  EventQueue queue(0);
  for (std::uint64_t i = 0; i < 16; ++i) queue.push({.kind = EventKind::error, .term = Term{i}});
  EXPECT_EQ(queue.missed(), 0U);
}

TEST(EventQueueTest, ALargeCapacityIsLoweredToWhatCanBeSearchedAtOnce) {
  EventQueue queue(1'000'000);
  for (std::uint64_t term = 1; term <= 1025; ++term) queue.push(of(EventKind::elected, term));
  EXPECT_EQ(queue.missed(), 0U) << "no term has ended";
  for (std::uint64_t term = 1; term <= 1025; ++term) queue.push(of(EventKind::lost, term));
  EXPECT_EQ(queue.missed() + drain(queue).size(), 2050U);
  EXPECT_GE(queue.missed(), 1026U);
}

// One writes, one reads, one looks.
TEST(EventQueueTest, IsReadWhileItIsWritten) {
  EventQueue queue(64);
  constexpr std::uint64_t terms = 20'000;
  std::jthread writer([&] {
    for (std::uint64_t term = 1; term <= terms; ++term) {
      queue.push(of(EventKind::elected, term));
      queue.push(of(EventKind::lost, term));
    }
    queue.push(of(EventKind::stopped));
  });
  std::jthread looker([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) (void)queue.missed();
  });
  std::vector<Event> seen;
  while (const auto event = queue.wait_for(hang_guard)) {
    seen.push_back(*event);
    if (event->kind == EventKind::stopped) break;
  }
  writer.join();
  EXPECT_TRUE(alternates(seen));
  EXPECT_EQ(seen.size() + queue.missed(), terms * 2 + 1);
  EXPECT_EQ(seen.back().kind, EventKind::stopped);
}

}  // namespace
}  // namespace conclave::rig
