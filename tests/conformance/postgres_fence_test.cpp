// A transaction of the application that only the present leader can commit:
// docs/stores/postgres.md, "Fencing".
#include <fstream>
#include <future>
#include <iterator>

#include "conformance/conformance.hpp"
#include "conformance/postgres_rig.hpp"

namespace conclave::conformance {
namespace {

using servers::PostgresClient;
using servers::PostgresError;

std::string in_one_line(const std::string& text) {
  std::string line;
  for (const char each : text) {
    const bool is_space = each == ' ' || each == '\n';
    if (!is_space || !line.ends_with(' ')) line += is_space ? ' ' : each;
  }
  return line;
}

class PostgresFence : public Conformance {
 protected:
  PostgresFence() {
    server().exec("drop table if exists ledger; create table ledger (entry text)");
  }

  [[nodiscard]] PostgresFixture& rig() { return static_cast<PostgresFixture&>(fixture()); }
  [[nodiscard]] servers::PostgresServer& server() { return rig().server(); }

  // In the application's own transaction. The SQLSTATE, or nothing when it may go on.
  [[nodiscard]] static std::string fence(PostgresClient& client, Term term,
                                         const std::string& election = "election",
                                         const std::string& schema = {}) {
    try {
      client.exec(postgres_fence(election, term, schema));
      return {};
    } catch (const PostgresError& refused) {
      message() = refused.what();
      return refused.state();
    }
  }
  static std::string& message() {
    static std::string text;
    return text;
  }
  void begin_fenced(PostgresClient& client, Term term) {
    client.exec("begin");
    ASSERT_EQ(fence(client, term), "") << message();
    client.exec("insert into ledger values ('written')");
  }
  void expect_refused(Term term) {
    PostgresClient client = server().client();
    client.exec("begin");
    client.exec("insert into ledger values ('too late')");
    EXPECT_EQ(fence(client, term), postgres_fence_sqlstate);
    EXPECT_NE(message().find("is over"), std::string::npos) << message();
    client.exec("commit");
    EXPECT_EQ(entries("too late"), "0");
  }
  [[nodiscard]] std::string entries(const std::string& text) {
    return server().value("select count(*) from ledger where entry = $1", {text});
  }

  // The follower asks for the place several times while the transaction is open, in vain; it is
  // elected after the commit.
  void expect_elected_after_commit(PostgresClient& client, const Member& follower) {
    const auto asked = follower.faults->count(Verb::campaign);
    ASSERT_TRUE(run_until([&] { return follower.faults->count(Verb::campaign) >= asked + 4; }));
    EXPECT_FALSE(follower->leads());
    const auto before = std::stoll(
        client.value("select (extract(epoch from clock_timestamp()) * 1000000)::bigint"));
    client.exec("commit");
    ASSERT_TRUE(until_leads(follower));
    EXPECT_GE(std::stoll(server().value("select granted from conclave_election")), before);
    EXPECT_EQ(entries("written"), "1");
  }
};

TEST_P(PostgresFence, TheLeadersTransactionCommitsAndItsRenewalsGoOn) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  PostgresClient client = server().client();
  begin_fenced(client, term);
  const std::size_t renewals = leader->count<core::Extended>();
  const Instant deadline = leader->deadline();
  ASSERT_TRUE(run_until([&] {
    return leader->count<core::Extended>() >= renewals + 6 &&
           leader->deadline() > deadline + lease();
  }));
  client.exec("commit");
  EXPECT_EQ(entries("written"), "1");
  EXPECT_TRUE(leader->leads());
  EXPECT_EQ(leader->term(), term);
  EXPECT_EQ(leader->count<core::Lost>(), 0U);
}

TEST_P(PostgresFence, AfterAResignationTheNextGrantWaitsForTheCommit) {
  const auto store = connect();
  const auto other = connect();
  const Bid first = bid("a", 1);
  const Term term = granted(*store, first).term;
  PostgresClient client = server().client();
  begin_fenced(client, term);
  EXPECT_TRUE(std::holds_alternative<Done>(resign(*store, resignation(first, term, true))));
  Duration before{};  // who waits for a long transaction asks less and less often
  for (int i = 0; i < 3; ++i) {
    const Duration pause = held(*other, bid("b", 2)).look_again_in;
    EXPECT_GT(pause, before);
    EXPECT_LE(pause, lease() / 32);
    before = pause;
  }
  client.exec("commit");
  EXPECT_GT(granted(*other, bid("b", 2)).term, term);
  EXPECT_EQ(entries("written"), "1");
}

TEST_P(PostgresFence, AfterACrashTheNextLeaderWaitsForTheCommit) {
  Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Member follower = join("b");
  PostgresClient client = server().client();
  begin_fenced(client, leader->term());
  leader = {};  // crashes, but its transaction goes on elsewhere
  expect_elected_after_commit(client, follower);
}

TEST_P(PostgresFence, AnEndDoesNotWaitForTheCommitAndARemovalDoes) {
  const auto store = connect();
  const Term term = granted(*store, bid("a", 1)).term;
  PostgresClient client = server().client();
  begin_fenced(client, term);
  EXPECT_TRUE(std::holds_alternative<Done>(end(*store)));
  EXPECT_TRUE(std::holds_alternative<Unknown>(remove(*store)));
  client.exec("commit");
  EXPECT_EQ(entries("written"), "1");
  EXPECT_FALSE(
      std::holds_alternative<Unknown>(remove(*store)));  // the first one may have come late
  EXPECT_EQ(server().value("select state from conclave_election"), "removed");
}

TEST_P(PostgresFence, AfterAStopTheNextLeaderWaitsForTheCommit) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Member follower = join("b");
  PostgresClient client = server().client();
  begin_fenced(client, leader->term());
  leader->stop();
  ASSERT_TRUE(until_stopped(leader));
  expect_elected_after_commit(client, follower);
}

TEST_P(PostgresFence, AnOldTermFailsAndWhatItWroteIsRolledBack) {
  const auto store = connect();
  const Bid first = bid("a", 1);
  const Term term = granted(*store, first).term;
  expect_refused(Term{term.value + 1});
  expect_refused(Term{term.value - 1});
  ASSERT_TRUE(std::holds_alternative<Done>(resign(*store, resignation(first, term, true))));
  expect_refused(term);  // also while nobody leads
  const Term next = granted(*store, bid("b", 2)).term;
  expect_refused(term);
  ASSERT_TRUE(std::holds_alternative<Done>(end(*store)));
  expect_refused(next);
  rig().wipe();
  expect_refused(next);
}

TEST_P(PostgresFence, WhoComesWhileTheTermChangesHearsOfTheNewOne) {
  const auto store = connect();
  const Term term = granted(*store, bid("a", 1)).term;
  PostgresClient grants = server().client();
  grants.exec("begin; update conclave_election set term = term + 1");
  PostgresClient client = server().client();
  client.exec("begin");
  const std::string pid = client.value("select pg_backend_pid()");
  auto told = std::async(std::launch::async, [&] { return fence(client, term); });
  EXPECT_TRUE(run_until(
      [&] { return !server().backends("wait_event_type = 'Lock' and pid = " + pid).empty(); }));
  grants.exec("commit");
  EXPECT_EQ(told.get(), postgres_fence_sqlstate);
}

TEST_P(PostgresFence, AnyNameOfElectionAndSchemaIsTakenAsItIs) {
  const std::string schema = "odd \"$conclave$' \\ schema; --";
  const std::string election = "it's $conclave$ \"odd\" \\' ; drop table ledger; -- 1/2 \u00e4";
  const std::string quoted = server().value("select quote_ident($1)", {schema});
  server().exec("drop schema if exists " + quoted + " cascade; create schema " + quoted);
  auto options = rig().options(lease());
  options.schema = schema;
  const auto store = make_postgres_store(options);
  Bid odd = bid("a", 1);
  odd.election = election;
  const Term term = granted(*store, odd).term;
  for (const char* const strings : {"on", "off"}) {
    PostgresClient client = server().client();
    client.exec(std::string("set standard_conforming_strings = ") + strings + "; begin");
    EXPECT_EQ(fence(client, term, election, schema), "") << message();
    EXPECT_EQ(fence(client, Term{1}, election, schema), postgres_fence_sqlstate) << message();
    EXPECT_NE(message().find("term 1 of the election \"" + election + "\" is over"),
              std::string::npos)
        << message();
  }
  EXPECT_EQ(entries("written"), "0");
}

TEST_P(PostgresFence, NeedsNoMoreRightsThanItSays) {
  const auto store = connect();
  const Term term = granted(*store, bid("a", 1)).term;
  server().exec(
      "drop role if exists worker; create role worker;"
      "grant select, update on conclave_election to worker");
  PostgresClient client = server().client();
  client.exec("set role worker; begin");
  EXPECT_EQ(fence(client, term), "") << message();
  client.exec("rollback; reset role; drop owned by worker; drop role worker");
}

TEST_P(PostgresFence, IsWhatTheDocumentShows) {
  std::ifstream file(CONCLAVE_POSTGRES_DOCUMENT);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(in_one_line(text).find("```sql " + postgres_fence("jobs", Term{42}) + " ```"),
            std::string::npos)
      << postgres_fence("jobs", Term{42});
}

TEST_P(PostgresFence, WhatIsNoTermOrNoElectionIsRefused) {
  EXPECT_THROW(static_cast<void>(postgres_fence("", Term{1})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(postgres_fence("election", Term{})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(postgres_fence("election", Term{~std::uint64_t{0}})),
               std::invalid_argument);
}

std::unique_ptr<StoreFixture> make_advisory() {
  return std::make_unique<PostgresFixture>(PostgresMode::advisory);
}
std::unique_ptr<StoreFixture> make_lease() {
  return std::make_unique<PostgresFixture>(PostgresMode::lease);
}
std::unique_ptr<StoreFixture> make_strict() {
  return std::make_unique<PostgresFixture>(PostgresMode::advisory, true);
}

INSTANTIATE_TEST_SUITE_P(advisory, PostgresFence, ::testing::Values(MakeFixture{make_advisory}),
                         [](const auto&) { return "postgres"; });
INSTANTIATE_TEST_SUITE_P(lease, PostgresFence, ::testing::Values(MakeFixture{make_lease}),
                         [](const auto&) { return "postgres"; });
INSTANTIATE_TEST_SUITE_P(strict, PostgresFence, ::testing::Values(MakeFixture{make_strict}),
                         [](const auto&) { return "postgres"; });

}  // namespace
}  // namespace conclave::conformance
