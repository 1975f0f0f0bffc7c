// On a connection that the application made: elections, what is refused, and its end.
#include <atomic>

#include "conformance/conformance.hpp"
#include "conformance/postgres_adopted_rig.hpp"
#include "servers/pgbouncer_server.hpp"

namespace conclave::conformance {
namespace {

using servers::PgBouncerMode;
using servers::PgBouncerServer;

class PostgresOnAdopted : public Conformance {
 protected:
  [[nodiscard]] AdoptedFixture& rig() { return static_cast<AdoptedFixture&>(fixture()); }
  [[nodiscard]] servers::PostgresServer& server() { return rig().server(); }
  [[nodiscard]] bool is_by_lock() { return rig().options(lease()).mode == PostgresMode::advisory; }

  [[nodiscard]] std::shared_ptr<PGconn> new_connection() { return connection_to(server().url()); }
  [[nodiscard]] std::shared_ptr<FaultyStore> adopt(std::shared_ptr<PGconn> connection) {
    return std::make_shared<FaultyStore>(
        make_postgres_store(rig().adopting(std::move(connection), lease())));
  }
  // On connections of the store's own.
  [[nodiscard]] Member join_usual(const std::string& id) {
    return started(
        make_on(std::make_shared<FaultyStore>(make_postgres_store(rig().options(lease()))), id));
  }
  [[nodiscard]] Member join_on(std::shared_ptr<PGconn> connection, const std::string& id) {
    return started(make_on(adopt(std::move(connection)), id));
  }
  [[nodiscard]] Member started(Member member) {
    member->start();
    EXPECT_TRUE(run_until([&] { return member->leads() || member->role() == Role::follower; }));
    return member;
  }
  [[nodiscard]] bool until_renewed(const Member& member, std::size_t times) {
    const std::size_t before = member->count<core::Extended>();
    return run_until([&] { return member->count<core::Extended>() >= before + times; });
  }

  // What make_postgres_store() throws.
  [[nodiscard]] std::string refusal(const PostgresOptions& options) {
    try {
      static_cast<void>(make_postgres_store(options));
    } catch (const std::invalid_argument& refused) {
      return refused.what();
    }
    return "not refused";
  }
  void expect_refused(const std::shared_ptr<PGconn>& connection, const std::string& words) {
    const std::string why = refusal(rig().adopting(connection, lease()));
    EXPECT_TRUE(why.starts_with("connection: ")) << why;
    EXPECT_NE(why.find(words), std::string::npos) << why;
    EXPECT_EQ(connection.use_count(), 1) << "it is still the application's";
  }
};

TEST_P(PostgresOnAdopted, ElectsRenewsAndHandsOverOnThatConnectionAlone) {
  auto connection = new_connection();
  const int pid = PQbackendPID(connection.get());
  const Member leader = join_on(std::move(connection), "a");
  ASSERT_TRUE(until_leads(leader));
  ASSERT_TRUE(until_renewed(leader, 4));
  const Member follower = join("b");
  EXPECT_EQ(follower->role(), Role::follower);
  EXPECT_EQ(server().backends("pid <> pg_backend_pid()").size(), 2U);
  EXPECT_EQ(server().backends("pid = " + std::to_string(pid)).size(), 1U);
  leader->resign();
  ASSERT_TRUE(until_leads(follower));
  follower->stop();
  ASSERT_TRUE(until_stopped(follower));
  EXPECT_TRUE(until_leads(leader));
}

TEST_P(PostgresOnAdopted, ReplacesAndIsReplacedByThoseOnTheirOwn) {
  Member usual = join_usual("a");
  ASSERT_TRUE(until_leads(usual));
  Member adopted = join("b");
  usual = {};  // crashes
  ASSERT_TRUE(until_leads(adopted));
  const Member next = join_usual("c");
  adopted = {};
  EXPECT_TRUE(until_leads(next));
}

TEST_P(PostgresOnAdopted, WhenItBreaksItsTermEndsAndTheSentenceSaysWhatToDo) {
  std::atomic<bool> is_closed{false};
  std::shared_ptr<PGconn> connection(PQconnectdb(server().url().c_str()), [&](PGconn* it) {
    PQfinish(it);
    is_closed = true;
  });
  const int pid = PQbackendPID(connection.get());
  const Member leader = join_on(std::move(connection), "a");
  ASSERT_TRUE(until_leads(leader));
  const Member follower = join_usual("b");
  server().exec("select pg_terminate_backend($1::int)", {std::to_string(pid)});
  ASSERT_TRUE(run_until([&] { return leader->count<core::Lost>() == 1; }));
  if (!has(Ability::expires)) {
    EXPECT_EQ(leader->last<core::Lost>()->reason, LossReason::session_lost);
  }
  ASSERT_TRUE(until_leads(follower));
  ASSERT_TRUE(run_until([&] { return leader->count<core::Failed>() > 0; }));
  const Error error = leader->last<core::Failed>()->error;
  EXPECT_NE(error.message.find("ended the session"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("make a new store"), std::string::npos) << error.message;
  EXPECT_FALSE(error.retryable);
  EXPECT_TRUE(run_until([&] { return is_closed.load(); }));
  // There is no other way in.
  follower->stop();
  ASSERT_TRUE(until_stopped(follower));
  run_for(2 * lease());
  EXPECT_FALSE(leader->leads());
  EXPECT_EQ(leader->count<core::Lost>(), 1U);
}

TEST_P(PostgresOnAdopted, AServerThatIsSlowForAWhileDoesNotCostTheConnection) {
  if (is_by_lock()) GTEST_SKIP() << "the server ends it then: it was idle for a lease";
  auto connection = new_connection();
  const int pid = PQbackendPID(connection.get());
  const Member leader = join_on(std::move(connection), "a");
  ASSERT_TRUE(until_leads(leader));
  server().pause_backend(pid);
  const bool is_lost = run_until([&] { return leader->count<core::Lost>() == 1; });
  run_for(lease());
  server().resume_backend(pid);
  EXPECT_TRUE(is_lost);
  EXPECT_TRUE(until_leads(leader));
}

TEST_P(PostgresOnAdopted, IsClosedWithTheStore) {
  auto connection = new_connection();
  const std::string pid = "pid = " + std::to_string(PQbackendPID(connection.get()));
  auto store = adopt(std::move(connection));
  const auto first = granted(*store, bid("a", 1));
  EXPECT_TRUE(first.term.exists());
  EXPECT_EQ(server().backends(pid).size(), 1U);
  store.reset();
  EXPECT_TRUE(run_until([&] { return server().backends(pid).empty(); }));
}

TEST_P(PostgresOnAdopted, IsClosedWithAStoreThatNeverUsedIt) {
  auto connection = new_connection();
  const std::string pid = "pid = " + std::to_string(PQbackendPID(connection.get()));
  static_cast<void>(adopt(std::move(connection)));
  EXPECT_TRUE(run_until([&] { return server().backends(pid).empty(); }));
}

TEST_P(PostgresOnAdopted, CopesWithWhatTheApplicationHasSetThere) {
  auto connection = new_connection();
  for (const char* const sql :
       {"create temporary table mine (number int)", "set statement_timeout = '5s'",
        "set lock_timeout = '5s'", "set idle_session_timeout = '5s'",
        "set standard_conforming_strings = off",
        "set default_transaction_isolation = 'serializable'", "listen noise",
        "prepare conclave_1 as select 1"}) {
    ASSERT_EQ(ask(connection.get(), sql), "") << sql;
  }
  std::atomic<bool> is_asked{false};
  std::string channels;
  std::string timeouts;
  std::shared_ptr<PGconn> given(connection.get(), [&, connection](PGconn* it) {
    channels = ask(it, "select count(*) from pg_listening_channels()");
    timeouts = ask(it,
                   "select string_agg(setting, ' ') from pg_settings where setting = '5000' and "
                   "name in ('statement_timeout', 'lock_timeout', 'idle_session_timeout')");
    is_asked = true;
  });
  connection.reset();
  {
    const Member leader = join_on(std::move(given), "a");
    ASSERT_TRUE(until_leads(leader));
    const Term term = leader->term();
    ASSERT_TRUE(until_renewed(leader, 6));
    EXPECT_EQ(leader->term(), term);
    leader->stop();
    ASSERT_TRUE(until_stopped(leader));
  }
  ASSERT_TRUE(run_until([&] { return is_asked.load(); }));
  EXPECT_EQ(channels, "0");
  EXPECT_EQ(timeouts, "") << "one of them could end what an election needs";
}

TEST_P(PostgresOnAdopted, WhatCannotBeUsedIsRefusedAndStaysTheApplications) {
  const auto is_usable = [](const std::shared_ptr<PGconn>& connection) {
    return ask(connection.get(), "rollback; select 7") == "7";
  };
  const std::shared_ptr<PGconn> none(PQconnectdb("host=/nowhere"), &PQfinish);
  expect_refused(none, "is not established");

  const auto connection = new_connection();
  ASSERT_EQ(ask(connection.get(), "begin"), "");
  expect_refused(connection, "a transaction is open on it: commit or roll it back");
  ASSERT_NE(ask(connection.get(), "nonsense"), "");  // which fails the transaction
  expect_refused(connection, "a transaction is open");
  EXPECT_TRUE(is_usable(connection));

  ASSERT_EQ(PQsendQuery(connection.get(), "select 1"), 1);
  expect_refused(connection, "a statement is under way");
  EXPECT_TRUE(is_usable(connection));

  ASSERT_EQ(PQenterPipelineMode(connection.get()), 1);
  expect_refused(connection, "pipeline mode");
  ASSERT_EQ(PQexitPipelineMode(connection.get()), 1);

  ASSERT_EQ(PQsetClientEncoding(connection.get(), "LATIN1"), 0);
  expect_refused(connection, "PQsetClientEncoding");
  ASSERT_EQ(PQsetClientEncoding(connection.get(), "UTF8"), 0);

  auto both = rig().adopting(connection, lease());
  both.url = server().url();
  EXPECT_NE(refusal(both).find("leave url"), std::string::npos) << refusal(both);
  both.url = {};
  both.password = "secret";
  EXPECT_NE(refusal(both).find("leave url, password"), std::string::npos) << refusal(both);
}

// It is not replaced, and what was set on it may be set off.
TEST_P(PostgresOnAdopted, NothingIsLedWhereNothingMayBeWritten) {
  const auto connection = new_connection();
  ASSERT_EQ(ask(connection.get(), "set default_transaction_read_only = on"), "");
  const Member candidate = make_on(adopt(connection), "a");
  candidate->start();
  ASSERT_TRUE(run_until([&] { return candidate->count<core::Failed>() > 0; }));
  const std::string why = candidate->last<core::Failed>()->error.message;
  EXPECT_NE(why.find("only reads (default_transaction_read_only)"), std::string::npos) << why;
  EXPECT_NE(why.find("or this connection"), std::string::npos) << why;
  EXPECT_FALSE(candidate->leads());
}

TEST_P(PostgresOnAdopted, ATransactionThatIsBegunAfterwardsIsRefusedToo) {
  const auto connection = new_connection();
  const auto store = adopt(connection);
  ASSERT_EQ(ask(connection.get(), "begin"), "");
  const auto answer = campaign(*store, bid("a", 1));
  const auto* const unknown = std::get_if<Unknown>(&answer);
  ASSERT_NE(unknown, nullptr);
  EXPECT_NE(unknown->error.message.find("a transaction is open"), std::string::npos)
      << unknown->error.message;
  EXPECT_EQ(ask(connection.get(), "select 7"), "7") << "it was left alone";
}

TEST_P(PostgresOnAdopted, BehindAPoolerOnlyALeaseWorks) {
  const PgBouncerServer pooler(server(), PgBouncerMode::transaction);
  const auto store = adopt(connection_to(pooler.url()));
  const auto answer = campaign(*store, bid("a", 1));
  if (!is_by_lock()) {
    EXPECT_TRUE(std::holds_alternative<Granted>(answer)) << answer.index();
    return;
  }
  const auto* const unknown = std::get_if<Unknown>(&answer);
  ASSERT_NE(unknown, nullptr) << answer.index();
  EXPECT_EQ(unknown->error.code, ErrorCode::unsupported);
  EXPECT_NE(unknown->error.message.find("choose mode lease"), std::string::npos)
      << unknown->error.message;
  EXPECT_TRUE(run_until([&] {  // those of earlier stores go with their sessions
    return server().value("select count(*) from pg_locks where locktype = 'advisory'") == "0";
  }));
}

std::unique_ptr<StoreFixture> make_advisory() {
  return std::make_unique<AdoptedFixture>(PostgresMode::advisory);
}
std::unique_ptr<StoreFixture> make_lease() {
  return std::make_unique<AdoptedFixture>(PostgresMode::lease);
}
std::unique_ptr<StoreFixture> make_strict() {
  return std::make_unique<AdoptedFixture>(PostgresMode::advisory, true);
}

INSTANTIATE_TEST_SUITE_P(advisory, PostgresOnAdopted, ::testing::Values(MakeFixture{make_advisory}),
                         [](const auto&) { return "postgres"; });
INSTANTIATE_TEST_SUITE_P(lease, PostgresOnAdopted, ::testing::Values(MakeFixture{make_lease}),
                         [](const auto&) { return "postgres"; });
INSTANTIATE_TEST_SUITE_P(strict, PostgresOnAdopted, ::testing::Values(MakeFixture{make_strict}),
                         [](const auto&) { return "postgres"; });

}  // namespace
}  // namespace conclave::conformance
