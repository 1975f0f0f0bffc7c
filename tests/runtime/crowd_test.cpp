// Many candidates on one store object: their renewals travel together, and none harms another.
#include <gtest/gtest.h>

#include <numeric>

#include <conclave/waits.hpp>

#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

using testing::Fault;
using testing::Verb;

std::uint64_t renewals(const std::vector<std::unique_ptr<Candidate>>& all) {
  std::uint64_t sum = 0;
  for (const auto& each : all) sum += each->snapshot().counters.renewals;
  return sum;
}

std::vector<std::unique_ptr<Candidate>> start_many(ManualWorld& world,
                                                   const std::shared_ptr<FaultyStore>& store,
                                                   int count) {
  std::vector<std::unique_ptr<Candidate>> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(
        std::make_unique<Candidate>(store, std::to_string(i), Options{.executor = world.desk}));
    all.back()->start();
  }
  return all;
}

TEST(CrowdTest, TwoThousandLeadTheirOwnElectionsAndRenewTogether) {
  World world;
  const auto store = world.faulty_store();
  std::vector<std::unique_ptr<Candidate>> all;
  for (int i = 0; i < 2000; ++i) {
    all.push_back(std::make_unique<Candidate>(store, "election " + std::to_string(i)));
  }
  std::vector<std::shared_ptr<EventQueue>> queues;
  for (const auto& each : all) queues.push_back(each->subscribe());
  for (const auto& each : all) each->start();
  for (const auto& each : all) ASSERT_TRUE(wait_until_leader(*each, hang_guard));
  for (const auto& queue : queues) ASSERT_TRUE(await(*queue, EventKind::extended));
  const auto calls = store->count(Verb::renew);
  const auto renewed = renewals(all);
  EXPECT_GE(renewed, 2000U);
  EXPECT_LE(calls, renewed / 10) << "in batches";
  for (const auto& each : all) each->request_stop();
  for (const auto& each : all) EXPECT_TRUE(each->stop());
  for (const auto& each : all) EXPECT_FALSE(each->is_leader());
}

// Of so many that began together, in ten seconds: each call renewed three hundred of them.
std::uint64_t calls_of_three_hundred(int candidates) {
  ManualWorld world;
  const auto store = world.store();
  auto all = start_many(world, store, candidates);
  world.settle();
  for (const auto& each : all) EXPECT_TRUE(each->is_leader());
  world.pass(10s);
  const auto calls = store->count(Verb::renew);
  EXPECT_EQ(renewals(all), calls * 300);
  for (const auto& each : all) each->request_stop();
  world.settle();
  return calls;
}

TEST(CrowdTest, WhatBeginsTogetherIsRenewedInOneCall) {
  const auto calls = calls_of_three_hundred(300);
  EXPECT_GE(calls, 9U);
  EXPECT_LE(calls, 12U);
}

// Else neither we nor the store would have anything to do, and then ten thousand things at once.
TEST(CrowdTest, NoMoreThanThreeHundredAreRenewedInOneCall) {
  const auto calls = calls_of_three_hundred(900);
  EXPECT_GE(calls, 27U);
  EXPECT_LE(calls, 36U);
}

// What all of them would need of memory at once, nobody needs ever again.
TEST(CrowdTest, NoMoreThanSomeHundredsWaitForTheirFirstAnswer) {
  ManualWorld world;
  const auto store = world.store();
  store->freeze();
  auto all = start_many(world, store, 2000);
  world.settle();
  EXPECT_EQ(store->count(Verb::campaign), 512U);
  store->heal();
  world.settle();
  for (const auto& each : all) EXPECT_TRUE(each->is_leader());
  EXPECT_EQ(store->count(Verb::campaign), 2000U);
  for (const auto& each : all) each->request_stop();
  world.settle();
}

// Else it could be granted a place that it only gives back.
TEST(CrowdTest, WhoIsStoppedBeforeItsTurnDoesNotBid) {
  ManualWorld world;
  const auto store = world.store();
  store->freeze();
  auto all = start_many(world, store, 2000);
  world.settle();
  for (const auto& each : all) each->request_stop();
  world.settle();
  store->heal();
  world.settle();
  EXPECT_EQ(store->count(Verb::campaign), 512U);
  all.back()->start();
  world.settle();
  EXPECT_TRUE(all.back()->is_leader());
  world.stop(*all.back());
}

// Those behind them come when the first ones have been given up.
TEST(CrowdTest, AStoreThatNeverAnswersKeepsNobodyFromBeginning) {
  ManualWorld world;
  const auto store = world.store();
  store->partition();
  auto all = start_many(world, store, 2000);
  world.pass(6s);
  for (const auto& each : all) {
    const auto& failures = each->snapshot().counters.failures;
    EXPECT_GT(std::accumulate(failures.begin(), failures.end(), std::uint64_t{0}), 0U)
        << each->election();
  }
  store->heal();
  world.pass(6s);
  for (const auto& each : all) EXPECT_TRUE(each->is_leader());
  for (const auto& each : all) each->request_stop();
  world.settle();
}

class BatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    hasty.start();
    patient.start();
    world.settle();
    ASSERT_TRUE(hasty.is_leader() && patient.is_leader());
  }
  void TearDown() override {
    store->heal();
    world.stop(hasty);
    world.stop(patient);
  }

  ManualWorld world;
  std::shared_ptr<FaultyStore> store = world.store();
  Candidate hasty{store, "a", {.request_timeout = 100ms, .executor = world.desk}};
  Candidate patient{store, "b", {.request_timeout = 375ms, .executor = world.desk}};
};

TEST_F(BatchTest, OneThatGivesUpLeavesTheOthersAlone) {
  store->next(Verb::renew, Fault::delay_reply(200ms));
  world.pass(1400ms);
  EXPECT_EQ(hasty.snapshot().counters.failed(ErrorCode::timed_out), 1U);
  EXPECT_EQ(patient.snapshot().counters.failures, Counters{}.failures);
  EXPECT_EQ(patient.snapshot().counters.renewals, 1U) << "the same call, answered in time";
  EXPECT_EQ(hasty.snapshot().counters.renewals, 1U) << "tried again by itself";
  EXPECT_EQ(store->count(Verb::renew), 2U);
  world.pass(20s);
  EXPECT_EQ(hasty.snapshot().counters.terms, 1U);
  EXPECT_EQ(patient.snapshot().counters.terms, 1U);
}

TEST_F(BatchTest, WhenAllHaveGivenUpEachTriesAgain) {
  store->next(Verb::renew, Fault::lose_reply());
  world.pass(20s);
  for (Candidate* each : {&hasty, &patient}) {
    EXPECT_EQ(each->snapshot().counters.terms, 1U);
    EXPECT_EQ(each->snapshot().counters.failed(ErrorCode::timed_out), 1U);
    EXPECT_FALSE(each->snapshot().jeopardy);
  }
}

TEST_F(BatchTest, OneThatStopsMeanwhileIsTakenOutOfIt) {
  store->next(Verb::renew, Fault::delay_reply(50ms));
  while (store->count(Verb::renew) == 0) world.pass(1ms);
  EXPECT_EQ(patient.snapshot().counters.renewals, 0U) << "in flight";
  world.stop(hasty);
  EXPECT_EQ(hasty.role(), Role::stopped);
  world.pass(20s);
  EXPECT_TRUE(patient.is_leader());
  EXPECT_EQ(patient.snapshot().counters.failures, Counters{}.failures);
}

TEST_F(BatchTest, ALossOfOneIsNoLossOfTheOther) {
  Candidate rival(world.store(), "a", {.executor = world.desk});
  // The record of `a` is gone, as after a deletion from outside.
  store->executor().post([&] {
    store->end("a", [](const Answer&) {});
    store->remove("a", Remains::trace, [](const Answer&) {});
  });
  world.pass(2s);
  EXPECT_FALSE(hasty.is_leader());
  EXPECT_TRUE(patient.is_leader());
  EXPECT_EQ(patient.snapshot().counters.terms, 1U);
}

TEST_F(BatchTest, APartitionEndsAllOfThemAndHealingBringsThemBack) {
  store->partition();
  world.pass(5s);
  EXPECT_FALSE(hasty.is_leader() || patient.is_leader());
  store->heal();
  world.pass(10s);
  EXPECT_TRUE(hasty.is_leader() && patient.is_leader());
  EXPECT_EQ(hasty.snapshot().counters.terms, 2U);
}

// Candidates of one process on the same election are as separate as any others.
TEST(CrowdTest, AHundredOnOneElectionLeadOneAfterAnother) {
  World world;
  auto store = world.store();
  std::vector<std::unique_ptr<Candidate>> all;
  for (int i = 0; i < 100; ++i) {
    all.push_back(std::make_unique<Candidate>(store, "reports", Options{.id = std::to_string(i)}));
    all.back()->start();
  }
  ASSERT_TRUE(wait_until_leader(*all.front(), hang_guard));
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    ASSERT_TRUE(all[i]->stop());
    ASSERT_TRUE(wait_until_leader(*all[i + 1], hang_guard)) << "first come, first served";
  }
}

}  // namespace
}  // namespace conclave::rig
