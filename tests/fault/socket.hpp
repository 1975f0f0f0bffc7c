// A descriptor with one owner, and the few things that are done to TCP sockets here.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include "servers/reserved_port.hpp"

namespace conclave::fault {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket() { close(); }

  [[nodiscard]] int get() const noexcept { return descriptor_; }
  explicit operator bool() const noexcept { return descriptor_ >= 0; }

  void close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }
  // The other side is told with an RST, whatever is still to be sent.
  void reset() {
    const linger at_once{1, 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
  }

 private:
  int descriptor_ = -1;
};

[[noreturn]] inline void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// Small pieces are to travel when they are sent.
inline void send_at_once(const Socket& socket) {
  const int yes = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

// `flags`: SOCK_NONBLOCK, or none.
inline Socket listener_at(std::uint16_t port, int flags) {
  Socket listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  const int yes = 1;
  const auto address = servers::loopback(port);
  if (!listener || ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener.get(), SOMAXCONN) != 0) {
    fail("cannot listen at port " + std::to_string(port));
  }
  return listener;
}

}  // namespace conclave::fault
