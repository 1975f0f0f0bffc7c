#include "net/connect.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <list>
#include <system_error>

namespace conclave::net {
namespace {

constexpr std::chrono::milliseconds moment{100};

struct Reason {
  int number;
  ErrorCode code;
  const char* words;
  bool retryable = true;
};

constexpr std::array reasons{
    Reason{ECONNREFUSED, ErrorCode::unavailable,
           "nobody listens there: is the server running, and is this where it listens?"},
    Reason{ENOENT, ErrorCode::unavailable,
           "there is no such socket: is the server running, and is this its path?"},
    Reason{ENOTSOCK, ErrorCode::invalid_argument, "that file is no socket: correct the path",
           false},
    Reason{EACCES, ErrorCode::denied,
           "this process has no right to connect there: mend the rights, or the firewall", false},
    Reason{EPERM, ErrorCode::denied,
           "this process has no right to connect there: mend the rights, or the firewall", false},
    Reason{ENETUNREACH, ErrorCode::unavailable, "this machine has no route to it"},
    Reason{EHOSTUNREACH, ErrorCode::unavailable, "this machine has no route to it"},
    Reason{ETIMEDOUT, ErrorCode::unavailable,
           "it does not answer: is the host up, and does a firewall stand between?"},
    Reason{EAGAIN, ErrorCode::unavailable, "its queue of new connections is full"},
    Reason{EMFILE, ErrorCode::unavailable,
           "this process has too many open files: raise its limit (ulimit -n)"},
};

Error because(int number) {
  for (const Reason& each : reasons) {
    if (each.number == number) return {each.code, each.words, each.retryable, false};
  }
  return {ErrorCode::unavailable, std::generic_category().message(number), true, false};
}

void set(int descriptor, int level, int option) {
  const int on = 1;
  ::setsockopt(descriptor, level, option, &on, sizeof on);
}

Descriptor open_socket(int family) {
  auto opened = Descriptor::opened_by(
      [&] { return ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
  if (opened && family != AF_UNIX) {
    set(opened.get(), IPPROTO_TCP, TCP_NODELAY);
    set(opened.get(), SOL_SOCKET, SO_KEEPALIVE);
  }
  return opened;
}

// A port nobody listens at may be the very one that the kernel chose for this end: then TCP
// connects the socket to itself.
bool is_connected_to_itself(int descriptor) {
  SocketAddress here;
  SocketAddress there;
  here.size = there.size = sizeof here.bytes;
  auto* const here_bytes = reinterpret_cast<sockaddr*>(&here.bytes);
  auto* const there_bytes = reinterpret_cast<sockaddr*>(&there.bytes);
  return ::getsockname(descriptor, here_bytes, &here.size) == 0 &&
         ::getpeername(descriptor, there_bytes, &there.size) == 0 &&
         here.bytes.ss_family != AF_UNIX && here.size == there.size &&
         std::memcmp(&here.bytes, &there.bytes, here.size) == 0;
}

int outcome_of(int descriptor) {
  int failure = 0;
  socklen_t size = sizeof failure;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failure, &size) != 0) return errno;
  return failure == 0 && is_connected_to_itself(descriptor) ? ECONNREFUSED : failure;
}

Addresses unix_address(const std::string& path) {
  sockaddr_un bytes{};
  if (path.size() >= sizeof bytes.sun_path) {
    return invalid_argument("the path of a Unix socket has at most " +
                            std::to_string(sizeof bytes.sun_path - 1) +
                            " bytes: use a shorter one, such as a symbolic link");
  }
  bytes.sun_family = AF_UNIX;
  std::memcpy(static_cast<char*>(bytes.sun_path), path.c_str(), path.size() + 1);
  SocketAddress address;
  std::memcpy(&address.bytes, &bytes, sizeof bytes);
  address.size = sizeof bytes;
  return std::vector{address};
}

void set_port(SocketAddress& address, std::uint16_t port) {
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  const auto in_network_order = htons(port);
  std::memcpy(reinterpret_cast<char*>(&address.bytes) + offsetof(sockaddr_in, sin_port),
              &in_network_order, sizeof in_network_order);
}

// A socket that has not connected yet.
struct Attempt {
  explicit Attempt(boost::asio::io_context& context) : waiter(context) {}
  ~Attempt() { let_go(); }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  void let_go() {
    if (waiter.is_open()) waiter.release();
  }

  Descriptor socket{};
  boost::asio::posix::stream_descriptor waiter;  // borrows it; declared after it, so gone before
};

}  // namespace

struct Connecting::Core : std::enable_shared_from_this<Core> {
  Core(AsioLoop& runs_on, const Endpoint& to, Done tell)
      : loop(runs_on), endpoint(to), done(std::move(tell)) {}

  // Later, if it still matters then.
  void soon(void (Core::*what)()) {
    boost::asio::post(loop.context(), [what, self = weak_from_this()] {
      if (const auto core = self.lock()) (core.get()->*what)();
    });
  }

  void begin() {
    if (!addresses.empty()) return try_next();
    if (!endpoint.unix_path.empty()) return found(unix_address(endpoint.unix_path));
    if (endpoint.host.empty()) return end(invalid_argument("it names no host"));
    if (auto numeric = numeric_addresses(endpoint.host); !numeric.empty()) return found(numeric);
    looking_up = true;
    look_up(loop, endpoint.host, [self = weak_from_this()](const Addresses& result) {
      if (const auto core = self.lock()) core->found(result);
    });
  }

  void found(const Addresses& result) {
    looking_up = false;
    if (!result) return end(result.error());
    addresses = *result;
    for (auto& each : addresses) {
      if (each.bytes.ss_family != AF_UNIX) set_port(each, endpoint.port);
    }
    try_next();
  }

  void try_next() {
    while (next < addresses.size()) {
      if (try_address(addresses[next++])) return;
    }
    if (attempts.empty() && done) end(because(first_failure));
  }

  // False when it has failed at once.
  bool try_address(const SocketAddress& address) {
    auto& attempt = attempts.emplace_back(loop.context());
    attempt.socket = open_socket(address.bytes.ss_family);
    const int socket = attempt.socket.get();
    const auto* const bytes = reinterpret_cast<const sockaddr*>(&address.bytes);
    const int failure =
        socket < 0 || ::connect(socket, bytes, address.size) != 0 ? errno : outcome_of(socket);
    if (failure == 0) {
      win(attempt);
      return true;
    }
    boost::system::error_code unwatched;
    if (failure == EINPROGRESS) attempt.waiter.assign(socket, unwatched);
    if (failure != EINPROGRESS || unwatched) {
      fail(attempt, unwatched ? unwatched.value() : failure);
      return false;
    }
    attempt.waiter.async_wait(
        boost::asio::posix::stream_descriptor::wait_write,
        [self = weak_from_this(), &attempt](const boost::system::error_code& cancelled) {
          const auto core = self.lock();
          if (!cancelled && core != nullptr && core->done) core->answered(attempt);
        });
    if (next == addresses.size()) return true;
    loop.post_at(loop.clock().now() + moment, [self = weak_from_this(), tried = next] {
      const auto core = self.lock();
      if (core != nullptr && core->done && core->next == tried) core->try_next();
    });
    return true;
  }

  void answered(Attempt& attempt) {
    const int failure = outcome_of(attempt.socket.get());
    if (failure == 0) return win(attempt);
    fail(attempt, failure);
    try_next();
  }

  void win(Attempt& attempt) {
    attempt.let_go();
    auto socket = std::move(attempt.socket);
    attempts.clear();
    std::exchange(done, {})(std::move(socket));
  }

  // The system puts the likeliest address first: its failure says most.
  void fail(Attempt& attempt, int failure) {
    if (first_failure == 0) first_failure = failure;
    attempts.remove_if([&](const Attempt& each) { return &each == &attempt; });
  }

  void end(Error error) {
    error.message = "cannot connect to " + to_string(endpoint) + ": " + error.message;
    std::exchange(done, {})(std::move(error));
  }

  AsioLoop& loop;
  const Endpoint endpoint;
  Done done;  // none when it has been told
  bool looking_up = false;
  std::vector<SocketAddress> addresses{};
  std::size_t next = 0;
  std::list<Attempt> attempts{};
  int first_failure = 0;
};

Connecting::Connecting(AsioLoop& loop, const Endpoint& endpoint, Done done)
    : Connecting(loop, endpoint, {}, std::move(done)) {}

Connecting::Connecting(AsioLoop& loop, const Endpoint& endpoint,
                       std::vector<SocketAddress> addresses, Done done)
    : core_(std::make_shared<Core>(loop, endpoint, std::move(done))) {
  core_->addresses = std::move(addresses);
  core_->soon(&Core::begin);
}

bool Connecting::is_looking_up() const { return core_->looking_up; }

}  // namespace conclave::net
