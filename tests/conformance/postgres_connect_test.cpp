// How a session gets to its server, as whom, and what it says when it does not.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include "conformance/postgres_session_rig.hpp"
#include "servers/pgbouncer_server.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;
using servers::PgBouncerMode;
using servers::PgBouncerServer;
using servers::PostgresUser;

void put(const std::string& file, const std::string& text) { std::ofstream(file) << text; }

std::string at(const std::string& hosts, const std::string& ports) {
  return "host=" + hosts + " port=" + ports + " user=conclave dbname=postgres";
}

TEST(PostgresConnect, ByTcpByNameAndByUnixSocket) {
  const PostgresServer server;
  const std::string port = std::to_string(server.port());
  for (const std::string& host : {std::string("127.0.0.1"), std::string("localhost")}) {
    SessionRig rig(options_for(at(host, port)));
    EXPECT_EQ(rig.prepare(), std::nullopt);
    EXPECT_EQ(rig.value("SELECT host(inet_server_addr())"), "127.0.0.1");
  }
  SessionRig rig(options_for(at(server.unix_folder(), port)));
  EXPECT_EQ(rig.prepare(), std::nullopt);
  EXPECT_EQ(rig.value("SELECT inet_server_addr()"), "NULL");
}

TEST(PostgresConnect, CallsItselfConclave) {
  const PostgresServer server;
  SessionRig rig(options_for(server.url()));
  EXPECT_EQ(rig.value("SELECT current_setting('application_name')"), "conclave");
  SessionRig other(options_for(server.url() + "?application_name=billing"));
  EXPECT_EQ(other.value("SELECT current_setting('application_name')"), "billing");
}

// ---------------------------------------------------------------- what is refused

std::size_t attempts_in(const std::string& log) {
  std::size_t count = 0;
  const std::string words = "password authentication failed";
  for (auto i = log.find(words); i != std::string::npos; i = log.find(words, i + 1)) ++count;
  return count;
}

TEST(PostgresConnect, AWrongPasswordIsToldAndNotTriedForEver) {
  const PostgresUser anna{"anna", "right"};
  const PostgresServer server({.users = {anna}});
  auto options = options_for(server.url({"anna", "topsecret"}));
  options.lease = 1s;
  options.request_timeout = 500ms;
  SessionRig rig(options);
  const auto refused = rig.prepare();
  ASSERT_TRUE(refused);
  expect_sentence(*refused, ErrorCode::denied, "does not accept this user and password");
  EXPECT_FALSE(refused->retryable);
  // After a lease it is left alone: whoever asks then is told without another attempt.
  const auto limit = std::chrono::steady_clock::now() + hang_guard;
  std::size_t before = 0;
  do {
    before = attempts_in(server.log());
    ASSERT_TRUE(rig.prepare());
    ASSERT_LT(std::chrono::steady_clock::now(), limit) << "it never rests";
  } while (attempts_in(server.log()) != before);
  EXPECT_GT(before, 1U);
  EXPECT_LT(before, 40U);
}

TEST(PostgresConnect, WhatOnlyAPersonMendsIsASentence) {
  const PostgresServer server(
      {.users = {{"anna", "topsecret"}, {"eve", "x", "CONNECTION LIMIT 0"}}});
  struct Case {
    std::string url;
    ErrorCode code;
    std::string words;
  };
  const std::string here = "127.0.0.1:" + std::to_string(server.port());
  const std::string there = "host=127.0.0.1 port=" + std::to_string(server.port());
  for (const Case& each : {
           Case{"postgres://anna:topsecret@" + here + "/nowhere", ErrorCode::invalid_argument,
                here + "/nowhere does not have this database"},
           Case{"postgres://nobody:topsecret@" + here + "/postgres", ErrorCode::denied,
                "pg_hba.conf"},
           Case{"postgres://anna@" + here + "/postgres?passfile=/dev/null", ErrorCode::denied,
                "it wants a password"},
           Case{"postgres://eve:x@" + here + "/postgres", ErrorCode::unavailable,
                "as many connections"},
           Case{there + " user=conclave dbname=postgres sslmode=require", ErrorCode::denied,
                "speaks no TLS"},
           Case{"host=/nonexistent/topsecretless port=1 user=a", ErrorCode::unavailable,
                "there is no such socket"},
           Case{"host=127.0.0.1 port=1 user=a", ErrorCode::unavailable, "nobody listens there"},
           Case{"host=no.such.host.invalid user=a", ErrorCode::unavailable, "no.such.host.invalid"},
       }) {
    SessionRig rig(options_for(each.url));
    const auto refused = rig.prepare();
    ASSERT_TRUE(refused) << each.url;
    EXPECT_EQ(refused->code, each.code) << refused->message;
    EXPECT_NE(refused->message.find(each.words), std::string::npos) << refused->message;
    EXPECT_EQ(refused->message.find("topsecret@"), std::string::npos) << refused->message;
    EXPECT_FALSE(refused->in_doubt);
  }
}

TEST(PostgresConnect, AServerThatIsNotWantedIsRefused) {
  const PostgresServer server;
  std::atomic<int> greetings = 0;
  SessionRig rig(options_for(server.url()), {},
                 {.setup =
                      [] {
                        return std::vector<Statement>{{"SELECT 7"}, {"SELECT 8"}};
                      },
                  .greeted =
                      [&](const std::vector<Delivered>& heard, PGconn* connection) {
                        EXPECT_EQ(heard.size(), 2U);
                        EXPECT_EQ(heard.at(0).rows.number(0, 0), 7);
                        EXPECT_EQ(heard.at(1).rows.number(0, 0), 8);
                        EXPECT_NE(connection, nullptr);
                        return ++greetings == 1 ? std::optional(Error{ErrorCode::unsupported,
                                                                      "too old", true, false})
                                                : std::nullopt;
                      }});
  const auto refused = rig.prepare();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->message, "too old");
  EXPECT_EQ(rig.prepare(), std::nullopt);
  EXPECT_TRUE(rig.notes().empty()) << "what was not there was not lost";
}

// Somebody who takes connections, and never says a word.
class Silent {
 public:
  Silent() {
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address_), sizeof address_), 0);
    EXPECT_EQ(::listen(socket_, 16), 0);
    socklen_t size = sizeof address_;
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address_), &size), 0);
  }
  ~Silent() { ::close(socket_); }
  Silent(const Silent&) = delete;
  Silent& operator=(const Silent&) = delete;
  [[nodiscard]] std::string port() const { return std::to_string(ntohs(address_.sin_port)); }

 private:
  int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address_{AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {}};
};

TEST(PostgresConnect, ASilentServerIsGivenUpInTime) {
  const Silent silent;
  auto options = options_for(at("127.0.0.1", silent.port()));
  options.lease = 2s;
  options.request_timeout = 100ms;
  SessionRig rig(options);
  const auto began = std::chrono::steady_clock::now();
  const auto refused = rig.prepare();
  ASSERT_TRUE(refused);
  expect_sentence(*refused, ErrorCode::timed_out, "did not answer within 1000 ms");
  EXPECT_GE(std::chrono::steady_clock::now() - began, 1s);
}

TEST(PostgresConnect, OfSeveralServersTheOneThatWorks) {
  const Silent silent;
  const PostgresServer server;
  const std::string port = std::to_string(server.port());
  auto options = options_for(at("127.0.0.1,127.0.0.1", "1," + port));
  SessionRig first_refuses(options);
  EXPECT_EQ(first_refuses.prepare(), std::nullopt);
  options.url = at("no.such.host.invalid,localhost", port + "," + port);
  SessionRig first_unknown(options);
  EXPECT_EQ(first_unknown.prepare(), std::nullopt);
  options.url = at("127.0.0.1,127.0.0.1", silent.port() + "," + port);
  options.lease = 4s;
  SessionRig first_silent(options);
  EXPECT_TRUE(first_silent.becomes_ready());
}

TEST(PostgresConnect, OfSeveralServersTheOneThatTakesWrites) {
  PostgresServer server;
  const auto standby = server.standby();
  SessionRig rig(options_for(at("127.0.0.1,127.0.0.1", std::to_string(standby->port()) + "," +
                                                           std::to_string(server.port()))));
  EXPECT_EQ(rig.value("SELECT pg_is_in_recovery()"), "f");
}

// ---------------------------------------------------------------- who we are, and what we set

TEST(PostgresConnect, APasswordFileIsReadForEveryConnection) {
  const PostgresUser anna{"anna", "old"};
  const PostgresServer server({.users = {anna}});
  const servers::TemporaryFolder folder("rotation");
  auto options = options_for("postgres://anna@127.0.0.1:" + std::to_string(server.port()) +
                             "/postgres?password_file=" + folder.file("password"));
  SessionRig rig(options);
  ASSERT_TRUE(rig.prepare()) << "there is no file yet";
  put(folder.file("password"), "old\n");
  ASSERT_TRUE(rig.becomes_ready());
  server.exec("ALTER ROLE anna PASSWORD 'new'");
  put(folder.file("password"), "new\n");
  server.exec("SELECT pg_terminate_backend($1::int)", {std::to_string(rig.pid())});
  ASSERT_TRUE(rig.happens("lost"));
  EXPECT_TRUE(rig.becomes_ready());
  EXPECT_EQ(rig.value("SELECT current_user"), "anna");
}

TEST(PostgresConnect, CredentialsAreAskedForEveryConnection) {
  const PostgresServer server({.users = {{"anna", "a b'\\c"}, {"eve", "%40"}}});
  auto options = options_for("postgres://127.0.0.1:" + std::to_string(server.port()) + "/postgres");
  std::atomic<int> asked = 0;
  options.credentials = [&]() -> PostgresCredentials {
    switch (++asked) {
      case 1: throw std::runtime_error("the vault is sealed");
      case 2: return {"anna", "a b'\\c"};
      default: return {"eve", "%40"};
    }
  };
  SessionRig rig(options);
  const auto sealed = rig.prepare();
  ASSERT_TRUE(sealed);
  expect_sentence(*sealed, ErrorCode::denied, "the vault is sealed");
  EXPECT_EQ(rig.prepare(), std::nullopt);
  EXPECT_EQ(rig.value("SELECT current_user"), "anna");
  server.exec("SELECT pg_terminate_backend($1::int)", {std::to_string(rig.pid())});
  ASSERT_TRUE(rig.happens("lost"));
  EXPECT_TRUE(rig.becomes_ready());
  EXPECT_EQ(rig.value("SELECT current_user"), "eve");
}

TEST(PostgresConnect, DefaultsOfTheRoleAreNeutralised) {
  const PostgresServer server;
  const auto in_transaction = [](const std::string& setting) {
    return "BEGIN READ WRITE; ALTER ROLE conclave SET " + setting + "; COMMIT";
  };
  for (const char* each :
       {"statement_timeout = 1234", "lock_timeout = 1234", "idle_session_timeout = 123456",
        "idle_in_transaction_session_timeout = 1234", "synchronous_commit = off",
        "default_transaction_isolation = 'serializable'"}) {
    server.exec(in_transaction(each));
  }
  SessionRig rig(options_for(server.url()));
  const auto setting = [&](const std::string& name) {
    return rig.value("SELECT current_setting('" + name + "')");
  };
  ASSERT_EQ(rig.prepare(), std::nullopt);
  for (const char* each :
       {"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"}) {
    EXPECT_EQ(setting(each), "0") << each;
  }
  EXPECT_EQ(setting("idle_session_timeout"), "200s") << "ten leases";
  EXPECT_EQ(setting("synchronous_commit"), "on");
  EXPECT_EQ(setting("transaction_isolation"), "read committed");
  EXPECT_FALSE(rig.is_pooled());
  server.exec(in_transaction("synchronous_commit = remote_apply"));
  SessionRig stricter(options_for(server.url()));
  EXPECT_EQ(stricter.value("SHOW synchronous_commit"), "remote_apply");
}

// What belongs to strangers, too, is left as it is.
TEST(PostgresConnect, BehindAPoolerNothingIsSet) {
  const PostgresServer server;
  server.exec("ALTER ROLE conclave SET statement_timeout = 123456");
  for (const auto mode : {PgBouncerMode::session, PgBouncerMode::transaction}) {
    const PgBouncerServer pooler(server, mode);
    SessionRig rig(options_for(pooler.url()));
    ASSERT_EQ(rig.prepare(), std::nullopt);
    EXPECT_TRUE(rig.is_pooled());
    EXPECT_EQ(rig.value("SHOW statement_timeout"), "123456ms");
    EXPECT_NE(rig.value("SELECT pg_backend_pid()"), std::to_string(rig.pid()));
  }
}

}  // namespace
}  // namespace conclave::conformance
