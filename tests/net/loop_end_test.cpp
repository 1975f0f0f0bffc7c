// How a loop ends, and a store with it.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include <conclave/loop.hpp>

#include "net/asio_loop.hpp"
#include "net/waiting.hpp"

namespace conclave {
namespace {

using namespace std::chrono_literals;

// Fires when the last copy of it is gone: a task that holds one was run or dropped.
class Token {
 public:
  explicit Token(std::function<void()> gone = [] {})
      : token_(nullptr, [gone = std::move(gone), this](void*) {
          gone();
          gone_.set_value();
        }) {}

  std::shared_ptr<void> take() { return std::move(token_); }
  bool is_dropped() { return comes(gone_.get_future()); }

 private:
  std::promise<void> gone_;
  std::shared_ptr<void> token_;
};

// A task that has begun, and goes on until told.
class Blocker {
 public:
  explicit Blocker(Executor& loop) {
    loop.post([this] {
      begun_.set_value();
      go_on_.get_future().wait_for(hang_guard);
      ended_ = true;
    });
    EXPECT_TRUE(comes(begun_.get_future()));
  }

  void go_on() { go_on_.set_value(); }
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  std::promise<void> begun_;
  std::promise<void> go_on_;
  std::atomic<bool> ended_{false};
};

TEST(LoopsEnd, WaitsForTheTaskThatRunsAndDropsTheOthers) {
  auto loop = make_loop();
  Blocker blocker(*loop);
  Token ready;
  Token timer;
  loop->post([token = ready.take()] { ADD_FAILURE(); });
  loop->post_at(loop->clock().now() + 1h, [token = timer.take()] { ADD_FAILURE(); });
  const std::jthread later([&] {
    std::this_thread::sleep_for(20ms);
    blocker.go_on();
  });
  loop.reset();
  EXPECT_TRUE(blocker.ended());
  EXPECT_TRUE(ready.is_dropped());
  EXPECT_TRUE(timer.is_dropped());
}

TEST(LoopsEnd, MayComeOnItsOwnThread) {
  auto loop = make_loop();
  Token ready;
  Token timer;
  std::promise<void> destroyed;
  Loop& plain = *loop;
  plain.post([&, token = ready.take()]() mutable {
    plain.post([token = std::move(token)] { ADD_FAILURE(); });
    plain.post_at(Instant{}, [] { ADD_FAILURE(); });
    plain.post_at(Instant::max(), [token = timer.take()] { ADD_FAILURE(); });
    loop.reset();
    destroyed.set_value();
  });
  ASSERT_TRUE(comes(destroyed.get_future()));
  EXPECT_TRUE(ready.is_dropped());
  EXPECT_TRUE(timer.is_dropped());
}

TEST(LoopsEnd, MayComeInATimer) {
  auto loop = make_loop();
  Token token;
  loop->post_at(loop->clock().now() + 1ms, [&, token = token.take()] { loop.reset(); });
  EXPECT_TRUE(token.is_dropped());
}

TEST(LoopsEnd, DropsWhatWasDueTogether) {
  for (const bool by_timer : {false, true}) {
    auto loop = make_loop();
    Blocker blocker(*loop);
    Token token;
    const auto hand_over = [&, when = loop->clock().now()](Task task) {
      by_timer ? loop->post_at(when, std::move(task)) : loop->post(std::move(task));
    };
    hand_over([&] { loop.reset(); });
    hand_over([token = token.take()] { ADD_FAILURE(); });
    blocker.go_on();
    EXPECT_TRUE(token.is_dropped());
  }
}

TEST(LoopsEnd, TakesNoMoreTasks) {
  auto loop = std::make_unique<net::AsioLoop>();
  Blocker blocker(*loop);
  Token posted([&loop = *loop] {
    loop.post([] { ADD_FAILURE(); });
    loop.post_at(Instant{}, [] { ADD_FAILURE(); });
  });
  loop->post([token = posted.take()] { ADD_FAILURE(); });
  const std::jthread later([&] {
    std::this_thread::sleep_for(20ms);
    blocker.go_on();
  });
  loop.reset();
  EXPECT_TRUE(posted.is_dropped());
}

TEST(LoopsEnd, ComesAtAnyMoment) {
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> ran{0};
    const auto loop = make_loop();
    for (int i = 0; i < round % 7; ++i) {
      loop->post([&] { ++ran; });
      loop->post_at(loop->clock().now() + 10us * i, [&] { ++ran; });
    }
  }
}

// ---------------------------------------------------------------- a store with its loop

// Stands for a store: all that matters here is where it is destroyed.
std::shared_ptr<Store> store_that_tells(std::function<void()> destroyed) {
  return {static_cast<Store*>(nullptr),
          [destroyed = std::move(destroyed)](Store*) { destroyed(); }};
}

struct Kept {
  Kept() {
    std::shared_ptr<Loop> loop = make_loop();
    plain = loop.get();
    weak_loop = loop;
    store = keep_with_loop(std::move(loop),
                           store_that_tells([this] { destroyed.set_value(plain->runs_here()); }));
  }

  void expect_destroyed_on_the_loop() {
    auto on_loop = destroyed.get_future();
    ASSERT_TRUE(comes(on_loop));
    EXPECT_TRUE(on_loop.get());
  }

  Loop* plain = nullptr;
  std::weak_ptr<Loop> weak_loop;
  std::promise<bool> destroyed;
  std::shared_ptr<Store> store;
};

TEST(StoreWithItsLoop, IsDestroyedThereFromOutside) {
  Kept kept;
  kept.store.reset();
  EXPECT_TRUE(kept.weak_loop.expired());
  kept.expect_destroyed_on_the_loop();
}

TEST(StoreWithItsLoop, IsDestroyedThereByManyThreads) {
  for (int round = 0; round < 50; ++round) {
    Kept kept;
    {
      std::vector<std::jthread> holders;
      for (int i = 0; i < 4; ++i) holders.emplace_back([store = kept.store] {});
      kept.store.reset();
    }
    kept.expect_destroyed_on_the_loop();
    EXPECT_TRUE(kept.weak_loop.expired());
  }
}

TEST(StoreWithItsLoop, IsDestroyedThereFromTheLoopItself) {
  Kept kept;
  std::promise<void> done;
  kept.plain->post([&] {
    kept.store.reset();
    EXPECT_TRUE(kept.weak_loop.expired());
    done.set_value();
  });
  ASSERT_TRUE(comes(done.get_future()));
  kept.expect_destroyed_on_the_loop();
}

TEST(StoreWithItsLoop, IsDestroyedAfterTheTasksBeforeIt) {
  Kept kept;
  std::vector<std::string> order;
  kept.plain->post([&] {
    std::this_thread::sleep_for(10ms);
    order.emplace_back("task");
  });
  kept.store.reset();
  order.emplace_back("destroyed");
  EXPECT_EQ(order, (std::vector<std::string>{"task", "destroyed"}));
}

}  // namespace
}  // namespace conclave
