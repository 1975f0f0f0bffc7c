// What is_leader() reads, with a clock that changes the published value while it is read: as a
// thread would that is paused between two instructions.
#include "runtime/validity.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace conclave::runtime {
namespace {

using namespace std::chrono_literals;

// Does something at its first readings, then tells the time.
class ScriptedClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const noexcept override {
    readings += 1;
    if (act) act();
    return at;
  }

  Instant at{100s};
  mutable int readings = 0;
  std::function<void()> act;
};

class ValidityTest : public ::testing::Test {
 protected:
  ScriptedClock clock;
  Validity validity;
};

TEST_F(ValidityTest, HoldsUntilTheDeadlineAndNotAtIt) {
  EXPECT_FALSE(validity.holds(clock));
  validity.publish(Term{1}, Instant{100s} + 1ns);
  EXPECT_TRUE(validity.holds(clock));
  EXPECT_TRUE(validity.holds(clock, Term{1}));
  EXPECT_FALSE(validity.holds(clock, Term{2}));
  clock.at += 1ns;
  EXPECT_FALSE(validity.holds(clock));
  clock.at -= 1ns;
  validity.clear();
  EXPECT_FALSE(validity.holds(clock));
}

TEST_F(ValidityTest, CoversWorkThatEndsBeforeTheDeadline) {
  validity.publish(Term{1}, Instant{110s});
  EXPECT_TRUE(validity.holds(clock, Term{1}, 10s - 1ns));
  EXPECT_FALSE(validity.holds(clock, Term{1}, 10s));
  EXPECT_FALSE(validity.holds(clock, Term{1}, Duration::max()));
}

TEST_F(ValidityTest, ReleasedWhileItWasReadIsFalse) {
  validity.publish(Term{1}, Instant{110s});
  clock.act = [&] { validity.clear(); };
  EXPECT_FALSE(validity.holds(clock)) << "by the time of the reading another one may lead";
  EXPECT_EQ(clock.readings, 1);
}

// The reading may be from before the term began: it is not counted for that term.
TEST_F(ValidityTest, ElectedWhileItWasReadIsNotReportedForAnEarlierInstant) {
  clock.act = [&] { validity.publish(Term{1}, Instant{110s}); };
  EXPECT_FALSE(validity.holds(clock));
  EXPECT_EQ(clock.readings, 0) << "there was nothing to look at the clock for";
}

TEST_F(ValidityTest, ReleasedAndElectedAnewWhileItWasReadNeedsAFreshReading) {
  validity.publish(Term{1}, Instant{110s});
  clock.act = [&] {
    if (clock.readings > 1) return;
    validity.clear();
    validity.publish(Term{2}, Instant{120s});
  };
  EXPECT_TRUE(validity.holds(clock));
  EXPECT_EQ(clock.readings, 2) << "the first was from between the two terms, for all we know";
}

TEST_F(ValidityTest, AnotherTermWhileItWasReadIsNotTheOneAskedFor) {
  validity.publish(Term{1}, Instant{110s});
  clock.act = [&] {
    validity.clear();
    validity.publish(Term{2}, Instant{120s});
  };
  EXPECT_FALSE(validity.holds(clock, Term{1}));
}

TEST_F(ValidityTest, ExtendedWhileItWasReadIsTrue) {
  validity.publish(Term{1}, Instant{110s});
  clock.act = [&] {
    if (clock.readings == 1) validity.publish(Term{1}, Instant{120s});
  };
  EXPECT_TRUE(validity.holds(clock, Term{1}, 15s));
  EXPECT_EQ(clock.readings, 2);
}

TEST_F(ValidityTest, GivesUpWhenItChangesUnderEveryReading) {
  validity.publish(Term{1}, Instant{110s});
  clock.act = [&] {
    validity.publish(Term{1}, Instant{110s} + std::chrono::seconds{clock.readings});
  };
  EXPECT_FALSE(validity.holds(clock)) << "wait-free, and false is always safe";
  EXPECT_EQ(clock.readings, 3);
}

TEST(ValidityPagesTest, GiveEveryoneItsOwnAndTakeItBackCleared) {
  const ScriptedClock clock;
  ValidityPages pages;
  std::set<Validity*> all;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(all.insert(pages.take()).second);
  for (Validity* each : all) {
    EXPECT_FALSE(each->holds(clock));
    each->publish(Term{1}, Instant{110s});
    EXPECT_TRUE(each->holds(clock));
  }
  for (Validity* each : all) pages.give_back(each);
  for (int i = 0; i < 1000; ++i) {
    Validity* const again = pages.take();
    EXPECT_TRUE(all.contains(again)) << "no page more than before";
    EXPECT_FALSE(again->holds(clock));
  }
}

}  // namespace
}  // namespace conclave::runtime
