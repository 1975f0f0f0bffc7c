#include <gtest/gtest.h>

#include "scenario/rig.hpp"

namespace conclave::test {
namespace {

// The hold rule and the two instants. The lease is 3 s, the hold 2.4 s, the grace 600 ms.

TEST(Hold, CountsFromTheSendingNeverFromTheReply) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  EXPECT_EQ(rig.campaign(at(300ms), granted(7, at(0ms))),
            "elected term 7 until 2.4s; leader changed to me term 7");
}

TEST(Hold, BelievesTheStoreWhenItCountsFromEarlier) {
  Rig rig;
  rig.step(at(1s), core::Start{});
  EXPECT_EQ(rig.campaign(at(1010ms), granted(7, at(600ms))),
            "elected term 7 until 3s; leader changed to me term 7");
}

TEST(Hold, NeverCountsFromTheFuture) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  EXPECT_EQ(rig.campaign(at(10ms), granted(7, at(1h))),
            "elected term 7 until 2.41s; leader changed to me term 7");
  rig.tick(at(1010ms));
  EXPECT_EQ(rig.renew(at(1020ms), Renewed{at(2h)}), "extended term 7 until 3.42s");
}

TEST(Hold, TheGrantsLeaseCountsNotTheOneAskedFor) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  Granted longer = granted(7, at(0ms));
  longer.lease = 5s;
  EXPECT_EQ(rig.campaign(at(1ms), longer), "elected term 7 until 4s; leader changed to me term 7");
}

TEST(Hold, LeadsUntilTheDeadlineAndNotAtIt) {
  Rig rig;
  rig.become_leader();
  EXPECT_TRUE(rig.machine().leads_at(at(2400ms - 1ns)));
  EXPECT_FALSE(rig.machine().leads_at(at(2400ms)));
}

TEST(Hold, NeedsNoStepToReadFalseAfterALongSleep) {
  Rig rig;
  rig.become_leader();
  EXPECT_FALSE(rig.machine().leads_at(at(24h)));
  EXPECT_EQ(rig.machine().role(), Role::leader) << "a role alone does not say that it leads now";
}

TEST(Hold, ARenewalCountsFromItsSending) {
  Rig rig;
  rig.become_leader();
  EXPECT_EQ(rig.tick(at(1s)), "renew #3 term 7");
  EXPECT_EQ(rig.renew(at(1300ms), Renewed{at(1s)}), "extended term 7 until 3.4s");
  EXPECT_EQ(rig.machine().status().deadline, at(3400ms));
}

TEST(Hold, ARenewalNeverShortensTheHold) {
  Rig rig;
  rig.become_leader();
  rig.tick(at(1s));
  rig.renew(at(1002ms), Renewed{at(1s)});
  rig.tick(at(2s));
  EXPECT_EQ(rig.renew(at(2002ms), Renewed{at(500ms)}), "");
  EXPECT_EQ(rig.machine().status().deadline, at(3400ms));
}

TEST(Hold, TheStopTokenFiresAtDeadlineLessGrace) {
  Rig rig;
  rig.become_leader();
  rig.tick(at(1s));
  rig.tick(at(1375ms));
  EXPECT_EQ(rig.wake(), at(1800ms));
  EXPECT_EQ(rig.tick(at(1800ms - 1ns)), "");
  EXPECT_EQ(rig.tick(at(1800ms)), "stopping term 7 (lease expired)");
  EXPECT_EQ(rig.machine().role(), Role::draining);
  EXPECT_TRUE(rig.machine().leads_at(at(2s)));
}

TEST(Hold, TheTermIsLostAtTheDeadline) {
  Rig rig;
  rig.become_leader();
  rig.tick(at(1s));
  rig.tick(at(1800ms));
  EXPECT_EQ(rig.wake(), at(2400ms));
  EXPECT_EQ(rig.tick(at(2400ms)), "lost term 7 (lease expired) at 2.4s; leader changed to nobody");
  EXPECT_EQ(rig.state(), "winding down");
}

TEST(Hold, ALateStepTellsWhenTheTermReallyEnded) {
  Rig rig;
  rig.become_leader();
  EXPECT_EQ(rig.tick(at(2500ms)),
            "stopping term 7 (lease expired); lost term 7 (lease expired) at 2.4s; leader changed "
            "to nobody");
}

TEST(Hold, WhatArrivesAfterTheDeadlineArrivesTooLate) {
  Rig rig;
  rig.become_leader();
  rig.tick(at(1s));
  EXPECT_EQ(rig.renew(at(2400ms), Renewed{at(1s)}),
            "stopping term 7 (lease expired); cancel #3; lost term 7 (lease expired) at 2.4s; "
            "leader changed to nobody");
}

TEST(Hold, ARenewalAfterTheStopTokenOnlyLengthensTheDrain) {
  Rig rig;
  rig.become_leader();
  rig.tick(at(1s));
  rig.tick(at(1375ms));
  rig.tick(at(1800ms));
  EXPECT_EQ(rig.renew(at(1900ms), Renewed{at(1s)}), "extended term 7 until 3.4s");
  EXPECT_EQ(rig.state(), "draining");
  EXPECT_TRUE(rig.machine().leads_at(at(3s)));
  EXPECT_EQ(rig.step(at(2100ms), core::WorkEnded{Term{7}}),
            "lost term 7 (lease expired) at 2.1s; leader changed to nobody; resign #4 term 7, "
            "released");
}

TEST(Hold, AGrantThatArrivesTooLateIsNotBegun) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  rig.tick(at(375ms));
  EXPECT_EQ(rig.campaign(at(2400ms), granted(7, at(0ms))), "resign #3 term 7, abandoned");
  EXPECT_EQ(rig.state(), "retrying");
}

TEST(Hold, AGrantThatWouldHaveToStopAtOnceIsRenewedFirst) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  rig.tick(at(375ms));
  EXPECT_EQ(rig.campaign(at(1900ms), granted(7, at(0ms))), "renew #3 term 7");
  EXPECT_EQ(rig.state(), "reserved (ripe)");
  EXPECT_EQ(rig.renew(at(1901ms), Renewed{at(1900ms)}),
            "elected term 7 until 4.3s; leader changed to me term 7");
}

}  // namespace
}  // namespace conclave::test
