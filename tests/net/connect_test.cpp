#include "net/connect.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "net/peers.hpp"
#include "net/waiting.hpp"

namespace conclave::net {
namespace {

SocketAddress address_of(const Listener& listener) {
  SocketAddress address;
  std::memcpy(&address.bytes, &listener.address(), sizeof listener.address());
  address.size = sizeof listener.address();
  return address;
}

// Its queue is full, so the kernel drops whatever comes: nobody is refused, and nobody gets in.
class SilentServer {
 public:
  SilentServer() {
    listener_.listen(0);
    const auto address = address_of(listener_);
    for (auto& each : clients_) {
      each = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      static_cast<void>(
          ::connect(each.get(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size));
    }
  }

  [[nodiscard]] const Listener& listener() const { return listener_; }

 private:
  Listener listener_;
  std::array<Descriptor, 8> clients_;
};

Result<Descriptor> connect(std::vector<SocketAddress> addresses) {
  AsioLoop loop;
  std::promise<Result<Descriptor>> promise;
  std::unique_ptr<Connecting> connecting;
  loop.post([&] {
    connecting = std::make_unique<Connecting>(
        loop, Endpoint{.host = "many.example", .port = 1}, std::move(addresses),
        [&](Result<Descriptor> result) { promise.set_value(std::move(result)); });
  });
  auto result = promise.get_future();
  const bool came = comes(result);
  loop.post([&] { connecting.reset(); });
  settle(loop);
  if (!came) return Error{ErrorCode::timed_out, "the hang guard", false, false};
  return result.get();
}

std::uint16_t port_reached(const Result<Descriptor>& result) {
  sockaddr_in there{};
  socklen_t size = sizeof there;
  EXPECT_TRUE(result.has_value()) << result.error().message;
  if (!result) return 0;
  EXPECT_EQ(::getpeername(result->get(), reinterpret_cast<sockaddr*>(&there), &size), 0);
  return ntohs(there.sin_port);
}

TEST(Connecting, TakesTheFirstAddressThatWorks) {
  const Listener deaf;
  Listener first;
  Listener second;
  first.listen();
  second.listen();
  const auto result = connect({address_of(deaf), address_of(first), address_of(second)});
  EXPECT_EQ(port_reached(result), first.endpoint().port);
}

TEST(Connecting, DoesNotWaitForAnAddressThatIsSilent) {
  const SilentServer silent;
  Listener listener;
  listener.listen();
  const auto there = address_of(silent.listener());
  const auto result = connect({there, there, address_of(listener)});
  EXPECT_EQ(port_reached(result), listener.endpoint().port);
}

TEST(Connecting, SaysWhyTheFirstAddressFailed) {
  const Listener deaf;
  SocketAddress unroutable = address_of(deaf);
  unroutable.size = 1;  // the kernel refuses that
  const auto result = connect({address_of(deaf), unroutable});
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message.find("many.example:1: nobody listens"), std::string::npos)
      << result.error().message;
}

TEST(Connecting, MayBeGivenUp) {
  const SilentServer silent;
  AsioLoop loop;
  loop.post([&] {
    const auto address = address_of(silent.listener());
    auto connecting = std::make_shared<Connecting>(
        loop, Endpoint{.host = "many.example", .port = 1}, std::vector{address, address},
        [](const Result<Descriptor>&) { ADD_FAILURE(); });
    loop.post([connecting] {});  // dropped when it has begun
  });
  settle(loop);
  settle(loop);
}

// ---------------------------------------------------------------- names

TEST(Lookups, KnowAnAddressWhenTheySeeOne) {
  EXPECT_EQ(numeric_addresses("127.0.0.1").size(), 1U);
  EXPECT_EQ(numeric_addresses("::1").size(), 1U);
  EXPECT_TRUE(numeric_addresses("localhost").empty());
  EXPECT_TRUE(numeric_addresses("").empty());
}

TEST(Lookups, AnswerAllWhoAsk) {
  AsioLoop loop;
  std::promise<void> done;
  int left = 100;
  loop.post([&] {
    for (int i = 0; i < 100; ++i) {
      look_up(loop, i % 2 == 0 ? "localhost" : "conclave.invalid", [&, i](const Addresses& found) {
        EXPECT_TRUE(loop.runs_here());
        EXPECT_EQ(found.has_value(), i % 2 == 0);
        if (--left == 0) done.set_value();
      });
    }
    EXPECT_EQ(left, 100);
  });
  EXPECT_TRUE(comes(done.get_future()));
}

TEST(Lookups, MayBeAskedAgainInTheAnswer) {
  AsioLoop loop;
  std::promise<void> done;
  loop.post([&] {
    look_up(loop, "localhost", [&](const Addresses&) {
      look_up(loop, "localhost", [&](const Addresses&) { done.set_value(); });
    });
  });
  EXPECT_TRUE(comes(done.get_future()));
}

TEST(Lookups, DoNotOutliveTheLoop) {
  for (int i = 0; i < 50; ++i) {
    AsioLoop loop;
    loop.post([&] { look_up(loop, "localhost", [](const Addresses&) {}); });
    if (i % 2 == 0) settle(loop);
  }
}

}  // namespace
}  // namespace conclave::net
