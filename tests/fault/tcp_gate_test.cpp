#include "fault/tcp_gate.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <memory>
#include <optional>

#include "fault/echo_server.hpp"

namespace conclave::fault {
namespace {

using namespace std::chrono_literals;
using enum Direction;

// Long enough that what is not held back would have come.
constexpr auto silence = 100ms;

class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval limit{hang_guard.count(), 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    const auto address = servers::loopback(port);
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
        0) {
      fail("connect");
    }
    send_at_once(socket_);
  }

  void send(const std::string& text) const {
    for (std::size_t sent = 0; sent < text.size();) {
      const auto n = ::send(socket_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (n < 0) fail("send");
      sent += static_cast<std::size_t>(n);
    }
  }
  // So many bytes, or what came before the end.
  [[nodiscard]] std::string receive(std::size_t size) const {
    std::string text(size, '\0');
    std::size_t got = 0;
    while (got < size) {
      const auto n = ::recv(socket_.get(), text.data() + got, size - got, 0);
      if (n <= 0) break;
      got += static_cast<std::size_t>(n);
    }
    text.resize(got);
    return text;
  }
  [[nodiscard]] std::string echo(const std::string& text) const {
    send(text);
    return receive(text.size());
  }
  [[nodiscard]] bool hears_nothing() const {
    pollfd input{socket_.get(), POLLIN, 0};
    return ::poll(&input, 1, static_cast<int>(silence.count())) == 0;
  }
  // The error of the next read; 0 is the end in good order.
  [[nodiscard]] int end() const {
    char byte = 0;
    const auto n = ::recv(socket_.get(), &byte, 1, 0);
    if (n > 0) return -1;
    return n == 0 ? 0 : errno;
  }
  void finish() const { ::shutdown(socket_.get(), SHUT_WR); }

 private:
  Socket socket_;
};

class TcpGateTest : public testing::Test {
 protected:
  [[nodiscard]] bool server_gets(const std::string& text) const {
    return server_.wait_until([&](const EchoServer::Seen& seen) {
      return seen.received.size() >= text.size();
    }) && server_.seen().received == text;
  }
  [[nodiscard]] bool server_is_reset() const {
    return server_.wait_until([](const EchoServer::Seen& seen) { return seen.reset == 1; });
  }
  [[nodiscard]] int refusal() const {
    try {
      const Client client(gate_->port());
      return 0;
    } catch (const std::system_error& error) {
      return error.code().value();
    }
  }

  EchoServer server_;
  std::unique_ptr<TcpGate> gate_ = std::make_unique<TcpGate>(server_.port());
};

TEST_F(TcpGateTest, PassesAndCounts) {
  const Client one(gate_->port());
  const Client two(gate_->port());
  EXPECT_EQ(one.echo("hello"), "hello");
  EXPECT_EQ(two.echo("you"), "you");
  const auto counters = gate_->counters();
  EXPECT_EQ(counters.accepted, 2U);
  EXPECT_EQ(counters.open, 2U);
  EXPECT_EQ(counters.bytes_to_target, 8U);
  EXPECT_EQ(counters.bytes_to_client, 8U);
}

TEST_F(TcpGateTest, ManyBytesArriveWhole) {
  std::string text;
  for (int i = 0; text.size() < (8U << 20U); ++i) text += std::to_string(i) + ",";
  const Client client(gate_->port());
  std::thread writer([&] { client.send(text); });
  EXPECT_TRUE(client.receive(text.size()) == text);
  writer.join();
}

TEST_F(TcpGateTest, PassesTheEnd) {
  const Client client(gate_->port());
  client.send("last");
  client.finish();
  EXPECT_EQ(client.receive(4), "last");
  EXPECT_EQ(client.end(), 0);
  EXPECT_EQ(server_.seen().ended, 1);
  EXPECT_TRUE(gate_->wait_until([](const auto& counters) { return counters.open == 0; }));
}

TEST_F(TcpGateTest, DelaysEachWay) {
  const Client client(gate_->port());
  EXPECT_EQ(client.echo("a"), "a");
  gate_->delay(60ms);
  const auto start = Clock::now();
  client.send("b");
  client.send("c");
  EXPECT_EQ(client.receive(2), "bc");
  EXPECT_GE(Clock::now() - start, 120ms);
}

TEST_F(TcpGateTest, DelaysOneWay) {
  const Client client(gate_->port());
  gate_->delay(to_client, 1h);
  client.send("ab");
  EXPECT_TRUE(server_gets("ab"));
  EXPECT_TRUE(client.hears_nothing());
  gate_->pass();
  EXPECT_EQ(client.receive(2), "ab");
}

TEST_F(TcpGateTest, DelaysTheEnd) {
  const Client client(gate_->port());
  EXPECT_EQ(client.echo("a"), "a");
  gate_->delay(to_target, 60ms);
  const auto start = Clock::now();
  client.finish();
  EXPECT_EQ(client.end(), 0);
  EXPECT_GE(Clock::now() - start, 60ms);
}

TEST_F(TcpGateTest, ABlackholeHoldsEverything) {
  const Client client(gate_->port());
  EXPECT_EQ(client.echo("a"), "a");
  gate_->blackhole();
  client.send("b");
  client.send("c");
  const Client late(gate_->port());
  EXPECT_TRUE(gate_->wait_until([](const auto& counters) { return counters.accepted == 2; }));
  EXPECT_TRUE(client.hears_nothing());
  EXPECT_EQ(server_.seen().received, "a");
  EXPECT_EQ(server_.seen().accepted, 1);
  gate_->pass();
  EXPECT_EQ(client.receive(2), "bc");
  EXPECT_EQ(late.echo("d"), "d");
}

TEST_F(TcpGateTest, ABlackholeEndsInOrder) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i) + ",";
  const Client client(gate_->port());
  std::thread writer([&] { client.send(text); });
  const auto half = text.size() / 2;
  const auto first = client.receive(half);
  gate_->blackhole();
  gate_->pass();
  gate_->blackhole(to_client);
  gate_->pass();
  EXPECT_TRUE(first + client.receive(text.size() - half) == text);
  writer.join();
}

TEST_F(TcpGateTest, AOneWayBlackholeHoldsReplies) {
  const Client client(gate_->port());
  gate_->blackhole(to_client);
  client.send("ab");
  client.send("cd");
  EXPECT_TRUE(server_gets("abcd"));
  EXPECT_TRUE(client.hears_nothing());
  gate_->pass();
  EXPECT_EQ(client.receive(4), "abcd");
}

TEST_F(TcpGateTest, AOneWayBlackholeHoldsRequests) {
  const Client client(gate_->port());
  EXPECT_EQ(client.echo("a"), "a");
  gate_->blackhole(to_target);
  client.send("b");
  EXPECT_TRUE(client.hears_nothing());
  EXPECT_EQ(server_.seen().received, "a");
  gate_->pass();
  EXPECT_EQ(client.receive(1), "b");
}

TEST_F(TcpGateTest, HalfOpenConnectionsAreLostAndNobodyIsTold) {
  auto client = std::make_unique<Client>(gate_->port());
  EXPECT_EQ(client->echo("a"), "a");
  gate_->blackhole(to_client);
  client->send("b");
  EXPECT_TRUE(server_gets("ab"));
  gate_->half_open();
  gate_->pass();
  client->send("c");
  EXPECT_TRUE(client->hears_nothing());
  EXPECT_EQ(Client(gate_->port()).echo("d"), "d");
  client.reset();
  EXPECT_TRUE(gate_->wait_until([](const auto& counters) { return counters.open == 1; }));
  EXPECT_TRUE(server_.wait_until([](const auto& seen) { return seen.ended + seen.reset > 0; }));
  std::this_thread::sleep_for(silence);  // in which the server would have been told
  const auto seen = server_.seen();
  EXPECT_EQ(seen.received, "abd");
  EXPECT_EQ(seen.ended + seen.reset, 1);  // the second client
}

TEST_F(TcpGateTest, ResetsBothSides) {
  const Client client(gate_->port());
  EXPECT_EQ(client.echo("a"), "a");
  gate_->blackhole(to_client);
  client.send("b");
  EXPECT_TRUE(server_gets("ab"));
  gate_->reset_all();
  EXPECT_EQ(client.end(), ECONNRESET);
  EXPECT_TRUE(server_is_reset());
  EXPECT_EQ(gate_->counters().open, 0U);
  gate_->pass();
  EXPECT_EQ(Client(gate_->port()).echo("c"), "c");
}

TEST_F(TcpGateTest, ResetsWhoHadConnectedBefore) {
  for (int i = 0; i < 100; ++i) {
    const Client client(gate_->port());
    gate_->reset_all();
    EXPECT_EQ(client.end(), ECONNRESET);
  }
}

TEST_F(TcpGateTest, PassesAReset) {
  {
    const Client client(gate_->port());
    client.send("a");
    EXPECT_TRUE(
        gate_->wait_until([](const auto& counters) { return counters.bytes_to_client == 1; }));
  }  // with a byte that was not read
  EXPECT_TRUE(server_is_reset());
}

TEST_F(TcpGateTest, RefusesNewConnections) {
  const Client client(gate_->port());
  gate_->refuse();
  EXPECT_EQ(refusal(), ECONNREFUSED);
  EXPECT_EQ(client.echo("a"), "a");
  gate_->pass();
  EXPECT_EQ(refusal(), 0);
  EXPECT_EQ(Client(gate_->port()).echo("b"), "b");
}

TEST_F(TcpGateTest, RedirectsNewConnections) {
  const EchoServer other;
  const Client before(gate_->port());
  EXPECT_EQ(before.echo("a"), "a");
  gate_->redirect(other.port());
  const Client after(gate_->port());
  EXPECT_EQ(after.echo("b"), "b");
  EXPECT_EQ(before.echo("c"), "c");
  EXPECT_EQ(server_.seen().received, "ac");
  EXPECT_EQ(other.seen().received, "b");
}

TEST_F(TcpGateTest, Throttles) {
  const Client client(gate_->port());
  gate_->throttle(to_client, 10'000);
  const std::string text(2'000, 'x');
  const auto start = Clock::now();
  EXPECT_EQ(client.echo(text), text);
  EXPECT_GE(Clock::now() - start, 150ms);
  gate_->throttle(to_target, 1);
  client.send(text);
  gate_->pass();
  EXPECT_EQ(client.receive(text.size()), text);
}

TEST_F(TcpGateTest, CutsAReply) {
  const Client client(gate_->port());
  gate_->cut_after(to_client, 3);
  client.send("hello");
  EXPECT_EQ(client.receive(3), "hel");
  EXPECT_EQ(client.end(), ECONNRESET);
  EXPECT_TRUE(server_gets("hello"));
  EXPECT_TRUE(server_is_reset());
  EXPECT_EQ(gate_->counters().cut, 1U);
  EXPECT_EQ(Client(gate_->port()).echo("again"), "again");
}

TEST_F(TcpGateTest, LosesAReply) {
  const Client client(gate_->port());
  gate_->cut_after(to_client, 0);
  client.send("hello");
  EXPECT_EQ(client.end(), ECONNRESET);
  EXPECT_TRUE(server_gets("hello"));
}

TEST_F(TcpGateTest, CutsARequest) {
  const Client client(gate_->port());
  EXPECT_EQ(client.echo("a"), "a");
  gate_->cut_after(to_target, 2);
  EXPECT_EQ(client.echo("b"), "b");
  client.send("cd");
  EXPECT_TRUE(server_is_reset());
  EXPECT_EQ(server_.seen().received, "abc");
}

TEST_F(TcpGateTest, ATargetThatRefusesIsAReset) {
  const servers::ReservedPort nobody;
  const TcpGate gate(nobody.number());
  const Client client(gate.port());
  EXPECT_EQ(client.end(), ECONNRESET);
}

TEST_F(TcpGateTest, ClosesEverythingAtItsEnd) {
  const auto port = gate_->port();
  const Client client(port);
  EXPECT_EQ(client.echo("a"), "a");
  gate_->blackhole();
  client.send("b");
  gate_.reset();
  EXPECT_NE(client.end(), -1);
  EXPECT_THROW(Client{port}, std::system_error);
}

TEST_F(TcpGateTest, AnyThreadMayTurnTheSwitches) {
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!over) {
        try {
          const Client client(gate_->port());
          while (!over && client.echo("hello") == "hello") {
          }
        } catch (const std::system_error&) {
          // Refused or reset, as it was meant.
        }
      }
    });
  }
  std::vector<std::thread> hands;
  for (int hand = 0; hand < 3; ++hand) {
    hands.emplace_back([&, hand] {
      for (int i = 0; i < 50; ++i) {
        if (hand == 0) gate_->refuse();
        if (hand == 1) gate_->reset_all();
        if (hand == 2) gate_->blackhole(i % 2 == 0 ? to_client : to_target);
        gate_->delay(1ms);
        gate_->cut_after(to_client, 100);
        static_cast<void>(gate_->counters());
        gate_->pass();
      }
    });
  }
  for (auto& each : hands) each.join();
  over = true;
  gate_->reset_all();
  for (auto& each : threads) each.join();
  EXPECT_EQ(Client(gate_->port()).echo("calm"), "calm");
}

}  // namespace
}  // namespace conclave::fault
