// Queues under load: whoever listens, whenever, sees a story that makes sense.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "runtime/ready.hpp"
#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

using runtime::Ready;

TEST(EventsStressTest, EveryLatecomerSeesElectedAndLostInTurn) {
  World world;
  Candidate one(world.store(), "reports", {.id = "a"});
  Candidate two(world.store(), "reports", {.id = "b"});
  auto& first = one.events();
  auto& second = two.events();
  std::atomic<int> broken{0};
  std::atomic<int> complete{0};
  {
    std::vector<std::jthread> threads;
    for (Candidate* each : {&one, &two}) {
      threads.emplace_back([&, each](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          const auto queue = each->subscribe(1024);
          std::vector<Event> seen;
          while (seen.size() < 40 && !stop.stop_requested()) {
            if (auto event = queue->wait_for(10ms)) seen.push_back(*std::move(event));
          }
          const auto started = std::count_if(seen.begin(), seen.end(), [](const Event& event) {
            return event.kind == EventKind::started;
          });
          if (!alternates(seen) || started > 1) ++broken;
          complete += seen.size() == 40 ? 1 : 0;
        }
      });
    }
    one.start();
    ASSERT_TRUE(await(first, EventKind::elected));
    two.start();
    ASSERT_TRUE(await(second, EventKind::follower));
    for (int turn = 0; turn < 300; ++turn) {
      (turn % 2 == 0 ? one : two).resign();
      ASSERT_TRUE(await(turn % 2 == 0 ? second : first, EventKind::elected));
    }
  }
  EXPECT_EQ(broken, 0);
  EXPECT_GT(complete, 0);
}

// What a queue's listener holds may use the candidate when it dies with the queue.
TEST(EventsStressTest, AQueueMayGoWhileItIsWrittenTo) {
  World world;
  Candidate me(world.store(), "reports");
  auto& events = me.events();
  me.start();
  ASSERT_TRUE(await(events, EventKind::elected));
  std::jthread writer([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) me.report({ErrorCode::work_failed, "x", false, false});
  });
  for (int turn = 0; turn < 3000; ++turn) {
    auto work = me.leadership();
    ASSERT_TRUE(work);
    auto held = std::make_shared<Leadership>(*std::move(work));
    Ready::tell(*me.subscribe(), [held] {});
  }
}

// What one says of its end and the next one of its beginning fits together.
TEST(EventsStressTest, LostIsNeverAfterTheSuccessorIsElected) {
  World world;
  Candidate one(world.store(), "reports", {.id = "a"});
  Candidate two(world.store(), "reports", {.id = "b"});
  auto& first = one.events();
  auto& second = two.events();
  one.start();
  auto elected = await(first, EventKind::elected);
  ASSERT_TRUE(elected);
  two.start();
  ASSERT_TRUE(await(second, EventKind::follower));
  for (int turn = 0; turn < 500; ++turn) {
    Candidate& leader = turn % 2 == 0 ? one : two;
    leader.resign();
    const auto lost = await(turn % 2 == 0 ? first : second, EventKind::lost);
    ASSERT_TRUE(lost);
    EXPECT_EQ(lost->term, elected->term);
    EXPECT_GE(lost->at, elected->at);
    elected = await(turn % 2 == 0 ? second : first, EventKind::elected);
    ASSERT_TRUE(elected);
    EXPECT_LE(lost->at, elected->at) << "turn " << turn;
  }
}

}  // namespace
}  // namespace conclave::rig
