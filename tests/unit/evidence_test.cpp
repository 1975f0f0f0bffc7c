#include "core/evidence.hpp"

#include <gtest/gtest.h>

#include "scenario/rig.hpp"

namespace conclave::core {
namespace {

using namespace std::chrono_literals;
using test::at;

Record shown(std::uint64_t stamp, std::optional<Duration> server_time = {}, Duration lease = 3s) {
  Record record = test::record(7, stamp);
  record.lease = lease;
  if (server_time) record.server_time = ServerTime{*server_time};
  return record;
}

TEST(Evidence, KnowsNothingAtFirst) {
  const Evidence evidence;
  EXPECT_EQ(evidence.at(at(1h)).unchanged, std::nullopt);
  EXPECT_EQ(evidence.at(at(1h)).expected_server_time, std::nullopt);
  EXPECT_EQ(evidence.ripe_at(), std::nullopt);
  EXPECT_EQ(evidence.lease(), 0s);
}

TEST(Evidence, OwnEyesNeedAWholeLeaseSinceTheReplyThatFirstShowedIt) {
  Evidence evidence;
  evidence.answered(shown(1), at(1s));
  EXPECT_EQ(evidence.ripe_at(), at(4s));
  EXPECT_EQ(evidence.at(at(4s - 1ns)).unchanged, std::nullopt);
  EXPECT_EQ(evidence.at(at(4s)).unchanged, (Version{Term{7}, 1}));
}

TEST(Evidence, SeeingTheSameVersionAgainDoesNotStartAnew) {
  Evidence evidence;
  evidence.answered(shown(1), at(1s));
  evidence.answered(shown(1), at(3s));
  EXPECT_EQ(evidence.ripe_at(), at(4s));
}

TEST(Evidence, ARenewalStartsAnew) {
  Evidence evidence;
  evidence.answered(shown(1), at(1s));
  evidence.answered(shown(2), at(3s));
  EXPECT_EQ(evidence.ripe_at(), at(6s));
  EXPECT_EQ(evidence.at(at(5s)).unchanged, std::nullopt);
}

TEST(Evidence, ANewTermWithTheSameStampStartsAnew) {
  Evidence evidence;
  evidence.answered(shown(1), at(1s));
  Record next = shown(1);
  next.term = Term{8};
  evidence.answered(next, at(3s));
  EXPECT_EQ(evidence.ripe_at(), at(6s));
}

TEST(Evidence, WaitsForTheLeaseInTheRecord) {
  Evidence evidence;
  evidence.answered(shown(1, {}, 10s), at(1s));
  EXPECT_EQ(evidence.ripe_at(), at(11s));
  EXPECT_EQ(evidence.lease(), 10s);
}

TEST(Evidence, OneVersionAloneSaysNothingOfTheServersClock) {
  Evidence evidence;
  evidence.answered(shown(1, 100s), at(1s));
  evidence.answered(shown(1, 102s), at(3s));
  EXPECT_EQ(evidence.at(at(4s)).expected_server_time, std::nullopt);
}

TEST(Evidence, ALookBeforeTheRenewalSaysWhatTheServersClockShouldBe) {
  Evidence evidence;
  evidence.answered(shown(1, 100s), at(1s));
  evidence.answered(shown(2, 150s), at(3s));
  // From the look at version 1: the clock may have jumped between the renewal and the second look.
  EXPECT_EQ(evidence.at(at(5s)).expected_server_time, ServerTime{104s});
}

TEST(Evidence, TheLatestLookThatPredatesTheRenewalCounts) {
  Evidence evidence;
  evidence.answered(shown(1, 100s), at(1s));
  evidence.answered(shown(1, 101s), at(2s));
  evidence.answered(shown(2, 102s), at(3s));
  evidence.answered(shown(2, 200s), at(4s));
  EXPECT_EQ(evidence.at(at(5s)).expected_server_time, ServerTime{104s});
}

// The clock may have been set back since, and forward again.
TEST(Evidence, ALookOfLongAgoSaysNothingOfTheServersClock) {
  Evidence evidence;
  evidence.answered(shown(1, 100s, 5s), at(1s));
  evidence.answered(shown(2, 110s, 5s), at(11s));
  EXPECT_EQ(evidence.at(at(16s)).expected_server_time, ServerTime{115s});
  EXPECT_EQ(evidence.at(at(16s) + 1ns).expected_server_time, std::nullopt);
}

TEST(Evidence, ALookWithoutAServerTimeProvesNothing) {
  Evidence evidence;
  evidence.answered(shown(1, 100s), at(1s));
  evidence.answered(shown(2), at(2s));
  EXPECT_TRUE(evidence.at(at(3s)).expected_server_time.has_value());
  evidence.answered(shown(3), at(3s));
  EXPECT_EQ(evidence.at(at(4s)).expected_server_time, std::nullopt);
}

TEST(Evidence, AVacancyForgetsTheHolderButNotItsLease) {
  Evidence evidence;
  evidence.answered(shown(1, 100s, 5s), at(1s));
  evidence.answered(shown(2, 101s, 5s), at(2s));
  evidence.clear();
  EXPECT_EQ(evidence.ripe_at(), std::nullopt);
  EXPECT_EQ(evidence.at(at(1h)).unchanged, std::nullopt);
  EXPECT_EQ(evidence.at(at(1h)).expected_server_time, std::nullopt);
  EXPECT_EQ(evidence.lease(), 5s);
}

// One step of the server's clock and one late observation: neither may pass for a look before the
// renewal.
TEST(Evidence, ALateObservationSaysNothingOfTheServersClock) {
  Evidence evidence;
  evidence.answered(shown(1, 100s), at(1s));
  evidence.answered(shown(2, 150s), at(3s));
  evidence.observed(shown(1, 101s), at(4s));
  evidence.answered(shown(2, 152s), at(5s));
  EXPECT_EQ(evidence.at(at(6s)).expected_server_time, ServerTime{105s});
  EXPECT_EQ(evidence.ripe_at(), at(8s)) << "and the own eyes begin anew";
}

}  // namespace
}  // namespace conclave::core
