// What a check of a real Redis server finds, each with its fix.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include <conclave/admin.hpp>
#include <conclave/redis.hpp>

#include "fault/tcp_gate.hpp"
#include "servers/redis_server.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;
using servers::RedisServer;

RedisOptions options_of(const RedisServer& server) {
  RedisOptions options;
  options.port = server.port();
  options.lease = 8s;  // so that a busy machine is no slow one
  return options;
}

std::vector<Finding> findings(const RedisOptions& options) {
  const auto store = make_redis_store(options);
  const auto found = check(*store, 60s);
  EXPECT_TRUE(found) << found.error().message;
  return found ? *found : std::vector<Finding>{};
}

// For what a server does by itself.
bool becomes(const RedisServer& server, const std::string& section, const std::string& field,
             const std::string& value) {
  const auto limit = std::chrono::steady_clock::now() + 60s;
  while (server.info(section, field) != value) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

// The finding that has this in its setting; an empty one when there is none.
Finding about(const std::vector<Finding>& all, const std::string& setting) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Finding& each) {
    return each.setting.find(setting) != std::string::npos;
  });
  return found != all.end() ? *found : Finding{};
}

void expect_finding(const std::vector<Finding>& all, const std::string& setting, Severity severity,
                    const std::string& fix) {
  const Finding found = about(all, setting);
  EXPECT_NE(found.setting, "") << setting << " was not found";
  EXPECT_EQ(found.severity, severity) << setting;
  EXPECT_NE(found.fix.find(fix), std::string::npos) << found.fix;
  EXPECT_FALSE(found.problem.empty());
}

TEST(RedisDoctor, FindsNothingButTheRoundTripInAGoodServer) {
  const RedisServer server({.append_only = true});
  const auto found = findings(options_of(server));
  ASSERT_EQ(found.size(), 1U) << about(found, "r").setting;
  expect_finding(found, "round trip", Severity::note, "nothing to do");
  EXPECT_EQ(server.command({"DBSIZE"}).number, 0);
}

TEST(RedisDoctor, WarnsOfEviction) {
  const RedisServer server({.append_only = true, .max_memory_policy = "allkeys-lru"});
  expect_finding(findings(options_of(server)), "maxmemory-policy allkeys-lru", Severity::note,
                 "noeviction");
  server.command({"CONFIG", "SET", "maxmemory", "100mb"});
  expect_finding(findings(options_of(server)), "maxmemory-policy allkeys-lru", Severity::danger,
                 "noeviction");
  server.command({"CONFIG", "SET", "maxmemory-policy", "volatile-lru"});
  EXPECT_EQ(findings(options_of(server)).size(), 1U);
}

TEST(RedisDoctor, TellsWhatIsKeptOnDisk) {
  const RedisServer server;
  expect_finding(findings(options_of(server)), "appendonly", Severity::note, "appendonly yes");
  server.command({"CONFIG", "SET", "save", "3600 1"});
  EXPECT_EQ(findings(options_of(server)).size(), 1U);
}

TEST(RedisDoctor, WarnsOfASaveThatFailed) {
  const RedisServer server(
      {.save = {"3600 1"}, .extra = {"dbfilename taken", "stop-writes-on-bgsave-error no"}});
  // A folder of that name is in the way of the file.
  std::filesystem::create_directory(
      std::filesystem::path(server.unix_path()).replace_filename("taken"));
  server.command({"BGSAVE"});
  ASSERT_TRUE(becomes(server, "persistence", "rdb_last_bgsave_status", "err"));
  expect_finding(findings(options_of(server)), "rdb_last_bgsave_status", Severity::warning,
                 "room on its disk");
}

TEST(RedisDoctor, WarnsOfReplicas) {
  const RedisServer server({.append_only = true});
  const RedisServer replica({.extra = {"replicaof 127.0.0.1 " + std::to_string(server.port())}});
  ASSERT_TRUE(becomes(server, "replication", "connected_slaves", "1"));
  expect_finding(findings(options_of(server)), "connected_slaves 1", Severity::warning,
                 "fence with the term");
}

TEST(RedisDoctor, WarnsOfMissingRights) {
  const RedisServer server(
      {.users = {"anna on >geheim ~conclave:* &conclave:* +@all"}, .append_only = true});
  RedisOptions options = options_of(server);
  options.user = "anna";
  options.password = "geheim";
  EXPECT_EQ(findings(options).size(), 1U);
  const struct {
    std::string right;
    std::string setting;
    Severity severity;
    std::string fix;
  } table[] = {
      {"eval", "rights", Severity::danger, "ACL SETUSER ... ~conclave:*"},
      {"evalsha", "rights", Severity::danger, "ACL SETUSER ... ~conclave:*"},
      {"hset", "rights", Severity::danger, "docs/stores/redis.md"},
      {"del", "rights", Severity::danger, "docs/stores/redis.md"},
      {"time", "rights", Severity::danger, "docs/stores/redis.md"},
      {"hdel", "rights", Severity::danger, "docs/stores/redis.md"},
      {"zrank", "rights", Severity::danger, "docs/stores/redis.md"},
      {"set", "rights", Severity::danger, "docs/stores/redis.md"},
      {"info", "rights: info", Severity::warning, "+info"},
      {"pubsub", "rights: pubsub", Severity::warning, "+pubsub"},
      {"publish", "rights: pubsub", Severity::warning, "+publish"},
  };
  for (const auto& each : table) {
    SCOPED_TRACE(each.right);
    server.command({"ACL", "SETUSER", "anna", "-" + each.right});
    const auto found = findings(options);
    expect_finding(found, each.setting, each.severity, each.fix);
    EXPECT_NE(about(found, each.setting)
                  .problem.find(each.severity == Severity::danger ? "forbids" : "cannot be asked"),
              std::string::npos)
        << about(found, each.setting).problem;
    server.command({"ACL", "SETUSER", "anna", "+" + each.right});
    EXPECT_EQ(server.command({"DBSIZE"}).number, 0);
  }
  server.command({"ACL", "SETUSER", "anna", "resetkeys", "~other:*"});
  expect_finding(findings(options), "rights", Severity::danger, "~conclave:*");
}

TEST(RedisDoctor, LeavesWhatIsNotItsOwn) {
  const RedisServer server;
  for (const std::vector<std::string>& other :
       std::vector<std::vector<std::string>>{{"HSET", "conclave:doctor", "name", "House"},
                                             {"SET", "conclave:doctor", "House"},
                                             {"ZADD", "conclave:doctor:queue", "1", "patient"},
                                             {"SET", "conclave:doctor:metadata", "x"}}) {
    server.command({"FLUSHALL"});
    server.command(other);
    const std::string before = server.command({"DUMP", other[1]}).text;
    const auto found = findings(options_of(server));
    EXPECT_EQ(about(found, "rights").setting, "");
    EXPECT_EQ(server.command({"DUMP", other[1]}).text, before);
    EXPECT_EQ(server.command({"DBSIZE"}).number, 1);
  }
}

TEST(RedisDoctor, WarnsOfASlowWay) {
  const RedisServer server({.append_only = true});
  fault::TcpGate gate(server.port());
  gate.delay(150ms);
  RedisOptions options = options_of(server);
  options.port = gate.port();  // 300 ms, and a request time-out of 1 s
  expect_finding(findings(options), "round trip", Severity::warning, "lengthen the lease");
}

// A machine's other names are not loopback, whoever they lead to.
TEST(RedisDoctor, WarnsOfAPlainWayBeyondThisMachine) {
  const RedisServer server({.append_only = true});
  RedisOptions options = options_of(server);
  options.host = "0.0.0.0";  // leads here, and does not look so
  expect_finding(findings(options), "tls", Severity::warning, "rediss://");
  options.host = "localhost";
  EXPECT_EQ(about(findings(options), "tls").setting, "");
  options.unix_socket = server.unix_path();
  EXPECT_EQ(about(findings(options), "tls").setting, "");
}

TEST(RedisDoctor, OfAServerThatIsAwayIsAnError) {
  RedisServer server;
  server.stop();
  const auto store = make_redis_store(options_of(server));
  const auto found = check(*store, 60s);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace conclave::conformance
