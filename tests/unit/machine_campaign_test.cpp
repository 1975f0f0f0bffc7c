#include <gtest/gtest.h>

#include "scenario/rig.hpp"

namespace conclave::test {
namespace {

// Bids: their attempts, their retries, and the wake-ups that come while one is in flight.

Attempt attempt_of(const Rig& rig) {
  for (const core::Output& output : rig.outputs()) {
    if (const auto* campaign = std::get_if<core::DoCampaign>(&output)) return campaign->attempt;
  }
  ADD_FAILURE() << "no campaign was sent";
  return {};
}

TEST(Campaign, ThatNobodyLeadsDoesNotMakeTheRoleKnown) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  rig.observe(at(1ms), Vacant{Vacancy::absent, Term{}});
  EXPECT_EQ(rig.machine().role(), Role::bootstrap)
      << "the answer to the bid may make it the leader";
  rig.observe(at(2ms), record(7));
  EXPECT_EQ(rig.machine().role(), Role::follower);
}

TEST(Campaign, StartObservesAndBids) {
  Rig rig;
  EXPECT_EQ(rig.machine().role(), Role::bootstrap);
  EXPECT_EQ(rig.step(at(0ms), core::Start{}), "observe #1; campaign #2 attempt A");
  EXPECT_EQ(rig.machine().role(), Role::bootstrap) << "the store has not answered";
  rig.campaign(at(1ms), held(7));
  EXPECT_EQ(rig.machine().role(), Role::follower);
}

TEST(Campaign, StartWhileRunningIsAnInvalidState) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  EXPECT_EQ(rig.step(at(1ms), core::Start{}), "failed: invalid state");
  EXPECT_EQ(rig.state(), "bidding");
}

TEST(Campaign, AnUnansweredCallIsCancelledAndItsAnswerAwaited) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  EXPECT_EQ(rig.wake(), at(375ms));
  EXPECT_EQ(rig.tick(at(375ms)), "cancel #2");
  EXPECT_EQ(rig.wake(), Instant::max()) << "the answer comes by contract";
}

TEST(Campaign, ALostReplyIsAskedForAgainWithTheSameAttempt) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  const Attempt first = attempt_of(rig);
  rig.tick(at(375ms));
  EXPECT_EQ(rig.campaign(at(376ms), Unknown{error()}), "failed: timed out; campaign #3 attempt A");
  EXPECT_EQ(attempt_of(rig), first);
  EXPECT_EQ(rig.campaign(at(378ms), granted(7, at(376ms))),
            "elected term 7 until 2.776s; leader changed to me term 7");
}

TEST(Campaign, FurtherRetriesWaitWithJitterUpToALease) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  Instant now = at(1ms);
  rig.campaign(now, Unknown{error()});
  for (int i = 0; i < 20; ++i) {
    rig.campaign(now, Unknown{error()});
    ASSERT_GT(rig.wake(), now) << i;
    ASSERT_LE(rig.wake(), now + 3s) << i;
    now = rig.wake();
    ASSERT_EQ(rig.tick(now).substr(rig.said()[0].find("attempt")), "attempt A") << i;
  }
}

TEST(Campaign, ADefiniteNoIsNotRepeatedAtOnce) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  EXPECT_EQ(rig.campaign(at(1ms), Refused{error(ErrorCode::denied)}), "failed: denied");
  EXPECT_EQ(rig.state(), "retrying");
  EXPECT_GE(rig.wake(), at(1ms) + 3s / 64);
}

TEST(Campaign, OneAttemptFromTheFirstBidToTheGrant) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  rig.campaign(at(1ms), held(7, 2));
  EXPECT_EQ(rig.observe(at(2ms), YourTurn{}), "campaign #3 attempt A above term 7");
  rig.campaign(at(3ms), held(7, 1));
  EXPECT_EQ(rig.observe(at(4ms), Vacant{Vacancy::ended, Term{7}}),
            "leader changed to nobody; campaign #4 attempt A above term 7");
}

TEST(Campaign, EveryTermHasAnAttemptOfItsOwn) {
  Rig rig;
  rig.become_leader();
  rig.step(at(100ms), core::WorkEnded{Term{7}});
  rig.resign(at(101ms), Done{});
  EXPECT_EQ(rig.tick(at(3100ms)), "campaign #4 attempt B above term 7");
}

TEST(Campaign, AWakeUpDuringABidMakesTheNextBidFollowAtOnce) {
  for (const Observation& what :
       {Observation{YourTurn{}}, Observation{Vacant{Vacancy::released, Term{7}}},
        Observation{SessionLost{}}}) {
    Rig rig;
    rig.step(at(0ms), core::Start{});
    rig.observe(at(1ms), what);
    EXPECT_EQ(rig.state(), "bidding (woken)");
    rig.campaign(at(2ms), held(7));
    EXPECT_EQ(rig.said().back(), "campaign #3 attempt A above term 7");
  }
}

TEST(Campaign, AWakeUpEndsThePauseBeforeARetry) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  rig.campaign(at(1ms), Refused{error()});
  EXPECT_EQ(rig.observe(at(2ms), YourTurn{}), "campaign #3 attempt A");
}

TEST(Campaign, AnswersToOtherCallsChangeNothing) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  EXPECT_EQ(rig.step(at(1ms), core::CampaignDone{99, granted(7, at(0ms))}), "");
  EXPECT_EQ(rig.state(), "bidding");
}

TEST(Campaign, ATermThatIsNotAboveTheHighestSeenIsRefusedResignedAndReported) {
  for (const std::uint64_t low : {4U, 9U}) {
    Rig rig;
    rig.step(at(0ms), core::Start{});
    rig.campaign(at(1ms), held(9));
    rig.observe(at(2ms), YourTurn{});
    EXPECT_EQ(rig.campaign(at(3ms), granted(low, at(2ms))),
              "failed: term regressed; resign #4 term " + std::to_string(low) + ", abandoned");
    EXPECT_EQ(rig.tick(at(300ms)), "") << "the next bid waits for the resignation";
    EXPECT_EQ(rig.resign(at(301ms), Done{}), "campaign #5 attempt B above term 9");
  }
}

TEST(Campaign, ARecordOfTheOwnAttemptIsNotAnotherLeader) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  Record own = record(7, 1, "me");
  own.attempt = attempt_of(rig);
  EXPECT_EQ(rig.observe(at(1ms), own), "");
  EXPECT_EQ(rig.campaign(at(2ms), granted(7, at(0ms))),
            "elected term 7 until 2.4s; leader changed to me term 7");
}

TEST(Campaign, TheEndOfTheElectionIsTheEnd) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  rig.campaign(at(1ms), Refused{error(ErrorCode::election_ended)});
  EXPECT_EQ(rig.said().back(), "has stopped, election ended");
  EXPECT_TRUE(rig.machine().at_rest());
}

}  // namespace
}  // namespace conclave::test
