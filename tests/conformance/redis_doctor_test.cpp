// What a check of a real Redis server finds, each with its fix.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>
#include <thread>

#include <conclave/admin.hpp>
#include <conclave/candidate.hpp>
#include <conclave/redis.hpp>

#include "fault/tcp_gate.hpp"
#include "servers/certificates.hpp"
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

// ---------------------------------------------------------------- rights

std::vector<std::string> words_in(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

RedisOptions as_anna(const RedisServer& server) {
  RedisOptions options = options_of(server);
  options.user = "anna";
  options.password = "geheim";
  return options;
}

// Nothing that somebody has to do something about.
void expect_content(const std::vector<Finding>& all) {
  for (const Finding& each : all) {
    EXPECT_EQ(each.severity, Severity::note) << each.setting << ": " << each.problem;
  }
}

// The line that grants everything, as doctor tells it a user who may do nothing.
std::string line_for(const RedisOptions& options) {
  const Finding found = about(findings(options), "rights: ");
  EXPECT_EQ(found.severity, Severity::danger);
  EXPECT_EQ(found.setting, "rights: +eval +evalsha");
  return found.fix;
}

TEST(RedisDoctor, PrintsTheLineThatGrantsWhatElectionsNeedAndNoMore) {
  const RedisServer server({.users = {"anna on >geheim -@all"}, .append_only = true});
  RedisOptions options = as_anna(server);
  options.prefix = "my [app]*:";
  const std::string line = line_for(options);
  EXPECT_EQ(line.find('@'), std::string::npos) << line;
  server.command(words_in(line));
  expect_content(findings(options));
  // And the store needs nothing that is not there.
  server.command({"ACL", "LOG", "RESET"});
  options.lease = 800ms;
  for (const char* const id : {"anna", "bob"}) {
    Candidate candidate(make_redis_store(options), "election", {.id = id});
    ASSERT_TRUE(candidate.lead());
    EXPECT_TRUE(candidate.stop());
  }
  EXPECT_TRUE(server.lines({"ACL", "LOG"}).empty());
}

// Each one for itself; the line that comes with it mends it.
TEST(RedisDoctor, NamesEachRightThatIsMissing) {
  const RedisServer server({.users = {"anna on >geheim -@all"}, .append_only = true});
  const RedisOptions options = as_anna(server);
  const std::vector<std::string> line = words_in(line_for(options));
  server.command(line);
  const std::set<std::string> optional{"+info",      "+publish",     "+pubsub|numsub",
                                       "+subscribe", "+unsubscribe", "&conclave:*"};
  for (std::size_t i = 3; i < line.size(); ++i) {
    const std::string& right = line[i];
    SCOPED_TRACE(right);
    if (right[0] == '+') {
      server.command({"ACL", "SETUSER", "anna", "-" + right.substr(1)});
    } else {
      server.command({"ACL", "SETUSER", "anna", right[0] == '&' ? "resetchannels" : "resetkeys"});
    }
    const auto found = findings(options);
    const Finding missing = about(found, "rights: ");
    EXPECT_EQ(missing.setting, "rights: " + right);
    EXPECT_EQ(missing.severity, right == "+ping"           ? Severity::note
                                : optional.contains(right) ? Severity::warning
                                                           : Severity::danger);
    EXPECT_EQ(std::count_if(found.begin(), found.end(),
                            [](const Finding& each) { return each.setting.starts_with("rights"); }),
              1);
    EXPECT_EQ(server.command({"DBSIZE"}).number, 0);
    server.command(words_in(missing.fix));
    EXPECT_EQ(about(findings(options), "rights").setting, "");
  }
}

TEST(RedisDoctor, NamesTheRightForAnotherDatabase) {
  const RedisServer server({.users = {"anna on >geheim ~* &* +@all -select"}});
  RedisOptions options = as_anna(server);
  options.database = 1;
  const auto store = make_redis_store(options);
  const auto found = check(*store, 60s);
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("ACL SETUSER anna +select"), std::string::npos)
      << found.error().message;
}

TEST(RedisDoctor, SaysWhatItCouldNotLookAt) {
  const RedisServer server({.users = {"anna on >geheim ~* &* +@all -config -info"}});
  const auto found = findings(as_anna(server));
  expect_finding(found, "not looked at: info", Severity::note, "ACL SETUSER anna +info");
  EXPECT_EQ(about(found, "not looked at: config").setting, "") << "of no use without INFO";
  server.command({"ACL", "SETUSER", "anna", "+info"});
  expect_finding(findings(as_anna(server)), "not looked at: config", Severity::note,
                 "ACL SETUSER anna +config|get");
}

// ---------------------------------------------------------------- others

TEST(RedisDoctor, WarnsOfAMemoryThatIsNearlyFull) {
  const RedisServer server({.append_only = true});
  const long used = std::stol(server.info("memory", "used_memory"));
  server.command({"CONFIG", "SET", "maxmemory", std::to_string(used)});
  expect_finding(findings(options_of(server)), "used_memory", Severity::warning, "raise maxmemory");
  EXPECT_EQ(about(findings(options_of(server)), "rights").setting, "");
  server.command({"CONFIG", "SET", "maxmemory", std::to_string(10 * used)});
  EXPECT_EQ(about(findings(options_of(server)), "used_memory").setting, "");
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
  options.host = "127.1";  // whoever reads it as an address; not everybody does
  expect_finding(findings(options), "tls", Severity::warning, "rediss://");
  options.host = "localhost";
  EXPECT_EQ(about(findings(options), "tls").setting, "");
  options.unix_socket = server.unix_path();
  EXPECT_EQ(about(findings(options), "tls").setting, "");
}

TEST(RedisDoctor, WarnsOfAServerBeyondThisMachineThatWantsNoPassword) {
  const RedisServer server({.users = {"anna on >geheim ~* &* +@all"}, .append_only = true});
  RedisOptions options = options_of(server);
  EXPECT_EQ(about(findings(options), "no password").setting, "");
  options.host = "0.0.0.0";
  expect_finding(findings(options), "no password", Severity::warning, "requirepass");
  // Others get in without, whoever gives one himself.
  RedisOptions with_password = as_anna(server);
  with_password.host = "0.0.0.0";
  expect_finding(findings(with_password), "no password", Severity::warning, "requirepass");
  server.command({"ACL", "SETUSER", "default", "off"});
  EXPECT_EQ(about(findings(with_password), "no password").setting, "");
}

TEST(RedisDoctor, WarnsOfACertificateThatNobodyLooksAt) {
  servers::Certificates made;
  const auto shown = made.server();
  const RedisServer server(
      {.tls = servers::RedisTls{shown.certificate, shown.key, made.authority()},
       .append_only = true});
  RedisOptions options = options_of(server);
  options.tls = RedisTls{.skip_verify = true};
  EXPECT_EQ(about(findings(options), "skip_verify").setting, "");
  options.host = "0.0.0.0";
  expect_finding(findings(options), "skip_verify", Severity::warning, "ca_file");
}

TEST(RedisDoctor, TellsAShortRoundTripByMicroseconds) {
  const RedisServer server({.append_only = true});
  RedisOptions options = options_of(server);
  options.unix_socket = server.unix_path();
  const std::string trip = about(findings(options), "round trip").setting;
  EXPECT_NE(trip, "round trip 0.0 ms");
  EXPECT_NE(trip, "round trip 0 µs");
  // The fastest of many: a busy machine is slow now and then.
  for (int i = 0; i < 100; ++i) {
    if (about(findings(options), "round trip").setting.ends_with(" µs")) return;
  }
  FAIL() << trip;
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
