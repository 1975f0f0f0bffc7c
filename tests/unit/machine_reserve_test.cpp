#include <gtest/gtest.h>

#include "scenario/rig.hpp"

namespace conclave::test {
namespace {

// A grant that is not valid yet: an earlier holder may still believe.

Rig reserved() {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  rig.campaign(at(2ms), granted(7, at(0ms), Vacancy::abandoned));
  return rig;
}

TEST(Reservation, IsAFollowerUntilItIsValid) {
  Rig rig = reserved();
  EXPECT_EQ(rig.state(), "reserved");
  EXPECT_EQ(rig.machine().role(), Role::follower);
  EXPECT_FALSE(rig.machine().leads_at(at(1s)));
}

TEST(Reservation, IsRenewedInSilenceAndThenElected) {
  Rig rig = reserved();
  EXPECT_EQ(rig.tick(at(1s)), "renew #3 term 7");
  EXPECT_EQ(rig.renew(at(1001ms), Renewed{at(1s)}), "");
  EXPECT_EQ(rig.tick(at(2s)), "renew #4 term 7");
  EXPECT_EQ(rig.renew(at(2001ms), Renewed{at(2s)}), "");
  EXPECT_EQ(rig.tick(at(3s)), "renew #5 term 7");
  EXPECT_EQ(rig.wake(), at(3002ms));
  EXPECT_EQ(rig.tick(at(3002ms)), "") << "who knows what became of it meanwhile";
  EXPECT_EQ(rig.renew(at(3003ms), Renewed{at(3s)}), "renew #6 term 7") << "asked for too early";
  EXPECT_EQ(rig.renew(at(3005ms), Renewed{at(3003ms)}),
            "elected term 7 until 5.403s; leader changed to me term 7");
}

TEST(Reservation, ThatWasForgottenMeanwhileIsNotElected) {
  Rig rig = reserved();
  rig.tick(at(1s));
  rig.renew(at(1001ms), Renewed{at(1s)});
  rig.tick(at(2s));
  rig.renew(at(2001ms), Renewed{at(2s)});
  rig.tick(at(3s));
  rig.tick(at(3002ms));
  EXPECT_EQ(rig.renew(at(3003ms), TermLost{LossReason::record_gone}),
            "campaign #6 attempt B above term 7");
}

TEST(Reservation, FailuresAreNoJeopardy) {
  Rig rig = reserved();
  rig.tick(at(1s));
  EXPECT_EQ(rig.tick(at(1375ms)), "cancel #3");
  EXPECT_EQ(rig.renew(at(1376ms), Unknown{error()}), "failed: timed out; renew #4 term 7");
  EXPECT_FALSE(rig.machine().status().jeopardy);
}

TEST(Reservation, ThatLapsesIsGivenBackAsAbandonedAndBidForAnew) {
  Rig rig = reserved();
  rig.tick(at(1s));
  rig.tick(at(1375ms));
  EXPECT_EQ(rig.tick(at(2400ms)), "resign #4 term 7, abandoned");
  EXPECT_EQ(rig.state(), "retrying");
  EXPECT_EQ(rig.resign(at(2401ms), Done{}), "campaign #5 attempt B above term 7");
}

TEST(Reservation, ThatLapsesGivesUpTheRenewalInFlight) {
  Rig rig = reserved();
  rig.tick(at(1s));
  rig.tick(at(1375ms));
  rig.renew(at(2300ms), Unknown{error()});
  EXPECT_EQ(rig.tick(at(2400ms)), "cancel #4; resign #5 term 7, abandoned");
}

TEST(Reservation, ThatIsRipeButAboutToEndWaitsForARenewal) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  Granted late = granted(7, at(0ms));
  late.server_age = 1s;
  rig.campaign(at(2ms), late);
  rig.tick(at(1s));
  rig.tick(at(1375ms));
  EXPECT_EQ(rig.tick(at(2002ms)), "");
  EXPECT_EQ(rig.state(), "reserved (ripe)");
  EXPECT_FALSE(rig.machine().leads_at(at(2002ms)));
  EXPECT_EQ(rig.renew(at(2010ms), Renewed{at(1s)}), "renew #4 term 7");
  EXPECT_EQ(rig.renew(at(2020ms), Renewed{at(2010ms)}),
            "elected term 7 until 4.41s; leader changed to me term 7");
}

TEST(Reservation, ThatIsGivenUpIsAbandonedNotReleased) {
  const core::Input inputs[] = {core::Stop{}, core::ResignAsked{}, core::HealthChanged{false}};
  for (const core::Input& input : inputs) {
    Rig rig = reserved();
    rig.step(at(10ms), input);
    EXPECT_EQ(rig.said().back(), "resign #3 term 7, abandoned");
  }
}

TEST(Reservation, ThatTheStoreTookBackIsBidForAnew) {
  const Observation losses[] = {Observation{SessionLost{}}, Observation{record(8)},
                                Observation{Vacant{Vacancy::absent, Term{7}}}};
  for (const Observation& loss : losses) {
    Rig rig = reserved();
    rig.observe(at(10ms), loss);
    EXPECT_EQ(rig.said().back().substr(0, 21), "campaign #3 attempt B");
    EXPECT_EQ(rig.state(), "bidding");
  }
}

TEST(Reservation, HasNoWorkToEndAndNoTermLimit) {
  Rig rig = reserved();
  EXPECT_EQ(rig.step(at(10ms), core::WorkEnded{Term{7}}), "");
  EXPECT_EQ(rig.step(at(11ms), core::TermLimitDue{Term{7}}), "");
  EXPECT_EQ(rig.state(), "reserved");
}

TEST(Reservation, WhoHasSeenATermWaitsForItsLeaseWhenTheStoreIsEmpty) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  Held before = held(7);
  before.record->lease = 5s;
  rig.campaign(at(1ms), before);
  rig.observe(at(2s), YourTurn{});
  rig.campaign(at(2001ms), granted(8, at(2s), Vacancy::absent));
  EXPECT_EQ(std::get<core::Reserved>(rig.machine().state()).valid_from, at(7001ms));
}

}  // namespace
}  // namespace conclave::test
