// What the server tells by itself: a connection that listens to channels.
#pragma once

#include <deque>
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
    // The same, and somebody has to grant something. It is asked for again now and then.
    std::function<void(const Error&)> refused;
  };

  Inbox(net::AsioLoop& loop, std::shared_ptr<const Settings> settings, Handlers handlers);

  void open() { line_.open(); }
  [[nodiscard]] bool is_connected() const noexcept { return line_.is_ready(); }

  // What is wanted has changed. Changes of one moment travel together.
  void subscribe(std::string channel) { change(std::move(channel), true); }
  void unsubscribe(std::string channel) { change(std::move(channel), false); }

  // What the server says against what a listener does, tried on a channel of nobody. An error when
  // there is no connection within the request time-out.
  using Refusals = std::vector<std::string>;
  void try_rights(const std::string& channel, std::function<void(Result<Refusals>)> done);

 private:
  struct Sent {
    std::string_view verb{};
    std::size_t replies = 1;  // one for each channel; an error is the only one
    bool on_trial = false;
  };
  struct Trial {
    std::string channel{};
    std::vector<std::function<void(Result<Refusals>)>> done{};
    Refusals refusals{};
  };

  void change(std::string channel, bool wanted);
  void send_changes();
  void send(const Command& command, bool on_trial = false);
  void ask_for_all();
  void ready();
  void broken(const Error& why);
  void received(const RedisReply& reply);
  void refused(const Sent& what, const RedisError& error);
  void ping();
  void send_trial();
  void end_trial(const Result<Refusals>& with);

  net::AsioLoop& loop_;
  const std::shared_ptr<const Settings> settings_;
  const Handlers handlers_;
  std::vector<std::pair<std::string, bool>> changes_;  // in their order
  bool sending_ = false;                               // it is on its way to be sent
  std::deque<Sent> sent_;                              // and not answered
  std::shared_ptr<Trial> trial_;
  Instant last_heard_{};
  std::uint64_t connections_ = 0;
  std::uint64_t asks_again_on_ = 0;  // of the connections; 0 where no timer runs
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Line line_;
};

}  // namespace conclave::redis
