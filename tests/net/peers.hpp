// The server's side of a test: plain sockets that block, with a hang guard.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "net/endpoint.hpp"
#include "net/fork.hpp"
#include "net/waiting.hpp"

namespace conclave::net {

inline void set_hang_guard(int socket) {
  const timeval limit{hang_guard.count(), 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

// One connection, as the server has it.
class Peer {
 public:
  explicit Peer(int socket) : socket_(socket) { set_hang_guard(socket); }

  // What one system call gives; "" at the end.
  std::string read_once(std::size_t most = 65536) {
    std::array<char, 65536> buffer{};
    const auto size = ::recv(socket_.get(), buffer.data(), std::min(most, buffer.size()), 0);
    EXPECT_GE(size, 0) << std::strerror(errno);
    return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }

  std::string read(std::size_t size) {
    std::string text;
    while (text.size() < size) {
      const auto more = read_once(size - text.size());
      if (more.empty()) break;
      text += more;
    }
    return text;
  }

  bool is_at_the_end() {
    char byte = 0;
    return ::recv(socket_.get(), &byte, 1, 0) == 0;
  }

  void write(std::string_view text) {
    while (!text.empty()) {
      const auto size = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      ASSERT_GT(size, 0) << std::strerror(errno);
      text.remove_prefix(static_cast<std::size_t>(size));
    }
  }

  void end_writing() { ::shutdown(socket_.get(), SHUT_WR); }
  void close() { socket_.reset(); }

  // Not politely: the other side sees a broken connection.
  void reset() {
    const linger at_once{1, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
  }

  [[nodiscard]] int get() const { return socket_.get(); }

 private:
  Descriptor socket_;
};

// Listens at a port of its own on 127.0.0.1, or at a Unix socket.
class Listener {
 public:
  Listener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    auto* const bytes = reinterpret_cast<sockaddr*>(&address_);
    EXPECT_EQ(::bind(socket_.get(), bytes, size), 0);
    EXPECT_EQ(::getsockname(socket_.get(), bytes, &size), 0);
    endpoint_ = {.host = "127.0.0.1", .port = ntohs(address_.sin_port)};
    set_hang_guard(socket_.get());
  }

  explicit Listener(const std::string& path)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(static_cast<char*>(address.sun_path), path.c_str(), sizeof address.sun_path - 1);
    ::unlink(path.c_str());
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    endpoint_.unix_path = path;
    set_hang_guard(socket_.get());
  }

  ~Listener() {
    if (!endpoint_.unix_path.empty()) ::unlink(endpoint_.unix_path.c_str());
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  Listener& listen(int backlog = 16) {
    EXPECT_EQ(::listen(socket_.get(), backlog), 0);
    return *this;
  }

  [[nodiscard]] int accept_socket() const {
    return ::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC);
  }
  [[nodiscard]] Peer accept() const {
    const int accepted = accept_socket();
    EXPECT_GE(accepted, 0) << std::strerror(errno);
    return Peer(accepted);
  }

  void stop() const { ::shutdown(socket_.get(), SHUT_RDWR); }

  [[nodiscard]] const Endpoint& endpoint() const { return endpoint_; }
  [[nodiscard]] const sockaddr_in& address() const { return address_; }

 private:
  Descriptor socket_;
  sockaddr_in address_{};
  Endpoint endpoint_{};
};

}  // namespace conclave::net
