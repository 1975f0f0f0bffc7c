// The pool that user code runs on by default.
#include "runtime/pool.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>

#include "net/boot_clock.hpp"
#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

using runtime::Pool;

TEST(PoolTest, HasAThreadForEachTaskThatBlocks) {
  Pool pool;
  Signal last;
  Count inside;
  for (int i = 0; i < 20; ++i) {
    pool.post([&] {
      inside.add();
      EXPECT_TRUE(last.wait());
    });
  }
  EXPECT_TRUE(inside.reach(20));
  pool.post([&] { last.set(); });
  EXPECT_TRUE(last.wait()) << "one more finds a thread, too";
}

TEST(PoolTest, RunsEverythingWhenThereIsMoreToDoThanThreads) {
  Pool pool;
  Count ran;
  for (int i = 0; i < 5000; ++i) pool.post([&] { ran.add(); });
  EXPECT_TRUE(ran.reach(5000));
}

TEST(PoolTest, RunsTimersByTheirTimeAndNeverEarly) {
  Pool pool;
  const net::BootClock clock;
  std::mutex mutex;
  std::vector<int> order;
  std::atomic<bool> early{false};
  Count ran;
  const Instant now = clock.now();
  for (const int place : {3, 1, 2}) {
    const Instant when = now + std::chrono::milliseconds{10 * place};
    pool.post_at(when, [&, when, place] {
      if (clock.now() < when) early = true;
      const std::scoped_lock lock(mutex);
      order.push_back(place);
      ran.add();
    });
  }
  pool.post_at(Instant{}, [&] { ran.add(); });
  EXPECT_TRUE(ran.reach(4));
  EXPECT_FALSE(early);
}

TEST(PoolTest, ATimerIsServedWhileAllThreadsBlock) {
  Pool pool;
  Signal done;
  pool.post([&] { EXPECT_TRUE(done.wait()); });
  pool.post_at(net::BootClock{}.now() + 5ms, [&] { done.set(); });
  EXPECT_TRUE(done.wait());
}

TEST(PoolTest, ItsEndWaitsForWhatRunsAndDropsTheRest) {
  auto dropped = std::make_shared<int>();
  std::weak_ptr<int> weak = dropped;
  std::atomic<bool> returned{false};
  Signal inside;
  {
    Pool pool;
    pool.post_at(Instant::max(), [dropped] { ADD_FAILURE(); });
    dropped.reset();
    pool.post([&] {
      inside.set();
      std::this_thread::yield();
      returned = true;
    });
    ASSERT_TRUE(inside.wait());
  }
  EXPECT_TRUE(returned);
  EXPECT_TRUE(weak.expired());
}

TEST(PoolTest, MayBeDestroyedByItsOwnTask) {
  for (int turn = 0; turn < 100; ++turn) {
    auto pool = std::make_unique<Pool>();
    Pool* const plain = pool.get();
    Signal gone;
    plain->post([&] {
      pool.reset();
      gone.set();
    });
    ASSERT_TRUE(gone.wait());
  }
}

TEST(PoolTest, WhatATaskDropsAtTheEndMayPostMore) {
  struct Poster {
    explicit Poster(Pool& to) : pool(to) {}
    Poster(const Poster&) = delete;
    Poster& operator=(const Poster&) = delete;
    ~Poster() {
      pool.post([] { ADD_FAILURE() << "it is over"; });
    }
    Pool& pool;
  };
  Pool pool;
  pool.post_at(Instant::max(), [poster = std::make_shared<Poster>(pool)] { ADD_FAILURE(); });
}

// Signals go to the threads of the application. A thread's own faults come to it as anywhere.
TEST(PoolTest, BlocksSignalsButNotFaults) {
  Pool pool;
  Signal done;
  sigset_t mask;
  pool.post([&] {
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    done.set();
  });
  ASSERT_TRUE(done.wait());
  for (const int blocked : {SIGTERM, SIGINT, SIGCHLD, SIGALRM, SIGUSR1}) {
    EXPECT_EQ(::sigismember(&mask, blocked), 1) << blocked;
  }
  for (const int open : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    EXPECT_EQ(::sigismember(&mask, open), 0) << open;
  }
}

}  // namespace
}  // namespace conclave::rig
