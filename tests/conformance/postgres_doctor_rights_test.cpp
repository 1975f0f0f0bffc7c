// What a check of a real PostgreSQL server finds about tables, rights, and who goes by what.
#include <conclave/candidate.hpp>

#include "conformance/postgres_doctor_rig.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;
using servers::PostgresServer;

// What the finding says mends it.
void expect_mended(const PostgresServer& server, const PostgresOptions& options,
                   const std::string& fix) {
  const auto found = findings(options);
  expect_finding(found, "rights", Severity::danger, fix);
  server.exec(about(found, "rights").fix);
  expect_no_finding(findings(options), "rights");
}

TEST(PostgresDoctor, NamesTheRightThatIsMissing) {
  const PostgresServer server(good());
  server.exec("create schema \"my schema\"");
  PostgresOptions options = options_of(server.url(anna));
  options.schema = "my schema";
  const auto found = findings(options);
  expect_finding(found, "rights", Severity::danger, "grant usage on schema \"my schema\" to anna");
  server.exec(about(found, "rights").fix);
  expect_mended(server, options, "grant create on schema \"my schema\" to anna");
  PostgresOptions admin = options;
  admin.url = server.url();
  const auto store = make_postgres_store(admin);
  ASSERT_TRUE(remove(*store, "none", Remains::trace, 60s));
  expect_mended(server, options, "grant select, insert, update, delete on \"my schema\".");
  server.exec("revoke insert on \"my schema\".conclave_server from anna");
  expect_mended(server, options, "on \"my schema\".\"conclave_server\" to anna");
}

TEST(PostgresDoctor, KnowsThatTablesAreMissing) {
  const PostgresServer server(good());
  PostgresOptions options = options_of(server.url(anna));
  expect_finding(findings(options), "rights", Severity::danger,
                 "grant create on schema public to anna");
  options.create = false;
  expect_finding(findings(options), "create=false", Severity::danger, "conclave sql");
  options.schema = "nowhere";
  expect_finding(findings(options), "schema", Severity::danger, "correct schema");
  server.exec("alter role anna set search_path = nowhere");
  options.schema.clear();
  expect_finding(findings(options), "schema", Severity::danger, "correct schema");
}

TEST(PostgresDoctor, KnowsATableOfSomebodyElse) {
  const PostgresServer server(good());
  make_tables(server);
  server.exec("drop table conclave_session; create table conclave_session (life bigint)");
  expect_finding(findings(server.url()), "tables", Severity::danger, "another schema");
  server.exec("drop table conclave_server");
  const auto found = findings(server.url());
  EXPECT_EQ(found.size(), 1U) << "and no word of tables that will be made";
  expect_finding(found, "tables", Severity::danger, "another schema");
  EXPECT_EQ(
      server.value("select count(*) from pg_attribute where attrelid = 'conclave_session'::regclass"
                   " and attnum > 0"),
      "1");
}

// Without the first a fence protects nothing, and the others are empty after a crash of the server.
TEST(PostgresDoctor, KnowsTablesThatKeepLessThanOurs) {
  const PostgresServer server(good());
  make_tables(server);
  const auto expect_misfit = [&](const std::string& change, const std::string& table,
                                 const std::string& undo) {
    SCOPED_TRACE(change);
    expect_no_finding(findings(server.url()), "tables");
    server.exec(change);
    const auto found = findings(server.url());
    expect_finding(found, "tables", Severity::danger, "another schema");
    EXPECT_NE(about(found, "tables").problem.find(table), std::string::npos)
        << about(found, "tables").problem;
    server.exec(undo);
  };
  const std::string index = "conclave_election_name_term_key";
  expect_misfit("alter table conclave_election drop constraint " + index, "conclave_election",
                "alter table conclave_election add constraint " + index + " unique (name, term)");
  expect_misfit(
      "alter table conclave_election drop constraint " + index +
          "; create unique index positive on conclave_election (name, term) where term > 0",
      "conclave_election",
      "alter table conclave_election add constraint " + index + " unique (name, term)");
  for (const std::string table : {"conclave_election", "conclave_session", "conclave_server"}) {
    expect_misfit("alter table " + table + " set unlogged", table,
                  "alter table " + table + " set logged");
  }
  expect_no_finding(findings(server.url()), "tables");
}

// They need neither rights nor a schema, and no tables may be there.
TEST(PostgresDoctor, KnowsWhoGoesByLocksAlone) {
  const PostgresServer server(good());
  PostgresOptions alone = options_of(server.url(anna));
  alone.tables = false;
  EXPECT_TRUE(findings(alone).empty()) << "what others would need is no matter";
  server.exec("alter role anna set search_path = nowhere");
  EXPECT_TRUE(findings(alone).empty());
  {
    PostgresOptions quick = alone;
    quick.lease = 2s;  // for which the server has to be up first
    Candidate leader(make_postgres_store(quick), "election");
    const auto term = leader.lead();
    EXPECT_TRUE(findings(alone).empty());
    const auto found = findings(server.url());
    EXPECT_EQ(found.size(), 1U) << "and no word of tables that will be made";
    expect_finding(found, "tables", Severity::danger, "tables=false for all");
    EXPECT_EQ(tables_of(server), "0");
  }
  server.exec("alter role anna reset search_path");
  while (server.value("select count(*) from pg_locks where locktype = 'advisory'") != "0") continue;
  make_tables(server);
  expect_finding(findings(alone), "tables=false", Severity::danger, "leave tables=false out");
}

// As far as the rows tell: of who leads now, and not of who led before.
TEST(PostgresDoctor, WarnsOfCandidatesOfAnotherMode) {
  const PostgresServer server(good());
  const PostgresOptions lease = options_of(server.url(), PostgresMode::lease);
  PostgresOptions strict = options_of(server.url());
  strict.strict = true;
  {
    Candidate leader(make_postgres_store(lease), "nightly report");
    const auto term = leader.lead();
    const auto found = findings(server.url());
    expect_finding(found, "mode", Severity::warning, "the same mode");
    EXPECT_NE(about(found, "mode").problem.find("nightly report"), std::string::npos);
    EXPECT_NE(about(found, "mode").problem.find("mode=lease"), std::string::npos);
    expect_finding(findings(strict), "mode", Severity::warning, "and strict");
    expect_no_finding(findings(lease), "mode");
  }
  PostgresOptions advisory = options_of(server.url());
  advisory.lease = 2s;  // for which the server has to be up first
  {
    Candidate leader(make_postgres_store(advisory), "nightly report");
    const auto term = leader.lead();
    expect_no_finding(findings(server.url()), "mode");
    expect_finding(findings(lease), "mode", Severity::warning, "the same mode");
  }
  while (server.value("select count(*) from pg_locks where locktype = 'advisory'") != "0") continue;
  server.exec("update conclave_election set state = 'held'");  // as one that crashed leaves it
  expect_no_finding(findings(lease), "mode");
}

}  // namespace
}  // namespace conclave::conformance
