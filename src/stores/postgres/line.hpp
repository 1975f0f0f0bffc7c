// One connection, kept up: it connects, sets the session up, and connects again when it breaks.
// session.hpp says when.
#pragma once

#include <memory>
#include <random>

#include "net/asio_loop.hpp"
#include "stores/postgres/hosts.hpp"
#include "stores/postgres/wire.hpp"

namespace conclave::postgres {

class Line {
 public:
  struct Greeted {  // what a statement of the setup gave
    Answer answer{};
    Instant sent{};
    Instant received{};
  };
  // Each may destroy the line.
  struct Handlers {
    std::function<std::vector<Statement>()> setup;
    std::function<std::optional<Error>(std::vector<Greeted>)> greeted;  // or why it will not do
    std::function<void()> ready;
    std::function<void(Answer)> answered;
    std::function<void(std::string channel, std::string payload)> notified;
    std::function<void(const Error&)> losing;  // one that was ready; it is not closed yet
    std::function<void(const Error&)> broken;  // it is
  };

  // On a connection of the application, where there is one: it is not replaced when it breaks.
  Line(net::AsioLoop& loop, std::shared_ptr<const Settings> settings,
       std::shared_ptr<pg_conn> adopted, Handlers handlers);
  ~Line() = default;
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  void open();   // unless it was before
  void close();  // for good, without a word
  void send(const Statement& statement);
  // This connection is of no use: the next one.
  void fail(Error why);

  [[nodiscard]] bool is_ready() const noexcept { return state_ == State::ready; }
  [[nodiscard]] bool is_closed() const noexcept { return state_ == State::closed; }
  // Why it is left alone for a while, or for good; nothing when it is not.
  [[nodiscard]] const std::optional<Error>& rests_for() const noexcept { return rests_for_; }
  [[nodiscard]] bool is_pooled() const noexcept { return is_pooled_; }
  // The server has said that nothing may be written any more (default_transaction_read_only). Never
  // behind a pooler, and before version 14.
  [[nodiscard]] bool only_reads() const;
  [[nodiscard]] pg_conn* get() const { return wire_ != nullptr ? wire_->get() : nullptr; }

 private:
  enum class State { idle, connecting, setting_up, ready, pausing, closed };

  void connect();
  void resolved(const Result<std::vector<Target>>& found);
  [[nodiscard]] Wire::Handlers wire_handlers();
  void gave_up_waiting();
  void begin_after(const std::string& address);
  void set_up();
  void send_setup();
  void answered(Answer answer);
  void know_self(const Rows& rows);
  void greet();
  void plan_next(const Error& why, bool was_ready);
  [[nodiscard]] Duration pause();
  void enter(State next);
  void after(Duration wait, std::function<void()> act);

  net::AsioLoop& loop_;
  const std::shared_ptr<const Settings> settings_;
  const bool is_adopted_;
  std::shared_ptr<pg_conn> adopted_;  // until it is used
  const Handlers handlers_;
  State state_ = State::idle;
  std::uint64_t step_ = 0;  // of the state; a timer of an earlier one does nothing
  std::unique_ptr<Wire> wire_;
  std::vector<Target> tried_;
  std::size_t first_ = 0;  // which of them
  Duration limit_{};       // of this attempt
  bool is_pooled_ = false;
  std::vector<Statement> setup_;
  std::ptrdiff_t ours_ = 0;  // of them come first
  std::vector<Greeted> greetings_;
  Instant sent_{};
  Instant ready_since_{};
  Instant answered_at_{};  // while it was ready
  // The session that we are, as the server knows it, or were last. Not behind a pooler.
  struct Known {
    std::optional<std::string> pid{"0"};
    std::optional<std::string> start{};
  };
  Known before_{};
  unsigned failures_ = 0;  // in a row
  std::optional<Instant> troubled_since_;
  std::optional<Error> rests_for_;
  std::minstd_rand random_{std::random_device{}()};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace conclave::postgres
