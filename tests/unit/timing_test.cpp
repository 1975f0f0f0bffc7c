#include <conclave/timing.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace conclave {
namespace {

using namespace std::chrono_literals;

std::string complaint(const TimingOptions& options, const TimingLimits& limits = {}) {
  const auto timing = resolve_timing(options, limits);
  if (timing) return "";
  EXPECT_EQ(timing.error().code, ErrorCode::invalid_argument);
  return timing.error().message;
}

TimingOptions lease_of(Duration lease) {
  TimingOptions options;
  options.lease = lease;
  return options;
}

TEST(Timing, DefaultsFollowFromTheLease) {
  const auto timing = resolve_timing({});
  ASSERT_TRUE(timing);
  EXPECT_EQ(timing->lease, 3s);
  EXPECT_EQ(timing->renew_interval, 1s);
  EXPECT_EQ(timing->request_timeout, 375ms);
  EXPECT_EQ(timing->grace, 600ms);
  EXPECT_EQ(timing->drain_limit, 30s);
  EXPECT_EQ(timing->cool_down, 3s);
  EXPECT_TRUE(timing->notes.empty());
}

TEST(Timing, TheStoreHasADefaultLeaseOfItsOwn) {
  const auto timing = resolve_timing({}, {.default_lease = 6s, .lease_floor = {}, .lag = {}});
  ASSERT_TRUE(timing);
  EXPECT_EQ(timing->lease, 6s);
  EXPECT_EQ(timing->renew_interval, 2s);
}

TEST(Timing, DefaultsWorkForEveryLease) {
  for (const Duration lease : std::vector<Duration>{10ms, 11ms, 1s, 1234567us, 1min, 24h}) {
    EXPECT_EQ(complaint(lease_of(lease)), "");
  }
}

TEST(Timing, HoldIsFourFifths) {
  EXPECT_EQ(hold(3s), 2400ms);
  EXPECT_EQ(hold(10ms), 8ms);
  // Rounded down, never up.
  EXPECT_LE(hold(Duration{9}).count() * 5, 9 * 4);
}

TEST(Timing, TheHoldOnTheSlowestClockIsOverBeforeTheLeaseOnTheFastest) {
  EXPECT_LT(0.8 / 0.899, 1.0 / 1.101);
}

struct Field {
  const char* name;
  std::optional<Duration> TimingOptions::*option;
};
const Field fields[] = {{"lease", &TimingOptions::lease},
                        {"renew_interval", &TimingOptions::renew_interval},
                        {"request_timeout", &TimingOptions::request_timeout},
                        {"grace", &TimingOptions::grace},
                        {"drain_limit", &TimingOptions::drain_limit},
                        {"cool_down", &TimingOptions::cool_down}};

TEST(Timing, NoFieldMayBeZeroOrNegative) {
  for (const Field& field : fields) {
    TimingOptions options;
    options.*field.option = 0s;
    EXPECT_EQ(complaint(options),
              std::string(field.name) +
                  " is 0 s: it must be longer than zero; leave it out for the default");
    options.*field.option = -1500ms;
    EXPECT_EQ(complaint(options),
              std::string(field.name) +
                  " is -1.5 s: it must be longer than zero; leave it out for the default");
  }
}

TEST(Timing, NoFieldMayBeAbsurdlyLong) {
  for (const Field& field : fields) {
    TimingOptions options;
    options.*field.option = Duration::max();
    EXPECT_NE(complaint(options).find(std::string(field.name) + " is "), std::string::npos);
    EXPECT_NE(complaint(options).find("at most one year"), std::string::npos);
  }
}

TEST(Timing, ExtremesOfAllFieldsTogetherDoNotOverflow) {
  TimingOptions options;
  for (const Field& field : fields) options.*field.option = 24h * 365;
  options.lease = 24h;
  EXPECT_NE(complaint(options), "");
  for (const Field& field : fields) options.*field.option = Duration::min();
  EXPECT_NE(complaint(options), "");
}

TEST(Timing, TheLeaseHasBounds) {
  EXPECT_EQ(complaint(lease_of(9999us)),
            "lease is 9.999 ms: it must be at least 10 ms, below which timers decide who leads");
  EXPECT_EQ(complaint(lease_of(10ms)), "");
  EXPECT_EQ(complaint(lease_of(24h)), "");
  EXPECT_EQ(complaint(lease_of(24h + 1s)),
            "lease is 86401 s: it must be at most 86400 s, since a crashed leader is missed for "
            "that long");
}

TEST(Timing, RenewIntervalMustFitIntoTheHold) {
  TimingOptions options;
  options.renew_interval = 2400ms;
  EXPECT_EQ(complaint(options),
            "renew_interval is 2.4 s: it must be below 2.4 s (four fifths of the lease of 3 s), or "
            "no term outlives its first renewal; a third of the lease is usual");
}

TEST(Timing, GraceMustFitIntoTheHold) {
  TimingOptions options;
  options.grace = 2400ms;
  EXPECT_EQ(complaint(options),
            "grace is 2.4 s: it must be below 2.4 s (four fifths of the lease of 3 s), or the work "
            "is told to stop before it begins; a fifth of the lease is usual");
}

TEST(Timing, RequestTimeoutMustFitIntoTheHold) {
  TimingOptions options;
  options.request_timeout = 3s;
  EXPECT_EQ(complaint(options),
            "request_timeout is 3 s: it must be below 2.4 s (four fifths of the lease of 3 s), or "
            "one lost reply costs the term; an eighth of the lease is usual");
}

TEST(Timing, OneLostReplyMustFitIntoTheHold) {
  TimingOptions options;
  options.renew_interval = 1050ms;
  EXPECT_EQ(complaint(options),
            "renew_interval (1.05 s) + the store's lag (0 s) + 2 x request_timeout (375 ms) + "
            "grace (600 ms) is 2.4 s: it must be below 2.4 s (four fifths of the lease of 3 s), so "
            "that one lost reply does not cost the term; lengthen the lease or shorten one of "
            "them");
  options.renew_interval = 1050ms - 1ns;
  EXPECT_EQ(complaint(options), "");
}

TEST(Timing, TheStoresLagCounts) {
  EXPECT_EQ(complaint({}, {.default_lease = 3s, .lease_floor = {}, .lag = 50ms - 1ns}), "");
  EXPECT_NE(complaint({}, {.default_lease = 3s, .lease_floor = {}, .lag = 50ms})
                .find("the store's lag (50 ms)"),
            std::string::npos);
}

TEST(Timing, ALeaseBelowTheServersFloorIsRaisedAndReported) {
  const auto timing =
      resolve_timing(lease_of(1500ms), {.default_lease = 3s, .lease_floor = 4s, .lag = {}});
  ASSERT_TRUE(timing);
  EXPECT_EQ(timing->lease, 4s);
  EXPECT_EQ(timing->request_timeout, 500ms);
  ASSERT_EQ(timing->notes.size(), 1U);
  EXPECT_EQ(timing->notes[0],
            "lease was raised from 1.5 s to 4 s, the shortest that the server grants");
}

TEST(Timing, ALeaseAtTheServersFloorIsLeftAlone) {
  const auto timing =
      resolve_timing(lease_of(4s), {.default_lease = 3s, .lease_floor = 4s, .lag = {}});
  ASSERT_TRUE(timing);
  EXPECT_TRUE(timing->notes.empty());
}

TEST(Timing, DrainAndCoolDownMayOutlastTheLease) {
  TimingOptions options;
  options.drain_limit = 24h;
  options.cool_down = 24h;
  EXPECT_EQ(complaint(options), "");
}

}  // namespace
}  // namespace conclave
