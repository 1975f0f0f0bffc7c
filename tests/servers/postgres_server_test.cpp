#include "servers/postgres_server.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <functional>
#include <future>
#include <memory>

namespace conclave::servers {
namespace {

using namespace std::chrono_literals;

std::string failure_of(const std::function<void()>& what) {
  try {
    what();
  } catch (const std::exception& failure) {
    return failure.what();
  }
  return {};
}

TEST(PostgresServer, AnswersAtItsPortAndAtItsSocket) {
  const PostgresServer server;
  EXPECT_EQ(server.url(),
            "postgresql://conclave@127.0.0.1:" + std::to_string(server.port()) + "/postgres");
  EXPECT_EQ(PostgresClient(server.url()).value("SELECT inet_server_port()"),
            std::to_string(server.port()));
  EXPECT_EQ(server.exec("SELECT inet_server_port()").at(0).at(0), std::nullopt);
  EXPECT_EQ(server.value("SELECT pg_read_file('postmaster.pid') LIKE $1 || '%'",
                         {std::to_string(server.pid())}),
            "t");
}

TEST(PostgresServer, TellsWhyItDoesNotStart) {
  const auto failure =
      failure_of([] { const PostgresServer server({.extra = {"no_such_setting = 1"}}); });
  EXPECT_NE(failure.find("no_such_setting"), std::string::npos) << failure;
}

TEST(PostgresServer, KeepsItsDataOverARestart) {
  PostgresServer server;
  const auto first = server.pid();
  const auto port = server.port();
  server.exec("CREATE TABLE t (x int); INSERT INTO t VALUES (7)");
  PostgresClient client(server.url());
  server.restart();
  EXPECT_NE(server.pid(), first);
  EXPECT_EQ(server.port(), port);
  EXPECT_THROW(client.exec("SELECT 1"), PostgresError);
  EXPECT_EQ(PostgresClient(server.url()).value("SELECT x FROM t"), "7");
}

TEST(PostgresServer, DoesNothingWhilePaused) {
  PostgresServer server;
  PostgresClient client(server.url());
  server.pause();
  auto answer = std::async(std::launch::async, [&] { return client.value("SELECT 5"); });
  auto newcomer = std::async(std::launch::async, [&] { return server.value("SELECT 6"); });
  EXPECT_EQ(answer.wait_for(100ms), std::future_status::timeout);
  EXPECT_EQ(newcomer.wait_for(0ms), std::future_status::timeout);
  server.resume();
  EXPECT_EQ(answer.get(), "5");
  EXPECT_EQ(newcomer.get(), "6");
}

TEST(PostgresServer, IsWhollyGoneWhenKilled) {
  PostgresServer server;
  server.exec("CREATE TABLE t (x int); INSERT INTO t VALUES (7)");
  PostgresClient client(server.url());
  const auto postmaster = server.pid();
  const auto backends = server.backends();
  ASSERT_EQ(backends, std::vector<pid_t>{client.told_backend()});
  server.kill();
  EXPECT_FALSE(server.running());
  EXPECT_TRUE(children_of(postmaster).empty());
  EXPECT_THROW(server.exec("SELECT 1"), PostgresError);
  server.start();
  EXPECT_EQ(server.value("SELECT x FROM t"), "7");
}

}  // namespace
}  // namespace conclave::servers
