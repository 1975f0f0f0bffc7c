// Streams and fork().
#include <fcntl.h>
#include <gtest/gtest.h>

#include "net/children.hpp"
#include "net/probe.hpp"
#include "net/tls_server.hpp"

namespace conclave::net {
namespace {

// Uses and destroys the stream as a child may.
bool is_let_alone(Probe& probe) {
  probe.stream().write("from the child");
  probe.stream().close();
  probe.owner().reset();
  return true;
}

TEST_F(Forks, TakeNoStreamAlong) {
  Listener listener;
  Probe probe(listener.listen().endpoint());
  Peer peer = listener.accept();
  ASSERT_TRUE(probe.connects());
  Gate gate;
  Child child([&] { return gate.wait_in_child(); });
  probe.destroy();
  EXPECT_TRUE(peer.is_at_the_end()) << "the child keeps the connection";
  gate.open();
  EXPECT_TRUE(child.succeeds());
}

TEST_F(Forks, LeaveAStreamThatTheChildMayUseAndDestroy) {
  Listener listener;
  Probe probe(listener.listen().endpoint());
  Peer peer = listener.accept();
  ASSERT_TRUE(probe.connects());
  EXPECT_TRUE(child_says([&] { return is_let_alone(probe); }));
  probe.write("from the parent");
  EXPECT_EQ(peer.read(15), "from the parent");
  probe.destroy();
  EXPECT_TRUE(peer.is_at_the_end());
}

// The number of the socket may have a new owner in the child.
TEST_F(Forks, LeaveAStreamThatClosesNothingInTheChild) {
  Listener listener;
  Probe probe(listener.listen().endpoint());
  ASSERT_TRUE(probe.connects());
  EXPECT_TRUE(child_says([&] {
    std::array<bool, 64> used{};
    for (int i = 3; i < 64; ++i) {
      const bool is_free = ::fcntl(i, F_GETFD) < 0;
      used[static_cast<std::size_t>(i)] = is_free && ::dup2(STDERR_FILENO, i) == i;
    }
    static_cast<void>(is_let_alone(probe));
    for (int i = 3; i < 64; ++i) {
      if (used[static_cast<std::size_t>(i)] && ::fcntl(i, F_GETFD) < 0) return false;
    }
    return true;
  }));
}

// A goodbye of TLS from the child would end the parent's session.
TEST_F(Forks, LeaveATlsSessionToTheParent) {
  Certificates certificates;
  const auto authority = certificates.authority("authority");
  TlsServer there({.certificate = certificates.issue(authority, "server", "IP:127.0.0.1")});
  Probe probe(there.endpoint({.ca_file = authority.file}));
  ASSERT_TRUE(probe.connects()) << probe.fails().message;
  EXPECT_TRUE(child_says([&] { return is_let_alone(probe); }));
  probe.write("hello");
  EXPECT_EQ(probe.receives(5), "hello");
  probe.destroy();
  EXPECT_TRUE(there.visit(0).goodbye);
}

// At whatever moment of connecting the fork comes: the child keeps nothing, and does not hang.
TEST_F(Forks, AtAnyMomentTakeNoStreamAlong) {
  Listener listener;
  listener.listen();
  auto endpoint = listener.endpoint();
  for (int turn = 0; turn < 60; ++turn) {
    endpoint.host = turn % 2 == 0 ? "127.0.0.1" : "localhost";
    Gate gate;
    Probe probe(endpoint);
    Child child([&] { return is_let_alone(probe) && gate.wait_in_child(); });
    ASSERT_TRUE(probe.connects()) << "in turn " << turn;
    Peer peer = listener.accept();
    probe.destroy();
    ASSERT_TRUE(peer.is_at_the_end()) << "in turn " << turn;
    gate.open();
    EXPECT_TRUE(child.succeeds());
  }
}

}  // namespace
}  // namespace conclave::net
