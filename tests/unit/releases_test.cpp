#include "core/releases.hpp"

#include <gtest/gtest.h>

#include "scenario/rig.hpp"

namespace conclave::core {
namespace {

using namespace std::chrono_literals;
using test::at;

class ReleasesTest : public testing::Test {
 protected:
  std::string advance(Instant now) {
    Outputs out;
    releases_.advance(now, 375ms, next_op_, out);
    std::string said;
    for (const Output& output : out) said += (said.empty() ? "" : "; ") + words_(output);
    return said;
  }

  bool answer(OpId op, const Answer& answer, Instant now) {
    return releases_.answered(op, answer, now, 3s, random_);
  }

  Releases releases_;
  Random random_{1};
  test::Words words_;
  OpId next_op_ = 1;
  Attempt attempt_{1, 2};
};

TEST_F(ReleasesTest, NothingToGiveBackIsQuiet) {
  EXPECT_TRUE(releases_.empty());
  EXPECT_TRUE(releases_.quiet());
  EXPECT_EQ(releases_.next_wakeup(375ms), std::nullopt);
  EXPECT_EQ(advance(at(0s)), "");
}

TEST_F(ReleasesTest, ATermThatWasValidIsReleased) {
  releases_.give_back(Term{7}, attempt_, true, at(0s));
  EXPECT_FALSE(releases_.quiet());
  EXPECT_EQ(advance(at(0s)), "resign #1 term 7, released");
  EXPECT_EQ(advance(at(1ms)), "");
  EXPECT_FALSE(releases_.quiet());
  EXPECT_TRUE(answer(1, Done{}, at(2ms)));
  EXPECT_TRUE(releases_.empty());
}

TEST_F(ReleasesTest, AGrantThatNeverBecameValidIsAbandoned) {
  releases_.give_back(Term{7}, attempt_, false, at(0s));
  EXPECT_EQ(advance(at(0s)), "resign #1 term 7, abandoned");
}

TEST_F(ReleasesTest, NothingOfThatNameIsAnAnswerToo) {
  releases_.withdraw(attempt_, at(0s));
  EXPECT_EQ(advance(at(0s)), "resign #1 attempt A, abandoned");
  EXPECT_TRUE(answer(1, Gone{}, at(1ms)));
  EXPECT_TRUE(releases_.empty());
}

TEST_F(ReleasesTest, AWithdrawalWaitsForItsCampaign) {
  releases_.withdraw_after(9, attempt_, at(0s));
  EXPECT_EQ(advance(at(1h)), "");
  EXPECT_EQ(releases_.next_wakeup(375ms), std::nullopt);
  EXPECT_FALSE(releases_.quiet());
  EXPECT_FALSE(releases_.campaign_answered(8, Unknown{}, at(1h)));
  EXPECT_TRUE(releases_.campaign_answered(9, Unknown{}, at(1h)));
  EXPECT_EQ(advance(at(1h)), "resign #1 attempt A, abandoned");
}

TEST_F(ReleasesTest, ACampaignThatWasGrantedAfterAllNamesItsTerm) {
  releases_.withdraw_after(9, attempt_, at(0s));
  releases_.campaign_answered(9, test::granted(7, at(0s)), at(1s));
  EXPECT_EQ(advance(at(1s)), "resign #1 term 7, abandoned");
}

TEST_F(ReleasesTest, AStandingBidIsWithdrawn) {
  releases_.withdraw_after(9, attempt_, at(0s));
  releases_.campaign_answered(9, test::held(7), at(1s));
  EXPECT_EQ(advance(at(1s)), "resign #1 attempt A, abandoned");
}

TEST_F(ReleasesTest, IsTriedAgainAtOnceAndThenWithPauses) {
  releases_.withdraw(attempt_, at(0s));
  advance(at(0s));
  EXPECT_TRUE(answer(1, Unknown{}, at(1ms)));
  EXPECT_TRUE(releases_.quiet()) << "the first answer is enough for others";
  EXPECT_FALSE(releases_.empty());
  EXPECT_EQ(advance(at(1ms)), "resign #2 attempt A, abandoned");
  answer(2, Refused{}, at(2ms));
  EXPECT_EQ(advance(at(2ms)), "");
  const auto next = releases_.next_wakeup(375ms);
  ASSERT_TRUE(next);
  EXPECT_GT(*next, at(2ms));
  EXPECT_EQ(advance(*next), "resign #3 attempt A, abandoned");
}

TEST_F(ReleasesTest, NeverGivesUp) {
  releases_.withdraw(attempt_, at(0s));
  Instant now = at(0s);
  for (OpId op = 1; op <= 100; ++op) {
    ASSERT_FALSE(advance(now).empty()) << op;
    answer(op, Unknown{}, now);
    ASSERT_TRUE(releases_.next_wakeup(375ms));
    ASSERT_LE(*releases_.next_wakeup(375ms), now + 3s);
    now = *releases_.next_wakeup(375ms);
  }
}

TEST_F(ReleasesTest, ACallThatTakesTooLongIsCancelledOnce) {
  releases_.withdraw(attempt_, at(0s));
  advance(at(0s));
  EXPECT_EQ(releases_.next_wakeup(375ms), at(375ms));
  EXPECT_EQ(advance(at(375ms)), "cancel #1");
  EXPECT_EQ(advance(at(1s)), "");
  EXPECT_EQ(releases_.next_wakeup(375ms), std::nullopt) << "its answer comes by contract";
}

TEST_F(ReleasesTest, ForeignAnswersAreNotTaken) {
  releases_.withdraw(attempt_, at(0s));
  advance(at(0s));
  EXPECT_FALSE(answer(99, Done{}, at(1ms)));
  EXPECT_FALSE(releases_.empty());
}

TEST_F(ReleasesTest, SeveralAreGivenBackIndependently) {
  releases_.give_back(Term{7}, attempt_, true, at(0s));
  releases_.withdraw(Attempt{3, 4}, at(0s));
  EXPECT_EQ(advance(at(0s)), "resign #1 term 7, released; resign #2 attempt A, abandoned");
  answer(2, Done{}, at(1ms));
  EXPECT_FALSE(releases_.quiet());
  answer(1, Unknown{}, at(1ms));
  EXPECT_TRUE(releases_.quiet());
}

}  // namespace
}  // namespace conclave::core
