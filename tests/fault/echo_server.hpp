// A server that sends back what it gets, and remembers what happened to it.
#pragma once

#include <sys/socket.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "fault/socket.hpp"
#include "servers/reserved_port.hpp"

namespace conclave::fault {

inline constexpr std::chrono::seconds hang_guard{60};

class EchoServer {
 public:
  struct Seen {
    int accepted = 0;
    int ended = 0;  // by the client, in good order
    int reset = 0;
    std::string received;  // over all connections
  };

  EchoServer() : acceptor_([this] { accept_all(); }) {}
  ~EchoServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);  // wakes the thread
    acceptor_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const auto& each : sockets_) ::shutdown(each.get(), SHUT_RDWR);
    }
    for (auto& each : threads_) each.join();
  }
  EchoServer(const EchoServer&) = delete;
  EchoServer& operator=(const EchoServer&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_.number(); }
  [[nodiscard]] Seen seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  bool wait_until(const std::function<bool(const Seen&)>& is_so) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, hang_guard, [&] { return is_so(seen_); });
  }

 private:
  template <typename Change>
  void note(Change change) {
    const std::lock_guard lock(mutex_);
    change(seen_);
    changed_.notify_all();
  }

  void accept_all() {
    for (;;) {
      Socket socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket) return;
      const int descriptor = socket.get();
      note([&](Seen& seen) {
        ++seen.accepted;
        sockets_.push_back(std::move(socket));
      });
      threads_.emplace_back([this, descriptor] { echo(descriptor); });
    }
  }

  void echo(int socket) {
    std::array<char, 16384> bytes{};
    auto n = ::recv(socket, bytes.data(), bytes.size(), 0);
    while (n > 0 && send_back(socket, {bytes.data(), static_cast<std::size_t>(n)})) {
      n = ::recv(socket, bytes.data(), bytes.size(), 0);
    }
    // A reset is told once, to the reader or to the writer: the next call would see an end.
    note([&](Seen& seen) { ++(n == 0 ? seen.ended : seen.reset); });
    ::shutdown(socket, SHUT_WR);
  }

  bool send_back(int socket, std::string_view bytes) {
    note([&](Seen& seen) { seen.received += bytes; });
    while (!bytes.empty()) {
      const auto n = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  servers::ReservedPort port_;
  Socket listener_ = listener_at(port_.number(), 0);
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Seen seen_;
  std::list<Socket> sockets_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace conclave::fault
