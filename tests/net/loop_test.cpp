#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <conclave/loop.hpp>

#include "net/waiting.hpp"

namespace conclave {
namespace {

using namespace std::chrono_literals;

TEST(Loop, RunsTasksInTheirOrder) {
  const auto loop = make_loop();
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i) loop->post([&, i] { order.push_back(i); });
  settle(*loop);
  ASSERT_EQ(order.size(), 1000U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(Loop, RunsNoTaskInsideAnother) {
  const auto loop = make_loop();
  std::vector<std::string> order;
  loop->post([&] {
    loop->post([&] { order.emplace_back("second"); });
    loop->post_at(Instant{}, [&] { order.emplace_back("some time"); });
    order.emplace_back("first");
  });
  settle(*loop);
  settle(*loop);
  ASSERT_GE(order.size(), 2U);
  EXPECT_EQ(order.front(), "first");
}

TEST(Loop, KeepsTheOrderOfEachOfManyThreads) {
  constexpr int threads = 8;
  constexpr int tasks = 2000;
  const auto loop = make_loop();
  std::array<std::vector<int>, threads> order;
  {
    std::vector<std::jthread> posters;
    for (auto& mine : order) {
      posters.emplace_back([&] {
        for (int i = 0; i < tasks; ++i) loop->post([&, i] { mine.push_back(i); });
      });
    }
  }
  settle(*loop);
  for (const auto& each : order) {
    EXPECT_EQ(each.size(), std::size_t{tasks});
    EXPECT_TRUE(std::is_sorted(each.begin(), each.end()));
  }
}

TEST(Loop, RunsTimersByTheirTimeAndNeverEarly) {
  const auto loop = make_loop();
  const Instant start = loop->clock().now();
  std::vector<int> order;
  std::promise<void> done;
  const auto note = [&](int which, Duration after) {
    loop->post_at(start + after, [&, which, after] {
      EXPECT_GE(loop->clock().now(), start + after);
      order.push_back(which);
      if (which == 5) done.set_value();
    });
  };
  note(3, 40ms);
  note(5, 60ms);
  note(1, 20ms);
  note(4, 40ms);
  note(2, 30ms);
  ASSERT_TRUE(comes(done.get_future()));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4, 5}));
}

TEST(Loop, RunsTimersOfOneTimeAsTheyCame) {
  const auto loop = make_loop();
  const Instant when = loop->clock().now() + 20ms;
  std::vector<int> order;
  std::promise<void> done;
  for (int i = 0; i < 100; ++i) loop->post_at(when, [&, i] { order.push_back(i); });
  loop->post_at(when, [&] { done.set_value(); });
  ASSERT_TRUE(comes(done.get_future()));
  EXPECT_EQ(order.size(), 100U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(Loop, RunsATimerWhoseTimeHasPassed) {
  const auto loop = make_loop();
  for (const Instant when : {Instant::min(), Instant{}, Instant{1ns}, loop->clock().now() - 1h}) {
    std::promise<void> done;
    loop->post_at(when, [&] { done.set_value(); });
    EXPECT_TRUE(comes(done.get_future())) << when.time_since_epoch().count();
  }
}

TEST(Loop, IsNotHeldUpByAFarTimer) {
  const auto loop = make_loop();
  loop->post_at(Instant::max(), [] { ADD_FAILURE(); });
  loop->post_at(loop->clock().now() + 24h, [] { ADD_FAILURE(); });
  settle(*loop);  // by now it waits for the far one
  std::promise<void> done;
  std::jthread([&] {
    loop->post_at(loop->clock().now() + 20ms, [&] { done.set_value(); });
  }).join();
  EXPECT_TRUE(comes(done.get_future()));
}

TEST(Loop, TakesANearerTimerFromATimer) {
  const auto loop = make_loop();
  const Instant start = loop->clock().now();
  std::promise<void> done;
  std::vector<int> order;
  loop->post_at(start + 60ms, [&] {
    order.push_back(3);
    done.set_value();
  });
  loop->post_at(start + 10ms, [&] {
    order.push_back(1);
    loop->post_at(start + 20ms, [&] { order.push_back(2); });
  });
  ASSERT_TRUE(comes(done.get_future()));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(Loop, TakesTimersFromManyThreads) {
  constexpr int threads = 4;
  constexpr int timers = 300;
  const auto loop = make_loop();
  const Instant start = loop->clock().now();
  std::atomic<int> left{threads * timers};
  std::promise<void> done;
  std::vector<std::jthread> posters;
  for (int thread = 0; thread < threads; ++thread) {
    posters.emplace_back([&, thread] {
      for (int i = 0; i < timers; ++i) {
        const Instant when = start + 50us * ((i * 37 + thread * 11) % 997);
        loop->post_at(when, [&, when] {
          EXPECT_GE(loop->clock().now(), when);
          if (--left == 0) done.set_value();
        });
      }
    });
  }
  EXPECT_TRUE(comes(done.get_future()));
}

TEST(Loop, KnowsItsOwnThread) {
  const auto loop = make_loop();
  EXPECT_FALSE(loop->runs_here());
  EXPECT_FALSE(loop->in_forked_child());
  const auto other = make_loop();
  loop->post([&] {
    EXPECT_TRUE(loop->runs_here());
    EXPECT_FALSE(other->runs_here());
  });
  settle(*loop);
}

TEST(Loop, ReadsTheClockThatGoesOnInSuspend) {
  const auto loop = make_loop();
  const auto boot_time = [] {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return Instant{std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec}};
  };
  const Instant before = boot_time();
  const Instant read = loop->clock().now();
  EXPECT_LE(before, read);
  EXPECT_LE(read, boot_time());
}

TEST(Loop, LeavesSignalsToOtherThreads) {
  sigset_t before;
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  const auto loop = make_loop();
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  sigset_t there;
  loop->post([&] { ::pthread_sigmask(SIG_SETMASK, nullptr, &there); });
  settle(*loop);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGCHLD, SIGALRM, SIGPIPE}) {
    EXPECT_TRUE(::sigismember(&there, signal)) << signal;
    EXPECT_EQ(::sigismember(&before, signal), ::sigismember(&after, signal)) << signal;
  }
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    EXPECT_FALSE(::sigismember(&there, fault)) << fault;
  }
}

}  // namespace
}  // namespace conclave
