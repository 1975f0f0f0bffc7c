#include "servers/postgres_server.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>

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

void expect_soon(const std::function<bool()>& what) {
  const auto limit = std::chrono::steady_clock::now() + patience;
  while (!what()) {
    ASSERT_LT(std::chrono::steady_clock::now(), limit);
    std::this_thread::sleep_for(2ms);
  }
}

// Its time in seconds.
long long time_of(const PostgresServer& server) {
  return std::stoll(server.value("SELECT extract(epoch FROM clock_timestamp())::bigint"));
}

TEST(PostgresServer, AnswersAtItsPortAndAtItsSocket) {
  const PostgresServer server;
  EXPECT_EQ(server.url(),
            "postgresql://conclave@127.0.0.1:" + std::to_string(server.port()) + "/postgres");
  EXPECT_EQ(PostgresClient(server.url()).value("SELECT inet_server_port()"),
            std::to_string(server.port()));
  EXPECT_EQ(server.exec("SELECT inet_server_port()").at(0).at(0), std::nullopt);
  EXPECT_TRUE(server.value("SELECT pg_read_file('postmaster.pid')")
                  .starts_with(std::to_string(server.pid()) + "\n"));
}

TEST(PostgresServer, IsGoneWithItsOwner) {
  std::vector<pid_t> processes;
  std::string folder;
  {
    const PostgresServer server;
    processes = children_of(server.pid());
    EXPECT_FALSE(processes.empty());
    processes.push_back(server.pid());
    folder = server.unix_folder();
    for (const auto each : processes) EXPECT_TRUE(alive(each));
  }
  for (const auto each : processes) EXPECT_FALSE(alive(each));
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(PostgresServer, ManyStartSideBySide) {
  std::vector<std::future<std::unique_ptr<PostgresServer>>> started;
  for (int i = 0; i < 4; ++i) {
    started.push_back(
        std::async(std::launch::async, [] { return std::make_unique<PostgresServer>(); }));
  }
  std::vector<std::unique_ptr<PostgresServer>> servers;
  for (auto& each : started) servers.push_back(each.get());
  for (const auto& each : servers) {
    EXPECT_EQ(PostgresClient(each->url()).value("SHOW data_directory"),
              each->unix_folder() + "/data");
  }
}

TEST(PostgresServer, TellsWhyItDoesNotStart) {
  const auto failure =
      failure_of([] { const PostgresServer server({.extra = {"no_such_setting = 1"}}); });
  EXPECT_NE(failure.find("no_such_setting"), std::string::npos) << failure;
}

TEST(PostgresServer, TakesItsOptions) {
  EXPECT_EQ(PostgresServer().value("SHOW fsync"), "off");
  const PostgresServer server({.durable = true, .extra = {"max_connections = 17"}});
  EXPECT_EQ(server.value("SHOW fsync"), "on");
  EXPECT_EQ(server.value("SHOW max_connections"), "17");
  EXPECT_EQ(server.value("SHOW timezone"), "UTC");
}

TEST(PostgresServer, KeepsItsDataOverARestart) {
  PostgresServer server;
  const auto first = server.pid();
  const auto port = server.port();
  server.exec("CREATE TABLE t (x int); INSERT INTO t VALUES (7)");
  PostgresClient client(server.url());  // whose end lingers at the port
  server.restart();
  EXPECT_NE(server.pid(), first);
  EXPECT_EQ(server.port(), port);
  EXPECT_THROW(client.exec("SELECT 1"), PostgresError);
  EXPECT_EQ(PostgresClient(server.url()).value("SELECT x FROM t"), "7");
  EXPECT_EQ(server.log().find("not properly shut down"), std::string::npos) << server.log();
}

TEST(PostgresServer, StopsAndStartsAgain) {
  PostgresServer server;
  server.stop();
  server.stop();
  server.stop_immediately();
  server.kill();
  EXPECT_FALSE(server.running());
  EXPECT_THROW(PostgresClient{server.url()}, PostgresError);
  EXPECT_THROW(static_cast<void>(server.pid()), std::runtime_error);
  EXPECT_THROW(server.pause(), std::runtime_error);
  server.start();
  server.start();
  EXPECT_EQ(PostgresClient(server.url()).value("SELECT 1"), "1");
}

TEST(PostgresServer, WaitsForItsPort) {
  PostgresServer server;
  server.stop();
  auto other = std::make_unique<PostgresServer>(
      PostgresOptions{.extra = {"port = " + std::to_string(server.port())}});
  auto started = std::async(std::launch::async, [&] { server.start(); });
  expect_soon([&] { return server.log().find("Address already in use") != std::string::npos; });
  other.reset();
  started.get();
  EXPECT_EQ(PostgresClient(server.url()).value("SHOW data_directory"),
            server.unix_folder() + "/data");
}

TEST(PostgresServer, RecoversFromAnImmediateStop) {
  PostgresServer server;
  server.exec("CREATE TABLE t (x int); INSERT INTO t VALUES (7)");
  PostgresClient client(server.url());
  client.exec("BEGIN; INSERT INTO t VALUES (8)");
  server.stop_immediately();
  EXPECT_THROW(client.exec("COMMIT"), PostgresError);
  server.start();
  EXPECT_EQ(server.value("SELECT sum(x) FROM t"), "7");
  EXPECT_NE(server.log().find("not properly shut down"), std::string::npos) << server.log();
}

TEST(PostgresServer, IsWhollyGoneWhenKilled) {
  PostgresServer server;
  server.exec("CREATE TABLE t (x int); INSERT INTO t VALUES (7)");
  PostgresClient client(server.url());
  // One that computes does not see that the postmaster has gone.
  auto busy = std::async(std::launch::async, [&] {
    client.exec("SELECT count(*) FROM generate_series(1, 1000000000000)");
  });
  expect_soon([&] { return !server.backends("state = 'active'").empty(); });
  EXPECT_EQ(server.backends(), std::vector<pid_t>{client.told_backend()});
  server.kill();
  EXPECT_FALSE(server.running());
  EXPECT_FALSE(alive(client.told_backend()));
  EXPECT_THROW(busy.get(), PostgresError);
  server.start();
  EXPECT_EQ(server.value("SELECT x FROM t"), "7");
}

TEST(PostgresServer, DoesNothingWhilePaused) {
  PostgresServer server;
  PostgresClient client(server.url());
  server.pause();
  server.pause();
  auto answer = std::async(std::launch::async, [&] { return client.value("SELECT 5"); });
  auto newcomer = std::async(std::launch::async, [&] { return server.value("SELECT 6"); });
  EXPECT_EQ(answer.wait_for(100ms), std::future_status::timeout);
  EXPECT_EQ(newcomer.wait_for(0ms), std::future_status::timeout);
  server.resume();
  server.resume();
  EXPECT_EQ(answer.get(), "5");
  EXPECT_EQ(newcomer.get(), "6");
  server.pause();
  server.restart();  // wakes it
  EXPECT_EQ(server.value("SELECT 7"), "7");
  server.pause();
  server.kill();
  server.start();
  EXPECT_EQ(server.value("SELECT 8"), "8");
  server.pause();  // and ends with the test
}

TEST(PostgresServer, PausesOneBackend) {
  PostgresServer server;
  PostgresClient still(server.url());
  PostgresClient other(server.url());
  const auto backend = still.told_backend();
  server.pause_backend(backend);
  EXPECT_THROW(server.pause_backend(backend), std::logic_error);
  auto answer = std::async(std::launch::async, [&] { return still.value("SELECT 5"); });
  server.pause();
  server.resume();  // not that one
  EXPECT_EQ(other.value("SELECT 6"), "6");
  EXPECT_EQ(answer.wait_for(100ms), std::future_status::timeout);
  server.resume_backend(backend);
  EXPECT_EQ(answer.get(), "5");
  server.pause_backend(backend);
  server.stop();  // wakes it
  EXPECT_THROW(still.exec("SELECT 1"), PostgresError);
}

// Runs itself once more, in a process that is killed: nothing of the server must stay, though its
// backends stand still and see nothing.
TEST(PostgresServer, DiesWithTheTest) {
  if (const char* const inner = ::getenv("CONCLAVE_TEST_PID_FILE"); inner != nullptr) {
    PostgresServer server;
    const auto client = server.client();
    server.pause();
    std::ofstream file(inner);
    file << server.pid() << '\n';
    for (const auto each : children_of(server.pid())) file << each << '\n';
    file << "0" << std::endl;
    ::pause();
    return;
  }
  const TemporaryFolder folder("postgres-test");
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  const auto known = folder.file("pids");
  std::vector<pid_t> processes;
  {
    const Process test({{std::filesystem::read_symlink("/proc/self/exe").string(),
                         "--gtest_filter=PostgresServer.DiesWithTheTest"},
                        {"CONCLAVE_TEST_PID_FILE=" + known, "TMPDIR=" + folder.path()},
                        folder.file("output")});
    expect_soon([&] { return text_of(known).ends_with("\n0\n"); });
    std::istringstream numbers(text_of(known));
    for (pid_t each = 0; numbers >> each && each != 0;) processes.push_back(each);
    EXPECT_GT(processes.size(), 3U) << text_of(known);
    for (const auto each : processes) EXPECT_TRUE(alive(each)) << each;
  }
  for (const auto each : processes) {
    expect_soon([&] { return !alive(each); });
  }
}

TEST(PostgresServer, ItsClockCanBeStepped) {
  PostgresServer server({.steppable_clock = true});
  auto client = server.client();
  const auto before = time_of(server);
  server.step_clock(1h);
  EXPECT_GE(time_of(server), before + 3600);
  EXPECT_EQ(client.value("SELECT extract(epoch FROM now()) > $1", {std::to_string(before + 3599)}),
            "t");
  server.restart();
  EXPECT_GE(time_of(server), before + 3600);
  server.step_clock(-2h);
  EXPECT_LT(time_of(server), before);
  EXPECT_EQ(server.value("SELECT clock_timestamp() < pg_postmaster_start_time()"), "t");
}

TEST(PostgresServer, OtherClocksCannot) {
  PostgresServer server;
  EXPECT_THROW(server.step_clock(1h), std::logic_error);
}

TEST(PostgresServer, HasAStandbyThatIsNeverBehind) {
  PostgresServer primary;
  primary.exec("CREATE TABLE t (x int)");
  const auto standby = primary.standby();
  EXPECT_NE(standby->port(), primary.port());
  EXPECT_EQ(standby->value("SELECT pg_is_in_recovery()"), "t");
  EXPECT_THROW(standby->exec("INSERT INTO t VALUES (1)"), PostgresError);
  primary.exec("SET synchronous_commit = remote_apply; INSERT INTO t VALUES (7)");
  EXPECT_EQ(standby->value("SELECT x FROM t"), "7");

  standby->pause();
  auto write = std::async(std::launch::async, [&] { primary.exec("INSERT INTO t VALUES (8)"); });
  EXPECT_EQ(write.wait_for(100ms), std::future_status::timeout);
  standby->resume();
  write.get();
  standby->kill();
  write = std::async(std::launch::async, [&] { primary.exec("INSERT INTO t VALUES (9)"); });
  EXPECT_EQ(write.wait_for(100ms), std::future_status::timeout);
  standby->start();
  write.get();
}

TEST(PostgresServer, AStandbyCanBePromoted) {
  PostgresServer primary;
  const auto standby = primary.standby();
  primary.exec("CREATE TABLE t (x int); INSERT INTO t VALUES (7)");
  PostgresClient client(primary.url());
  standby->promote();
  standby->exec("UPDATE t SET x = x + 1");
  EXPECT_EQ(standby->value("SELECT x FROM t"), "8");
  EXPECT_THROW(standby->promote(), PostgresError);
  standby->restart();
  standby->exec("UPDATE t SET x = x + 1");
  EXPECT_EQ(client.value("SELECT x FROM t"), "7");
}

}  // namespace
}  // namespace conclave::servers
