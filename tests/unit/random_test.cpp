#include "core/random.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "core/backoff.hpp"

namespace conclave::core {
namespace {

using namespace std::chrono_literals;

TEST(Random, TheSameSeedGivesTheSameNumbersEverywhere) {
  Random random(42);
  // Computed once; a change would break the replay of every recorded seed.
  EXPECT_EQ(random.next(), 1546998764402558742U);
  EXPECT_EQ(random.next(), 6990951692964543102U);
}

TEST(Random, EveryWordOfTheSeedCounts) {
  std::set<std::uint64_t> firsts;
  for (std::size_t word = 0; word < 4; ++word) {
    std::array<std::uint64_t, 4> seed{1, 2, 3, 4};
    seed[word] += 1000;
    Random random(seed);
    std::uint64_t sum = 0;
    for (int i = 0; i < 4; ++i) sum = sum * 31 + random.next();
    firsts.insert(sum);
  }
  EXPECT_EQ(firsts.size(), 4U);
}

TEST(Random, UnitIsBelowOne) {
  Random random(1);
  for (int i = 0; i < 10'000; ++i) {
    const double unit = random.unit();
    EXPECT_GE(unit, 0.0);
    EXPECT_LT(unit, 1.0);
  }
}

TEST(Random, BetweenReachesBothEnds) {
  Random random(1);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 1'000; ++i) seen.insert(random.between(-1, 2));
  EXPECT_EQ(seen, (std::set<std::int64_t>{-1, 0, 1, 2}));
}

TEST(Random, BetweenTakesASingleValueAndTheWholeRange) {
  Random random(1);
  EXPECT_EQ(random.between(5, 5), 5);
  EXPECT_EQ(random.between(3s, 3s), Duration(3s));
  (void)random.between(0, std::numeric_limits<std::int64_t>::max());
}

TEST(Random, ChanceKnowsNeverAndAlways) {
  Random random(1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(random.chance(0.0));
    EXPECT_TRUE(random.chance(1.0));
  }
}

TEST(Backoff, TheFirstRetryIsMadeAtOnce) {
  Random random(1);
  EXPECT_EQ(backoff(0, 3s, random), 0s);
  EXPECT_EQ(backoff(1, 3s, random), 0s);
}

TEST(Backoff, DoublesFromAThirtySecondOfTheCapAndStaysThere) {
  Random random(1);
  const Duration longest[] = {100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 3200ms, 3200ms};
  for (std::uint32_t failures = 2; failures < 10; ++failures) {
    for (int i = 0; i < 100; ++i) {
      const Duration wait = backoff(failures, 3200ms, random);
      EXPECT_GE(wait, longest[failures - 2] / 2) << failures;
      EXPECT_LE(wait, longest[failures - 2]) << failures;
    }
  }
}

TEST(Backoff, AFleetDoesNotMarchInStep) {
  std::set<Duration> waits;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    waits.insert(backoff(3, 3s, random));
  }
  EXPECT_GT(waits.size(), 45U);
}

TEST(Backoff, SurvivesAnEndlessOutageAndATinyCap) {
  Random random(1);
  EXPECT_LE(backoff(std::numeric_limits<std::uint32_t>::max(), 3s, random), Duration(3s));
  EXPECT_LE(backoff(2, 1ns, random), Duration(1ns));
}

}  // namespace
}  // namespace conclave::core
