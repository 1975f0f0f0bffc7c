// The pool that user code runs on by default.
#include "runtime/pool.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <system_error>
#include <utility>

#include "net/boot_clock.hpp"
#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

using runtime::Pool;
using runtime::Staff;

// A process that can have so many threads more, and somebody who comes by when he is told to.
class Shortage : public ::testing::Test {
 protected:
  [[nodiscard]] Staff staff(std::size_t at_once, std::size_t most) {
    return {.at_once = at_once,
            .most = most,
            .later = [this](Task task) { later.push_back(std::move(task)); },
            .thread =
                [this](std::function<void()> body) {
                  if (left == 0) throw std::system_error(EAGAIN, std::generic_category());
                  left -= 1;
                  made += 1;
                  runtime::make_thread(std::move(body));
                }};
  }
  void come_by() {
    for (const Task& task : std::exchange(later, {})) task();
  }

  int left = 100;
  int made = 0;
  std::vector<Task> later;
};

TEST_F(Shortage, ATaskWaitsUntilThereIsAThread) {
  Pool pool(staff(32, 32));
  sigset_t before;
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  Count ran;
  left = 0;
  pool.post([&] { ran.add(); });
  pool.post([&] { ran.add(); });
  come_by();
  EXPECT_EQ(ran.value(), 0);
  EXPECT_EQ(later.size(), 1U) << "whoever looks will look again";
  left = 1;
  come_by();
  EXPECT_TRUE(ran.reach(2));
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(::sigismember(&before, SIGTERM), ::sigismember(&after, SIGTERM));
}

TEST_F(Shortage, TheNextTaskTriesAgain) {
  Pool pool(staff(32, 32));
  Count ran;
  left = 0;
  pool.post([&] { ran.add(); });
  left = 1;
  pool.post_at(Instant{}, [&] { ran.add(); });
  EXPECT_TRUE(ran.reach(2));
}

TEST_F(Shortage, ThePoolMayEndWithoutAThread) {
  left = 0;
  {
    Pool pool(staff(32, 32));
    pool.post([] { ADD_FAILURE(); });
  }
  left = 1;
  come_by();
  EXPECT_EQ(made, 0);
}

TEST_F(Shortage, GrowsBeyondWhatIsMadeAtOnceWhileAllAreBlocked) {
  Signal go_on;
  Count inside;
  Pool pool(staff(1, 8));
  for (int i = 0; i < 20; ++i) {
    pool.post([&] {
      inside.add();
      EXPECT_TRUE(go_on.wait());
    });
  }
  EXPECT_EQ(made, 1);
  for (const int grown : {2, 4, 8}) {
    while (made < grown) {
      ASSERT_TRUE(inside.reach(made));
      come_by();
    }
    EXPECT_EQ(made, grown) << "twice as many";
  }
  ASSERT_TRUE(inside.reach(8));
  come_by();
  EXPECT_TRUE(later.empty()) << "nothing can be done about it";
  go_on.set();
  EXPECT_TRUE(inside.reach(20));
}

TEST_F(Shortage, DoesNotGrowWhileTasksBegin) {
  Signal first;
  Signal second;
  Count inside;
  Pool pool(staff(1, 8));
  for (Signal* const each : {&first, &second, &second}) {
    pool.post([&inside, each] {
      inside.add();
      EXPECT_TRUE(each->wait());
    });
    ASSERT_TRUE(inside.reach(1));
  }
  first.set();
  ASSERT_TRUE(inside.reach(2));
  come_by();
  EXPECT_EQ(made, 1);
  second.set();
}

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
