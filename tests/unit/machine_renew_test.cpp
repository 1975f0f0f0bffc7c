#include <gtest/gtest.h>

#include "scenario/rig.hpp"

namespace conclave::test {
namespace {

// Renewals: when they are sent, and what each kind of answer does.

TEST(Renew, GoesOutEveryIntervalCountedFromTheSending) {
  Rig rig;
  rig.become_leader();
  EXPECT_EQ(rig.wake(), at(1s));
  EXPECT_EQ(rig.tick(at(1s)), "renew #3 term 7");
  rig.renew(at(1200ms), Renewed{at(1s)});
  EXPECT_EQ(rig.wake(), at(2s));
}

TEST(Renew, OnAGridGoesOutAtTheLastInstantOfItThatIsNotTooLate) {
  core::Machine machine({"me", *resolve_timing({}), {.step = 150ms, .phase = 20ms}}, {1, 2, 3, 4});
  std::ignore = machine.step(at(0ms), core::Start{});
  std::ignore = machine.step(at(1ms), core::CampaignDone{2, granted(7, at(0ms))});
  ASSERT_EQ(machine.role(), Role::leader);
  EXPECT_EQ(machine.next_wakeup(), at(920ms)) << "1 s after the grant would be between two";
  EXPECT_FALSE(machine.step(at(920ms), core::Tick{}).empty());
  std::ignore = machine.step(at(930ms), core::RenewDone{3, Renewed{at(920ms)}});
  EXPECT_EQ(machine.next_wakeup(), at(1820ms)) << "from the sending, which was on the grid";
}

TEST(Renew, AGridReachesBackBeforeItsPhase) {
  const core::RenewalGrid grid{.step = 100ms, .phase = 30ms};
  EXPECT_EQ(grid.before(at(30ms)), at(30ms));
  EXPECT_EQ(grid.before(at(29ms)), at(-70ms));
  EXPECT_EQ(grid.before(at(129ms)), at(30ms));
  EXPECT_EQ(core::RenewalGrid{}.before(at(129ms)), at(129ms)) << "none";
}

TEST(Renew, OnlyOneIsInFlight) {
  Rig rig;
  rig.become_leader();
  rig.tick(at(1s));
  EXPECT_EQ(rig.tick(at(1100ms)), "");
  EXPECT_EQ(rig.tick(at(1374ms)), "");
}

TEST(Renew, UnansweredWithinTheTimeOutIsJeopardy) {
  Rig rig;
  rig.become_leader();
  rig.tick(at(1s));
  EXPECT_EQ(rig.wake(), at(1375ms));
  EXPECT_EQ(rig.tick(at(1375ms)), "cancel #3; jeopardy term 7 until 2.4s");
  EXPECT_TRUE(rig.machine().status().jeopardy);
  EXPECT_TRUE(rig.machine().leads_at(at(1375ms)));
}

TEST(Renew, OneLostReplyNeverCostsTheTerm) {
  Rig rig;
  rig.become_leader();
  rig.tick(at(1s));
  rig.tick(at(1375ms));
  EXPECT_EQ(rig.renew(at(1375ms), Unknown{error()}), "failed: timed out; renew #4 term 7");
  // The second one takes all the time it has, and still comes before the stop token.
  EXPECT_EQ(rig.renew(at(1749ms), Renewed{at(1375ms)}), "extended term 7 until 3.775s");
  EXPECT_EQ(rig.state(), "leading");
  EXPECT_FALSE(rig.machine().status().jeopardy);
}

TEST(Renew, ACancelledCallMayStillBringTheTrueAnswer) {
  Rig rig;
  rig.become_leader();
  rig.tick(at(1s));
  rig.tick(at(1375ms));
  EXPECT_EQ(rig.renew(at(1400ms), Renewed{at(1s)}), "extended term 7 until 3.4s");
  EXPECT_EQ(rig.state(), "leading");
}

TEST(Renew, AmbiguousAnswersAreRetriedAtOnceThenWithJitter) {
  Rig rig;
  rig.become_leader();
  rig.tick(at(1s));
  EXPECT_EQ(rig.renew(at(1010ms), Unknown{error(ErrorCode::unavailable)}),
            "failed: unavailable; jeopardy term 7 until 2.4s; renew #4 term 7");
  EXPECT_EQ(rig.renew(at(1020ms), Unknown{error(ErrorCode::unavailable)}), "failed: unavailable");
  EXPECT_GT(rig.wake(), at(1020ms));
  EXPECT_LE(rig.wake(), at(1020ms) + 375ms / 32);
}

TEST(Renew, ARefusalIsRetriedUntilTheDeadline) {
  Rig rig;
  rig.become_leader();
  rig.tick(at(1s));
  EXPECT_EQ(rig.renew(at(1010ms), Refused{error(ErrorCode::denied)}),
            "failed: denied; jeopardy term 7 until 2.4s; renew #4 term 7");
  EXPECT_TRUE(rig.machine().leads_at(at(2s)));
}

TEST(Renew, JeopardyIsToldOnceUntilARenewalIsConfirmed) {
  Rig rig;
  rig.become_leader();
  rig.tick(at(1s));
  rig.tick(at(1375ms));
  EXPECT_EQ(rig.renew(at(1400ms), Unknown{error()}), "failed: timed out; renew #4 term 7");
  rig.renew(at(1410ms), Renewed{at(1400ms)});
  rig.tick(at(2400ms));
  EXPECT_EQ(rig.tick(at(2775ms)), "cancel #5; jeopardy term 7 until 3.8s");
}

TEST(Renew, RetriesGoOnUntilTheDeadlineWhileTheWorkDrains) {
  Rig rig;
  rig.become_leader();
  rig.tick(at(1s));
  rig.renew(at(1010ms), Unknown{error()});
  for (Instant now = at(1020ms); now < at(2390ms); now = rig.wake()) {
    rig.tick(now);
    rig.renew(now, Unknown{error()});
  }
  EXPECT_EQ(rig.state(), "draining");
  EXPECT_GT(rig.last_renew().sent, at(2s));
}

TEST(Renew, DefiniteAnswersEndTheTermAtOnce) {
  for (const LossReason why :
       {LossReason::superseded, LossReason::record_gone, LossReason::session_lost}) {
    Rig rig;
    rig.become_leader();
    rig.tick(at(1s));
    const std::string reason{to_string(why)};
    EXPECT_EQ(rig.renew(at(1010ms), TermLost{why}), "stopping term 7 (" + reason +
                                                        "); lost term 7 (" + reason +
                                                        ") at 1.01s; leader changed to nobody");
    EXPECT_FALSE(rig.machine().leads_at(at(1010ms)));
    EXPECT_EQ(rig.state(), "winding down (nothing to give back)");
  }
}

TEST(Renew, AfterADefiniteLossTheCandidateStandsAgainWhenTheWorkHasEnded) {
  Rig rig;
  rig.become_leader();
  rig.tick(at(1s));
  rig.renew(at(1010ms), TermLost{LossReason::record_gone});
  EXPECT_EQ(rig.tick(at(1h)), "drain overrun term 7") << "the work is not over";
  EXPECT_EQ(rig.step(at(1h), core::WorkEnded{Term{7}}), "campaign #4 attempt B above term 7");
}

TEST(Renew, TheEndOfTheElectionEndsTheTerm) {
  Rig rig;
  rig.become_leader();
  rig.tick(at(1s));
  EXPECT_EQ(rig.renew(at(1010ms), TermLost{LossReason::election_ended}),
            "stopping term 7 (election ended); lost term 7 (election ended) at 1.01s; leader "
            "changed to nobody");
  EXPECT_EQ(rig.step(at(1100ms), core::WorkEnded{Term{7}}),
            "cancel #1; has stopped, election ended");
}

TEST(Renew, AnswersToOtherCallsChangeNothing) {
  Rig rig;
  rig.become_leader();
  rig.tick(at(1s));
  rig.renew(at(1001ms), Renewed{at(1s)});
  rig.tick(at(2s));
  for (const core::OpId op : {core::OpId{0}, core::OpId{3}, core::OpId{99}}) {
    EXPECT_EQ(rig.step(at(2001ms), core::RenewDone{op, TermLost{LossReason::superseded}}), "");
  }
  EXPECT_EQ(rig.state(), "leading");
}

}  // namespace
}  // namespace conclave::test
