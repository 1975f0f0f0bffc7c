// The store `postgres:`: elections in a PostgreSQL database.
//
// Two modes, and all candidates of an election have to use the same one:
//  - advisory: a process holds one advisory lock on a session of its own. When the process dies,
//    the server frees the lock at once, and the next in line leads within milliseconds; what hangs
//    or is cut off loses it when its lease is over. Needs a connection of its own to one server:
//    no pooler in transaction mode, and no standby that is promoted.
//  - lease: a row with a deadline by the server's clock. A crashed leader is replaced when its
//    lease is over. Works through PgBouncer in transaction mode, and survives a promotion where
//    replication is synchronous.
//
// The place and all of TLS are said in libpq's own words, so whatever libpq knows works here:
// several hosts, sslmode, service, passfile, the environment (PGHOST, PGPASSWORD, ...).
//
// What to know about it
//  - Unless they are set, application_name is conclave, keepalives and tcp_user_timeout fit the
//    lease, gssencmode is disable, and with several hosts target_session_attrs is read-write.
//    client_encoding is always UTF8; connect_timeout is not used, request_timeout is.
//  - Defaults of the role or the database that would end our statements or our sessions, such as
//    statement_timeout, are neutralised on our own sessions; behind a pooler they are left alone,
//    since there the server's session is shared with others.
//  - The server ends our sessions when nothing is heard of them for ten leases: no process that
//    stands still, and no host that has vanished, keeps connections for hours. Only the session
//    with the lock of mode advisory stays with a process that stands still and leads nothing.
//  - Host names are looked up anew for every connection, without blocking; passwords are read anew,
//    where they come from files or from a function.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <conclave/export.hpp>
#include <conclave/loop.hpp>
#include <conclave/store.hpp>

// As libpq calls it.
struct pg_conn;
using PGconn = pg_conn;

namespace conclave {

// How the server is told who we are.
struct PostgresCredentials {
  std::string user{};  // empty: that of the URL
  std::string password{};
};

enum class PostgresMode { advisory, lease };

struct PostgresOptions {
  // "postgres://user@host:port/database?sslmode=verify-full", or "host=... dbname=...". In a URL
  // also mode, strict, create, tables, schema, lease, request_timeout and password_file; they win
  // over what is said below. Empty: libpq's defaults and its environment.
  std::string url{};
  std::string password{};       // any signs, without escapes; instead of one in the URL
  std::string password_file{};  // read for every connection; a line end at its end does not count
  std::function<PostgresCredentials()> credentials{};  // asked for every connection, on the loop

  // Instead of all that: a connection that the application already has, such as
  // std::shared_ptr<PGconn>(PQconnectdb(...), PQfinish). Established, idle, outside of a
  // transaction and with client_encoding UTF8. It is for this store alone: from now on nobody else
  // uses it, and the store lets go of it, on its loop, when it ends or the connection breaks.
  //  - There is no other: when it breaks, its terms end, candidates hear an error that says so, and
  //    a new store on a new connection has to be made. A minute without an answer counts as broken.
  //  - Nobody is woken on it, candidates look four times a lease: so a crashed leader is replaced
  //    within a quarter of a lease in mode advisory. Behind a pooler only mode lease works.
  //  - Role and search path are used as they are, LISTENs are ended, and the settings that
  //    would end statements or sessions are neutralised; the client's keepalives and
  //    time-outs of TCP are left alone.
  std::shared_ptr<PGconn> connection{};

  PostgresMode mode = PostgresMode::advisory;
  bool strict = false;  // advisory: a crash costs a lease, and no double fault makes two leaders
  bool create = true;   // make the tables where they are missing
  // Advisory, where nobody may make tables: elections by locks alone. All candidates have to say
  // the same. The leader has no name and no metadata then, terms grow on one timeline of the server
  // only, and an election cannot be ended.
  bool tables = true;
  std::string schema{};  // of the tables; empty: the first of the search path

  Duration lease{std::chrono::seconds{3}};
  // When an unanswered request is given up. Zero: an eighth of the lease. A connection is given up
  // after four of these, but not within a second.
  Duration request_timeout{};
  std::shared_ptr<Loop> loop{};  // of make_loop(), where several stores shall share one
};

// Checks its options; connects with the first call. Throws std::invalid_argument with a sentence
// that names the option and the fix.
[[nodiscard]] CONCLAVE_API std::shared_ptr<Store> make_postgres_store(PostgresOptions options = {});

// ---------------------------------------------------------------- fencing

// The SQLSTATE of a transaction that was refused since its term is over.
inline constexpr std::string_view postgres_fence_sqlstate = "TERM0";

// A statement for a transaction of the application's own, in the database of the elections: it
// fails, and the transaction with it, unless this term still holds; and the next leader is not
// elected before the transaction has ended. Renewals go on undisturbed. It has to be the first
// statement after BEGIN; without a transaction it protects nothing.
//
//   begin;  <this statement>;  update ...;  commit;
//
// Its role needs SELECT and UPDATE on conclave_election. `schema` as in the options of the store.
// Throws std::invalid_argument for what is no name of an election, and for no term.
[[nodiscard]] CONCLAVE_API std::string postgres_fence(std::string_view election, Term term,
                                                      std::string_view schema = {});

}  // namespace conclave
