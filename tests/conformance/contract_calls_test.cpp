// How a store is asked and how it answers: on the executor, never inline, exactly once.
#include "conformance/conformance.hpp"

namespace conclave::conformance {
namespace {

// Counts answers, and notices those that come inside the call.
struct Tally {
  bool inside = false;
  int answers = 0;
  int inline_answers = 0;

  void note() {
    answers += 1;
    inline_answers += inside ? 1 : 0;
  }
};

// Makes each call that has an answer once, seven in all, with one renewal of two terms.
constexpr int all_answers = 8;

std::vector<Operation> call_all(Store& store, const Bid& bid, const std::shared_ptr<Tally>& tally) {
  const auto note = [tally](auto&&...) { tally->note(); };
  tally->inside = true;
  std::vector<Operation> made;
  made.push_back(store.campaign(bid, note));
  made.push_back(store.renew({{bid.election, bid.candidate, Term{1}, bid.attempt},
                              {"another", bid.candidate, Term{1}, bid.attempt}},
                             note));
  made.push_back(store.resign({bid.election, bid.candidate, bid.attempt, {}, false}, note));
  made.push_back(store.inspect(bid.election, note));
  made.push_back(store.end("missing", note));
  made.push_back(store.remove("missing", Remains::trace, note));
  made.push_back(store.check(note));
  tally->inside = false;
  return made;
}

TEST_P(Contract, EveryCallIsAnsweredExactlyOnceAndNeverInline) {
  const auto store = connect();
  const auto tally = std::make_shared<Tally>();
  on(*store, [&] { call_all(*store, bid("a", 1), tally); });
  EXPECT_TRUE(run_until([&] { return tally->answers == all_answers; }));
  run_for(lease());
  EXPECT_EQ(tally->answers, all_answers);
  EXPECT_EQ(tally->inline_answers, 0);
}

TEST_P(Contract, ACancelledCallIsStillAnsweredExactlyOnce) {
  const auto store = connect();
  const auto tally = std::make_shared<Tally>();
  on(*store, [&] {
    for (const Operation each : call_all(*store, bid("a", 1), tally)) {
      tally->inside = true;
      store->cancel(each);
      store->cancel(each);
      tally->inside = false;
    }
  });
  EXPECT_TRUE(run_until([&] { return tally->answers == all_answers; }));
  run_for(lease());
  EXPECT_EQ(tally->answers, all_answers);
  EXPECT_EQ(tally->inline_answers, 0);
}

TEST_P(Contract, OperationsAreNeverZeroNorGivenTwice) {
  const auto store = connect();
  const auto tally = std::make_shared<Tally>();
  std::vector<Operation> made;
  on(*store, [&] {
    made = call_all(*store, bid("a", 1), tally);
    made.push_back(store->observe("election", "a", [](const Observation&) {}));
  });
  std::sort(made.begin(), made.end());
  EXPECT_NE(made.front(), 0U);
  EXPECT_EQ(std::adjacent_find(made.begin(), made.end()), made.end());
  EXPECT_TRUE(run_until([&] { return tally->answers == all_answers; }));
}

TEST_P(Contract, NothingIsCalledAfterTheStoreIsGone) {
  auto store = connect();
  const auto tally = std::make_shared<Tally>();
  Executor& executor = store->executor();
  int observed = 0;
  bool gone = false;
  executor.post([&] {
    call_all(*store, bid("a", 1), tally);
    store->observe("election", "a", [&](const Observation&) { observed += 1; });
    store.reset();
    gone = true;
    fixture().changed();
  });
  EXPECT_TRUE(run_until([&] { return gone; }));
  run_for(lease());
  EXPECT_EQ(tally->answers, 0);
  EXPECT_EQ(observed, 0);
}

TEST_P(Contract, RenewalsThatTravelTogetherAreAnsweredEachForItself) {
  const auto store = connect();
  Bid first = bid("a", 1);
  Bid second = bid("a", 2);
  second.election = "another";
  const Term one = granted(*store, first).term;
  const Term two = granted(*store, second).term;
  std::map<std::size_t, RenewAnswer> answers;
  on(*store, [&] {
    store->renew({renewal(first, one), renewal(first, Term{one.value + 1}), renewal(second, two)},
                 [&](std::size_t index, RenewAnswer answer) {
                   EXPECT_TRUE(answers.emplace(index, answer).second);
                   fixture().changed();
                 });
  });
  EXPECT_TRUE(run_until([&] { return answers.size() == 3; }));
  EXPECT_TRUE(std::holds_alternative<Renewed>(answers[0]));
  EXPECT_TRUE(std::holds_alternative<TermLost>(answers[1]));
  EXPECT_TRUE(std::holds_alternative<Renewed>(answers[2]));
}

TEST_P(Contract, SinceIsAReadingOfTheCallersClockBeforeTheAnswer) {
  const auto store = connect();
  const Instant before = now();
  const Bid mine = bid("a", 1);
  const Granted grant = granted(*store, mine);
  EXPECT_GE(grant.since, before - store->traits().lag);
  EXPECT_LE(grant.since, now());
  run_for(lease() / 3);
  const RenewAnswer answer = renew(*store, renewal(mine, grant.term));
  ASSERT_TRUE(std::holds_alternative<Renewed>(answer));
  EXPECT_GT(std::get<Renewed>(answer).since, grant.since);
  EXPECT_LE(std::get<Renewed>(answer).since, now());
}

TEST_P(Contract, TraitsAgreeWithWhatTheFixtureKnows) {
  const auto store = connect();
  EXPECT_EQ(store->traits().queues, has(Ability::queues));
  // It may be used where it cannot, and hears of that only when it connects: behind a pooler.
  EXPECT_GE(store->traits().pushes, has(Ability::pushes));
  EXPECT_EQ(store->lease(), std::max(lease(), store->traits().lease_floor));
}

TEST_P(Contract, FindingsOfACheckHaveASettingAProblemAndAFix) {
  const auto store = connect();
  std::optional<CheckAnswer> answer;
  on(*store, [&] {
    store->check([&](CheckAnswer given) {
      answer = std::move(given);
      fixture().changed();
    });
  });
  ASSERT_TRUE(run_until([&] { return answer.has_value(); }));
  const auto* findings = std::get_if<std::vector<Finding>>(&*answer);
  ASSERT_NE(findings, nullptr);
  for (const Finding& each : *findings) {
    EXPECT_FALSE(each.setting.empty());
    EXPECT_FALSE(each.problem.empty());
    EXPECT_FALSE(each.fix.empty());
  }
}

}  // namespace
}  // namespace conclave::conformance
