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
    for (const char* const each : {"a", "b", "c"}) ears.is_held_by(each, bob, {1});
    for (const char* const each : {"d", "e"}) ears.is_held_by(each, anna, {1});
    ears.is_held_by("f", carl, {1});
  }

  Ears ears;
  Operation next = 1;
};

TEST_F(PostgresEars, KnowWhoHoldsMost) {
  EXPECT_EQ(ears.busiest({}), bob);
  EXPECT_EQ(ears.busiest({bob}), anna);
  EXPECT_EQ(ears.busiest({bob, anna}), carl);
  EXPECT_EQ(ears.busiest({bob, anna, carl}), std::nullopt);
}

TEST_F(PostgresEars, FollowChanges) {
  ears.is_held_by("a", anna, {2});
  EXPECT_EQ(ears.busiest({}), anna);
  ears.is_held_by("d", 0, {});
  ears.is_held_by("e", carl, {2});
  ears.is_held_by("b", carl, {2});
  EXPECT_EQ(ears.busiest({}), carl);
  EXPECT_EQ(ears.held_by(anna).size(), 1U);
}

TEST_F(PostgresEars, ForgetWhatNobodyListensTo) {
  for (Operation each = 1; each <= 3; ++each) EXPECT_TRUE(ears.cancel(each));
  EXPECT_EQ(ears.busiest({}), anna);
  EXPECT_TRUE(ears.held_by(bob).empty());
  EXPECT_FALSE(ears.is_held_by("a", bob, {2})) << "nobody listens";
  EXPECT_EQ(ears.busiest({anna, carl}), std::nullopt);
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
