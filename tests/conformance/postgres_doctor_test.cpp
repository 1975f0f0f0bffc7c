// What a check of a real PostgreSQL server finds, each with its fix.
#include "conformance/postgres_doctor_rig.hpp"
#include "fault/tcp_gate.hpp"
#include "servers/certificates.hpp"
#include "servers/pgbouncer_server.hpp"
#include "stores/postgres/findings.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;
using servers::PgBouncerMode;
using servers::PgBouncerServer;
using servers::PostgresClient;
using servers::PostgresServer;

std::string at(const std::string& host, std::uint16_t port) {
  return "postgres://conclave@" + host + ":" + std::to_string(port) + "/postgres";
}

TEST(PostgresDoctor, FindsNothingInAGoodServer) {
  const PostgresServer server(good());
  expect_finding(findings(server.url()), "tables", Severity::note, "nothing to do");
  EXPECT_EQ(tables_of(server), "0") << "who only looks makes nothing";
  make_tables(server);
  const auto found = findings(server.url());
  EXPECT_TRUE(found.empty()) << found.front().setting;
  EXPECT_EQ(server.value("select count(*) from conclave_election"), "0");
}

TEST(PostgresDoctor, WarnsOfDataThatAreNotOnTheDisk) {
  const PostgresServer server(good({"fsync = off"}));
  expect_finding(findings(server.url()), "fsync", Severity::danger, "fsync = on");
}

// There is none to start here, so one that says so.
TEST(PostgresDoctor, WarnsOfAnOldServer) {
  const PostgresServer server(good());
  postgres::Rows rows;
  rows.cells = server.exec(postgres::facts(), {"a", "b", "c", std::nullopt}).at(0);
  rows.count = 1;
  rows.columns = rows.cells.size();
  rows.cells.at(0) = "130012";
  postgres::Settings settings;
  settings.lease = 3s;
  expect_finding(findings_in(rows, settings, {}), "server_version", Severity::danger, "mode=lease");
  settings.mode = PostgresMode::lease;
  expect_finding(findings_in(rows, settings, {}), "server_version", Severity::note, "update");
  rows.cells.at(0) = "140000";
  expect_no_finding(findings_in(rows, settings, {}), "server_version");
}

// ---------------------------------------------------------------- replication

TEST(PostgresDoctor, KnowsAStandbyAndWhoWaitsForIt) {
  const servers::PostgresUser modest{"modest", "word"};
  auto options = good();
  options.users = {modest};
  PostgresServer server(options);
  make_tables(server);
  const auto standby = server.standby();
  expect_finding(findings(standby->url()), "recovery", Severity::danger, "primary");
  EXPECT_EQ(findings(server.url()).size(), 1U) << "it is waited for";
  expect_finding(findings(server.url()), "mode=advisory", Severity::warning, "strict=true");
  // Who may not see it is told so.
  server.exec("grant all on all tables in schema public to modest");
  const std::string names = server.value("show synchronous_standby_names");
  expect_finding(findings(server.url(modest)), "synchronous_standby_names " + names, Severity::note,
                 "grant pg_monitor to modest");
  server.exec("grant pg_monitor to modest");
  expect_no_finding(findings(server.url(modest)), "synchronous_standby_names " + names);
  server.exec("alter system set synchronous_standby_names = ''");
  server.exec("select pg_reload_conf()");
  while (!server.value("show synchronous_standby_names").empty()) continue;  // it reads that soon
  expect_finding(findings(server.url()), "synchronous_standby_names", Severity::warning,
                 "fence with the term");
}

TEST(PostgresDoctor, WarnsOfAStandbyThatIsWaitedForInVain) {
  PostgresServer server(good());
  make_tables(server);
  const auto wait_for = [&](const std::string& names) {
    server.exec("alter system set synchronous_standby_names = '" + names + "'");
    server.exec("select pg_reload_conf()");
    while (server.value("show synchronous_standby_names") != names) continue;  // it reads that soon
  };
  const auto expect_danger = [&](const std::string& names, const std::string& count) {
    wait_for(names);
    expect_finding(findings(server.url()), "synchronous_standby_names " + names, Severity::danger,
                   "connect the standby");
    for (const Finding& each : findings(server.url())) {
      if (each.severity != Severity::danger) continue;
      EXPECT_NE(each.problem.find(count), std::string::npos) << each.problem;
    }
  };
  expect_danger("nobody", "wait for 1, and 0");
  wait_for("");
  const auto standby = server.standby();
  const std::string its_name = server.value("select application_name from pg_stat_replication");
  expect_danger("FIRST 2 (" + its_name + ", nobody)", "wait for 2, and 1");
  expect_danger("nobody", "wait for 1, and 0");
}

// ---------------------------------------------------------------- poolers

TEST(PostgresDoctor, KnowsAPooler) {
  const PostgresServer server(good());
  make_tables(server);
  for (const PgBouncerMode kind : {PgBouncerMode::session, PgBouncerMode::transaction}) {
    const PgBouncerServer pooler(server, kind);
    expect_finding(findings(pooler.url()), "pooler",
                   kind == PgBouncerMode::session ? Severity::warning : Severity::danger,
                   "mode=lease");
    const auto found = findings(options_of(pooler.url(), PostgresMode::lease));
    expect_finding(found, "pooler", Severity::note, "directly");
    EXPECT_EQ(found.size(), 1U);
  }
}

TEST(PostgresDoctor, KnowsARoleThatOnlyReads) {
  const PostgresServer server(good());
  server.exec("alter role conclave set default_transaction_read_only = on");
  const PgBouncerServer pooler(server, PgBouncerMode::transaction);
  for (const std::string& url : {pooler.url(), server.url()}) {
    expect_finding(findings(options_of(url, PostgresMode::lease)), "default_transaction_read_only",
                   Severity::danger, "alter role conclave set default_transaction_read_only = off");
  }
}

TEST(PostgresDoctor, WarnsOfDefaultsOfTheRoleBehindAPooler) {
  const PostgresServer server(good());
  for (const char* const each :
       {"statement_timeout = '50s'", "lock_timeout = '40s'", "idle_session_timeout = '7s'",
        "idle_in_transaction_session_timeout = '30s'", "synchronous_commit = off"}) {
    server.exec(std::string("alter role conclave set ") + each);
  }
  const PgBouncerServer pooler(server, PgBouncerMode::transaction);
  const auto found = findings(options_of(pooler.url(), PostgresMode::lease));
  expect_finding(found, "statement_timeout=50000ms", Severity::warning, "lift them");
  expect_finding(found, "lock_timeout=40000ms", Severity::warning, "lift them");
  expect_finding(found, "idle_in_transaction_session_timeout=30000ms", Severity::warning,
                 "lift them");
  expect_finding(found, "idle_session_timeout 7000ms", Severity::warning, "lift it");
  expect_finding(found, "synchronous_commit off", Severity::note,
                 "alter role conclave set synchronous_commit = on");
  const auto direct = findings(server.url());
  expect_no_finding(direct, "timeout");
  expect_no_finding(direct, "synchronous_commit");
}

TEST(PostgresDoctor, NotesOtherWorkThatDoesNotWaitForTheStandbyBehindAPooler) {
  const PostgresServer server(
      good({"synchronous_standby_names = 'nobody'", "synchronous_commit = local"}));
  const PgBouncerServer pooler(server, PgBouncerMode::transaction);
  expect_finding(findings(options_of(pooler.url(), PostgresMode::lease)),
                 "synchronous_commit local", Severity::note, "set synchronous_commit = on");
}

// ---------------------------------------------------------------- room

TEST(PostgresDoctor, WarnsOfFewConnections) {
  const PostgresServer server(good({"max_connections = 10", "max_wal_senders = 2"}));
  expect_finding(findings(server.url()), "max_connections, 6 left", Severity::warning,
                 "raise max_connections");
}

TEST(PostgresDoctor, WarnsOfALimitOfTheRole) {
  const PostgresServer server(good());
  server.exec("alter role anna connection limit 5");
  expect_finding(findings(server.url(anna)), "limit of the role, 4 left", Severity::warning,
                 "alter role anna connection limit");
  server.exec("alter role anna connection limit 3");
  expect_finding(findings(server.url(anna)), "limit of the role, 2 left", Severity::warning, "");
  server.exec("alter role anna connection limit 2");
  expect_finding(findings(server.url(anna)), "limit of the role, 1 left", Severity::danger,
                 "alter role anna connection limit");
  server.exec("alter role anna connection limit 9");
  expect_no_finding(findings(server.url(anna)), "limit of the role");
}

TEST(PostgresDoctor, WarnsOfALimitOfTheDatabase) {
  const PostgresServer server(good());
  server.exec("alter database postgres connection limit 5");
  expect_finding(findings(server.url(anna)), "limit of the database, ", Severity::warning,
                 "alter database ... connection limit");
  server.exec("alter database postgres connection limit -1");
  expect_no_finding(findings(server.url(anna)), "limit of the database");
}

TEST(PostgresDoctor, WarnsOfATableOfLocksThatFills) {
  const PostgresServer server(
      good({"max_connections = 20", "max_wal_senders = 2", "max_locks_per_transaction = 10"}));
  expect_no_finding(findings(server.url()), "max_locks");
  PostgresClient busy = server.client();
  busy.exec("select pg_advisory_lock(i) from generate_series(1, 120) as i");
  expect_finding(findings(server.url()), "of 200 locks taken", Severity::warning,
                 "raise max_locks_per_transaction");
}

// ---------------------------------------------------------------- the way

// A machine's other names are not loopback, whoever they lead to.
TEST(PostgresDoctor, WarnsOfAPlainWayBeyondThisMachine) {
  const PostgresServer server(good());
  expect_finding(findings(at("0.0.0.0", server.port())), "sslmode", Severity::warning,
                 "verify-full");
  expect_no_finding(findings(at("localhost", server.port())), "sslmode");
  const PgBouncerServer pooler(server, PgBouncerMode::transaction);
  expect_finding(findings(at("0.0.0.0", pooler.port())), "sslmode", Severity::warning,
                 "verify-full");
}

TEST(PostgresDoctor, TellsThatNobodyLooksAtTheCertificate) {
  servers::Certificates made;
  const auto shown = made.server();
  servers::PostgresOptions options = good();
  options.tls = servers::PostgresTls{shown.certificate, shown.key, made.authority()};
  const PostgresServer server(options);
  expect_finding(findings(at("0.0.0.0", server.port()) + "?sslmode=require"), "sslmode require",
                 Severity::note, "verify-full");
  expect_no_finding(findings(server.url() + "?sslmode=require"), "sslmode");
}

TEST(PostgresDoctor, WarnsOfAServerThatEndsSessionsOfAPoolerTooSoon) {
  const PostgresServer server(
      good({"tcp_keepalives_idle = 3", "tcp_keepalives_interval = 1", "tcp_keepalives_count = 4"}));
  const auto through = [&](PostgresMode mode = PostgresMode::advisory, bool strict = false) {
    const PgBouncerServer pooler(server, PgBouncerMode::session);  // with the role as it is now
    PostgresOptions options = options_of(pooler.url(), mode);
    options.strict = strict;
    return findings(options);
  };
  expect_finding(through(), "tcp_keepalives, 7000ms", Severity::danger, "tcp_keepalives_idle");
  expect_finding(through(PostgresMode::advisory, true), "tcp_keepalives, 7000ms", Severity::note,
                 "");
  expect_no_finding(through(PostgresMode::lease), "tcp_");
  expect_no_finding(findings(server.url()), "tcp_");  // the store sets them
  server.exec("alter role conclave set tcp_keepalives_idle = 30");
  expect_no_finding(through(), "tcp_");
  server.exec("alter role conclave set tcp_user_timeout = 7999");
  expect_finding(through(), "tcp_user_timeout 7999ms", Severity::danger, "tcp_user_timeout");
  server.exec("alter role conclave set tcp_user_timeout = 8000");
  expect_no_finding(through(), "tcp_");
}

TEST(PostgresDoctor, WarnsOfASlowWay) {
  const PostgresServer server(good());
  fault::TcpGate gate(server.port());
  gate.delay(150ms);  // 300 ms, and a request time-out of 1 s
  expect_finding(findings(at("127.0.0.1", gate.port())), "round trip", Severity::warning,
                 "lengthen the lease");
}

TEST(PostgresDoctor, TellsOfAnotherTime) {
  servers::PostgresOptions options = good();
  options.steppable_clock = true;
  PostgresServer server(options);
  expect_no_finding(findings(server.url()), "clock");
  server.step_clock(1h);
  expect_finding(findings(server.url()), "clock, 3", Severity::note, "NTP");
}

TEST(PostgresDoctor, OfAServerThatIsAwayIsAnError) {
  PostgresServer server;
  const std::string url = server.url();
  server.stop();
  const auto store = make_postgres_store(options_of(url));
  const auto found = check(*store, 60s);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace conclave::conformance
