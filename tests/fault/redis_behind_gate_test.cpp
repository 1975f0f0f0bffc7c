// The gate and a real server together, as the tests of the stores use them.
#include <gtest/gtest.h>

#include <future>
#include <stdexcept>

#include "fault/tcp_gate.hpp"
#include "servers/redis_server.hpp"

namespace conclave::fault {
namespace {

using servers::RedisClient;
using servers::RedisServer;

TEST(RedisBehindGate, CarriesOutARequestWhoseReplyIsLost) {
  const RedisServer server;
  TcpGate gate(server.port());
  auto client = RedisClient::at_port(gate.port());
  EXPECT_EQ(client.command({"INCR", "n"}).number, 1);
  gate.cut_after(Direction::to_client, 0);
  EXPECT_THROW(client.command({"INCR", "n"}), std::runtime_error);
  EXPECT_EQ(server.command({"GET", "n"}).text, "2");
}

TEST(RedisBehindGate, StandsStillInABlackhole) {
  const RedisServer server;
  TcpGate gate(server.port());
  auto client = RedisClient::at_port(gate.port());
  EXPECT_EQ(client.command({"INCR", "n"}).number, 1);
  gate.blackhole();
  auto reply = std::async(std::launch::async, [&] { return client.command({"INCR", "n"}); });
  EXPECT_EQ(reply.wait_for(std::chrono::milliseconds{100}), std::future_status::timeout);
  EXPECT_EQ(server.command({"GET", "n"}).text, "1");
  gate.pass();
  EXPECT_EQ(reply.get().number, 2);
}

TEST(RedisBehindGate, IsFoundAgainAfterARestart) {
  RedisServer server;
  TcpGate gate(server.port());
  auto before = RedisClient::at_port(gate.port());
  EXPECT_EQ(before.command({"INCR", "n"}).number, 1);
  server.kill();
  EXPECT_THROW(before.command({"PING"}), std::runtime_error);
  EXPECT_THROW(RedisClient::at_port(gate.port()).command({"PING"}), std::runtime_error);
  server.start();
  EXPECT_EQ(RedisClient::at_port(gate.port()).command({"PING"}).text, "PONG");
}

}  // namespace
}  // namespace conclave::fault
