// How one gets into a PostgreSQL of a test, and what its client makes of what it says.

#include <gtest/gtest.h>

#include <optional>

#include "servers/certificates.hpp"
#include "servers/postgres_server.hpp"

namespace conclave::servers {
namespace {

// What libpq makes of it; nothing when it gets in.
std::string refusal(const std::string& connection) {
  try {
    PostgresClient(connection).exec("SELECT 1");
    return {};
  } catch (const PostgresError& failure) {
    return failure.what();
  }
}

void expect_within(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(PostgresClient, HasRowsOfValues) {
  const PostgresServer server;
  auto client = server.client();
  EXPECT_EQ(client.exec("SELECT 'a', NULL UNION ALL SELECT $1, $2", {"b c", std::nullopt}),
            (PostgresRows{{"a", std::nullopt}, {"b c", std::nullopt}}));
  EXPECT_TRUE(client.exec("CREATE TABLE t (x int); INSERT INTO t VALUES (1)").empty());
  EXPECT_THROW(client.value("SELECT NULL"), std::runtime_error);
  EXPECT_EQ(client.value("SELECT pg_backend_pid()"), std::to_string(client.told_backend()));
  try {
    client.exec("SELECT 1 / $1::int", {"0"});
    FAIL() << "nothing was thrown";
  } catch (const PostgresError& failure) {
    EXPECT_EQ(failure.state(), "22012");
    expect_within(failure.what(), "SELECT 1 / $1::int: ERROR:  division by zero");
  }
}

TEST(PostgresClient, SaysWhenItsConnectionBreaks) {
  PostgresServer server;
  auto client = server.client();
  server.kill();
  EXPECT_THROW(client.exec("SELECT 1"), PostgresError);
}

TEST(PostgresAccess, UsersNeedTheirPassword) {
  const PostgresUser anna{"anna \"b\"", "a 'word' %@:/?\\", "CONNECTION LIMIT 1"};
  PostgresServer server({.users = {anna, {"eve", "secret"}}});
  PostgresClient client(server.url(anna));
  EXPECT_EQ(client.value("SELECT current_user"), anna.name);
  expect_within(refusal(server.url(anna)), "too many connections for role");
  EXPECT_EQ(refusal(server.url({"eve", "secret"})), "");
  expect_within(refusal(server.url({"eve", "wrong"})), "password authentication failed");
  expect_within(refusal(server.url({"nobody", "secret"})), "no pg_hba.conf entry");
  EXPECT_EQ(server.backends("usename LIKE 'anna%'"), std::vector<pid_t>{client.told_backend()});
  EXPECT_TRUE(server.backends("usename = 'eve' AND state = 'active'").empty());
  server.restart();
  EXPECT_EQ(refusal(server.url({"eve", "secret"})), "");
}

class PostgresTlsTest : public testing::Test {
 protected:
  [[nodiscard]] PostgresTls tls(bool clients_required) {
    const auto server = certificates_.server();
    return {server.certificate, server.key, certificates_.authority(), clients_required};
  }
  static std::string with(const PostgresServer& server, const std::string& authority,
                          const std::optional<Certificate>& client = {}) {
    auto url = server.url() + "?sslmode=verify-full&sslrootcert=" + authority;
    if (client) url += "&sslcert=" + client->certificate + "&sslkey=" + client->key;
    return url;
  }

  Certificates certificates_;
};

TEST_F(PostgresTlsTest, ThePortSpeaksNothingElse) {
  PostgresServer server({.tls = tls(false)});
  EXPECT_EQ(PostgresClient(with(server, certificates_.authority()))
                .value("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"),
            "t");
  expect_within(refusal(with(server, certificates_.stranger())), "certificate verify failed");
  expect_within(refusal(server.url() + "?sslmode=disable"), "no encryption");
  EXPECT_EQ(server.value("SELECT 1"), "1");
  server.restart();
  EXPECT_EQ(refusal(with(server, certificates_.authority())), "");
}

TEST_F(PostgresTlsTest, LooksAtTheCertificatesOfClients) {
  const PostgresServer server({.tls = tls(true)});
  const auto& ours = certificates_.authority();
  EXPECT_EQ(refusal(with(server, ours, certificates_.client("anna"))), "");
  expect_within(refusal(with(server, ours)), "requires a valid client certificate");
  EXPECT_NE(refusal(with(server, ours, certificates_.expired_client("anna"))), "");
  EXPECT_NE(refusal(with(server, ours, certificates_.strange_client("anna"))), "");
}

}  // namespace
}  // namespace conclave::servers
