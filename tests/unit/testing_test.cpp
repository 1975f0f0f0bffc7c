// The doubles that are shipped to users: clock, executor, faulty store.
#include <gtest/gtest.h>

#include <array>
#include <map>

#include <conclave/memory.hpp>
#include <conclave/testing/faulty_store.hpp>
#include <conclave/testing/manual_executor.hpp>

namespace conclave::testing {
namespace {

using namespace std::chrono_literals;

TEST(ManualClock, StandsStillUntilItIsMoved) {
  ManualClock clock(Instant{5s});
  EXPECT_EQ(clock.now(), Instant{5s});
  clock.advance(250ms);
  EXPECT_EQ(clock.now(), Instant{5250ms});
  clock.set(Instant{7s});
  clock.set(Instant{7s});
  EXPECT_EQ(clock.now(), Instant{7s});
}

#ifndef NDEBUG
TEST(ManualClockDeathTest, NeverGoesBackwards) {
  ManualClock clock(Instant{5s});
  EXPECT_DEATH(clock.set(Instant{4s}), "backwards");
  EXPECT_DEATH(clock.advance(-1ns), "backwards");
}
#endif

class ManualExecutorTest : public ::testing::Test {
 protected:
  Task note(std::string word) {
    return [this, word = std::move(word)] { story += word; };
  }

  ManualClock clock;
  ManualExecutor executor{clock};
  std::string story;
};

TEST_F(ManualExecutorTest, RunsNothingInsideTheCallThatHandsItOver) {
  executor.post(note("a"));
  EXPECT_EQ(story, "");
  EXPECT_EQ(executor.run_ready(), 1U);
  EXPECT_EQ(story, "a");
  EXPECT_EQ(executor.run_ready(), 0U);
}

TEST_F(ManualExecutorTest, OrdersByTimeAndThenByTurn) {
  executor.post_at(Instant{2s}, note("c"));
  executor.post_at(Instant{1s}, note("a"));
  executor.post_at(Instant{1s}, note("b"));
  EXPECT_EQ(executor.next_due(), Instant{1s});
  EXPECT_EQ(executor.run_until(Instant{1s}), 2U);
  EXPECT_EQ(story, "ab");
  EXPECT_EQ(executor.run_for(1s), 1U);
  EXPECT_EQ(story, "abc");
  EXPECT_EQ(executor.next_due(), std::nullopt);
}

TEST_F(ManualExecutorTest, ThePastCountsAsNow) {
  clock.set(Instant{5s});
  executor.post(note("a"));
  executor.post_at(Instant{1s}, note("b"));
  executor.run_ready();
  EXPECT_EQ(story, "ab");
  EXPECT_EQ(clock.now(), Instant{5s});
}

TEST_F(ManualExecutorTest, TheClockShowsEachTaskItsOwnTime) {
  std::vector<Instant> seen;
  for (const auto at : {3s, 1s, 2s}) {
    executor.post_at(Instant{at}, [&] { seen.push_back(clock.now()); });
  }
  executor.run_for(10s);
  EXPECT_EQ(seen, (std::vector{Instant{1s}, Instant{2s}, Instant{3s}}));
  EXPECT_EQ(clock.now(), Instant{10s});
}

TEST_F(ManualExecutorTest, RunsWhatIsHandedOverMeanwhile) {
  executor.post([&] {
    executor.post(note("b"));
    executor.post_at(clock.now() + 1s, note("c"));
    story += "a";
  });
  EXPECT_EQ(executor.run_ready(), 2U);
  EXPECT_EQ(story, "ab");
  EXPECT_EQ(executor.run_for(1s), 1U);
  EXPECT_EQ(story, "abc");
}

TEST_F(ManualExecutorTest, RunsUntilSomethingIsTrueButNotForEver) {
  for (int i = 1; i <= 5; ++i) executor.post_at(Instant{i * 1s}, note("x"));
  EXPECT_TRUE(executor.run_until([&] { return story.size() == 2; }, 10s));
  EXPECT_EQ(clock.now(), Instant{2s});
  EXPECT_FALSE(executor.run_until([&] { return story.size() == 5; }, 2s));
  EXPECT_EQ(story.size(), 4U);
  EXPECT_FALSE(executor.run_until([&] { return story.size() == 9; }, 100s));
}

class FaultyStoreTest : public ::testing::Test {
 protected:
  // A campaign of one candidate; the answers of all are kept by their attempt.
  Operation campaign(std::uint64_t attempt) {
    return store->campaign(
        {"election", "a", Attempt{0, attempt}, "", {}, {}},
        [this, attempt](CampaignAnswer answer) { answers[attempt].push_back(std::move(answer)); });
  }
  Term last_term() {
    Term term;
    inside->inspect("election",
                    [&](InspectAnswer answer) { term = std::get<Inspection>(answer).last_term; });
    executor.run_ready();
    return term;
  }
  template <typename Expected>
  bool answered(std::uint64_t attempt) {
    executor.run_ready();
    const auto& all = answers[attempt];
    return all.size() == 1 && std::holds_alternative<Expected>(all.front());
  }

  ManualClock clock;
  ManualExecutor executor{clock};
  std::shared_ptr<MemorySpace> space = make_memory_space();
  std::shared_ptr<Store> inside =
      make_memory_store(space, {.lease = 3s, .clock = clock, .executor = executor});
  std::shared_ptr<FaultyStore> store = std::make_shared<FaultyStore>(inside);
  std::map<std::uint64_t, std::vector<CampaignAnswer>> answers;
};

TEST_F(FaultyStoreTest, WithoutFaultsItIsTheStoreInside) {
  campaign(1);
  EXPECT_TRUE(answers[1].empty());
  EXPECT_TRUE(answered<Granted>(1));
  EXPECT_EQ(store->lease(), 3s);
  EXPECT_EQ(&store->executor(), &executor);
  EXPECT_EQ(store->count(Verb::campaign), 1U);
}

TEST_F(FaultyStoreTest, ALostRequestIsNeitherExecutedNorAnswered) {
  store->next(Verb::campaign, Fault::lose_request());
  const Operation operation = campaign(1);
  executor.run_for(1min);
  EXPECT_TRUE(answers[1].empty());
  EXPECT_FALSE(last_term().exists());
  store->cancel(operation);
  EXPECT_TRUE(answers[1].empty());
  ASSERT_TRUE(answered<Unknown>(1));
  EXPECT_EQ(std::get<Unknown>(answers[1][0]).error.code, ErrorCode::cancelled);
  EXPECT_TRUE(std::get<Unknown>(answers[1][0]).error.in_doubt);
}

TEST_F(FaultyStoreTest, ALostReplyIsExecutedButNotAnswered) {
  store->next(Verb::campaign, Fault::lose_reply());
  const Operation operation = campaign(1);
  executor.run_for(1min);
  EXPECT_TRUE(answers[1].empty());
  EXPECT_EQ(last_term(), Term{1});
  store->cancel(operation);
  EXPECT_TRUE(answered<Unknown>(1));
}

TEST_F(FaultyStoreTest, ADelayedRequestIsExecutedLaterEvenWhenItWasGivenUp) {
  store->next(Verb::campaign, Fault::delay_request(1s));
  const Operation operation = campaign(1);
  executor.run_for(999ms);
  EXPECT_FALSE(last_term().exists());
  store->cancel(operation);
  EXPECT_TRUE(answered<Unknown>(1));
  executor.run_for(1ms);
  EXPECT_EQ(last_term(), Term{1});
  EXPECT_EQ(answers[1].size(), 1U);
}

TEST_F(FaultyStoreTest, ADelayedReplyComesLate) {
  store->next(Verb::campaign, Fault::delay_reply(1s));
  campaign(1);
  executor.run_for(999ms);
  EXPECT_EQ(last_term(), Term{1});
  EXPECT_TRUE(answers[1].empty());
  executor.run_for(1ms);
  EXPECT_TRUE(answered<Granted>(1));
}

TEST_F(FaultyStoreTest, ADuplicateIsExecutedTwiceAndAnsweredOnce) {
  store->next(Verb::campaign, Fault::duplicate(1s));
  campaign(1);
  EXPECT_TRUE(answered<Granted>(1));
  wipe(*space);
  executor.run_for(1s);
  EXPECT_EQ(last_term(), Term{1});
  EXPECT_EQ(answers[1].size(), 1U);
}

TEST_F(FaultyStoreTest, AnswersWhatItIsToldToAnswer) {
  store->next(Verb::campaign, Fault::unknown({ErrorCode::timed_out, "late", true, true}));
  store->next(Verb::campaign, Fault::refuse({ErrorCode::denied, "no", false, false}));
  campaign(1);
  campaign(2);
  EXPECT_TRUE(answered<Unknown>(1));
  EXPECT_TRUE(answered<Refused>(2));
  EXPECT_EQ(std::get<Refused>(answers[2][0]).error.message, "no");
  EXPECT_FALSE(last_term().exists());
}

TEST_F(FaultyStoreTest, WhatHangsGoesOnWhenItIsHealed) {
  store->next(Verb::campaign, Fault::hang());
  campaign(1);
  executor.run_for(1min);
  EXPECT_FALSE(last_term().exists());
  store->heal();
  EXPECT_TRUE(answered<Granted>(1));
}

TEST_F(FaultyStoreTest, APartitionCutsRequestsRepliesAndObservations) {
  std::vector<Observation> heard;
  store->observe("election", "a", [&](const Observation& what) { heard.push_back(what); });
  executor.run_ready();
  ASSERT_EQ(heard.size(), 1U);
  const Operation underway = campaign(1);
  store->partition();
  const Operation lost = campaign(2);
  executor.run_for(1min);
  EXPECT_EQ(heard.size(), 1U);
  EXPECT_EQ(last_term(), Term{1});
  store->cancel(underway);
  store->cancel(lost);
  EXPECT_TRUE(answered<Unknown>(1));
  EXPECT_TRUE(answered<Unknown>(2));
  store->heal();
  executor.run_ready();
  ASSERT_EQ(heard.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<Record>(heard[1]));
}

TEST_F(FaultyStoreTest, AFrozenStoreExecutesEverythingLate) {
  store->freeze();
  campaign(1);
  const Operation given_up = campaign(2);
  executor.run_for(1min);
  store->cancel(given_up);
  EXPECT_TRUE(answered<Unknown>(2));
  EXPECT_TRUE(answers[1].empty());
  store->heal();
  EXPECT_TRUE(answered<Granted>(1));
  EXPECT_EQ(answers[2].size(), 1U);
}

TEST_F(FaultyStoreTest, NewsCanBeDroppedDelayedAndRepeated) {
  int heard = 0;
  store->next(Verb::observe, Fault::lose_reply());
  store->next(Verb::observe, Fault::delay_reply(1s));
  store->next(Verb::observe, Fault::duplicate(1s));
  const Operation operation =
      store->observe("election", "a", [&](const Observation&) { heard += 1; });
  executor.run_ready();
  EXPECT_EQ(heard, 0);
  campaign(1);
  executor.run_ready();
  EXPECT_EQ(heard, 0);
  executor.run_for(1s);
  EXPECT_EQ(heard, 1);
  campaign(1);
  executor.run_for(1s);
  EXPECT_EQ(heard, 3);
  store->cancel(operation);
  campaign(1);
  executor.run_for(1s);
  EXPECT_EQ(heard, 3);
}

TEST_F(FaultyStoreTest, EachOfSeveralRenewalsIsAnsweredOnceAlsoWhenGivenUp) {
  store->next(Verb::renew, Fault::lose_reply());
  std::array<int, 3> count{};
  const Operation operation =
      store->renew(std::vector<Renewal>(3), [&](std::size_t index, const RenewAnswer& answer) {
        count.at(index) += 1;
        EXPECT_TRUE(std::holds_alternative<Unknown>(answer));
      });
  executor.run_for(1s);
  EXPECT_EQ(count, (std::array{0, 0, 0}));
  store->cancel(operation);
  store->cancel(operation);
  executor.run_for(1s);
  EXPECT_EQ(count, (std::array{1, 1, 1}));
}

TEST_F(FaultyStoreTest, NothingIsCalledAfterItsEnd) {
  for (const Fault& fault : {Fault::none(), Fault::delay_request(1s), Fault::delay_reply(1s),
                             Fault::unknown({}), Fault::hang()}) {
    store->next(Verb::campaign, fault);
  }
  for (std::uint64_t attempt = 1; attempt <= 5; ++attempt) campaign(attempt);
  store->heal();
  store.reset();
  executor.run_for(1min);
  EXPECT_TRUE(std::all_of(answers.begin(), answers.end(),
                          [](const auto& each) { return each.second.empty(); }));
}

TEST_F(FaultyStoreTest, TheSameSeedGivesTheSameFaults) {
  const auto outcome = [this](std::uint64_t seed) {
    store->randomly(seed, {.lose_request = 0.2, .unknown = 0.3, .longest_delay = 1s});
    std::string story;
    for (int i = 0; i < 64; ++i) {
      std::string letter = "-";
      store->inspect("election", [&](const InspectAnswer& answer) {
        letter = std::holds_alternative<Unknown>(answer) ? "u" : "a";
      });
      executor.run_ready();
      story += letter;
    }
    return story;
  };
  const std::string story = outcome(1);
  EXPECT_EQ(outcome(1), story);
  EXPECT_NE(outcome(2), story);
  for (const char each : {'-', 'u', 'a'}) EXPECT_NE(story.find(each), std::string::npos);
  store->randomly(1, {});
  campaign(1);
  EXPECT_TRUE(answered<Granted>(1));
}

TEST(FaultyStoreInput, NonsenseIsRefusedWithASentence) {
  ManualClock clock;
  ManualExecutor executor(clock);
  FaultyStore store(make_memory_store(make_memory_space(), {.clock = clock, .executor = executor}));
  EXPECT_THROW(FaultyStore(nullptr), std::invalid_argument);
  EXPECT_THROW(store.randomly(1, Odds{.lose_request = 2}), std::invalid_argument);
  EXPECT_THROW(store.randomly(1, Odds{.lose_request = -1}), std::invalid_argument);
  EXPECT_THROW(store.randomly(1, Odds{.lose_request = 0.6, .lose_reply = 0.6}),
               std::invalid_argument);
  EXPECT_THROW(store.next(Verb::renew, Fault::delay_reply(std::chrono::seconds{-1})),
               std::invalid_argument);
}

TEST(MemoryStoreInput, ALeaseOutOfItsRangeIsRefusedWithASentence) {
  ManualClock clock;
  ManualExecutor executor(clock);
  for (const Duration lease : {Duration::zero(), Duration{-1}, Duration::max()}) {
    EXPECT_THROW(static_cast<void>(make_memory_store(
                     make_memory_space(), {.lease = lease, .clock = clock, .executor = executor})),
                 std::invalid_argument);
  }
}

}  // namespace
}  // namespace conclave::testing
