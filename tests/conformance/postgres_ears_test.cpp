// Who holds most of what is listened to: that is whose end is waited for.
#include "stores/postgres/ears.hpp"

#include <gtest/gtest.h>

namespace conclave::postgres {
namespace {

constexpr std::int64_t anna = 11;
constexpr std::int64_t bob = 12;
constexpr std::int64_t carl = 13;

class PostgresEars : public ::testing::Test {
 protected:
  PostgresEars() {
    for (const char* const each : {"a", "b", "c", "d", "e", "f"}) {
      ears.listen(each, "dora", next++, [](const Observation&) {});
    }
    for (const char* const each : {"a", "b", "c"}) ears.note_holder(each, bob, {1}, now);
    for (const char* const each : {"d", "e"}) ears.note_holder(each, anna, {1}, now);
    ears.note_holder("f", carl, {1}, now);
  }

  Ears ears;
  Operation next = 1;
  Instant now{std::chrono::hours{1}};
};

TEST_F(PostgresEars, KnowWhoHoldsMost) {
  EXPECT_EQ(ears.busiest({}), bob);
  EXPECT_EQ(ears.busiest({bob}), anna);
  EXPECT_EQ(ears.busiest({bob, anna}), carl);
  EXPECT_EQ(ears.busiest({bob, anna, carl}), std::nullopt);
}

TEST_F(PostgresEars, FollowChanges) {
  ears.note_holder("a", anna, {2}, now);
  EXPECT_EQ(ears.busiest({}), anna);
  ears.note_holder("d", 0, {}, now);
  ears.note_holder("e", carl, {2}, now);
  ears.note_holder("b", carl, {2}, now);
  EXPECT_EQ(ears.busiest({}), carl);
  EXPECT_EQ(ears.end_of(anna, now).size(), 1U);
}

TEST_F(PostgresEars, ForgetWhatNobodyListensTo) {
  for (Operation each = 1; each <= 3; ++each) EXPECT_TRUE(ears.cancel(each));
  EXPECT_EQ(ears.busiest({}), anna);
  EXPECT_TRUE(ears.end_of(bob, now).empty());
  EXPECT_FALSE(ears.note_holder("a", bob, {2}, now)) << "nobody listens";
  EXPECT_EQ(ears.busiest({anna, carl}), std::nullopt);
}

// It may be elsewhere, and would be seen to have ended again and again.
TEST_F(PostgresEars, WaitForOneEndOfATermForAWhile) {
  const Instant until = now + std::chrono::seconds{3};
  EXPECT_EQ(ears.end_of(bob, until).size(), 3U);
  EXPECT_EQ(ears.busiest({}), anna);
  for (const char* const each : {"a", "b", "c"}) ears.note_holder(each, bob, {1}, now);
  EXPECT_EQ(ears.busiest({anna, carl}), std::nullopt);
  EXPECT_EQ(ears.term_of("a"), Term{1});
  ears.note_holder("a", bob, {2}, now);
  EXPECT_EQ(ears.busiest({anna, carl}), bob) << "it has another term";
  EXPECT_EQ(ears.end_of(bob, until).size(), 1U);
  ears.note_holder("b", bob, {1}, until);
  EXPECT_EQ(ears.busiest({anna, carl}), bob) << "it still is there";
}

// Whoever only observes, leads or has left has no turn.
TEST_F(PostgresEars, AskWhoWaits) {
  std::vector<std::string> asked;
  for (const std::string name : {"emil", "fred", ""}) {
    ears.listen("a", name, next++, [&asked, name](const Observation& what) {
      if (std::holds_alternative<YourTurn>(what)) asked.push_back(name);
    });
    ears.waits("a", name, !name.empty());
  }
  EXPECT_EQ(ears.waiting("a"), (std::vector<std::string>{"emil", "fred"}));
  ears.waits("a", "emil", false);
  EXPECT_EQ(ears.waiting("a"), std::vector<std::string>{"fred"});
  ears.ask("a", ears.waiting("a"));
  EXPECT_EQ(asked, std::vector<std::string>{"fred"});
  ears.cancel(next - 2);
  EXPECT_TRUE(ears.waiting("a").empty());
}

}  // namespace
}  // namespace conclave::postgres
