#include "servers/pgbouncer_server.hpp"

#include <gtest/gtest.h>

#include <future>

namespace conclave::servers {
namespace {

using namespace std::chrono_literals;

std::string backend(PostgresClient& client) { return client.value("SELECT pg_backend_pid()"); }

class PgBouncerServerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { postgres = std::make_unique<PostgresServer>(); }
  static void TearDownTestSuite() { postgres.reset(); }

  static std::unique_ptr<PostgresServer> postgres;
};

std::unique_ptr<PostgresServer> PgBouncerServerTest::postgres;

// The client is told a number that the pooler made up, and idle clients share a backend.
TEST_F(PgBouncerServerTest, LendsABackendForATransaction) {
  const PgBouncerServer pooler(*postgres, PgBouncerMode::transaction);
  PostgresClient one(pooler.url());
  PostgresClient two(pooler.url());
  EXPECT_NE(backend(one), std::to_string(one.told_backend()));
  EXPECT_EQ(backend(one), backend(two));
  one.exec("BEGIN");
  const auto lent = backend(one);
  EXPECT_NE(backend(two), lent);
  EXPECT_EQ(backend(one), lent);
  one.exec("COMMIT");
}

TEST_F(PgBouncerServerTest, LendsABackendForASession) {
  const PgBouncerServer pooler(*postgres, PgBouncerMode::session);
  PostgresClient one(pooler.url());
  PostgresClient two(pooler.url());
  const auto lent = backend(one);
  EXPECT_NE(lent, std::to_string(one.told_backend()));
  EXPECT_NE(backend(two), lent);
  EXPECT_EQ(backend(one), lent);
}

TEST_F(PgBouncerServerTest, LendsABackendForAStatement) {
  const PgBouncerServer pooler(*postgres, PgBouncerMode::statement);
  PostgresClient client(pooler.url());
  EXPECT_EQ(client.value("SELECT 5"), "5");
  EXPECT_THROW(client.exec("BEGIN"), PostgresError);
}

TEST_F(PgBouncerServerTest, StopsAndStartsAgain) {
  PgBouncerServer pooler(*postgres, PgBouncerMode::transaction);
  const auto url = pooler.url();
  PostgresClient client(url);
  pooler.stop();
  EXPECT_THROW(client.exec("SELECT 1"), PostgresError);
  EXPECT_THROW(PostgresClient{url}, PostgresError);
  EXPECT_THROW(static_cast<void>(pooler.pid()), std::runtime_error);
  pooler.start();
  EXPECT_EQ(PostgresClient(url).value("SELECT 1"), "1");
  pooler.kill();
  EXPECT_THROW(PostgresClient{url}, PostgresError);
  pooler.start();
  EXPECT_EQ(PostgresClient(url).value("SELECT 1"), "1");
}

TEST_F(PgBouncerServerTest, DoesNothingWhilePaused) {
  PgBouncerServer pooler(*postgres, PgBouncerMode::transaction);
  PostgresClient client(pooler.url());
  pooler.pause();
  auto answer = std::async(std::launch::async, [&] { return client.value("SELECT 5"); });
  EXPECT_EQ(answer.wait_for(100ms), std::future_status::timeout);
  pooler.resume();
  EXPECT_EQ(answer.get(), "5");
  pooler.pause();
  pooler.stop();  // wakes it
}

TEST_F(PgBouncerServerTest, FindsAServerThatWasAway) {
  PostgresServer server;
  const PgBouncerServer pooler(server, PgBouncerMode::transaction);
  EXPECT_EQ(PostgresClient(pooler.url()).value("SELECT 1"), "1");
  server.kill();
  server.start();
  const auto limit = std::chrono::steady_clock::now() + patience;
  for (;;) {
    try {
      EXPECT_EQ(PostgresClient(pooler.url()).value("SELECT 1"), "1");
      break;
    } catch (const PostgresError& failure) {
      ASSERT_LT(std::chrono::steady_clock::now(), limit) << failure.what();
    }
  }
}

}  // namespace
}  // namespace conclave::servers
