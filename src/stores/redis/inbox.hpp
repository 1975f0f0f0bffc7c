// What the server tells by itself: a connection that listens to channels.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "stores/redis/line.hpp"

namespace conclave::redis {

class Inbox {
 public:
  struct Handlers {
    // All channels that are wanted now; asked whenever a connection has been made.
    std::function<std::vector<std::string>()> wanted;
    std::function<void(const std::string& channel)> listening;  // to that one, from now on
    std::function<void(const std::string& channel, const std::string& letter)> heard;
    std::function<void(const Error&)> deaf;  // until `listening` is called again
  };

  Inbox(net::AsioLoop& loop, std::shared_ptr<const Settings> settings, Handlers handlers);

  void open() { line_.open(); }
  [[nodiscard]] bool is_connected() const noexcept { return line_.is_ready(); }

  // What is wanted has changed. Changes of one moment travel together.
  void subscribe(std::string channel) { change(std::move(channel), true); }
  void unsubscribe(std::string channel) { change(std::move(channel), false); }

 private:
  void change(std::string channel, bool wanted);
  void send_changes();
  void ready();
  void received(const RedisReply& reply);
  void ping();

  net::AsioLoop& loop_;
  const std::shared_ptr<const Settings> settings_;
  const Handlers handlers_;
  std::vector<std::pair<std::string, bool>> changes_;  // in their order
  bool sending_ = false;                               // it is on its way to be sent
  Instant last_heard_{};
  std::uint64_t connections_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Line line_;
};

}  // namespace conclave::redis
