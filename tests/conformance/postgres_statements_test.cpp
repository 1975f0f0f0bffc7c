// The statements of the PostgreSQL store on a real server: what each decides.
#include "conformance/postgres_statements_rig.hpp"

namespace conclave::conformance {
namespace {

class OfKind : public PostgresStatements, public ::testing::WithParamInterface<Kind> {
 protected:
  Bidder bidder(const std::string& name) { return {server(), GetParam(), name}; }
};

TEST_P(OfKind, TheFirstIsGrantedThePlaceAndOthersAreToldWhoHasIt) {
  Bidder anna = bidder("anna");
  Bidder bob = bidder("bob");
  const Told granted = anna.campaign("election", "a1");
  EXPECT_EQ(granted.word, "granted");
  EXPECT_EQ(granted.vacancy, "absent");
  EXPECT_GT(granted.term, 0);
  const Told held = bob.campaign("election", "b1");
  EXPECT_EQ(held.word, "held");
  EXPECT_EQ(held.leader, "anna");
  EXPECT_EQ(held.held_term, granted.term);
}

// Behind a pooler the session is not ours alone, and a role may have set something less.
TEST_P(OfKind, WhatDecidesWhoLeadsWaitsForTheLogWhateverTheSessionSays) {
  Bidder anna = bidder("anna");
  servers::PostgresClient& session = anna.client();
  const std::vector<std::pair<std::string, std::string>> modes{
      {"off", "on"}, {"local", "on"}, {"on", "on"}, {"remote_apply", "remote_apply"}};
  for (const auto& mode : modes) {
    const std::string& usual = mode.first;
    session.exec("set synchronous_commit = " + usual);
    const auto expect_waits = [&](const auto& verb) {
      session.exec("begin");
      verb();
      EXPECT_EQ(session.value("show synchronous_commit"), mode.second) << usual;
      session.exec("commit");
      EXPECT_EQ(session.value("show synchronous_commit"), usual) << "for those who come after";
    };
    std::int64_t term = 0;
    expect_waits([&] { term = anna.campaign(usual, "a1").term; });
    if (GetParam() != Kind::advisory) {
      expect_waits([&] { EXPECT_EQ(anna.renew(usual, "a1", term).first, "renewed"); });
    }
    expect_waits([&] { EXPECT_TRUE(anna.resign(usual, "a1", term)); });
    expect_waits([&] { EXPECT_EQ(anna.take(usual, "a2").size(), 1U); });
    expect_waits([&] { session.exec(sql(postgres::end), {usual, "channel"}); });
    expect_waits([&] { session.exec(sql(postgres::remove), {usual, "trace"}); });
  }
}

TEST_P(OfKind, ARepeatedBidIsGrantedTheSameTermAsANewVersion) {
  Bidder anna = bidder("anna");
  Bidder bob = bidder("bob");
  const Told first = anna.campaign("election", "a1");
  const Told seen = bob.campaign("election", "b1");
  const Told again = anna.campaign("election", "a1");
  EXPECT_EQ(again.word, "granted");
  EXPECT_EQ(again.term, first.term);
  EXPECT_EQ(again.vacancy, "absent");
  EXPECT_GT(bob.campaign("election", "b1").stamp, seen.stamp);
}

TEST_P(OfKind, AReleasedPlaceIsGrantedWithAHigherTerm) {
  Bidder anna = bidder("anna");
  Bidder bob = bidder("bob");
  const Told first = anna.campaign("election", "a1");
  EXPECT_FALSE(anna.resign("election", "other", first.term));
  EXPECT_FALSE(anna.resign("election", "a1", first.term + 1));
  EXPECT_EQ(bob.campaign("election", "b1").word, "held");
  EXPECT_TRUE(anna.resign("election", "a1", first.term));
  EXPECT_FALSE(anna.resign("election", "a1", first.term));
  EXPECT_EQ(anna.campaign("election", "a1").word, "finished");
  const Told next = bob.campaign("election", "b1");
  EXPECT_EQ(next.word, "granted");
  EXPECT_EQ(next.vacancy, "released");
  EXPECT_GT(next.term, first.term);
}

TEST_P(OfKind, AnotherCandidateOfTheSameProcessIsHeldBack) {
  Bidder anna = bidder("anna");
  anna.campaign("election", "a1");
  EXPECT_EQ(anna.campaign("election", "a2").word, "held");
}

TEST_P(OfKind, TermsAreAboveWhatTheBidderHasSeen) {
  Bidder anna = bidder("anna");
  const std::int64_t far = server_time() + 3'600'000'000;
  EXPECT_EQ(anna.campaign({.name = "election", .attempt = "a1", .floor = far}).term, far + 1);
  Bidder bob = bidder("bob");
  // A record below what somebody has seen is that of a store that was restored.
  const Told granted =
      bob.campaign({.name = "election", .attempt = "b1", .floor = far + 1'000'000});
  EXPECT_EQ(granted.vacancy, "absent");
  EXPECT_EQ(granted.term, far + 1'000'001);
}

TEST_P(OfKind, RenewalsSayWhatBecameOfTheTerm) {
  Bidder anna = bidder("anna");
  const auto word = [&](const std::string& election, std::int64_t term) {
    auto [renewed, has_news] = anna.renew(election, "a1", term);
    return has_news ? anna.renew(election, "a1", term).first : renewed;
  };
  const std::int64_t term = anna.campaign("election", "a1").term;
  const auto version = [] { return server().value("select xmin from conclave_election"); };
  const std::string granted = version();
  EXPECT_EQ(word("election", term), "renewed");
  EXPECT_EQ(version(), granted) << "a renewal is written for the session, however much it holds";
  EXPECT_EQ(word("election", term + 1), "gone");
  EXPECT_EQ(word("missing", term), "gone");
  server().exec("update conclave_election set term = term + 1");
  EXPECT_EQ(word("election", term), "superseded");
  const std::int64_t other = anna.campaign("other", "a1").term;
  ASSERT_FALSE(server().exec(sql(postgres::end), {"other", "channel"}).empty());
  EXPECT_EQ(word("other", other), "ended");
}

TEST_P(OfKind, AnEndedElectionIsOverUntilItIsRemoved) {
  Bidder anna = bidder("anna");
  const std::int64_t term = anna.campaign("election", "a1").term;
  EXPECT_EQ(server().value(sql(postgres::remove), {"election", "trace"}), "held");
  server().exec(sql(postgres::end), {"election", "channel"});
  EXPECT_EQ(anna.campaign("election", "a2").word, "over");
  EXPECT_EQ(server().value(sql(postgres::remove), {"election", "nothing"}), "believed");
  EXPECT_EQ(server().value(sql(postgres::remove), {"election", "trace"}), "done");
  EXPECT_EQ(server().value(sql(postgres::remove), {"election", "trace"}), "gone");
  // Anna may not have heard of it.
  const Told next = anna.campaign("election", "a2");
  EXPECT_EQ(next.vacancy, "abandoned");
  EXPECT_GT(next.term, term);
}

TEST_P(OfKind, ManyBidsInOneStatementAreJudgedEachOnItsOwn) {
  Bidder anna = bidder("anna");
  Bidder bob = bidder("bob");
  anna.campaign("b", "a1");
  anna.campaign("c", "a1");
  anna.resign("c", "a1", std::nullopt);
  server().exec(sql(postgres::end), {"c", "channel"});
  const auto told =
      bob.campaign(std::vector<Asked>{{.name = "d, \"quoted\" \\ 'd'", .attempt = "b1"},
                                      {.name = "c", .attempt = "b2"},
                                      {.name = "b", .attempt = "b3"},
                                      {.name = "a", .attempt = "b4"}});
  EXPECT_EQ(told[0].word, "granted");
  EXPECT_EQ(told[1].word, "over");
  EXPECT_EQ(told[2].word, "held");
  EXPECT_EQ(told[3].word, "granted");
}

// FOR KEY SHARE, as the fence recipe has it: the holder goes on, and a takeover waits.
TEST_P(OfKind, AFencedRowIsRenewedAndResignedButNotTaken) {
  Bidder anna = bidder("anna");
  Bidder bob = bidder("bob");
  const std::int64_t term = anna.campaign("election", "a1").term;
  auto work = server().client();
  work.exec("begin");
  work.exec("select 1 from conclave_election where name = 'election' and term = $1 for key share",
            {std::to_string(term)});
  EXPECT_EQ(anna.renew("election", "a1", term).first, "renewed");
  EXPECT_TRUE(anna.resign("election", "a1", term));
  EXPECT_EQ(bob.campaign("election", "b1").word, "busy");
  work.exec("commit");
  EXPECT_EQ(bob.campaign("election", "b1").word, "granted");
}

INSTANTIATE_TEST_SUITE_P(All, OfKind, ::testing::Values(Kind::advisory, Kind::lease, Kind::strict),
                         [](const auto& each) { return to_text(each.param); });

// ---------------------------------------------------------------- who is over

TEST_F(PostgresStatements, AnAdvisoryHolderIsOverWithItsSession) {
  auto anna = std::make_unique<Bidder>(server(), Kind::advisory, "anna");
  Bidder bob(server(), Kind::advisory, "bob");
  const std::int64_t term = anna->campaign("election", "a1").term;
  EXPECT_EQ(bob.campaign("election", "b1").word, "held");
  const auto backend = anna->client().told_backend();
  anna.reset();
  while (!server().backends("pid = " + std::to_string(backend)).empty()) std::this_thread::yield();
  const Told next = bob.campaign("election", "b1");
  EXPECT_EQ(next.word, "granted");
  EXPECT_EQ(next.vacancy, "ended");
  EXPECT_GT(next.term, term);
}

TEST_F(PostgresStatements, AnExpiredLeaseIsGivenAwayOnEvidenceOnly) {
  Bidder anna(server(), Kind::lease, "anna");
  Bidder bob(server(), Kind::lease, "bob");
  anna.campaign("election", "a1");
  const auto bid = [&](std::optional<std::int64_t> expected) {
    return bob.campaign({.name = "election", .attempt = "b1", .expected = expected});
  };
  EXPECT_EQ(bid(server_time() + 1'000'000).word, "held") << "it is not over";
  let_expire();
  EXPECT_EQ(bid(std::nullopt).word, "held") << "without evidence";
  EXPECT_EQ(bid(server_time() - 2'000'000).word, "held") << "the server's clock has jumped";
  const Told next = bid(server_time() + 1'000'000);
  EXPECT_EQ(next.word, "granted");
  EXPECT_EQ(next.vacancy, "expired");
}

TEST_F(PostgresStatements, AVersionSeenUnchangedForALeaseIsEvidence) {
  Bidder anna(server(), Kind::lease, "anna");
  Bidder bob(server(), Kind::lease, "bob");
  const std::int64_t term = anna.campaign("election", "a1").term;
  const Told seen = bob.campaign("election", "b1");
  const Asked bid{
      .name = "election", .attempt = "b1", .seen_term = seen.held_term, .seen_stamp = seen.stamp};
  anna.renew("election", "a1", term);
  EXPECT_EQ(bob.campaign(bid).word, "held");
  const Told later = bob.campaign("election", "b1");
  EXPECT_NE(later.stamp, seen.stamp);
  EXPECT_EQ(bob.campaign({.name = "election",
                          .attempt = "b1",
                          .seen_term = later.held_term,
                          .seen_stamp = later.stamp})
                .vacancy,
            "expired");
}

TEST_F(PostgresStatements, AStrictHolderHasToLoseItsSessionAndItsLease) {
  auto anna = std::make_unique<Bidder>(server(), Kind::strict, "anna");
  Bidder bob(server(), Kind::strict, "bob");
  const auto term = anna->campaign("election", "a1").term;
  const auto bid = [&] {
    return bob.campaign(
        {.name = "election", .attempt = "b1", .expected = server_time() + 1'000'000});
  };
  let_expire();
  EXPECT_EQ(bid().word, "held") << "its session lives";
  const auto backend = anna->client().told_backend();
  anna->renew("election", "a1", term);
  anna.reset();
  while (!server().backends("pid = " + std::to_string(backend)).empty()) std::this_thread::yield();
  EXPECT_EQ(bid().word, "held") << "its lease runs";
  let_expire();
  EXPECT_EQ(bid().vacancy, "expired");
}

TEST_F(PostgresStatements, KindsJudgeEachOtherByTheKindOfTheHolder) {
  Bidder anna(server(), Kind::advisory, "anna");
  Bidder bob(server(), Kind::lease, "bob");
  anna.campaign("one", "a1");
  bob.campaign("two", "b1");
  let_expire();
  EXPECT_EQ(
      bob.campaign({.name = "one", .attempt = "b2", .expected = server_time() + 1'000'000}).word,
      "held");
  EXPECT_EQ(anna.campaign({.name = "two", .attempt = "a2", .expected = server_time() + 1'000'000})
                .vacancy,
            "expired");
}

// ---------------------------------------------------------------- what is looked at

TEST_F(PostgresStatements, ARecordBelowWhatWasSeenIsTakenOnlyIfItsHolderCanBeTold) {
  Bidder anna(server(), Kind::lease, "anna");
  Bidder bob(server(), Kind::lease, "bob");
  const std::int64_t term = anna.campaign("election", "a1").term;
  const Asked bid{.name = "election", .attempt = "b1", .floor = term + 1};
  anna.client().exec("begin");
  anna.renew("election", "a1", term);
  EXPECT_EQ(bob.campaign(bid).word, "held");
  anna.client().exec("commit");
  EXPECT_EQ(bob.campaign(bid).vacancy, "absent");
  EXPECT_EQ(anna.renew("election", "a1", term).first, "superseded");
}

// So does the number of a transaction that is a term where there are no tables.
TEST_F(PostgresStatements, ATermWithoutTablesWaitsForTheLog) {
  auto session = server().client();
  session.exec("set synchronous_commit = off");
  session.exec("begin");
  const auto none = std::nullopt;
  const auto told = session.exec(postgres::verbs_on_locks(60'000'000).campaign,
                                 {"{election}", "{a1}", "{}", "{}", "{}", "{}", "{}", "{}", "", "",
                                  "60000000", "{channel}", none});
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0][1], "granted");
  EXPECT_EQ(session.value("show synchronous_commit"), "on");
}

TEST_F(PostgresStatements, EachElectionHasALeaseOfItsOwn) {
  Bidder anna(server(), Kind::lease, "anna");
  Bidder bob(server(), Kind::lease, "bob");
  anna.campaign("long", "a1");
  anna.campaign("short", "a1");
  server().exec("update conclave_election set lease = 1000000000 where name = 'long'");
  let_expire();
  const std::int64_t expected = server_time() + 1'000'000;
  const auto told =
      bob.campaign(std::vector<Asked>{{.name = "long", .attempt = "b1", .expected = expected},
                                      {.name = "short", .attempt = "b1", .expected = expected}});
  EXPECT_EQ(told.at(0).word, "held");
  EXPECT_EQ(told.at(1).vacancy, "expired");
}

TEST_F(PostgresStatements, SessionsThatHoldNothingAreSweptAfterAnHour) {
  Bidder anna(server(), Kind::lease, "anna");
  Bidder bob(server(), Kind::lease, "bob");
  Bidder carl(server(), Kind::lease, "carl");
  const std::int64_t term = anna.campaign("election", "a1").term;
  const auto count = [] { return server().value("select count(*) from conclave_session"); };
  server().exec("update conclave_session set renewed = renewed - 3500000000");
  carl.open_anew();
  EXPECT_EQ(count(), "3") << "an hour is not over";
  server().exec("update conclave_session set renewed = renewed - 200000000");
  server().exec("insert into conclave_session values (1, 9223372036854775807, 0, 0)");
  carl.open_anew();
  EXPECT_EQ(count(), "3") << "nonsense does no harm";
  server().exec("delete from conclave_session where life = 1");
  EXPECT_EQ(count(), "2") << "bob holds nothing";
  EXPECT_EQ(anna.renew("election", "a1", term).first, "renewed");
  EXPECT_EQ(bob.campaign("other", "b1").word, "busy") << "it has no session row";
  bob.open_anew();
  EXPECT_EQ(bob.campaign("other", "b1").word, "granted");
}

// A statement that was on its way when the connection broke, and is executed when there is a new
// one.
TEST_F(PostgresStatements, WhatWasAskedForInAnOldLifeChangesNothing) {
  Bidder anna(server(), Kind::lease, "anna");
  const std::int64_t term = anna.campaign("election", "a1").term;
  anna.open_anew();
  EXPECT_EQ(anna.renew("election", "a1", term).first, "renewed") << "it moved along";
  anna.go_back_to_the_life_before();
  EXPECT_EQ(anna.renew("election", "a1", term).first, "gone");
  EXPECT_EQ(anna.campaign("free", "a2").word, "busy");
}

}  // namespace
}  // namespace conclave::conformance
