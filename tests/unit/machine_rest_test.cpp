#include <gtest/gtest.h>

#include "scenario/rig.hpp"

namespace conclave::test {
namespace {

// Cool-down, term limit and the health gate.

// Led term 7 and released it at 100 ms for the given reason; the store has answered.
Rig rested(const core::Input& reason) {
  Rig rig;
  rig.become_leader();
  rig.step(at(50ms), reason);
  rig.step(at(100ms), core::WorkEnded{Term{7}});
  rig.resign(at(101ms), Done{});
  return rig;
}

TEST(CoolDown, FollowsEveryVoluntaryRelease) {
  const core::Input reasons[] = {core::ResignAsked{}, core::TermLimitDue{Term{7}},
                                 core::WorkEnded{Term{7}}};
  for (const core::Input& reason : reasons) {
    Rig rig = rested(reason);
    EXPECT_EQ(rig.state(), "resting");
    EXPECT_EQ(rig.machine().role(), Role::follower);
  }
}

TEST(CoolDown, EndsAfterALease) {
  Rig rig = rested(core::ResignAsked{});
  EXPECT_EQ(rig.wake(), at(3100ms));
  EXPECT_EQ(rig.tick(at(3100ms)), "campaign #4 attempt B above term 7");
}

TEST(CoolDown, EndsWhenAnotherLeaderIsSeen) {
  Rig rig = rested(core::ResignAsked{});
  EXPECT_EQ(rig.observe(at(500ms), record(8)),
            "leader changed to other term 8; campaign #4 attempt B above term 8");
}

TEST(CoolDown, DoesNotEndByNewsOfTheOwnTerm) {
  Rig rig = rested(core::ResignAsked{});
  rig.observe(at(200ms), Vacant{Vacancy::released, Term{7}});
  rig.observe(at(300ms), record(7, 9, "me"));
  rig.observe(at(400ms), YourTurn{});
  rig.observe(at(500ms), SessionLost{});
  EXPECT_EQ(rig.state(), "resting");
}

TEST(CoolDown, LastsAsLongAsSet) {
  TimingOptions options;
  options.cool_down = 10s;
  Rig rig(options);
  rig.become_leader();
  rig.step(at(100ms), core::WorkEnded{Term{7}});
  rig.resign(at(101ms), Done{});
  EXPECT_EQ(rig.wake(), at(10100ms));
}

TEST(CoolDown, DoesNotFollowAnInvoluntaryLoss) {
  Rig rig;
  rig.become_leader();
  rig.observe(at(50ms), SessionLost{});
  EXPECT_EQ(rig.step(at(100ms), core::WorkEnded{Term{7}}), "campaign #3 attempt B above term 7");
}

TEST(CoolDown, TheRestOfAFollowerGivesUpItsBid) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  rig.campaign(at(1ms), held(7, 2));
  EXPECT_EQ(rig.step(at(10ms), core::ResignAsked{}), "resign #3 attempt A, abandoned");
  EXPECT_EQ(rig.state(), "resting");
  EXPECT_EQ(rig.machine().status().place, 0U);
}

TEST(CoolDown, TheRestOfABidderAwaitsTheAnswerBeforeTheWithdrawal) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  EXPECT_EQ(rig.step(at(10ms), core::ResignAsked{}), "cancel #2");
  EXPECT_EQ(rig.campaign(at(20ms), granted(7, at(0ms))), "resign #3 term 7, abandoned");
}

TEST(CoolDown, DoesNotDelayAStop) {
  Rig rig = rested(core::ResignAsked{});
  EXPECT_EQ(rig.step(at(200ms), core::Stop{}), "cancel #1; has stopped");
}

TEST(TermLimit, OfTheTermItWasArmedForHandsOver) {
  Rig rig;
  rig.become_leader();
  EXPECT_EQ(rig.step(at(10ms), core::TermLimitDue{Term{7}}), "stopping term 7 (term limit)");
}

TEST(TermLimit, OfAnOlderTermIsIgnored) {
  Rig rig;
  rig.become_leader();
  EXPECT_EQ(rig.step(at(10ms), core::TermLimitDue{Term{6}}), "");
  EXPECT_EQ(rig.state(), "leading");
}

TEST(Health, AnUnhealthyLeaderHandsOverAndDoesNotStand) {
  Rig rig = rested(core::HealthChanged{false});
  EXPECT_EQ(rig.state(), "gated");
  EXPECT_EQ(rig.wake(), Instant::max());
}

TEST(Health, AnUnhealthyFollowerTakesItsBidBack) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  rig.campaign(at(1ms), held(7));
  EXPECT_EQ(rig.step(at(10ms), core::HealthChanged{false}), "resign #3 attempt A, abandoned");
  EXPECT_EQ(rig.state(), "gated");
}

TEST(Health, AnUnhealthyOneStartsGated) {
  Rig rig;
  rig.step(at(0ms), core::HealthChanged{false});
  EXPECT_EQ(rig.step(at(1ms), core::Start{}), "observe #1");
  EXPECT_EQ(rig.state(), "gated");
  EXPECT_EQ(rig.step(at(2ms), core::HealthChanged{true}), "campaign #2 attempt A");
}

TEST(Health, TheCoolDownGoesOnBehindTheGate) {
  Rig rig = rested(core::HealthChanged{false});
  rig.step(at(1s), core::HealthChanged{true});
  EXPECT_EQ(rig.state(), "resting");
  EXPECT_EQ(rig.wake(), at(3100ms));
}

TEST(Health, RepeatedNewsChangeNothing) {
  Rig rig;
  rig.become_leader();
  EXPECT_EQ(rig.step(at(10ms), core::HealthChanged{true}), "");
  rig.step(at(20ms), core::HealthChanged{false});
  EXPECT_EQ(rig.step(at(30ms), core::HealthChanged{false}), "");
}

TEST(Health, BackInTimeDoesNotUnfireTheStopToken) {
  Rig rig;
  rig.become_leader();
  rig.step(at(20ms), core::HealthChanged{false});
  EXPECT_EQ(rig.step(at(30ms), core::HealthChanged{true}), "");
  EXPECT_EQ(rig.state(), "draining");
}

}  // namespace
}  // namespace conclave::test
