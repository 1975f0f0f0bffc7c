// Observers, and what those do who administer: inspect, end, remove.
#include <conclave/names.hpp>

#include "conformance/conformance.hpp"

namespace conclave::conformance {
namespace {

// Hears what an election tells; outlives the observation.
struct Ear {
  std::vector<Observation> heard;

  template <typename News>
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(
        std::count_if(heard.begin(), heard.end(),
                      [](const Observation& each) { return std::holds_alternative<News>(each); }));
  }
};

Operation listen(Store& store, StoreFixture& fixture, const std::string& candidate,
                 const std::shared_ptr<Ear>& ear) {
  return store.observe("election", candidate, [&fixture, ear](const Observation& what) {
    ear->heard.push_back(what);
    fixture.changed();
  });
}

TEST_P(Contract, WhoeverIsHeldBackIsToldWhenItsTimeHasCome) {
  if (!has(Ability::queues) || !has(Ability::pushes)) GTEST_SKIP() << "nobody is told here";
  const auto store = connect();
  const auto ear = std::make_shared<Ear>();
  const Term term = granted(*store, bid("a", 1)).term;
  held(*store, bid("dead", 2));
  on(*store, [&] { listen(*store, fixture(), "c", ear); });
  on(*store, [&] {
    store->resign(resignation(bid("a", 1), term, true), [](const Answer&) {});
    store->campaign(bid("c", 3), [](const CampaignAnswer&) {});
  });
  EXPECT_TRUE(run_until([&] { return ear->count<YourTurn>() > 0; }));
  granted(*store, bid("c", 3));
}

TEST_P(Contract, AnObservationBeginsWithThePresentState) {
  const auto store = connect();
  const auto first_news = [&] {
    const auto ear = std::make_shared<Ear>();
    Operation operation{};
    on(*store, [&] { operation = listen(*store, fixture(), "x", ear); });
    EXPECT_TRUE(run_until([&] { return !ear->heard.empty(); }));
    on(*store, [&] { store->cancel(operation); });
    return ear->heard.empty() ? Observation{SessionLost{}} : ear->heard.front();
  };
  EXPECT_TRUE(std::holds_alternative<Vacant>(first_news()));
  const Term term = granted(*store, bid("a", 1)).term;
  const Observation held_news = first_news();
  ASSERT_TRUE(std::holds_alternative<Record>(held_news));
  EXPECT_EQ(std::get<Record>(held_news).term, term);
  resign(*store, resignation(bid("a", 1), term, true));
  const Observation vacant_news = first_news();
  ASSERT_TRUE(std::holds_alternative<Vacant>(vacant_news));
  EXPECT_EQ(std::get<Vacant>(vacant_news).vacancy, Vacancy::released);
  EXPECT_EQ(std::get<Vacant>(vacant_news).term, term);
  end(*store);
  EXPECT_TRUE(std::holds_alternative<Ended>(first_news()));
}

TEST_P(Contract, ObserversAreToldOfGrantsRenewalsVacanciesAndTurns) {
  const auto store = connect();
  const auto other = connect();
  const auto ear = std::make_shared<Ear>();
  const auto stranger = std::make_shared<Ear>();
  on(*other, [&] {
    listen(*other, fixture(), "b", ear);
    listen(*other, fixture(), "stranger", stranger);
  });
  // Where nothing is pushed, each change is told by a look, and has to wait for it.
  EXPECT_TRUE(run_until([&] { return ear->heard.size() == 1 && stranger->heard.size() == 1; }));
  if (!has(Ability::pushes)) return;  // such a store owes no more
  const Bid mine = bid("a", 1);
  const Term term = granted(*store, mine).term;
  EXPECT_TRUE(run_until([&] { return ear->count<Record>() == 1; }));
  renew(*store, renewal(mine, term));
  if (has(Ability::tells_renewals)) {
    EXPECT_TRUE(run_until([&] { return ear->count<Record>() == 2; }));
  }
  held(*other, bid("b", 2));
  resign(*store, resignation(mine, term, true));
  EXPECT_TRUE(
      run_until([&] { return ear->count<Vacant>() >= 2 && stranger->count<Vacant>() >= 2; }));
  if (has(Ability::queues)) {
    EXPECT_TRUE(run_until([&] { return ear->count<YourTurn>() > 0; }));
  }
  end(*store);
  EXPECT_TRUE(run_until([&] { return ear->count<Ended>() == 1; }));
  EXPECT_EQ(stranger->count<YourTurn>(), 0U);
}

TEST_P(Contract, ACancelledObservationIsSilent) {
  const auto store = connect();
  const auto ear = std::make_shared<Ear>();
  on(*store, [&] { store->cancel(listen(*store, fixture(), "b", ear)); });
  granted(*store, bid("a", 1));
  run_for(lease());
  EXPECT_TRUE(ear->heard.empty());
}

TEST_P(Contract, AnEndedElectionIsOverForAllUntilItIsRemoved) {
  const auto store = connect();
  const Bid mine = bid("a", 1);
  const Term term = granted(*store, mine).term;
  held(*store, bid("b", 2));
  EXPECT_TRUE(std::holds_alternative<Refused>(remove(*store)));
  EXPECT_TRUE(std::holds_alternative<Done>(end(*store)));
  const RenewAnswer lost = renew(*store, renewal(mine, term));
  ASSERT_TRUE(std::holds_alternative<TermLost>(lost));
  EXPECT_EQ(std::get<TermLost>(lost).why, LossReason::election_ended);
  const CampaignAnswer late = campaign(*store, bid("c", 3));
  ASSERT_TRUE(std::holds_alternative<Refused>(late));
  EXPECT_EQ(std::get<Refused>(late).error.code, ErrorCode::election_ended);
  const Inspection found = inspect(*store);
  EXPECT_TRUE(found.ended);
  EXPECT_FALSE(found.leader);
  EXPECT_TRUE(found.candidates.empty());
  EXPECT_TRUE(std::holds_alternative<Done>(remove(*store)));
  EXPECT_FALSE(inspect(*store).ended);
  const Granted anew = granted(*store, bid("c", 3));
  EXPECT_GT(anew.term, term);
  // The holder of the ended term may not have heard of it.
  EXPECT_NE(anew.vacancy, Vacancy::released);
  EXPECT_EQ(anew.previous_lease, lease());
}

TEST_P(Contract, NothingIsLeftOfAPurgedElection) {
  const auto store = connect();
  const Bid mine = bid("a", 1);
  const Granted grant = granted(*store, mine);
  EXPECT_TRUE(std::holds_alternative<Refused>(remove(*store, "election", Remains::nothing)));
  EXPECT_TRUE(std::holds_alternative<Done>(resign(*store, resignation(mine, grant.term, true))));
  EXPECT_TRUE(std::holds_alternative<Done>(remove(*store, "election", Remains::nothing)));
  const Inspection found = inspect(*store);
  EXPECT_FALSE(found.leader);
  EXPECT_EQ(found.vacancy, Vacancy::absent);
  EXPECT_FALSE(found.last_term.exists());
  EXPECT_TRUE(std::holds_alternative<Gone>(remove(*store, "election", Remains::nothing)));
  const Granted anew = granted(*store, bid("b", 2));
  EXPECT_EQ(anew.vacancy, Vacancy::absent);
}

TEST_P(Contract, ATraceCanBePurgedLater) {
  const auto store = connect();
  const Bid mine = bid("a", 1);
  const Granted grant = granted(*store, mine);
  EXPECT_TRUE(std::holds_alternative<Done>(resign(*store, resignation(mine, grant.term, true))));
  EXPECT_TRUE(std::holds_alternative<Done>(remove(*store)));
  EXPECT_EQ(inspect(*store).last_term, grant.term);
  EXPECT_TRUE(std::holds_alternative<Done>(remove(*store, "election", Remains::nothing)));
  EXPECT_FALSE(inspect(*store).last_term.exists());
}

// Nothing would make its successor wait.
TEST_P(Contract, AnElectionWhoseHolderMayNotHaveHeardIsNotPurged) {
  const auto store = connect();
  const Granted grant = granted(*store, bid("a", 1));
  EXPECT_TRUE(std::holds_alternative<Done>(end(*store)));
  EXPECT_TRUE(std::holds_alternative<Refused>(remove(*store, "election", Remains::nothing)));
  EXPECT_EQ(inspect(*store).last_term, grant.term);
}

TEST_P(Contract, WhatWasEndedMayBeEndedOnceMore) {
  const auto store = connect();
  granted(*store, bid("a", 1));
  EXPECT_TRUE(std::holds_alternative<Done>(end(*store)));
  EXPECT_TRUE(std::holds_alternative<Done>(end(*store)));
}

TEST_P(Contract, T11_EndingOrRemovingAMissingElectionIsHarmless) {
  const auto store = connect();
  EXPECT_TRUE(std::holds_alternative<Gone>(end(*store, "missing")));
  EXPECT_TRUE(std::holds_alternative<Gone>(remove(*store, "missing")));
  const Inspection found = inspect(*store, "missing");
  EXPECT_FALSE(found.leader);
  EXPECT_EQ(found.vacancy, Vacancy::absent);
  EXPECT_FALSE(found.last_term.exists());
}

TEST_P(Contract, P12_NamesThatCannotBeKeptAreRefusedWithASentence) {
  const auto store = connect();
  const std::string bad[] = {"", std::string(10'000, 'x'), std::string("a\0b", 3), "\xff\xfe",
                             "a\nb"};
  for (const std::string& name : bad) {
    Bid bad_election = bid("a", 1);
    bad_election.election = name;
    Bid bad_candidate = bid("a", 1);
    bad_candidate.candidate = name;
    Bid bad_metadata = bid("a", 1);
    const bool fits = !check_metadata(name);  // which may be empty, and may have lines
    bad_metadata.metadata = fits ? std::string(max_metadata + 1, 'x') : name;
    for (const Bid& each : {bad_election, bad_candidate, bad_metadata}) {
      const CampaignAnswer answer = campaign(*store, each);
      const auto* refused = std::get_if<Refused>(&answer);
      ASSERT_NE(refused, nullptr);
      EXPECT_EQ(refused->error.code, ErrorCode::invalid_argument);
      EXPECT_NE(refused->error.message.find(':'), std::string::npos) << refused->error.message;
    }
  }
}

TEST_P(Contract, P12_NamesOfAnyKindNeverMeet) {
  const auto store = connect();
  const std::vector<std::string> names = {"a",
                                          "a ",
                                          " a",
                                          "a/b",
                                          "a//b",
                                          "/a/b",
                                          "a/../a",
                                          "..",
                                          ".",
                                          "a:b",
                                          "a%b",
                                          "{a}",
                                          "a'b",
                                          "a\"b",
                                          "a\\b",
                                          "A",
                                          "%61",
                                          "*",
                                          "a?b",
                                          "é",
                                          "e\u0301",
                                          "選挙",
                                          "election 🗳",
                                          std::string(255, 'x'),
                                          std::string(254, 'x') + "y"};
  for (const std::string& name : names) {
    Bid mine = bid(name, 1);
    mine.election = name;
    granted(*store, mine);
  }
  for (const std::string& name : names) {
    EXPECT_EQ(inspect(*store, name).leader.value_or(Record{}).leader, name);
  }
}

}  // namespace
}  // namespace conclave::conformance
