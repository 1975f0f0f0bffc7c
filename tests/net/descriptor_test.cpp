// A watched descriptor: what is told, when, and what a fork takes along.
#include "net/descriptor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>

#include "net/children.hpp"
#include "net/peers.hpp"

namespace conclave::net {
namespace {

// A pair of sockets: one is watched, as if a library owned it, the other one is the peer.
class Watched {
 public:
  Watched() {
    on_loop([&] { watch = std::make_unique<Watch>(loop); });
  }
  ~Watched() {
    on_loop([&] {
      if (watch) close();
      watch.reset();
    });
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  // Closes what there is, and has another one: of the same number, when nobody else opens one.
  Peer connect() {
    std::array<int, 2> ends{-1, -1};
    const auto pair = [&] {
      if (socket >= 0) ::close(socket);
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()),
                0);
      ::fcntl(ends[1], F_SETFL, 0);
      socket = ends[0];
      return socket;
    };
    on_loop([&] { watch->replace(pair); });
    return Peer(ends[1]);
  }
  void close() {
    watch->replace([&] {
      if (socket >= 0) ::close(std::exchange(socket, -1));
      return -1;
    });
  }

  void on_loop(const std::function<void()>& task) {
    std::promise<void> done;
    loop.post([&] {
      task();
      done.set_value();
    });
    ASSERT_TRUE(comes(done.get_future()));
  }

  // What a turn of the loop or two may have brought has come.
  void settle() {
    for (int i = 0; i < 3; ++i) on_loop([] {});
  }

  [[nodiscard]] std::string read() const {
    std::array<char, 64> buffer{};
    const auto size = ::read(socket, buffer.data(), buffer.size());
    return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }

  AsioLoop loop;
  std::unique_ptr<Watch> watch;
  int socket = -1;
};

using Event = std::promise<void>;

TEST(Watch, TellsThatThereIsSomethingToRead) {
  Watched watched;
  Peer peer = watched.connect();
  Event event;
  watched.on_loop([&] { watched.watch->when_readable([&] { event.set_value(); }); });
  watched.settle();
  auto told = event.get_future();
  EXPECT_NE(told.wait_for(std::chrono::seconds{0}), std::future_status::ready);
  peer.write("hello");
  EXPECT_TRUE(comes(told));
  EXPECT_EQ(watched.read(), "hello");
}

TEST(Watch, TellsItAgainWhenAskedAgain) {
  Watched watched;
  Peer peer = watched.connect();
  peer.write("hello");
  for (int i = 0; i < 3; ++i) {  // nobody reads it
    Event event;
    watched.on_loop([&] { watched.watch->when_readable([&] { event.set_value(); }); });
    ASSERT_TRUE(comes(event.get_future())) << "in turn " << i;
  }
}

TEST(Watch, TellsThatThereIsRoomToWrite) {
  Watched watched;
  Peer peer = watched.connect();
  std::size_t sent = 0;
  while (::send(watched.socket, "x", 1, MSG_DONTWAIT) == 1) sent += 1;
  Event event;
  auto told = event.get_future();
  watched.on_loop([&] { watched.watch->when_writable([&] { event.set_value(); }); });
  watched.settle();
  EXPECT_NE(told.wait_for(std::chrono::seconds{0}), std::future_status::ready);
  EXPECT_EQ(peer.read(sent).size(), sent);
  EXPECT_TRUE(comes(told));
}

TEST(Watch, TellsTheEnd) {
  Watched watched;
  Peer peer = watched.connect();
  Event event;
  watched.on_loop([&] { watched.watch->when_readable([&] { event.set_value(); }); });
  peer.close();
  EXPECT_TRUE(comes(event.get_future()));
  EXPECT_EQ(watched.read(), "");
}

// The old one is closed, the new one may have its number.
TEST(Watch, WatchesWhatReplacedIt) {
  Watched watched;
  Peer old = watched.connect();
  watched.on_loop([&] {
    watched.watch->when_readable([] { ADD_FAILURE() << "told of a descriptor that is gone"; });
  });
  Peer peer = watched.connect();
  watched.settle();
  Event event;
  watched.on_loop([&] { watched.watch->when_readable([&] { event.set_value(); }); });
  peer.write("hello");
  EXPECT_TRUE(comes(event.get_future()));
}

TEST(Watch, ForgetsWhatIsClosedInUse) {
  Watched watched;
  Peer peer = watched.connect();
  watched.on_loop([&] {
    watched.watch->when_readable([] { ADD_FAILURE() << "told of a descriptor that is gone"; });
    watched.watch->use([&] {
      ::close(std::exchange(watched.socket, -1));
      return -1;
    });
    EXPECT_FALSE(watched.watch->has_descriptor());
  });
  watched.settle();
}

// A library closes its socket by itself, and the number has a new owner before the watch hears of
// it.
TEST(Watch, LeavesAloneWhoHasTheNumberNow) {
  Watched watched;
  const Peer gone = watched.connect();
  std::array<int, 2> ends{-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  Event event;
  std::unique_ptr<boost::asio::posix::stream_descriptor> owner;
  watched.on_loop([&] {
    watched.watch->use([&] {
      const int number = std::exchange(watched.socket, -1);
      EXPECT_EQ(::dup3(ends[0], number, O_CLOEXEC), number);
      owner =
          std::make_unique<boost::asio::posix::stream_descriptor>(watched.loop.context(), number);
      owner->async_wait(boost::asio::posix::descriptor_base::wait_read, [&](const auto& cancelled) {
        if (!cancelled) event.set_value();
      });
      return -1;
    });
  });
  EXPECT_FALSE(watched.watch->has_descriptor());
  EXPECT_EQ(::write(ends[1], "x", 1), 1);
  EXPECT_TRUE(comes(event.get_future()));
  watched.on_loop([&] { owner.reset(); });
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Watch, MayBeDestroyedByWhomItTells) {
  Watched watched;
  Peer peer = watched.connect();
  Event event;
  watched.on_loop([&] {
    const auto end = [&] {
      watched.close();
      watched.watch.reset();
      event.set_value();
    };
    watched.watch->when_writable(end);
    watched.watch->when_readable([] { ADD_FAILURE() << "told after its end"; });
  });
  EXPECT_TRUE(comes(event.get_future()));
  EXPECT_TRUE(peer.is_at_the_end());
}

TEST_F(Forks, TakeNoWatchedDescriptorAlong) {
  Watched watched;
  Peer peer = watched.connect();
  Gate gate;
  Child child([&] { return gate.wait_in_child(); });
  watched.on_loop([&] { watched.close(); });
  EXPECT_TRUE(peer.is_at_the_end()) << "the child keeps the connection";
  gate.open();
  EXPECT_TRUE(child.succeeds());
}

TEST_F(Forks, LeaveAWatchThatTheChildMayUseAndDestroy) {
  Watched watched;
  Peer peer = watched.connect();
  EXPECT_TRUE(child_says([&] {
    bool was_called = false;
    const auto call = [&] {
      was_called = true;
      return -1;
    };
    watched.watch->use(call);
    watched.watch->replace(call);
    watched.watch->when_readable([] {});
    const bool has_none = !watched.watch->has_descriptor();
    watched.watch.reset();
    return has_none && !was_called;
  }));
  Event event;
  watched.on_loop([&] { watched.watch->when_readable([&] { event.set_value(); }); });
  peer.write("hello");
  EXPECT_TRUE(comes(event.get_future()));
}

// What is closed in use() is not ours any more: a child keeps who has its number then.
TEST_F(Forks, TakeAlongWhoHasTheNumberNow) {
  Watched watched;
  Peer peer = watched.connect();
  int number = -1;
  watched.on_loop([&] {
    watched.watch->use([&] {
      number = std::exchange(watched.socket, -1);
      ::dup2(STDERR_FILENO, number);
      return -1;
    });
  });
  EXPECT_TRUE(child_says([&] { return ::fcntl(number, F_GETFD) >= 0; }));
  ::close(number);
}

}  // namespace
}  // namespace conclave::net
