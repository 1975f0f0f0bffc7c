#include <gtest/gtest.h>

#include <algorithm>

#include "scenario/rig.hpp"

namespace conclave::test {
namespace {

// Voluntary hand-over, drain and overrun.

TimingOptions drains_for(Duration limit) {
  TimingOptions options;
  options.drain_limit = limit;
  return options;
}

// The position of the first output of a kind; the outputs are carried out in order.
template <typename Kind>
std::ptrdiff_t position(const core::Outputs& outputs) {
  const auto found = std::find_if(outputs.begin(), outputs.end(), [](const core::Output& each) {
    return std::holds_alternative<Kind>(each);
  });
  return found == outputs.end() ? -1 : found - outputs.begin();
}

TEST(Drain, StepsDownBeforeItLetsTheNextOneIn) {
  Rig rig;
  rig.become_leader();
  EXPECT_EQ(rig.step(at(100ms), core::ResignAsked{}), "stopping term 7 (resigned)");
  EXPECT_TRUE(rig.machine().leads_at(at(150ms)));
  rig.step(at(200ms), core::WorkEnded{Term{7}});
  EXPECT_FALSE(rig.machine().leads_at(at(200ms)));
  const auto lost = position<core::Lost>(rig.outputs());
  const auto resign = position<core::DoResign>(rig.outputs());
  ASSERT_GE(lost, 0);
  EXPECT_GT(resign, lost);
  EXPECT_TRUE(std::get<core::DoResign>(rig.outputs()[static_cast<std::size_t>(resign)]).was_valid);
}

TEST(Drain, TheEndOfTheWorkIsAResignation) {
  Rig rig;
  rig.become_leader();
  EXPECT_EQ(rig.step(at(100ms), core::WorkEnded{Term{7}}),
            "stopping term 7 (resigned); lost term 7 (resigned) at 100ms; leader changed to "
            "nobody; resign #3 term 7, released");
  EXPECT_EQ(rig.state(), "resting");
}

TEST(Drain, TheEndOfOtherWorkChangesNothing) {
  Rig rig;
  rig.become_leader();
  EXPECT_EQ(rig.step(at(100ms), core::WorkEnded{Term{6}}), "");
  rig.step(at(150ms), core::ResignAsked{});
  EXPECT_EQ(rig.step(at(200ms), core::WorkEnded{Term{8}}), "");
  EXPECT_EQ(rig.state(), "draining");
}

TEST(Drain, RenewalsGoOnAndMayOutlastTheLease) {
  Rig rig;
  rig.become_leader();
  rig.step(at(100ms), core::ResignAsked{});
  for (int second = 1; second <= 9; ++second) {
    EXPECT_FALSE(rig.tick(at(second * 1s)).empty()) << second;
    rig.renew(at(second * 1s + 1ms), Renewed{at(second * 1s)});
  }
  EXPECT_TRUE(rig.machine().leads_at(at(11s)));
}

TEST(Drain, ARenewalInFlightIsCancelledWhenTheWorkEnds) {
  Rig rig;
  rig.become_leader();
  rig.tick(at(1s));
  EXPECT_EQ(rig.step(at(1100ms), core::WorkEnded{Term{7}}),
            "stopping term 7 (resigned); cancel #3; lost term 7 (resigned) at 1.1s; leader changed "
            "to nobody; resign #4 term 7, released");
  EXPECT_EQ(rig.renew(at(1200ms), Renewed{at(1s)}), "");
}

TEST(Drain, ASecondReasonJoinsTheFirst) {
  Rig rig;
  rig.become_leader();
  rig.step(at(100ms), core::TermLimitDue{Term{7}});
  EXPECT_EQ(rig.step(at(110ms), core::ResignAsked{}), "");
  EXPECT_EQ(rig.step(at(120ms), core::TermLimitDue{Term{7}}), "");
  EXPECT_EQ(rig.step(at(130ms), core::HealthChanged{false}), "");
  EXPECT_EQ(rig.step(at(140ms), core::Stop{}), "");
  EXPECT_EQ(rig.step(at(150ms), core::WorkEnded{Term{7}}),
            "lost term 7 (term limit) at 150ms; leader changed to nobody; cancel #1; resign #3 "
            "term 7, released");
}

TEST(Drain, ADefiniteAnswerEndsIt) {
  Rig rig;
  rig.become_leader();
  rig.step(at(100ms), core::ResignAsked{});
  rig.tick(at(1s));
  EXPECT_EQ(rig.renew(at(1001ms), TermLost{LossReason::superseded}),
            "lost term 7 (superseded) at 1.001s; leader changed to nobody");
}

TEST(Drain, WithoutARenewalItEndsAtTheDeadline) {
  Rig rig;
  rig.become_leader();
  rig.step(at(100ms), core::ResignAsked{});
  rig.tick(at(1s));
  EXPECT_EQ(rig.run_until(at(2400ms)),
            "cancel #3; jeopardy term 7 until 2.4s; lost term 7 (lease expired) at 2.4s; leader "
            "changed to nobody");
  EXPECT_EQ(rig.wake(), at(3s)) << "a whole lease after the last renewal";
  EXPECT_EQ(rig.tick(at(3s)), "resign #4 term 7, released");
}

TEST(Drain, ALateEndOfTheWorkGivesTheTermBackAtOnce) {
  Rig rig;
  rig.become_leader();
  rig.tick(at(1s));
  rig.run_until(at(2500ms));
  EXPECT_EQ(rig.step(at(2600ms), core::WorkEnded{Term{7}}), "resign #4 term 7, released");
  EXPECT_EQ(rig.resign(at(2601ms), Done{}), "campaign #5 attempt B above term 7");
}

class Overrun : public testing::Test {
 protected:
  // The work is told to stop at 100 ms; the last counted renewal is of 1 s; one is in flight.
  void SetUp() override {
    rig_.become_leader();
    rig_.step(at(100ms), core::ResignAsked{});
    rig_.tick(at(1s));
    rig_.renew(at(1001ms), Renewed{at(1s)});
    rig_.tick(at(2s));
    said_ = rig_.tick(at(2100ms));
  }

  Rig rig_{drains_for(2s)};
  std::string said_;
};

TEST_F(Overrun, IsToldAtTheLimit) {
  EXPECT_EQ(said_, "cancel #4; drain overrun term 7");
  EXPECT_EQ(rig_.state(), "draining (overrun)");
  EXPECT_TRUE(rig_.machine().leads_at(at(2100ms)));
}

TEST_F(Overrun, NoRenewalCountsAnyMore) {
  EXPECT_EQ(rig_.renew(at(2101ms), Renewed{at(2s)}), "");
  EXPECT_EQ(rig_.wake(), at(3400ms)) << "and none is sent";
}

TEST_F(Overrun, TheTermEndsAtTheDeadlineForItsOwnReason) {
  EXPECT_EQ(rig_.tick(at(3400ms)), "lost term 7 (resigned) at 3.4s; leader changed to nobody");
}

TEST_F(Overrun, ThePlaceIsGivenUpAWholeLeaseAfterTheLastCountedRenewal) {
  rig_.tick(at(3400ms));
  EXPECT_EQ(rig_.wake(), at(4s));
  EXPECT_EQ(rig_.tick(at(4s)), "resign #5 term 7, released");
  EXPECT_EQ(rig_.state(), "winding down (nothing to give back)");
  rig_.resign(at(4001ms), Gone{});
  EXPECT_EQ(rig_.step(at(1h), core::WorkEnded{Term{7}}), "") << "nothing is given back twice";
  EXPECT_EQ(rig_.state(), "resting");
}

TEST_F(Overrun, TheEndOfTheWorkReleasesAtOnce) {
  EXPECT_EQ(rig_.step(at(2200ms), core::WorkEnded{Term{7}}),
            "lost term 7 (resigned) at 2.2s; leader changed to nobody; resign #5 term 7, released");
}

TEST_F(Overrun, ADefiniteLossStillCounts) {
  EXPECT_EQ(rig_.observe(at(2200ms), record(8)),
            "lost term 7 (superseded) at 2.2s; leader changed to other term 8");
}

// The deadline may pass before the drain limit does: the work is late all the same.
TEST(OverrunOfALostTerm, IsReportedWhenTheDrainLimitPasses) {
  TimingOptions options;
  options.drain_limit = 5s;
  Rig rig(options);
  rig.become_leader();
  rig.step(at(10ms), core::ResignAsked{});
  rig.run_until(at(2400ms));
  EXPECT_EQ(rig.state(), "winding down");
  EXPECT_EQ(rig.tick(at(3001ms)), "resign #4 term 7, released");
  rig.resign(at(3002ms), Done{});
  EXPECT_EQ(rig.wake(), at(5010ms));
  EXPECT_EQ(rig.tick(at(5010ms)), "drain overrun term 7");
  EXPECT_EQ(rig.tick(at(1h)), "") << "once";
}

}  // namespace
}  // namespace conclave::test
