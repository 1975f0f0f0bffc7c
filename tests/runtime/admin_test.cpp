// Questions to a store from any thread.
#include <conclave/admin.hpp>

#include <gtest/gtest.h>

#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

TEST(AdminTest, InspectShowsTheLeader) {
  World world;
  auto store = world.store();
  Candidate leader(world.store(), "reports", {.id = "a", .metadata = "here"});
  const auto term = leader.lead();
  const auto seen = inspect(*store, "reports");
  ASSERT_TRUE(seen);
  ASSERT_TRUE(seen->leader);
  EXPECT_EQ(seen->leader->leader, "a");
  EXPECT_EQ(seen->leader->metadata, "here");
  EXPECT_EQ(seen->last_term, term->term());
  EXPECT_FALSE(seen->ended);
}

TEST(AdminTest, InspectOfNothing) {
  World world;
  const auto seen = inspect(*world.store(), "nowhere");
  ASSERT_TRUE(seen);
  EXPECT_FALSE(seen->leader);
  EXPECT_EQ(seen->vacancy, Vacancy::absent);
}

TEST(AdminTest, EndTellsEverybodyAndRemoveForgets) {
  World world;
  auto store = world.store();
  EXPECT_FALSE(*end(*store, "reports")) << "there is none";
  EXPECT_FALSE(*remove(*store, "reports"));
  Candidate me(world.store(), "reports");
  auto& events = me.events();
  me.start();
  ASSERT_TRUE(await(events, EventKind::elected));
  const auto refused = remove(*store, "reports");
  ASSERT_FALSE(refused) << "it is held";
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_state);
  EXPECT_TRUE(*end(*store, "reports"));
  const auto lost = await(events, EventKind::lost);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->reason, LossReason::election_ended);
  EXPECT_TRUE(await(events, EventKind::stopped)) << "by itself";
  EXPECT_EQ(me.role(), Role::stopped);
  EXPECT_TRUE(inspect(*store, "reports")->ended);
  EXPECT_TRUE(*remove(*store, "reports"));
}

TEST(AdminTest, CheckTellsWhatWeakensThePromise) {
  World world;
  const auto findings = check(*world.store());
  ASSERT_TRUE(findings);
  ASSERT_FALSE(findings->empty());
  EXPECT_FALSE(findings->front().fix.empty());
}

TEST(AdminTest, ABadNameIsRefused) {
  World world;
  const auto seen = inspect(*world.store(), "");
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().code, ErrorCode::invalid_argument);
}

TEST(AdminTest, T10AStoreThatNeverAnswersTimesOut) {
  World world;
  const auto store = world.faulty_store();
  store->partition();
  const auto timed_out = [](const auto& answer) {
    return !answer && answer.error().code == ErrorCode::timed_out && answer.error().retryable;
  };
  EXPECT_TRUE(timed_out(inspect(*store, "reports", 1ms)));
  EXPECT_TRUE(timed_out(end(*store, "reports", 1ms)));
  EXPECT_TRUE(timed_out(remove(*store, "reports", Remains::trace, 1ms)));
  EXPECT_TRUE(timed_out(check(*store, 1ms)));
  EXPECT_TRUE(timed_out(check(*store, -1s)));
  store->heal();
  EXPECT_TRUE(inspect(*store, "reports", Duration::max())) << "for ever, if need be";
}

TEST(AdminTest, AnAnswerThatIsUnknownIsAnError) {
  World world;
  const auto store = world.faulty_store();
  const Error error{ErrorCode::unavailable, "the server is loading", true, true};
  store->next(testing::Verb::inspect, testing::Fault::unknown(error));
  const auto seen = inspect(*store, "reports");
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error(), error);
  store->next(testing::Verb::end, testing::Fault::refuse(error));
  const auto ended = end(*store, "reports");
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error(), error);
}

TEST(AdminTest, IsAskedFromManyThreads) {
  World world;
  auto store = world.store();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 200; ++turn) EXPECT_TRUE(inspect(*store, "reports", hang_guard));
    });
  }
}

}  // namespace
}  // namespace conclave::rig
