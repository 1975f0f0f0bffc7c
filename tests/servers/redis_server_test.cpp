#include "servers/redis_server.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "servers/certificates.hpp"

namespace conclave::servers {
namespace {

using namespace std::chrono_literals;

std::string value(const RedisServer& server, const std::string& key) {
  return server.command({"GET", key}).text;
}

std::string failure_of(const std::function<void()>& what) {
  try {
    what();
  } catch (const std::exception& failure) {
    return failure.what();
  }
  return {};
}

// Its time in seconds, as a script sees it.
long long time_of(const RedisServer& server) {
  return std::stoll(server.command({"EVAL", "return redis.call('TIME')", "0"}).elements.at(0).text);
}

TEST(RedisServer, AnswersAtItsPortAndAtItsSocket) {
  const RedisServer server;
  EXPECT_EQ(RedisClient::at_port(server.port()).command({"PING"}).text, "PONG");
  EXPECT_EQ(RedisClient::at_path(server.unix_path()).command({"PING"}).text, "PONG");
  EXPECT_EQ(server.host_and_port(), "127.0.0.1:" + std::to_string(server.port()));
}

TEST(RedisServer, IsGoneWithItsOwner) {
  pid_t pid = 0;
  std::filesystem::path folder;
  {
    const RedisServer server;
    pid = server.pid();
    folder = std::filesystem::path(server.unix_path()).parent_path();
    EXPECT_EQ(::kill(pid, 0), 0);
    EXPECT_EQ(server.info("server", "process_id"), std::to_string(pid));
  }
  EXPECT_NE(::kill(pid, 0), 0);
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(RedisServer, ManyStartSideBySide) {
  std::vector<std::future<std::unique_ptr<RedisServer>>> started;
  for (int i = 0; i < 6; ++i) {
    started.push_back(
        std::async(std::launch::async, [] { return std::make_unique<RedisServer>(); }));
  }
  std::vector<std::unique_ptr<RedisServer>> servers;
  for (auto& each : started) servers.push_back(each.get());
  for (const auto& each : servers) {
    each->command({"SET", "port", std::to_string(each->port())});
  }
  for (const auto& each : servers) {
    auto client = RedisClient::at_port(each->port());
    EXPECT_EQ(client.command({"GET", "port"}).text, std::to_string(each->port()));
  }
}

TEST(RedisServer, RepliesAreValues) {
  const RedisServer server;
  using Kind = Reply::Kind;
  EXPECT_EQ(server.command({"SET", "a", std::string("b\0c", 3)}).kind, Kind::status);
  EXPECT_EQ(server.command({"GET", "a"}).text, std::string("b\0c", 3));
  EXPECT_EQ(server.command({"GET", "none"}).kind, Kind::nothing);
  EXPECT_EQ(server.command({"INCRBY", "n", "7"}).number, 7);
  const auto list = server.command({"MGET", "a", "none"});
  ASSERT_EQ(list.elements.size(), 2U);
  EXPECT_EQ(list.elements[0].kind, Kind::text);
  EXPECT_EQ(list.elements[1].kind, Kind::nothing);
  EXPECT_EQ(server.ask({"INCR", "a"}).kind, Kind::error);
  const auto failure = failure_of([&] { server.command({"INCR", "a"}); });
  EXPECT_NE(failure.find("INCR a: ERR value is not an integer"), std::string::npos) << failure;
}

TEST(RedisServer, LinesAndInfo) {
  const RedisServer server;
  EXPECT_EQ(server.lines({"INFO", "server"}).at(0), "# Server");
  EXPECT_EQ(server.lines({"EVAL", "return {'x', 5}", "0"}), (std::vector<std::string>{"x", "5"}));
  const auto before = std::stoll(server.info("stats", "total_commands_processed"));
  server.command({"PING"});
  const auto after = std::stoll(server.info("stats", "total_commands_processed"));
  EXPECT_EQ(after - before, 4);  // twice AUTH, once INFO, once PING
  EXPECT_THROW(static_cast<void>(server.info("stats", "nonsense")), std::runtime_error);
}

TEST(RedisServer, SubscribersReadWhatComes) {
  const RedisServer server;
  auto subscriber = server.client();
  subscriber.command({"SUBSCRIBE", "news"});
  server.command({"PUBLISH", "news", "hello"});
  EXPECT_EQ(subscriber.next().elements.at(2).text, "hello");
}

TEST(RedisServer, WantsItsPasswordAndItsUsers) {
  const RedisServer server({.password = "a \"word\" \\", .users = {"anna on >secret ~a* &* +get"}});
  auto client = RedisClient::at_port(server.port());
  EXPECT_NE(client.ask({"PING"}).text.find("NOAUTH"), std::string::npos);
  EXPECT_EQ(client.ask({"AUTH", "wrong"}).kind, Reply::Kind::error);
  EXPECT_EQ(client.command({"AUTH", "a \"word\" \\"}).text, "OK");
  EXPECT_EQ(client.command({"AUTH", "anna", "secret"}).text, "OK");
  EXPECT_EQ(client.ask({"GET", "a"}).kind, Reply::Kind::nothing);
  EXPECT_NE(client.ask({"GET", "b"}).text.find("NOPERM"), std::string::npos);
  // The test itself gets in, whatever the password is now.
  server.command({"CONFIG", "SET", "requirepass", "another"});
  EXPECT_EQ(server.command({"PING"}).text, "PONG");
}

TEST(RedisServer, TellsWhyItDoesNotStart) {
  const auto failure = failure_of([] { const RedisServer server({.extra = {"no-such-line 1"}}); });
  EXPECT_NE(failure.find("no-such-line"), std::string::npos) << failure;
}

TEST(RedisServer, MayHaveNoPort) {
  const RedisServer server({.tcp = false});
  EXPECT_EQ(server.command({"PING"}).text, "PONG");
  EXPECT_THROW(RedisClient::at_port(server.port()), std::runtime_error);
}

TEST(RedisServer, RestartsWithAndWithoutData) {
  RedisServer server;
  const auto port = server.port();
  const auto first = server.pid();
  server.command({"SET", "a", "b"});
  auto client = RedisClient::at_port(port);  // whose end lingers at the port
  server.restart_with_data();
  EXPECT_NE(server.pid(), first);
  EXPECT_EQ(server.port(), port);
  EXPECT_THROW(client.ask({"PING"}), std::runtime_error);
  EXPECT_EQ(RedisClient::at_port(port).command({"GET", "a"}).text, "b");
  server.restart_without_data();
  EXPECT_EQ(server.ask({"GET", "a"}).kind, Reply::Kind::nothing);
}

TEST(RedisServer, WaitsForItsPort) {
  RedisServer server;
  server.stop();
  auto other = std::make_unique<RedisServer>(
      RedisOptions{.extra = {"port " + std::to_string(server.port())}});
  auto started = std::async(std::launch::async, [&] { server.start(); });
  const auto limit = std::chrono::steady_clock::now() + patience;
  while (server.log().find("Address already in use") == std::string::npos) {
    ASSERT_LT(std::chrono::steady_clock::now(), limit) << server.log();
    std::this_thread::sleep_for(2ms);
  }
  other.reset();
  started.get();
  EXPECT_EQ(RedisClient::at_port(server.port()).command({"PING"}).text, "PONG");
  EXPECT_EQ(server.info("server", "process_id"), std::to_string(server.pid()));
}

TEST(RedisServer, ACrashKeepsWhatTheLogHas) {
  RedisServer server({.append_only = true});
  server.command({"SET", "a", "b"});
  server.kill();
  EXPECT_FALSE(server.running());
  EXPECT_THROW(server.command({"PING"}), std::runtime_error);
  server.start();
  EXPECT_EQ(value(server, "a"), "b");
  server.restart_without_data();
  EXPECT_EQ(server.ask({"GET", "a"}).kind, Reply::Kind::nothing);
  EXPECT_THROW(server.restore_rdb("any"), std::logic_error);
}

TEST(RedisServer, ACrashLosesWhatWasNotSaved) {
  RedisServer server;
  server.command({"SET", "a", "b"});
  server.kill();
  server.start();
  EXPECT_EQ(server.ask({"GET", "a"}).kind, Reply::Kind::nothing);
}

TEST(RedisServer, StopsAndStartsAgain) {
  RedisServer server({.save = {"3600 1"}});
  const auto port = server.port();
  server.command({"SET", "a", "b"});
  server.stop();
  server.stop();
  EXPECT_THROW(RedisClient::at_port(port), std::runtime_error);
  server.start();
  server.start();
  EXPECT_EQ(server.ask({"GET", "a"}).kind, Reply::Kind::nothing);
  EXPECT_EQ(RedisClient::at_port(port).command({"PING"}).text, "PONG");
}

TEST(RedisServer, GoesBackToAnOldSnapshot) {
  RedisServer server;
  server.command({"SET", "a", "old"});
  const auto copy = server.save_rdb();
  server.command({"SET", "a", "new"});
  server.command({"SET", "b", "new"});
  server.restore_rdb(copy);
  EXPECT_EQ(value(server, "a"), "old");
  EXPECT_EQ(server.ask({"GET", "b"}).kind, Reply::Kind::nothing);
}

TEST(RedisServer, IsReadyOnlyWhenItHasLoaded) {
  // Slow to load: 300 microseconds for each key.
  RedisServer server({.extra = {"enable-debug-command local", "key-load-delay 300",
                                "loading-process-events-interval-bytes 1024"}});
  server.command({"DEBUG", "POPULATE", "2000"});
  server.restart_with_data();
  EXPECT_EQ(server.command({"DBSIZE"}).number, 2000);
}

TEST(RedisServer, DoesNothingWhilePaused) {
  RedisServer server;
  server.pause();
  auto answer = std::async(std::launch::async, [&] { return server.command({"INCR", "n"}); });
  EXPECT_EQ(answer.wait_for(100ms), std::future_status::timeout);
  server.resume();
  EXPECT_EQ(answer.get().number, 1);
  server.pause();
  server.stop();  // wakes it
  server.start();
  server.pause();  // and ends with the test
}

TEST(RedisServer, ItsClockCanBeStepped) {
  RedisServer server({.steppable_clock = true});
  const auto before = time_of(server);
  server.command({"SET", "a", "b", "PX", "60000"});
  server.step_clock(1h);
  EXPECT_GE(time_of(server), before + 3600);
  EXPECT_EQ(server.ask({"GET", "a"}).kind, Reply::Kind::nothing);
  server.restart_with_data();
  EXPECT_GE(time_of(server), before + 3600);
  server.command({"SET", "a", "b", "PX", "60000"});
  server.step_clock(-2h);
  EXPECT_LT(time_of(server), before);
  EXPECT_GT(server.command({"PTTL", "a"}).number, 3600000);
}

TEST(RedisServer, OtherClocksCannot) {
  RedisServer server;
  EXPECT_THROW(server.step_clock(1h), std::logic_error);
}

TEST(RedisServer, RefusesWhatItHasNoMemoryFor) {
  const RedisServer server({.max_memory = "100kb", .max_memory_policy = "noeviction"});
  EXPECT_NE(server.ask({"SET", "a", "b"}).text.find("OOM"), std::string::npos);
  EXPECT_EQ(server.command({"CONFIG", "GET", "maxmemory-policy"}).elements.at(1).text,
            "noeviction");
}

class RedisServerWithTls : public testing::Test {
 protected:
  [[nodiscard]] RedisTls tls(RedisTls::Clients clients) {
    const auto server = certificates_.server();
    return {server.certificate, server.key, certificates_.authority(), clients};
  }
  // What redis-cli makes of it.
  std::string ping(const RedisServer& server, const std::string& authority,
                   const std::optional<Certificate>& client = {}) {
    const auto output = folder_.file(std::to_string(++runs_));
    Launch launch{
        {CONCLAVE_REDIS_CLI, "-p", std::to_string(server.port()), "--tls", "--cacert", authority},
        {},
        output};
    auto& arguments = launch.arguments;
    if (client) {
      arguments.insert(arguments.end(), {"--cert", client->certificate, "--key", client->key});
    }
    arguments.emplace_back("PING");
    static_cast<void>(failure_of([&] { run(launch); }));
    return text_of(output);
  }

  TemporaryFolder folder_{"tls-test"};
  int runs_ = 0;
  Certificates certificates_;
};

TEST_F(RedisServerWithTls, SpeaksNothingElseAtItsPort) {
  const RedisServer server({.tls = tls(RedisTls::Clients::without)});
  EXPECT_EQ(ping(server, certificates_.authority()), "PONG\n");
  EXPECT_NE(ping(server, certificates_.stranger()), "PONG\n");
  EXPECT_THROW(RedisClient::at_port(server.port()).command({"PING"}), std::runtime_error);
  EXPECT_EQ(server.command({"PING"}).text, "PONG");
}

TEST_F(RedisServerWithTls, LooksAtTheCertificatesOfClients) {
  RedisServer server({.tls = tls(RedisTls::Clients::required)});
  const auto& ours = certificates_.authority();
  EXPECT_EQ(ping(server, ours, certificates_.client("anna")), "PONG\n");
  EXPECT_NE(ping(server, ours), "PONG\n");
  EXPECT_NE(ping(server, ours, certificates_.expired_client("anna")), "PONG\n");
  EXPECT_NE(ping(server, ours, certificates_.strange_client("anna")), "PONG\n");
  server.restart_without_data();
  EXPECT_EQ(ping(server, ours, certificates_.client("anna")), "PONG\n");
}

TEST_F(RedisServerWithTls, TakesANewCertificateWhileItRuns) {
  const RedisServer server({.tls = tls(RedisTls::Clients::optional)});
  EXPECT_EQ(ping(server, certificates_.authority()), "PONG\n");
  const auto expired = certificates_.expired_server();
  server.command(
      {"CONFIG", "SET", "tls-cert-file", expired.certificate, "tls-key-file", expired.key});
  EXPECT_NE(ping(server, certificates_.authority()), "PONG\n");
}

}  // namespace
}  // namespace conclave::servers
