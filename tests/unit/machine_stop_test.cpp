#include <gtest/gtest.h>

#include "scenario/rig.hpp"

namespace conclave::test {
namespace {

// Stopping, giving back after it, and starting anew.

TEST(Stop, OfALeaderDrainsFirst) {
  Rig rig;
  rig.become_leader();
  EXPECT_EQ(rig.step(at(10ms), core::Stop{}), "stopping term 7 (stopped)");
  EXPECT_TRUE(rig.machine().leads_at(at(20ms)));
  EXPECT_EQ(rig.step(at(20ms), core::WorkEnded{Term{7}}),
            "lost term 7 (stopped) at 20ms; leader changed to nobody; cancel #1; resign #3 term 7, "
            "released");
  EXPECT_EQ(rig.resign(at(21ms), Done{}), "has stopped");
  EXPECT_TRUE(rig.machine().at_rest());
}

TEST(Stop, IsIdempotent) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  rig.campaign(at(1ms), held(7));
  rig.step(at(2ms), core::Stop{});
  EXPECT_EQ(rig.step(at(3ms), core::Stop{}), "");
  EXPECT_EQ(rig.resign(at(4ms), Done{}), "has stopped");
  EXPECT_EQ(rig.step(at(5ms), core::Stop{}), "");
}

TEST(Stop, OfOneThatNeverStartedHasNothingToDo) {
  Rig rig;
  rig.step(at(0ms), core::Stop{});
  EXPECT_EQ(rig.machine().role(), Role::stopped);
  EXPECT_TRUE(rig.machine().at_rest());
}

TEST(Stop, DuringABidWithdrawsItOnceItIsAnswered) {
  const CampaignAnswer answers[] = {CampaignAnswer{held(7)}, CampaignAnswer{Unknown{error()}}};
  for (const CampaignAnswer& answer : answers) {
    Rig rig;
    rig.step(at(0ms), core::Start{});
    EXPECT_EQ(rig.step(at(10ms), core::Stop{}), "cancel #2; cancel #1");
    EXPECT_FALSE(rig.machine().at_rest());
    EXPECT_EQ(rig.campaign(at(20ms), answer), "resign #3 attempt A, abandoned");
    EXPECT_EQ(rig.resign(at(21ms), Gone{}), "has stopped");
  }
}

TEST(Stop, DuringABidThatIsGrantedAfterAllGivesTheTermBackAsAbandoned) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  rig.step(at(10ms), core::Stop{});
  EXPECT_EQ(rig.campaign(at(20ms), granted(7, at(0ms))), "resign #3 term 7, abandoned");
  EXPECT_FALSE(rig.machine().leads_at(at(20ms)));
}

// An earlier campaign of the same attempt may stand, or have been granted by a reply that was lost.
TEST(Stop, DuringABidThatIsRefusedWithdrawsItAllTheSame) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  rig.campaign(at(5ms), Unknown{error()});
  rig.step(at(10ms), core::Stop{});
  EXPECT_EQ(rig.campaign(at(20ms), Refused{error()}), "resign #4 attempt A, abandoned");
  EXPECT_EQ(rig.resign(at(30ms), Gone{}), "has stopped");
}

TEST(Stop, DoesNotCancelTwice) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  rig.tick(at(375ms));
  EXPECT_EQ(rig.step(at(400ms), core::Stop{}), "cancel #1");
}

TEST(Stop, IsAnnouncedAfterTheFirstAnswerAndTheWithdrawalGoesOn) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  rig.campaign(at(1ms), held(7));
  EXPECT_EQ(rig.step(at(2ms), core::Stop{}), "cancel #1; resign #3 attempt A, abandoned");
  EXPECT_EQ(rig.tick(at(377ms)), "cancel #3");
  EXPECT_EQ(rig.resign(at(378ms), Unknown{error()}), "resign #4 attempt A, abandoned; has stopped");
  EXPECT_FALSE(rig.machine().at_rest());
  rig.resign(at(379ms), Unknown{error()});
  ASSERT_NE(rig.wake(), Instant::max());
  EXPECT_EQ(rig.tick(rig.wake()), "resign #5 attempt A, abandoned");
  EXPECT_EQ(rig.resign(at(1s), Gone{}), "") << "nothing is told after the end";
  EXPECT_TRUE(rig.machine().at_rest());
}

TEST(Stop, WhileTheWorkIsLateWaitsForIt) {
  Rig rig;
  rig.become_leader();
  rig.observe(at(10ms), SessionLost{});
  EXPECT_EQ(rig.step(at(20ms), core::Stop{}), "");
  EXPECT_EQ(rig.step(at(30ms), core::WorkEnded{Term{7}}), "cancel #1; has stopped");
}

TEST(Start, IsRefusedUntilTheStopIsAnnounced) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  rig.campaign(at(1ms), held(7));
  rig.step(at(2ms), core::Stop{});
  EXPECT_EQ(rig.step(at(3ms), core::Start{}), "failed: invalid state");
  rig.resign(at(4ms), Done{});
  EXPECT_EQ(rig.step(at(5ms), core::Start{}), "observe #4; campaign #5 attempt B above term 7");
  EXPECT_EQ(rig.machine().role(), Role::bootstrap);
}

TEST(Start, BeginsAnewAfterTheElectionEnded) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  EXPECT_EQ(rig.observe(at(1ms), Ended{}), "cancel #2; cancel #1");
  rig.campaign(at(1ms), Unknown{error()});
  EXPECT_EQ(rig.resign(at(1ms), Gone{}), "has stopped, election ended") << "the bid was withdrawn";
  EXPECT_EQ(rig.step(at(2ms), core::Start{}), "observe #4; campaign #5 attempt B");
}

TEST(Start, RemembersTheHighestTermAndForgetsTheCoolDown) {
  Rig rig;
  rig.become_leader();
  rig.step(at(10ms), core::WorkEnded{Term{7}});
  rig.resign(at(11ms), Done{});
  rig.step(at(12ms), core::Stop{});
  EXPECT_EQ(rig.step(at(13ms), core::Start{}), "observe #4; campaign #5 attempt B above term 7");
}

TEST(Start, DoesNotWaitForAWithdrawalThatIsBeingRepeated) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  rig.campaign(at(1ms), held(7));
  rig.step(at(2ms), core::Stop{});
  rig.resign(at(3ms), Unknown{error()});
  EXPECT_EQ(rig.step(at(4ms), core::Start{}), "observe #5; campaign #6 attempt B above term 7");
  EXPECT_EQ(rig.step(at(5ms), core::ResignDone{4, Done{}}), "");
}

}  // namespace
}  // namespace conclave::test
