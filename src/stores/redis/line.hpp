// One connection, kept up: it connects, greets the server, and connects again when it breaks, at
// once the first time and after growing, jittered pauses then: an eighth of a lease at most. What
// only a person can mend, such as a wrong password, is tried so for one lease; then it is left
// alone for up to a lease, or ten seconds where that is less.
#pragma once

#include <deque>
#include <memory>
#include <random>

#include "net/asio_loop.hpp"
#include "net/stream.hpp"
#include "stores/redis/greeting.hpp"
#include "stores/redis/reader.hpp"
#include "stores/redis/scripts.hpp"
#include "stores/redis/settings.hpp"

namespace conclave::redis {

class Line {
 public:
  struct Handlers {
    std::function<void(const Greeting&)> ready;
    std::function<void(RedisReply)> received;  // in the order of what was sent since `ready`
    std::function<void(const Error&)> broken;  // what was sent and not answered is in doubt
  };
  enum class Purpose { commands, news };  // only for commands the server's age matters

  Line(net::AsioLoop& loop, std::shared_ptr<const Settings> settings, Purpose purpose,
       Handlers handlers);
  ~Line() = default;
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  void open();  // unless it was before
  [[nodiscard]] bool is_ready() const noexcept { return state_ == State::ready; }
  // Why it is left alone for a while; nothing when it is not.
  [[nodiscard]] const std::optional<Error>& rests_for() const noexcept { return rests_for_; }
  void send(const Command& command) { wire_->stream.write(encode(command)); }
  void send_both(const Command& first, const Command& second) {
    wire_->stream.write(encode(first) + encode(second));
  }

  // This connection is of no use: the next one.
  void fail(const Error& why);

 private:
  enum class State { idle, connecting, greeting, noting, ready, pausing };

  // A connection and what came over it. It may be replaced while its bytes are dealt with.
  struct Wire {
    Wire(net::AsioLoop& loop, const net::Endpoint& endpoint, net::Stream::Handlers handlers)
        : stream(loop, endpoint, std::move(handlers)) {}
    net::Stream stream;
    Reader reader;
  };

  void connect();
  void gave_up_waiting();
  void wire_failed(Error why);
  [[nodiscard]] bool may_want_tls() const;
  void greet();
  void heard(std::string_view bytes);
  void took(RedisReply reply);
  void answered_greeting();
  void is_noted(const RedisReply& reply);
  void become_ready();
  void after(Duration wait, void (Line::*act)());
  [[nodiscard]] bool needs_a_person(const Error& why) const;
  [[nodiscard]] Duration pause();

  net::AsioLoop& loop_;
  const std::shared_ptr<const Settings> settings_;
  const Purpose purpose_;
  const Handlers handlers_;
  State state_ = State::idle;
  std::shared_ptr<Wire> wire_;
  std::vector<RedisReply> greetings_;  // replies to what is asked first
  std::size_t greetings_asked_ = 0;
  bool has_answered_ = false;  // the server, to a greeting of this or an earlier connection
  Greeting greeting_;
  Instant ready_since_{};
  unsigned failures_ = 0;  // in a row
  std::optional<Instant> troubled_since_;
  std::optional<Error> rests_for_;
  std::minstd_rand random_{std::random_device{}()};
  std::uint64_t step_ = 0;  // of the state; a timer of an earlier one does nothing
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace conclave::redis
