#include <conclave/result.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace conclave {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return invalid_argument("number is odd: give an even one");
  return number / 2;
}

TEST(Result, HoldsAValue) {
  const auto result = half(8);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result.has_value());
  EXPECT_EQ(*result, 4);
  EXPECT_EQ(result.value(), 4);
}

TEST(Result, HoldsAnError) {
  const auto result = half(7);
  ASSERT_FALSE(result);
  EXPECT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(result.error().message, "number is odd: give an even one");
  EXPECT_FALSE(result.error().retryable);
  EXPECT_FALSE(result.error().in_doubt);
}

TEST(Result, ReachesIntoItsValue) {
  const Result<std::string> result{std::string("text")};
  EXPECT_EQ(result->size(), 4U);
}

TEST(Result, GivesAwayWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> result{std::make_unique<int>(5)};
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 5);
}

TEST(Result, TellsAnErrorFromAValueOfTheSameType) {
  // The index decides, not the type: a Result of an Error would otherwise not know which it is.
  const Result<int> zero{0};
  EXPECT_TRUE(zero);
}

TEST(Error, EveryCodeHasAName) {
  for (int code = 0; code <= static_cast<int>(ErrorCode::election_ended); ++code) {
    EXPECT_NE(to_string(static_cast<ErrorCode>(code)), "unknown") << code;
  }
}

TEST(Error, IsTheSameWhenAllItSaysIsTheSame) {
  const Error error{ErrorCode::timed_out, "no answer", true, true};
  EXPECT_EQ(error, (Error{ErrorCode::timed_out, "no answer", true, true}));
  EXPECT_NE(error, (Error{ErrorCode::timed_out, "no answer", true, false}));
  EXPECT_NE(error, (Error{ErrorCode::cancelled, "no answer", true, true}));
}

}  // namespace
}  // namespace conclave
