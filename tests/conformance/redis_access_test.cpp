// Who is let in by a real server, who is not, and what they are told: passwords, rights, databases,
// replicas.
#include <filesystem>
#include <fstream>
#include <thread>

#include <conclave/admin.hpp>
#include <conclave/open.hpp>

#include "conformance/redis_person.hpp"
#include "fault/tcp_gate.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;
using servers::RedisServer;
namespace fs = std::filesystem;

// All that a user of the store needs; docs/stores/redis.md shows the same list. SELECT only for
// another database than 0; CONFIG GET only for doctor.
const std::string least_rights =
    "~conclave:* &conclave:* -@all +eval +evalsha +info +time +exists +del +get +set +hget +hset "
    "+hmget +hdel +type +zadd +zrem +zrange +zrank +zcard +publish +pubsub|numsub "
    "+subscribe "
    "+unsubscribe +ping +select";

RedisServer server_with(const std::string& rights) {
  return RedisServer({.users = {"anna on >geheim " + rights}});
}

RedisOptions as_anna(const RedisServer& server) {
  RedisOptions options = options_of(server);
  options.user = "anna";
  options.password = "geheim";
  return options;
}

void expect_hand_over(const RedisOptions& options) {
  Person anna(options, "anna");
  ASSERT_TRUE(anna.is_elected());
  Person bob(options, "bob");
  ASSERT_TRUE(bob.next(EventKind::follower));
  // Who only resigned would come back, and be first where the server is too young for newcomers.
  EXPECT_TRUE(anna->stop());
  EXPECT_TRUE(bob.is_elected());
  EXPECT_TRUE(bob->stop());
}

TEST(RedisAccess, APasswordOfAnySignsLetsIn) {
  const std::string password = "p@:/?#%& \xc3\xa4\"'\\";
  const RedisServer server({.password = password});
  const auto store = open("redis://:p%40%3A%2F%3F%23%25%26%20%C3%A4%22%27%5C@127.0.0.1:" +
                          std::to_string(server.port()));
  EXPECT_TRUE(inspect(*store, "e", 60s));
  const auto other = open("redis://127.0.0.1:" + std::to_string(server.port()) +
                          "?password=p%40%3A%2F%3F%23%25%26%20%C3%A4%22%27%5C&user=default");
  EXPECT_TRUE(inspect(*other, "e", 60s));
}

TEST(RedisAccess, AWrongPasswordIsToldAndNotTriedInATightLoop) {
  const RedisServer server({.password = "right"});
  fault::TcpGate gate(server.port());
  const servers::TemporaryFolder folder("password");
  std::ofstream(folder.file("password")) << "geheim\n";
  RedisOptions options = options_of(server);
  options.port = gate.port();
  options.password_file = folder.file("password");
  Person anna(options);
  const Error error = anna.error(ErrorCode::denied);
  EXPECT_FALSE(error.retryable);
  expect_sentence(error, "does not know the user default (none is given) with the password in " +
                             folder.file("password") + ": check both");
  // For one lease, pauses grow to 50 ms at least, for each of two connections: 36 attempts at most.
  // Then to 400 ms.
  const auto before = gate.counters().accepted;
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(gate.wait_until([&](const auto& now) { return now.accepted >= before + 50; }));
  EXPECT_GT(std::chrono::steady_clock::now() - began, 2500ms);
  // Meanwhile it is always told why.
  while (anna->events().wait_for(0ms)) continue;
  for (int i = 0; i < 3; ++i) {
    const auto told = anna.next(EventKind::error);
    ASSERT_TRUE(told);
    EXPECT_EQ(told->error->code, ErrorCode::denied) << told->error->message;
  }
  // Corrected, it is taken without a restart.
  std::ofstream(folder.file("new")) << "right\n";
  fs::rename(folder.file("new"), folder.file("password"));
  EXPECT_TRUE(anna.is_elected());
}

TEST(RedisAccess, WhoGivesNoPasswordIsToldToGiveOne) {
  const RedisServer server({.password = "right"});
  Person anna(options_of(server));
  expect_sentence(anna.error(ErrorCode::denied), "wants a password");
}

TEST(RedisAccess, AUserThatIsNotThereIsTold) {
  const RedisServer server;
  Person anna(as_anna(server));
  expect_sentence(anna.error(ErrorCode::denied), "does not know this user with this password");
}

TEST(RedisAccess, CredentialsAreAskedForEachConnectionAndMayFail) {
  const auto server = server_with(least_rights);
  fault::TcpGate gate(server.port());
  const auto asked = std::make_shared<std::atomic<int>>(0);
  const auto shut = std::make_shared<std::atomic<bool>>(true);
  RedisOptions options = options_of(server);
  options.port = gate.port();
  options.credentials = [=]() -> RedisCredentials {
    asked->fetch_add(1);
    if (shut->load()) throw std::runtime_error("the vault is shut");
    return {"anna", "geheim"};
  };
  Person anna(options);
  expect_sentence(anna.error(ErrorCode::denied), "the vault is shut");
  shut->store(false);
  ASSERT_TRUE(anna.is_elected());
  const int before = asked->load();
  gate.reset_all();
  ASSERT_TRUE(anna.next(EventKind::extended));
  while (asked->load() == before) std::this_thread::yield();
  EXPECT_TRUE(anna->stop());
}

TEST(RedisAccess, TheLeastRightsAreEnough) {
  const auto server = server_with(least_rights);
  RedisOptions options = as_anna(server);
  options.database = 1;
  expect_hand_over(options);
  const auto store = make_redis_store(options);
  EXPECT_TRUE(inspect(*store, "election", 60s));
  EXPECT_TRUE(end(*store, "election", 60s).value());
  EXPECT_TRUE(conclave::remove(*store, "election", Remains::trace, 60s).value());
  // Nothing was refused, not even in a script that went on without it.
  EXPECT_TRUE(server.lines({"ACL", "LOG"}).empty());
}

// Whether one of the two is told that something is denied.
bool is_denied(Person& one, Person& other) {
  const auto limit = std::chrono::steady_clock::now() + person_hang_guard;
  while (std::chrono::steady_clock::now() < limit) {
    for (Person* const each : {&one, &other}) {
      const auto event = (*each)->events().wait_for(20ms);
      if (event && event->error && event->error->code == ErrorCode::denied) return true;
    }
  }
  return false;
}

// One leads and one follows, so that all is used. INFO and what messages need is done without.
TEST(RedisAccess, EachOfTheLeastRightsIsNeeded) {
  const auto server = server_with(least_rights);
  for (const char* const right :
       {"eval", "evalsha", "time", "exists", "hset", "hmget", "zadd", "zrange", "zrank", "zcard"}) {
    SCOPED_TRACE(right);
    server.command({"FLUSHALL"});
    server.command({"SCRIPT", "FLUSH"});
    server.command({"ACL", "SETUSER", "anna", std::string("-") + right});
    {
      Person anna(as_anna(server), "anna");
      Person bob(as_anna(server), "bob");
      EXPECT_TRUE(is_denied(anna, bob));
    }
    server.command({"ACL", "SETUSER", "anna", std::string("+") + right});
  }
}

TEST(RedisAccess, WithoutInfoTheFirstGrantWaitsAndThenAllWorks) {
  const auto server = server_with(least_rights + " -info");
  expect_hand_over(as_anna(server));
}

TEST(RedisAccess, WithoutMessagesCandidatesLook) {
  const auto server =
      server_with(least_rights + " -subscribe -unsubscribe -publish -pubsub resetchannels");
  expect_hand_over(as_anna(server));
}

// Told once, and nothing is lost by it.
void expect_renewals_without_errors(Person& leader) {
  for (int extended = 0; extended < 4;) {
    const auto event = leader->events().wait_for(person_hang_guard);
    ASSERT_TRUE(event);
    EXPECT_NE(event->kind, EventKind::lost);
    EXPECT_FALSE(event->error && event->error->code == ErrorCode::denied) << event->error->message;
    if (event->kind == EventKind::extended) ++extended;
  }
}

TEST(RedisAccess, WhoMayNotListenIsToldOnceAndListensWhenItIsGranted) {
  const struct {
    std::string without;
    std::string missing;
  } table[] = {{" -subscribe", "+subscribe"}, {" resetchannels &other:*", "&conclave:*"}};
  for (const auto& each : table) {
    SCOPED_TRACE(each.missing);
    const auto server = server_with(least_rights + each.without);
    fault::TcpGate gate(server.port());
    RedisOptions options = as_anna(server);
    options.port = gate.port();
    Person anna(options);
    const Error error = anna.error(ErrorCode::denied);
    EXPECT_FALSE(error.retryable);
    expect_sentence(error, each.missing + " is missing");
    expect_sentence(error, "ACL SETUSER anna +subscribe +unsubscribe +ping &conclave:*");
    ASSERT_TRUE(anna.is_elected());
    expect_renewals_without_errors(anna);
    const auto connections = gate.counters().accepted;
    server.command({"ACL", "SETUSER", "anna", each.missing});
    const auto limit = std::chrono::steady_clock::now() + person_hang_guard;
    while (server.lines({"PUBSUB", "CHANNELS", "conclave:inbox:*"}).empty()) {
      ASSERT_LT(std::chrono::steady_clock::now(), limit);
      std::this_thread::sleep_for(5ms);
    }
    EXPECT_EQ(gate.counters().accepted, connections) << "it needs no other connection";
    EXPECT_TRUE(anna->is_leader());
  }
}

TEST(RedisAccess, ALeaderGoesOnWhenTheRightToListenIsTaken) {
  const auto server = server_with(least_rights);
  Person anna(as_anna(server));
  ASSERT_TRUE(anna.is_elected());
  server.command({"ACL", "SETUSER", "anna", "-subscribe"});
  server.command({"CLIENT", "KILL", "TYPE", "pubsub"});
  expect_renewals_without_errors(anna);
  Person bob(as_anna(server), "bob");
  expect_sentence(bob.error(ErrorCode::denied), "+subscribe is missing");
  ASSERT_TRUE(bob.next(EventKind::follower));
  EXPECT_TRUE(anna->stop());
  EXPECT_TRUE(bob.is_elected());
}

TEST(RedisAccess, WithoutRightsOnTheKeysItIsToldUntilTheyAreGranted) {
  const auto server = server_with(least_rights + " resetkeys ~other:*");
  server.command({"SET", "conclave:{election}", "somebody else's"});
  Person anna(as_anna(server));
  const Error error = anna.error(ErrorCode::denied);
  EXPECT_FALSE(error.retryable);
  expect_sentence(error, "grant it");
  EXPECT_EQ(server.command({"GET", "conclave:{election}"}).text, "somebody else's");
  server.command({"DEL", "conclave:{election}"});
  server.command({"ACL", "SETUSER", "anna", "~conclave:*"});
  EXPECT_TRUE(anna.is_elected());
}

TEST(RedisAccess, AKeyOfAnotherTypeIsToldAndLeftAlone) {
  const RedisServer server;
  for (const std::vector<std::string>& other :
       std::vector<std::vector<std::string>>{{"SET", "conclave:{election}", "x"},
                                             {"HSET", "conclave:{election}", "x", "y"},
                                             {"LPUSH", "conclave:{election}", "x"},
                                             {"SET", "conclave:{election}:queue", "x"}}) {
    SCOPED_TRACE(other[0] + " " + other[1]);
    server.command({"FLUSHALL"});
    server.command(other);
    const std::string before = server.command({"DUMP", other[1]}).text;
    Person anna(options_of(server));
    const Error error = anna.error(ErrorCode::corrupt);
    EXPECT_FALSE(error.retryable);
    expect_sentence(error, "another prefix");
    expect_sentence(error, "the key " + other[1] + " at");
    EXPECT_EQ(server.command({"DUMP", other[1]}).text, before);
    server.command({"DEL", other[1]});
    EXPECT_TRUE(anna.is_elected());
  }
}

TEST(RedisAccess, WhatIsWaitedForIsToldWithTheSettingThatLimitsIt) {
  RedisServer server;
  const auto store = make_redis_store(options_of(server));
  ASSERT_TRUE(inspect(*store, "election", 60s));
  server.pause();
  const auto error_of = [](Store& of) { return inspect(of, "election", 60s).error(); };
  expect_sentence(error_of(*store),
                  "did not answer within 100 ms (request_timeout): a reply did not come");
  // It was greeted before, so it is no server that wants TLS.
  const Error again = error_of(*store);
  expect_sentence(again, "an answer to the greeting did not come");
  EXPECT_EQ(again.message.find("TLS"), std::string::npos) << again.message;
  expect_sentence(error_of(*make_redis_store(options_of(server))),
                  "did not answer within 100 ms (request_timeout): an answer to the greeting did "
                  "not come, perhaps since it wants TLS (rediss:)");
  RedisOptions with_tls = options_of(server);
  with_tls.tls = RedisTls{.skip_verify = true};
  expect_sentence(error_of(*make_redis_store(with_tls)),
                  "did not answer within 100 ms (request_timeout): an answer to the TLS handshake "
                  "did not come, perhaps since it speaks no TLS there (redis: goes without)");
  server.resume();
}

TEST(RedisAccess, ADatabaseIsUsedAndOneThatIsNotThereIsTold) {
  const RedisServer server;
  RedisOptions options = options_of(server);
  options.database = 3;
  Person anna(options);
  ASSERT_TRUE(anna.is_elected());
  EXPECT_NE(server.info("keyspace", "db3"), "");
  options.database = 16;
  Person bob(options);
  const Error error = bob.error(ErrorCode::invalid_argument);
  EXPECT_FALSE(error.retryable);
  expect_sentence(error, "no database 16: choose a lower number, or raise databases in redis.conf");
}

TEST(RedisAccess, AUnixSocketLeadsIn) {
  const RedisServer server({.tcp = false});
  RedisOptions options;
  options.unix_socket = server.unix_path();
  options.lease = 800ms;
  expect_hand_over(options);
  options.unix_socket += "-none";
  Person bob(options);
  expect_sentence(bob.error(ErrorCode::unavailable), "-none");
}

TEST(RedisAccess, AReplicaIsRefusedUntilItIsPromoted) {
  const RedisServer master;
  const RedisServer replica({.extra = {"replicaof 127.0.0.1 " + std::to_string(master.port())}});
  Person anna(options_of(replica));
  const Error error = anna.error(ErrorCode::unavailable);
  EXPECT_TRUE(error.retryable);
  expect_sentence(error, "replica");
  replica.command({"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(anna.is_elected());
}

TEST(RedisAccess, AServerWithoutRoomIsTold) {
  const RedisServer server({.extra = {"maxclients 1"}});
  std::optional<servers::RedisClient> other(servers::RedisClient::at_port(server.port()));
  other->command({"PING"});
  Person anna(options_of(server));
  expect_sentence(anna.error(ErrorCode::unavailable), "maxclients");
}

}  // namespace
}  // namespace conclave::conformance
