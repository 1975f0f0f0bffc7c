// What only a person can mend is one sentence that names the fix, of every verb and in the events,
// and what belongs to somebody else stays as it is.
#include <csignal>

#include "conformance/postgres_refusals.hpp"
#include "servers/pgbouncer_server.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;
using servers::PgBouncerMode;
using servers::PgBouncerServer;
using servers::PostgresServer;
using servers::PostgresUser;

const PostgresUser anna{"anna", "geheim"};
// ---------------------------------------------------------------- who is let in

TEST(PostgresRefused, WhoIsNotLetIn) {
  const PostgresServer server({.users = {anna, {"carl", "geheim"}}});
  server.exec("alter role carl nologin");
  expect_refused(options_of(at(server, "anna:geheim-not", "postgres")),
                 {ErrorCode::denied, "does not accept this user and password", "check both"});
  expect_refused(options_of(at(server, "eve:geheim", "postgres")),
                 {ErrorCode::denied, "pg_hba.conf that lets this user", "add one"});
  expect_refused(options_of(at(server, "carl:geheim", "postgres")),
                 {ErrorCode::denied, "does not let this user in", "may log in"});
  server.exec("drop role carl");
  expect_refused(options_of(at(server, "carl:geheim", "postgres")),
                 {ErrorCode::denied, "does not accept this user and password", "check both"});
  expect_refused(options_of(at(server, "anna:geheim", "nowhere")),
                 {ErrorCode::invalid_argument, "/nowhere does not have this database",
                  "check its name, or create it"});
  server.exec("revoke connect on database postgres from public");
  expect_refused(options_of(server.url(anna)),
                 {ErrorCode::denied, "forbids this user what an election needs",
                  "GRANT CONNECT ON DATABASE \"postgres\" TO its role"});
}

TEST(PostgresRefused, AServerThatIsNotThere) {
  PostgresServer server({.users = {anna}});
  const auto options = options_of(server.url(anna));
  server.stop();
  expect_refused(options,
                 {ErrorCode::unavailable, "nobody listens there", "is the server running"});
}

// It has idle_session_timeout, without which a lock has no lease, and says that it has not.
TEST(PostgresRefused, ALockOnAServerOfAnEarlierVersion) {
  const PostgresServer server;
  server.exec(
      "create schema earlier; create function earlier.current_setting(text) returns text "
      "language sql as $$ select case $1 when 'server_version_num' then '130014' "
      "else pg_catalog.current_setting($1) end $$");
  const std::string url = server.url() + "?options=-csearch_path%3Dearlier,pg_catalog";
  expect_writing_refused(
      options_of(url), {ErrorCode::unsupported, "is older than PostgreSQL 14", "write mode=lease"});
  expect_elected(options_of(url, PostgresMode::lease));
}

TEST(PostgresRefused, WhatIsNotBehindThePooler) {
  const PostgresServer server;
  const PgBouncerServer pooler(server, PgBouncerMode::transaction);
  expect_refused(
      options_of("postgres://conclave@127.0.0.1:" + std::to_string(pooler.port()) + "/nowhere"),
      {ErrorCode::invalid_argument, "does not have this database", "check its name"});
  expect_refused(
      options_of("postgres://eve@127.0.0.1:" + std::to_string(pooler.port()) + "/postgres"),
      {ErrorCode::denied, "does not accept this user and password", "check both"});
}

// ---------------------------------------------------------------- who may write

TEST(PostgresRefused, AStandby) {
  PostgresServer server;
  const auto standby = server.standby();
  for (const PostgresMode mode : {PostgresMode::advisory, PostgresMode::lease}) {
    expect_writing_refused(options_of(standby->url(), mode),
                           {ErrorCode::unavailable, "is a standby, which only reads",
                            "give the primary, or several hosts"});
  }
  // Locks of the primary cannot be seen there; rows can.
  const Refusal blind{ErrorCode::unavailable, "is a standby", "give the primary"};
  const auto by_lock = make_postgres_store(options_of(standby->url()));
  expect_verb_refused([&] { return inspect(*by_lock, "election"); }, blind);
  EXPECT_TRUE(inspect(*make_postgres_store(options_of(standby->url(), PostgresMode::lease)), "e"));
  const std::string host = "127.0.0.1:" + std::to_string(standby->port());
  expect_refused(options_of("postgres://conclave@" + host + "," + host + "/postgres"),
                 {ErrorCode::unavailable, "it takes no writes", "connect to the primary"});
}

// It says the same while it starts, and while it recovers.
TEST(PostgresRefused, AServerThatIsNotReady) {
  const PostgresServer server;
  const auto somebody = server.client();  // for whom it waits
  ASSERT_EQ(::kill(server.pid(), SIGTERM), 0);
  const auto ready = [&] {
    try {
      const auto another = server.client();
      return true;
    } catch (const std::exception&) {
      return false;
    }
  };
  while (ready()) continue;
  expect_refused(options_of(server.url()),
                 {ErrorCode::unavailable, "is not ready yet", "wait until it has started"});
}

// It is how a server is taken out of service before another one takes over.
TEST(PostgresRefused, WhereNothingMayBeWritten) {
  const PostgresServer server;
  const PostgresServer other;
  const PgBouncerServer pooler(server, PgBouncerMode::transaction);
  const auto in_transaction = [&](const std::string& what) {
    server.exec("begin read write; alter " + what + "; commit");
  };
  const std::string host = "127.0.0.1:" + std::to_string(server.port());
  const std::string several = "postgres://conclave@" + host + ",127.0.0.1:";
  for (const char* const whose : {"role conclave", "database postgres"}) {
    in_transaction(std::string(whose) + " set default_transaction_read_only = on");
    const Refusal wanted{ErrorCode::denied, "only reads (default_transaction_read_only)",
                         "set it off where it was set on, for this role"};
    expect_writing_refused(options_of(server.url()), wanted);
    expect_writing_refused(options_of(server.url(), PostgresMode::lease), wanted);
    expect_writing_refused(options_of(pooler.url(), PostgresMode::lease), wanted);
    expect_refused(options_of(several + std::to_string(server.port()) + "/postgres"),
                   {ErrorCode::unavailable, "it takes no writes", "off where it was set on"});
    expect_elected(options_of(several + std::to_string(other.port()) + "/postgres"));
    in_transaction(std::string(whose) + " reset default_transaction_read_only");
  }
  EXPECT_EQ(server.value("select count(*) from pg_tables where tablename like 'conclave%'"), "0");
  expect_elected(options_of(server.url()));
}

// ---------------------------------------------------------------- rights

TEST(PostgresRefused, WhoMayNotMakeTheTables) {
  const PostgresServer server({.users = {anna}});
  PostgresOptions options = options_of(server.url(anna));
  expect_writing_refused(
      options, {ErrorCode::denied, "permission denied for schema public",
                "GRANT USAGE, CREATE ON SCHEMA public TO its role, or have the tables made by the "
                "output of conclave sql, or do without by tables=false"});
  server.exec("create schema own");
  options.schema = "own";
  expect_refused(options, {ErrorCode::denied, "permission denied for schema own",
                           "GRANT USAGE, CREATE ON SCHEMA \"own\" TO its role"});
  options.schema = "nowhere";
  expect_refused(options, {ErrorCode::invalid_argument, "does not have the schema",
                           "check schema, or create it"});
  EXPECT_EQ(server.value("select count(*) from pg_class where relname like 'conclave%'"), "0");
}

TEST(PostgresRefused, WhoMayNotUseTheTables) {
  const PostgresServer server({.users = {anna}});
  expect_elected(options_of(server.url()));
  const std::string tables = "conclave_election, conclave_session, conclave_server";
  for (const PostgresMode mode : {PostgresMode::advisory, PostgresMode::lease}) {
    const PostgresOptions options = options_of(server.url(anna), mode);
    server.exec("revoke all on " + tables + " from anna");
    expect_refused(options,
                   {ErrorCode::denied, "permission denied for table conclave_",
                    "GRANT SELECT, INSERT, UPDATE, DELETE ON TABLE \"conclave_election\", "});
    server.exec("grant select on " + tables + " to anna");
    expect_writing_refused(
        options, {ErrorCode::denied, "permission denied for table conclave_",
                  "GRANT SELECT, INSERT, UPDATE, DELETE ON TABLE \"conclave_election\", "});
    server.exec("grant select, insert, update, delete on " + tables + " to anna");
    expect_elected(options);
  }
}

// ---------------------------------------------------------------- tables

TEST(PostgresRefused, TablesThatMustNotBeMade) {
  const PostgresServer server;
  PostgresOptions options = options_of(server.url());
  options.create = false;
  expect_refused(options,
                 {ErrorCode::invalid_state, "has no tables for elections", "conclave sql"});
  options.schema = "own";
  expect_refused(options, {ErrorCode::invalid_argument, "does not have the schema for the tables",
                           "check schema, or create it"});
  server.exec("create schema own");
  expect_refused(options,
                 {ErrorCode::invalid_state, "has no tables for elections in the schema \"own\"",
                  "leave create=false out, and check schema"});
  EXPECT_EQ(server.value("select count(*) from pg_class where relname like 'conclave%'"), "0");
}

// All that could be changed about it: the versions of its definition, its indices and its rows.
std::string state_of(const PostgresServer& server, const std::string& name) {
  return server.value(
             "select string_agg(concat_ws(' ', c.oid, c.xmin, c.relkind, c.relhasindex, "
             "c.reltuples, a.attname, a.atttypid, a.xmin), ', ' order by a.attnum) from pg_class c "
             "join pg_attribute a on a.attrelid = c.oid where c.oid = $1::regclass",
             {"public." + name}) +
         server.value("select coalesce(string_agg(t::text || t.xmin, ', '), '') from public." +
                      name + " t");
}

TEST(PostgresRefused, ATableOfSomebodyElseStaysAsItIs) {
  struct Case {
    std::string name;
    std::string made;
  };
  for (const Case& each :
       {Case{"conclave_election", "create table conclave_election (x int)"},
        Case{"conclave_session", "create table conclave_session (x int)"},
        Case{"conclave_server", "create table conclave_server (x int)"},
        Case{"conclave_server", "create table conclave_server (timeline int, since bigint)"},
        Case{"conclave_election", "create table conclave_election (life bigint, name text)"},
        // As a copy of ours has it: two could make the same row.
        Case{"conclave_server", "create table conclave_server (timeline text, since bigint)"}}) {
    SCOPED_TRACE(each.made);
    const PostgresServer server;
    server.exec(each.made + "; insert into " + each.name + " values (7)");
    const std::string before = state_of(server, each.name);
    for (const PostgresMode mode : {PostgresMode::advisory, PostgresMode::lease}) {
      expect_refused(
          options_of(server.url(), mode),
          {ErrorCode::unsupported, "has something else under the name of \"" + each.name + "\"",
           "choose another schema, or rename it"});
    }
    EXPECT_EQ(state_of(server, each.name), before);
  }
}

// Without its key there may be two rows of an election, without the one over name and term a fence
// protects nothing, and an unlogged table is empty after a crash of the server.
TEST(PostgresRefused, ATableThatKeepsLessThanOursStaysAsItIs) {
  struct Case {
    std::string name;
    std::string change;
    std::string other;
  };
  for (const Case& each :
       {Case{"conclave_election", "drop constraint conclave_election_name_term_key",
             "conclave_session"},
        // Two would make a row each.
        Case{"conclave_election", "drop constraint conclave_election_pkey", ""},
        Case{"conclave_session", "drop constraint conclave_session_pkey", ""},
        Case{"conclave_election", "alter column lease type integer", ""},
        Case{"conclave_election",
             "drop constraint conclave_election_name_term_key, add unique (name, life)", ""},
        // Nobody fills it in.
        Case{"conclave_session", "add column owner text not null", ""},
        Case{"conclave_election", "set unlogged", "conclave_session"},
        Case{"conclave_election", "drop constraint conclave_election_name_term_key", ""},
        Case{"conclave_session", "set unlogged", ""},
        Case{"conclave_session", "set unlogged", "conclave_election"},
        Case{"conclave_server", "set unlogged", "conclave_election"}}) {
    SCOPED_TRACE(each.name + " " + each.change);
    const PostgresServer server;
    const auto first = make_postgres_store(options_of(server.url()));
    ASSERT_TRUE(remove(*first, "none", Remains::trace, hang_guard));
    if (!each.other.empty()) server.exec("drop table " + each.other);
    server.exec("alter table " + each.name + " " + each.change);
    const std::string before = state_of(server, each.name);
    const Refusal wanted{
        ErrorCode::unsupported,
        "has something else under the name of \"" + each.name + "\", or a table of another version",
        "choose another schema, or rename it"};
    const auto options = options_of(server.url());
    // Who only asks can read it.
    each.other.empty() ? expect_writing_refused(options, wanted) : expect_refused(options, wanted);
    EXPECT_EQ(state_of(server, each.name), before);
    if (each.other.empty()) continue;
    EXPECT_EQ(server.value("select to_regclass('" + each.other + "') is null"), "t");
  }
}

TEST(PostgresRefused, AnotherSchemaIsAWayOut) {
  const PostgresServer server;
  server.exec("create table conclave_election (x int); create schema own");
  PostgresOptions options = options_of(server.url());
  options.schema = "own";
  const std::string before = state_of(server, "conclave_election");
  expect_elected(options);
  EXPECT_EQ(state_of(server, "conclave_election"), before);
}

// Where all three are there, nothing has to be made, and it shows with the first statement.
TEST(PostgresRefused, ATableOfSomebodyElseAmongOursStaysAsItIs) {
  struct Case {
    std::string name;
    std::string made;
  };
  for (const Case& each :
       {Case{"conclave_server", "(x int)"},
        Case{"conclave_server", "(timeline text, since bigint)"},
        Case{"conclave_session", "(x int)"}, Case{"conclave_election", "(name int, term int)"},
        // As a copy of ours has it: two could make the same row.
        Case{"conclave_election", "as select * from ours"}}) {
    SCOPED_TRACE(each.name + each.made);
    const PostgresServer server;
    const auto first = make_postgres_store(options_of(server.url()));
    ASSERT_TRUE(remove(*first, "none", Remains::trace, hang_guard));
    server.exec("alter table " + each.name + " rename to ours; create table " + each.name + " " +
                each.made);
    const std::string before = state_of(server, each.name);
    const Refusal wanted{ErrorCode::unsupported, "has something else under the name of ",
                         "choose another schema, or rename it"};
    const auto store = make_postgres_store(options_of(server.url()));
    expect_event(store, wanted);
    EXPECT_EQ(state_of(server, each.name), before);
  }
}

TEST(PostgresRefused, AViewOfSomebodyElseStaysAsItIs) {
  const PostgresServer server;
  server.exec("create view conclave_election as select 7 as x");
  expect_refused(options_of(server.url()),
                 {ErrorCode::unsupported, "has something else under the name", "rename it"});
  EXPECT_EQ(server.value("select x from conclave_election"), "7");
  EXPECT_EQ(server.value("select count(*) from pg_class where relname like 'conclave%'"), "1");
}

TEST(PostgresRefused, ATypeOfSomebodyElseStaysAsItIs) {
  const PostgresServer server;
  server.exec("create domain conclave_session as int");
  expect_writing_refused(
      options_of(server.url()),
      {ErrorCode::unsupported, "has something else under the name", "rename it"});
  EXPECT_EQ(server.value("select 7::conclave_session"), "7");
  EXPECT_EQ(server.value("select count(*) from pg_class where relname like 'conclave%'"), "0");
}

}  // namespace
}  // namespace conclave::conformance
