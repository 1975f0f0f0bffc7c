#include "net/stream.hpp"

#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "net/peers.hpp"
#include "net/probe.hpp"

namespace conclave::net {
namespace {

std::string unix_path() {
  return ::testing::TempDir() + "conclave_stream_" + std::to_string(::getpid());
}

void converse(const Listener& listener, Endpoint endpoint) {
  Probe probe(std::move(endpoint));
  Peer peer = listener.accept();
  ASSERT_TRUE(probe.connects());
  probe.write("hello");
  EXPECT_EQ(peer.read(5), "hello");
  peer.write("good morning");
  EXPECT_EQ(probe.receives(12), "good morning");
  probe.destroy();
  EXPECT_TRUE(peer.is_at_the_end());
  EXPECT_FALSE(probe.has_failed());
}

// ---------------------------------------------------------------- endpoints

TEST(Endpoints, HaveAName) {
  EXPECT_EQ(to_string(Endpoint{.host = "127.0.0.1", .port = 6379}), "127.0.0.1:6379");
  EXPECT_EQ(to_string(Endpoint{.host = "redis.example", .port = 1}), "redis.example:1");
  EXPECT_EQ(to_string(Endpoint{.host = "::1", .port = 6379}), "[::1]:6379");
  EXPECT_EQ(to_string(Endpoint{.unix_path = "/run/redis.sock"}), "unix:/run/redis.sock");
}

// ---------------------------------------------------------------- connecting

TEST(Streams, GoToAnAddress) {
  Listener listener;
  converse(listener.listen(), listener.endpoint());
}

TEST(Streams, GoToAName) {
  Listener listener;
  auto endpoint = listener.listen().endpoint();
  endpoint.host = "localhost";
  converse(listener, endpoint);
}

TEST(Streams, GoToAUnixSocket) {
  Listener listener(unix_path());
  converse(listener.listen(), listener.endpoint());
}

TEST(Streams, SendAtOnceAndNoticeDeadHosts) {
  Listener listener;
  Probe probe(listener.listen().endpoint());
  const Peer peer = listener.accept();
  ASSERT_TRUE(probe.connects());
  sockaddr_in there{};
  int found = 0;
  for (int each = 3; each < 256; ++each) {
    socklen_t size = sizeof there;
    const bool is_socket = ::getpeername(each, reinterpret_cast<sockaddr*>(&there), &size) == 0;
    if (!is_socket || there.sin_port != listener.address().sin_port) continue;
    int no_delay = 0;
    int keep_alive = 0;
    size = sizeof no_delay;
    ::getsockopt(each, IPPROTO_TCP, TCP_NODELAY, &no_delay, &size);
    ::getsockopt(each, SOL_SOCKET, SO_KEEPALIVE, &keep_alive, &size);
    EXPECT_NE(no_delay, 0);
    EXPECT_NE(keep_alive, 0);
    found += 1;
  }
  EXPECT_EQ(found, 1);
}

TEST(Streams, SayThatNobodyListens) {
  const Listener deaf;
  Probe probe(deaf.endpoint());
  const Error error = probe.fails();
  EXPECT_TRUE(says(error, {"cannot connect to " + to_string(deaf.endpoint()) + ": nobody listens",
                           "is the server running"}));
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_TRUE(error.retryable);
  EXPECT_FALSE(error.in_doubt);
  EXPECT_EQ(probe.connected(), 0);
}

TEST(Streams, SayThatAHostIsNotFound) {
  Probe probe({.host = "conclave.invalid", .port = 6379});
  const Error error = probe.fails();
  EXPECT_TRUE(
      says(error, {"cannot connect to conclave.invalid:6379: the host conclave.invalid", "DNS"}));
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_TRUE(error.retryable);
}

TEST(Streams, SayThatThereIsNoHost) {
  Probe probe({.port = 6379});
  EXPECT_TRUE(says(probe.fails(), {"names no host"}));
}

TEST(Streams, SayWhatIsWrongWithAUnixSocket) {
  const std::string path = unix_path();
  Probe missing({.unix_path = path});
  EXPECT_TRUE(says(missing.fails(), {"unix:" + path, "no such socket"}));
  EXPECT_TRUE(missing.fails().retryable);
  const Listener deaf(path);
  Probe refused(deaf.endpoint());
  EXPECT_TRUE(says(refused.fails(), {"unix:" + path, "nobody listens"}));
  Probe long_one({.unix_path = "/tmp/" + std::string(200, 'x')});
  EXPECT_TRUE(says(long_one.fails(), {"at most 107 bytes"}));
  EXPECT_EQ(long_one.fails().code, ErrorCode::invalid_argument);
}

// The kernel refuses it at once, and a wait for its answer would end as if there were a connection.
TEST(Streams, SayThatAUnixSocketIsBusy) {
  Listener listener(unix_path());
  listener.listen(0);
  Probe first(listener.endpoint());
  ASSERT_TRUE(first.connects());
  Probe second(listener.endpoint());
  EXPECT_TRUE(says(second.fails(), {"queue of new connections is full"}));
  EXPECT_EQ(second.connected(), 0);
}

TEST(Streams, MayBeDestroyedWhileTheyConnect) {
  Listener listener;
  listener.listen();
  auto by_name = listener.endpoint();
  by_name.host = "localhost";
  for (const auto& endpoint : {listener.endpoint(), by_name}) {
    AsioLoop loop;
    loop.post([&] { const Stream stream(loop, endpoint, {.connected = [] { ADD_FAILURE(); }}); });
    settle(loop);
    settle(loop);
  }
}

TEST(Streams, SayWhatTheyWaitFor) {
  Listener listener;
  auto endpoint = listener.listen().endpoint();
  Probe plain(endpoint);
  ASSERT_TRUE(plain.connects());
  plain.on_loop([&] { EXPECT_EQ(plain.stream().waits_for(), "bytes"); });
  const Peer first = listener.accept();
  endpoint.tls.emplace();
  Probe secret(endpoint);
  Peer second = listener.accept();
  EXPECT_FALSE(second.read_once().empty());  // the first step of the handshake
  secret.on_loop([&] { EXPECT_EQ(secret.stream().waits_for(), "an answer to the TLS handshake"); });
}

// ---------------------------------------------------------------- bytes

TEST(Streams, KeepWhatIsWrittenBeforeThereIsAConnection) {
  Listener listener;
  listener.listen();
  AsioLoop loop;
  std::unique_ptr<Stream> stream;
  loop.post([&] {
    stream = std::make_unique<Stream>(loop, listener.endpoint(), Stream::Handlers{});
    for (const char* each : {"one ", "two ", "", "three"}) stream->write(each);
  });
  Peer peer = listener.accept();
  EXPECT_EQ(peer.read(13), "one two three");
  loop.post([&] { stream.reset(); });
  settle(loop);
}

TEST(Streams, SendTheFirstAtOnceAndTheRestOfATurnInOneGo) {
  Listener listener;
  Probe probe(listener.listen().endpoint());
  Peer peer = listener.accept();
  ASSERT_TRUE(probe.connects());
  for (int turn = 0; turn < 10; ++turn) {
    probe.on_loop([&] {
      for (int i = 0; i < 1000; ++i) probe.stream().write("0123456789");
    });
    EXPECT_EQ(peer.read(10), "0123456789");
    EXPECT_EQ(peer.read_once().size(), 9990U);
  }
}

TEST(Streams, CarryALotBothWays) {
  Listener listener;
  Probe probe(listener.listen().endpoint());
  Peer peer = listener.accept();
  const auto text = long_text(16U << 20U);
  probe.write(text);
  probe.write("and more");
  EXPECT_EQ(peer.read(text.size() + 8), text + "and more");
  peer.write(text);
  EXPECT_EQ(probe.receives(text.size()), text);
}

// ---------------------------------------------------------------- the end

TEST(Streams, SayThatTheServerClosedThem) {
  Listener listener;
  Probe probe(listener.listen().endpoint());
  Peer peer = listener.accept();
  peer.write("last words");
  peer.close();
  const Error error = probe.fails();
  EXPECT_EQ(error.message,
            "the connection to " + to_string(listener.endpoint()) + " was closed by the server");
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_TRUE(error.retryable);
  EXPECT_EQ(probe.receives(10), "last words");
}

TEST(Streams, EndWhenTheServerOnlyStopsSending) {
  Listener listener;
  Probe probe(listener.listen().endpoint());
  Peer peer = listener.accept();
  peer.end_writing();
  EXPECT_TRUE(says(probe.fails(), {"was closed by the server"}));
  EXPECT_TRUE(peer.is_at_the_end());
}

TEST(Streams, SayThatTheyBroke) {
  Listener listener;
  Probe probe(listener.listen().endpoint());
  ASSERT_TRUE(probe.connects());
  listener.accept().reset();
  EXPECT_TRUE(says(probe.fails(), {to_string(listener.endpoint()), "broke: Connection reset"}));
}

// A server says "too many clients" and closes without having read: this side cannot send any more,
// but the words are there.
TEST(Streams, HearTheLastWordsOfAServerThatDoesNotRead) {
  Listener listener;
  Probe probe(listener.listen().endpoint());
  Peer peer = listener.accept();
  ASSERT_TRUE(probe.connects());
  probe.on_loop([&] {
    peer.write("too many clients");
    peer.close();
    probe.stream().write("one");
  });
  for (int i = 0; i < 100 && !probe.has_failed(); ++i) probe.write("more");
  EXPECT_EQ(probe.fails().code, ErrorCode::unavailable);
  EXPECT_EQ(probe.receives(16), "too many clients");
}

TEST(Streams, AreSilentAfterTheirEnd) {
  Listener listener;
  Probe probe(listener.listen().endpoint());
  Peer peer = listener.accept();
  ASSERT_TRUE(probe.connects());
  probe.on_loop([&] {
    peer.write("unheard");
    probe.stream().write("unsent");
    probe.stream().close();
    probe.stream().write("unsent");
    probe.stream().close();
  });
  settle(probe.loop());
  EXPECT_FALSE(probe.has_failed());
  EXPECT_EQ(probe.connected(), 1);
  probe.when_received = [] { ADD_FAILURE(); };
  settle(probe.loop());
}

TEST(Streams, TakeNothingAfterTheyFailed) {
  Listener listener;
  Probe probe(listener.listen().endpoint());
  listener.accept().close();
  EXPECT_FALSE(probe.fails().message.empty());
  probe.write("unsent");
  probe.close();
  settle(probe.loop());
}

TEST(Streams, MayBeDestroyedInTheirHandlers) {
  Listener listener;
  listener.listen();
  for (const bool only_close : {false, true}) {
    for (int which = 0; which < 3; ++which) {
      AsioLoop loop;
      std::unique_ptr<Stream> stream;
      std::promise<void> ended;
      int calls = 0;
      const auto handle = [&](int handler) {
        EXPECT_LE(handler, which);
        if (handler != which) return;
        EXPECT_EQ(++calls, 1);
        stream->write("the last words");
        only_close ? stream->close() : stream.reset();
        ended.set_value();
      };
      loop.post([&] {
        stream = std::make_unique<Stream>(
            loop, listener.endpoint(),
            Stream::Handlers{.connected = [&] { handle(0); },
                             .received = [&](std::string_view) { handle(1); },
                             .failed = [&](const Error&) { handle(2); }});
      });
      Peer peer = listener.accept();
      if (which == 1) peer.write(long_text(50000));
      if (which == 2) peer.close();
      EXPECT_TRUE(comes(ended.get_future()));
      settle(loop);
      // The first bytes of a turn go at once.
      if (which == 0) {
        EXPECT_EQ(peer.read(14), "the last words");
      }
      loop.post([&] { stream.reset(); });
      settle(loop);
    }
  }
}

}  // namespace
}  // namespace conclave::net
