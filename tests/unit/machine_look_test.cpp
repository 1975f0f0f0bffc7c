#include <gtest/gtest.h>

#include <set>

#include "scenario/rig.hpp"

namespace conclave::test {
namespace {

// When those who wait look again.

Rig waiting(const Held& answer) {
  Rig rig;
  rig.step(at(0ms), core::Start{});
  rig.campaign(at(0ms), answer);
  return rig;
}

TEST(Look, TheFirstInLineLooksWhenTheRecordWouldExpireByTheServer) {
  Held answer = held(7, 1);
  answer.look_again_in = 2s;
  EXPECT_EQ(waiting(answer).wake(), at(2s + 2ms)) << "a little late rather than a little early";
}

TEST(Look, TheFirstInLineLooksAfterALeaseByItsOwnClock) {
  EXPECT_EQ(waiting(held(7, 1)).wake(), at(3s));
}

TEST(Look, TheLeaseInTheRecordIsTheOneToWaitFor) {
  Held answer = held(7, 1);
  answer.record->lease = 8s;
  EXPECT_EQ(waiting(answer).wake(), at(8s));
  answer.place = 2;
  EXPECT_EQ(waiting(answer).wake(), at(16s));
}

TEST(Look, TheRthInLineLooksEveryRLeases) {
  for (std::uint32_t place = 2; place <= 100; ++place) {
    EXPECT_EQ(waiting(held(7, place)).wake(), at(place * 3s)) << place;
  }
}

TEST(Look, AHundredFollowersCostFiveLooksALease) {
  double looks = 0;
  for (std::uint32_t place = 1; place <= 100; ++place) {
    const Duration wait = waiting(held(7, place)).wake() - at(0ms);
    looks += static_cast<double>(Duration(3s).count()) / static_cast<double>(wait.count());
  }
  EXPECT_LT(looks, 5.3);
}

TEST(Look, WithoutAQueueTheLooksAreSpread) {
  Held answer = held(7, 0);
  answer.look_again_in = 2s;
  Rig rig = waiting(answer);
  std::set<Duration> late{rig.wake() - at(2s)};
  for (int look = 1; look <= 10; ++look) {
    const Instant now = rig.wake();
    rig.tick(now);
    answer.record->stamp += 1;  // it lives
    rig.campaign(now, answer);
    late.insert(rig.wake() - (now + 2s));
  }
  EXPECT_GT(late.size(), 5U) << "a crowd would look at once";
  EXPECT_GE(*late.begin(), 2ms);
  EXPECT_LE(*late.rbegin(), 2ms + 5ms) << "the place may be free by now";
}

TEST(Look, WithoutARecordTheOwnLeaseIsWaitedFor) {
  Held answer;
  answer.place = 1;
  EXPECT_EQ(waiting(answer).wake(), at(3s));
}

TEST(Look, AHolderThatLivesOnIsLookedAtOncePerLease) {
  // A session store shows the same version for as long as the session lives.
  Rig rig = waiting(held(7, 1));
  rig.tick(at(3s));
  rig.campaign(at(3s), held(7, 1));
  EXPECT_GE(rig.wake(), at(6s));
}

TEST(Look, BringsTheEvidenceOfTheOwnEyes) {
  Rig rig = waiting(held(7, 1));
  EXPECT_EQ(rig.tick(at(3s)),
            "campaign #3 attempt A above term 7, seen unchanged term 7 version 1");
}

TEST(Look, BringsTheServersExpectedTime) {
  Held first = held(7, 1);
  first.record->server_time = ServerTime{100s};
  first.look_again_in = 1s;
  Rig rig = waiting(first);
  rig.tick(at(1002ms));
  Held second = held(7, 1);
  second.record = record(7, 2);
  second.record->server_time = ServerTime{101s};
  second.look_again_in = 1s;
  rig.campaign(at(1003ms), second);
  EXPECT_EQ(rig.tick(at(2005ms)),
            "campaign #4 attempt A above term 7, server time expected 102.005s");
}

TEST(Look, AVacancyIsToldToAllAndTakenInTurn) {
  for (std::uint32_t place = 1; place <= 4; ++place) {
    Rig rig = waiting(held(7, place));
    rig.observe(at(1s), Vacant{Vacancy::released, Term{7}});
    const Instant bid = place == 1 ? rig.last_campaign().sent : rig.wake();
    EXPECT_EQ(bid, at(1s) + (place - 1) * 20ms) << place;
  }
}

TEST(Look, ANewRecordIsNewsOfTheLeaderAndNoReasonToLook) {
  Rig rig = waiting(held(7, 1));
  EXPECT_EQ(rig.observe(at(1s), record(8, 1, "third")), "leader changed to third term 8");
  EXPECT_EQ(rig.wake(), at(3s));
  EXPECT_EQ(rig.machine().status().leader, "third");
  EXPECT_EQ(rig.machine().status().highest_term_seen, Term{8});
}

}  // namespace
}  // namespace conclave::test
