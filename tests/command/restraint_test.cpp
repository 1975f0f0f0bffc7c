// Errors are told once, then at a calm pace with their number.
#include "apps/conclave/restraint.hpp"

#include <gtest/gtest.h>

namespace conclave::app {
namespace {

using namespace std::chrono_literals;

Event event(EventKind kind, Duration at) {
  Event result;
  result.kind = kind;
  result.at = Instant{at};
  return result;
}

Event error(const char* message, Duration at, bool retryable = true) {
  Event result = event(EventKind::error, at);
  result.error = Error{ErrorCode::unavailable, message, retryable, false};
  return result;
}

TEST(Restraint, tells_an_error_once_and_then_at_its_pace_with_the_number) {
  Restraint restraint(60s);
  EXPECT_EQ(restraint.take(error("down", 0s))->times, 1);
  for (int second = 1; second < 60; ++second) {
    EXPECT_FALSE(restraint.take(error("down", second * 1s)));
  }
  const auto still = restraint.take(error("down", 60s));
  ASSERT_TRUE(still);
  EXPECT_EQ(still->times, 60);
  EXPECT_EQ(still->within, 60s);
  EXPECT_FALSE(restraint.take(error("down", 61s)));
}

TEST(Restraint, tells_each_of_two_that_take_turns_once) {
  Restraint restraint(60s);
  EXPECT_TRUE(restraint.take(error("refused", 0s)));
  EXPECT_TRUE(restraint.take(error("silent", 1s)));
  EXPECT_FALSE(restraint.take(error("refused", 2s)));
  EXPECT_FALSE(restraint.take(error("silent", 3s)));
}

TEST(Restraint, tells_it_anew_after_the_store_has_answered) {
  for (const EventKind good : {EventKind::follower, EventKind::elected, EventKind::extended}) {
    Restraint restraint(60s);
    EXPECT_TRUE(restraint.take(error("down", 0s)));
    EXPECT_TRUE(restraint.take(event(good, 1s)));
    EXPECT_EQ(restraint.take(error("down", 2s))->times, 1);
  }
}

TEST(Restraint, is_not_loosened_by_what_the_candidate_finds_by_itself) {
  Restraint restraint(60s);
  EXPECT_TRUE(restraint.take(error("down", 0s)));
  for (const EventKind own : {EventKind::jeopardy, EventKind::lost, EventKind::leader_changed}) {
    EXPECT_TRUE(restraint.take(event(own, 1s)));
    EXPECT_FALSE(restraint.take(error("down", 2s)));
  }
}

TEST(Restraint, forgets_what_has_not_come_for_long) {
  Restraint restraint(60s);
  EXPECT_TRUE(restraint.take(error("down", 0s)));
  EXPECT_FALSE(restraint.take(error("down", 1s)));
  EXPECT_EQ(restraint.take(error("down", 122s))->times, 1);
}

TEST(Restraint, says_how_often_and_whether_it_heals) {
  EXPECT_EQ(error_sentence(*error("down", 0s).error, {}), "down");
  EXPECT_EQ(error_sentence(*error("down", 0s).error, {12, 60s}), "down (still, 12 times in 60 s)");
  EXPECT_NE(error_sentence(*error("no", 0s, false).error, {}).find("does not heal by itself"),
            std::string::npos);
}

}  // namespace
}  // namespace conclave::app
