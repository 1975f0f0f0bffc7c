#include <gtest/gtest.h>

#include "scenario/rig.hpp"

namespace conclave::test {
namespace {

// What observations do to those who hold a term, and to those who do not.

TEST(ObservedByLeader, ALaterTermSupersedes) {
  Rig rig;
  rig.become_leader();
  rig.observe(at(10ms), record(8));
  EXPECT_EQ(rig.said()[1], "lost term 7 (superseded) at 10ms");
  EXPECT_EQ(rig.said()[2], "leader changed to other term 8");
}

TEST(ObservedByLeader, TheOwnTermAndOlderOnesAreNoNews) {
  Rig rig;
  rig.become_leader();
  EXPECT_EQ(rig.observe(at(10ms), record(7, 5, "me")), "");
  EXPECT_EQ(rig.observe(at(11ms), record(6)), "");
  EXPECT_EQ(rig.observe(at(12ms), Vacant{Vacancy::released, Term{6}}), "");
  EXPECT_EQ(rig.observe(at(13ms), YourTurn{}), "");
  EXPECT_EQ(rig.state(), "leading");
}

TEST(ObservedByLeader, AVacancyOfTheOwnTermMeansThatTheRecordIsGone) {
  Rig rig;
  rig.become_leader();
  EXPECT_EQ(rig.observe(at(10ms), Vacant{Vacancy::abandoned, Term{7}}),
            "stopping term 7 (record gone); lost term 7 (record gone) at 10ms; leader changed to "
            "nobody");
}

TEST(ObservedByLeader, AVacancyOfALaterTermSupersedes) {
  Rig rig;
  rig.become_leader();
  EXPECT_EQ(rig.observe(at(10ms), Vacant{Vacancy::released, Term{9}}),
            "stopping term 7 (superseded); lost term 7 (superseded) at 10ms; leader changed to "
            "nobody");
  EXPECT_EQ(rig.machine().status().highest_term_seen, Term{9});
}

TEST(ObservedByLeader, ALostSessionEndsTheTermWithNothingToGiveBack) {
  Rig rig;
  rig.become_leader();
  rig.tick(at(1s));
  EXPECT_EQ(rig.observe(at(1010ms), SessionLost{}),
            "cancel #3; stopping term 7 (session lost); lost term 7 (session lost) at 1.01s; "
            "leader changed to nobody");
  EXPECT_EQ(rig.wake(), at(1010ms) + rig.machine().timing().drain_limit) << "for the overrun alone";
}

// The reply may be older than the loss: whether the grant still stands only the store can say.
TEST(ObservedByFollower, AGrantThatASessionLossOvertookIsAskedForAgain) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  rig.observe(at(5ms), SessionLost{});
  EXPECT_EQ(rig.campaign(at(6ms), granted(7, at(0ms))), "campaign #3 attempt A");
  EXPECT_FALSE(rig.machine().leads_at(at(6ms)));
  rig.campaign(at(8ms), granted(8, at(6ms)));
  EXPECT_EQ(rig.state(), "leading");
}

// What is left of an own bid in the store is waited for, but it is nobody's turn. It was taken back
// before, so the store has forgotten that: once more, and once only.
TEST(ObservedByFollower, TheOwnGhostIsNoLeaderAndEndsNoCoolDown) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  const auto attempt = std::get<core::DoCampaign>(rig.outputs().at(1)).attempt;
  rig.step(at(1ms), core::ResignAsked{});
  rig.campaign(at(2ms), Unknown{error()});
  rig.resign(at(3ms), Done{});
  Record ghost = record(8, 1, "me");
  ghost.attempt = attempt;
  EXPECT_EQ(rig.observe(at(4ms), ghost), "resign #4 term 8, abandoned");
  EXPECT_EQ(rig.observe(at(5ms), ghost), "");
  EXPECT_EQ(rig.state(), "resting");
}

// Not where the store had nothing to take back: what is there was never ours, or is not any more.
TEST(ObservedByFollower, AGhostOfWhatIsGoneIsLeftAlone) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  const auto attempt = std::get<core::DoCampaign>(rig.outputs().at(1)).attempt;
  rig.step(at(1ms), core::ResignAsked{});
  rig.campaign(at(2ms), Unknown{error()});
  rig.resign(at(3ms), Gone{});
  Record ghost = record(8, 1, "me");
  ghost.attempt = attempt;
  EXPECT_EQ(rig.observe(at(4ms), ghost), "");
}

TEST(ObservedByFollower, AWakeUpDuringAFailedBidIsNotForgotten) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  rig.campaign(at(1ms), Unknown{error()});
  rig.observe(at(2ms), YourTurn{});
  EXPECT_NE(rig.campaign(at(3ms), Unknown{error()}).find("campaign #4"), std::string::npos);
}

TEST(ObservedByLeader, TheEndOfTheElectionStopsTheCandidateWhenTheWorkHasEnded) {
  Rig rig;
  rig.become_leader();
  rig.observe(at(10ms), Ended{});
  EXPECT_EQ(rig.said()[1], "lost term 7 (election ended) at 10ms");
  EXPECT_EQ(rig.step(at(20ms), core::WorkEnded{Term{7}}), "cancel #1; has stopped, election ended");
}

TEST(ObservedByLeader, TheEndOfTheElectionLeavesNothingToGiveBack) {
  Rig rig;
  rig.become_leader();
  rig.tick(at(2500ms));
  ASSERT_EQ(rig.state(), "winding down");
  rig.observe(at(2600ms), Ended{});
  EXPECT_EQ(rig.state(), "winding down (nothing to give back)");
  EXPECT_EQ(rig.step(at(2700ms), core::WorkEnded{Term{7}}),
            "cancel #1; has stopped, election ended");
}

// Its term is what others are fenced by: a new one of the same leader is news, too.
TEST(ObservedByFollower, TheLeaderIsNewsWhenItOrItsTermChanges) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  EXPECT_EQ(rig.campaign(at(1ms), held(7)), "leader changed to other term 7");
  EXPECT_EQ(rig.observe(at(2ms), record(7, 2)), "");
  EXPECT_EQ(rig.observe(at(3ms), record(8, 1)), "leader changed to other term 8");
  EXPECT_EQ(rig.observe(at(4ms), record(9, 1, "third")), "leader changed to third term 9");
}

TEST(ObservedByFollower, ARecordFromThePastCountsAsAbsent) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  rig.campaign(at(1ms), held(9));
  EXPECT_EQ(rig.observe(at(2ms), record(4, 1, "ghost")), "");
  EXPECT_EQ(rig.machine().status().leader, "other");
  EXPECT_EQ(rig.machine().status().highest_term_seen, Term{9});
}

TEST(ObservedByFollower, AVacancyIsBidForAtOnce) {
  for (const Vacancy vacancy :
       {Vacancy::absent, Vacancy::released, Vacancy::abandoned, Vacancy::expired, Vacancy::ended}) {
    Rig rig;
    rig.step(at(0ms), core::Start{});
    rig.campaign(at(1ms), held(7));
    EXPECT_EQ(rig.observe(at(2ms), Vacant{vacancy, Term{7}}),
              "leader changed to nobody; campaign #3 attempt A above term 7");
  }
}

TEST(ObservedByFollower, OldVacanciesAreNoNews) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  rig.campaign(at(1ms), held(7));
  EXPECT_EQ(rig.observe(at(2ms), Vacant{Vacancy::released, Term{6}}), "");
  EXPECT_EQ(rig.state(), "waiting");
}

TEST(ObservedByFollower, TheEndOfTheElectionStopsItAtOnce) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  rig.campaign(at(1ms), held(7));
  EXPECT_EQ(rig.observe(at(2ms), Ended{}), "cancel #1; has stopped, election ended");
  EXPECT_TRUE(rig.machine().at_rest());
}

TEST(ObservedByNobody, IdleAndStoppedOnesDoNotListen) {
  Rig rig;
  const Observation all[] = {Observation{record(8)}, Observation{Vacant{Vacancy::ended, Term{8}}},
                             Observation{YourTurn{}}, Observation{SessionLost{}},
                             Observation{Ended{}}};
  for (const Observation& what : all) EXPECT_EQ(rig.observe(at(0ms), what), "");
  rig.step(at(1ms), core::Stop{});
  for (const Observation& what : all) EXPECT_EQ(rig.observe(at(2ms), what), "");
  EXPECT_EQ(rig.state(), "stopped");
}

}  // namespace
}  // namespace conclave::test
