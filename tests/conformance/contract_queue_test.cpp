// The queue: first come, first served, and nobody waits for the dead.
#include "conformance/conformance.hpp"

namespace conclave::conformance {
namespace {

TEST_P(Contract, BidsStandInLineInTheOrderInWhichTheyCame) {
  if (!has(Ability::queues)) GTEST_SKIP() << "no queue here";
  const auto store = connect();
  granted(*store, bid("a", 1));
  EXPECT_EQ(held(*store, bid("b", 2)).place, 1U);
  EXPECT_EQ(held(*store, bid("c", 3)).place, 2U);
  EXPECT_EQ(held(*store, bid("d", 4)).place, 3U);
  EXPECT_EQ(held(*store, bid("c", 3)).place, 2U);
  const Inspection found = inspect(*store);
  ASSERT_EQ(found.candidates.size(), 3U);
  EXPECT_EQ(found.candidates[1].candidate, "c");
  EXPECT_EQ(found.candidates[1].metadata, "info of c");
  EXPECT_EQ(found.candidates[1].place, 2U);
}

TEST_P(Contract, AResignedBidLeavesTheLine) {
  const auto store = connect();
  granted(*store, bid("a", 1));
  held(*store, bid("b", 2));
  held(*store, bid("c", 3));
  EXPECT_FALSE(std::holds_alternative<Unknown>(
      resign(*store, resignation(bid("b", 2), std::nullopt, false))));
  EXPECT_EQ(held(*store, bid("c", 3)).place, has(Ability::queues) ? 1U : 0U);
  EXPECT_EQ(inspect(*store).leader.value_or(Record{}).leader, "a");
}

TEST_P(Contract, NobodyOvertakesTheFirstInLine) {
  if (!has(Ability::queues)) GTEST_SKIP() << "no queue here";
  const auto store = connect();
  const Term term = granted(*store, bid("a", 1)).term;
  held(*store, bid("b", 2));
  std::optional<CampaignAnswer> newcomer;
  // In one go: on a real server the first in line could otherwise be late.
  on(*store, [&] {
    store->resign(resignation(bid("a", 1), term, true), [](const Answer&) {});
    store->campaign(bid("c", 3), [&](CampaignAnswer answer) {
      newcomer = std::move(answer);
      fixture().changed();
    });
  });
  ASSERT_TRUE(run_until([&] { return newcomer.has_value(); }));
  EXPECT_TRUE(std::holds_alternative<Held>(*newcomer));
  EXPECT_EQ(granted(*store, bid("b", 2)).vacancy, Vacancy::released);
}

TEST_P(Contract, ADeadFirstInLineDoesNotBlockTheOthers) {
  const auto store = connect();
  const Term term = granted(*store, bid("a", 1)).term;
  held(*store, bid("dead", 2));
  held(*store, bid("c", 3));
  resign(*store, resignation(bid("a", 1), term, true));
  run_for(lease());
  EXPECT_EQ(granted(*store, bid("c", 3)).vacancy, Vacancy::released);
}

TEST_P(Contract, SilentBidsAreDroppedAndTheOthersMoveUp) {
  if (!has(Ability::queues)) GTEST_SKIP() << "no queue here";
  const auto store = connect();
  const Bid mine = bid("a", 1);
  const Term term = granted(*store, mine).term;
  held(*store, bid("dead", 2));
  const auto place = [&] { return held(*store, bid("c", 3)).place; };
  EXPECT_EQ(place(), 2U);
  for (int i = 0; i < 15 && place() != 1U; ++i) {
    renew(*store, renewal(mine, term));
    run_for(lease() / 2);
  }
  EXPECT_EQ(place(), 1U);
}

TEST_P(Contract, WhoeverIsGrantedThePlaceLeavesTheLine) {
  if (!has(Ability::queues)) GTEST_SKIP() << "no queue here";
  const auto store = connect();
  const Term term = granted(*store, bid("a", 1)).term;
  held(*store, bid("b", 2));
  held(*store, bid("c", 3));
  resign(*store, resignation(bid("a", 1), term, true));
  granted(*store, bid("b", 2));
  EXPECT_EQ(held(*store, bid("c", 3)).place, 1U);
  EXPECT_EQ(inspect(*store).candidates.size(), 1U);
}

TEST_P(Contract, WhoeverLooksAsSeldomAsItsPlaceAsksKeepsIt) {
  if (!has(Ability::queues)) GTEST_SKIP() << "no queue here";
  const auto store = connect();
  const Bid mine = bid("a", 1);
  const Term term = granted(*store, mine).term;
  const std::vector<Bid> line = {bid("b", 2), bid("c", 3), bid("d", 4), bid("e", 5)};
  for (const Bid& each : line) held(*store, each);
  for (int leases = 1; leases <= 4; ++leases) {
    for (int i = 0; i < 3; ++i) {
      run_for(lease() / 3);
      renew(*store, renewal(mine, term));
    }
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (leases % static_cast<int>(i + 1) != 0) continue;
      EXPECT_EQ(held(*store, line[i]).place, i + 1);
    }
  }
}

}  // namespace
}  // namespace conclave::conformance
