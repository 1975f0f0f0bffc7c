// A server that answers as Redis does, unless the test wants another answer.
#pragma once

#include <sys/socket.h>

#include <array>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "fault/socket.hpp"
#include "servers/redis_client.hpp"
#include "servers/reserved_port.hpp"
#include "stores/redis/reader.hpp"
#include "stores/redis/replies.hpp"

namespace conclave::conformance {

class Impostor {
 public:
  // The bytes for one command; nothing: what the real server says.
  using Answer = std::function<std::optional<std::string>(const redis::Command&)>;

  explicit Impostor(std::uint16_t real_port)
      : real_port_(real_port), acceptor_([this] { accept_all(); }) {}
  ~Impostor() {
    ::shutdown(listener_.get(), SHUT_RDWR);  // wakes the thread
    acceptor_.join();
    {
      const std::scoped_lock lock(mutex_);
      for (const auto& each : sockets_) ::shutdown(each.get(), SHUT_RDWR);
    }
    for (auto& each : threads_) each.join();
  }
  Impostor(const Impostor&) = delete;
  Impostor& operator=(const Impostor&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_.number(); }

  void answer(Answer answer) {
    const std::scoped_lock lock(mutex_);
    answer_ = std::move(answer);
  }

 private:
  void accept_all() {
    for (;;) {
      fault::Socket socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket) return;
      const int descriptor = socket.get();
      const std::scoped_lock lock(mutex_);
      sockets_.push_back(std::move(socket));
      threads_.emplace_back([this, descriptor] { serve(descriptor); });
    }
  }

  void serve(int socket) {
    auto real = servers::RedisClient::at_port(real_port_);
    redis::Reader reader;
    std::array<char, 16384> bytes{};
    for (;;) {
      const auto n = ::recv(socket, bytes.data(), bytes.size(), 0);
      if (n <= 0) return;
      reader.feed({bytes.data(), static_cast<std::size_t>(n)});
      for (auto next = reader.next(); next && *next; next = reader.next()) {
        const std::string reply = reply_to(**next, real);
        ::send(socket, reply.data(), reply.size(), MSG_NOSIGNAL);
      }
    }
  }

  std::string reply_to(const RedisReply& request, servers::RedisClient& real) {
    redis::Command command;
    for (const RedisReply& each : *redis::elements_in(request)) {
      command.push_back(*redis::text_in(each));
    }
    {
      const std::scoped_lock lock(mutex_);
      const auto wanted = answer_ ? answer_(command) : std::nullopt;
      if (wanted) return *wanted;
    }
    // Messages of the real server would come unasked.
    if (command[0] == "SUBSCRIBE") return "-NOPERM this user may not subscribe\r\n";
    return encoded(real.ask(command));
  }

  static std::string encoded(const servers::Reply& reply) {
    using Kind = servers::Reply::Kind;
    switch (reply.kind) {
      case Kind::nothing: return "$-1\r\n";
      case Kind::status: return "+" + reply.text + "\r\n";
      case Kind::error: return "-" + reply.text + "\r\n";
      case Kind::text:
        return "$" + std::to_string(reply.text.size()) + "\r\n" + reply.text + "\r\n";
      case Kind::number: return ":" + std::to_string(reply.number) + "\r\n";
      case Kind::list: break;
    }
    std::string bytes = "*" + std::to_string(reply.elements.size()) + "\r\n";
    for (const auto& each : reply.elements) bytes += encoded(each);
    return bytes;
  }

  const std::uint16_t real_port_;
  servers::ReservedPort port_;
  fault::Socket listener_ = fault::listener_at(port_.number(), 0);
  std::mutex mutex_;
  Answer answer_;
  std::list<fault::Socket> sockets_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace conclave::conformance
