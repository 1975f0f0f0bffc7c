// The line that the user code of one candidate stands in.
#include "runtime/strand.hpp"

#include <gtest/gtest.h>

#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

using runtime::Strand;
using Clock = std::chrono::steady_clock;

class StrandTest : public ::testing::Test {
 protected:
  void post(const std::string& word) {
    strand->post([this, word] { story += word; });
  }
  void release() {
    if (strand->release()) strand->go_on();
  }
  [[nodiscard]] bool is_idle() const { return strand->wait_idle(Clock::now()); }

  ManualClock clock;
  std::shared_ptr<ManualExecutor> under = std::make_shared<ManualExecutor>(clock);
  std::shared_ptr<ManualExecutor> aside = std::make_shared<ManualExecutor>(clock);
  std::shared_ptr<Strand> strand = std::make_shared<Strand>(under, aside);
  std::string story;
};

TEST_F(StrandTest, RunsOneAfterAnotherAndNothingInsideThePost) {
  post("a");
  post("b");
  EXPECT_EQ(story, "");
  EXPECT_FALSE(is_idle());
  EXPECT_EQ(under->run_ready(), 2U) << "each comes to the executor by itself";
  EXPECT_EQ(story, "ab");
  EXPECT_TRUE(is_idle());
}

TEST_F(StrandTest, WhatATaskPostsComesAfterIt) {
  strand->post([this] {
    post("b");
    story += "a";
  });
  post("-");
  under->run_ready();
  EXPECT_EQ(story, "a-b");
}

TEST_F(StrandTest, KnowsItsOwnTasks) {
  EXPECT_FALSE(strand->runs_here());
  bool in_line = false;
  bool beside = false;
  bool beside_is_user_code = false;
  const auto other = std::make_shared<Strand>(under, aside);
  strand->post([&] { in_line = strand->runs_here() && !other->runs_here(); });
  strand->post_beside([&] {
    beside = strand->runs_here();
    beside_is_user_code = strand->is_user_code_here();
  });
  under->run_ready();
  aside->run_ready();
  EXPECT_TRUE(in_line);
  EXPECT_FALSE(beside);
  EXPECT_TRUE(beside_is_user_code);
  EXPECT_FALSE(strand->is_user_code_here());
}

TEST_F(StrandTest, ATaskBesideIsWaitedForAndNotHeld) {
  strand->post_beside([this] { story += "!"; });
  EXPECT_FALSE(is_idle());
  strand->hold();
  post("a");
  under->run_ready();
  EXPECT_EQ(story, "") << "not on what may be blocked";
  aside->run_ready();
  EXPECT_EQ(story, "!");
  EXPECT_FALSE(is_idle());
  release();
  under->run_ready();
  EXPECT_EQ(story, "!a");
  EXPECT_TRUE(is_idle());
}

TEST_F(StrandTest, HoldLetsNothingBeginAndLosesNothing) {
  post("a");
  post("b");
  strand->hold();
  EXPECT_TRUE(strand->is_held());
  under->run_ready();
  post("c");
  under->run_ready();
  EXPECT_EQ(story, "");
  release();
  under->run_ready();
  EXPECT_EQ(story, "abc");
}

TEST_F(StrandTest, HeldByItsOwnTaskItEndsWithThat) {
  strand->post([this] {
    strand->hold();
    story += "a";
  });
  post("b");
  under->run_ready();
  EXPECT_EQ(story, "a");
  release();
  release();
  under->run_ready();
  EXPECT_EQ(story, "ab");
}

TEST_F(StrandTest, CloseDropsWhatHasNotBegunAndWhatComes) {
  auto dropped = std::make_shared<int>();
  const std::weak_ptr<int> weak = dropped;
  strand->post([dropped] { ADD_FAILURE(); });
  dropped.reset();
  strand->close();
  EXPECT_TRUE(weak.expired());
  post("a");
  under->run_ready();
  EXPECT_EQ(story, "");
  EXPECT_TRUE(is_idle());
}

TEST_F(StrandTest, ATimerComesIntoTheLineWhenItsTimeHasCome) {
  strand->post_at(Instant{5s}, [this] { story += "later"; });
  EXPECT_TRUE(is_idle());
  under->run_for(4s);
  EXPECT_EQ(story, "");
  under->run_for(1s);
  EXPECT_EQ(story, "later");
}

TEST_F(StrandTest, LivesAsLongAsItsTasks) {
  bool ran = false;
  strand->post([&] { ran = true; });
  strand.reset();
  under->run_ready();
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace conclave::rig
