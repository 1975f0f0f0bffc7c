#include "stores/redis/line.hpp"

#include <algorithm>
#include <utility>

#include "stores/redis/keys.hpp"
#include "stores/redis/replies.hpp"
#include "stores/redis/rights.hpp"
#include "stores/redis/trouble.hpp"

namespace conclave::redis {
namespace {

using namespace std::chrono_literals;

constexpr Duration first_pause = 20ms;

// A leader has to be back well within its lease.
Duration longest_pause(const Settings& settings) {
  return std::clamp<Duration>(settings.lease / 8, first_pause, 1s);
}

// A password that was corrected is noticed that soon.
Duration calm_pause(const Settings& settings) {
  return std::clamp<Duration>(settings.lease, first_pause, 10s);
}

Command hello(const RedisCredentials& credentials) {
  Command command{"HELLO", "2"};
  // A user without a password is not the default user.
  if (!credentials.user.empty() || !credentials.password.empty()) {
    command.insert(command.end(), {"AUTH", credentials.user.empty() ? "default" : credentials.user,
                                   credentials.password});
  }
  command.insert(command.end(), {"SETNAME", "conclave"});
  return command;
}

}  // namespace

Line::Line(net::AsioLoop& loop, std::shared_ptr<const Settings> settings, Purpose purpose,
           Handlers handlers)
    : loop_(loop),
      settings_(std::move(settings)),
      purpose_(purpose),
      handlers_(std::move(handlers)) {}

void Line::open() {
  if (state_ == State::idle) connect();
}

// Does it later, unless something else has happened by then.
void Line::after(Duration wait, void (Line::*act)()) {
  loop_.post_at(loop_.clock().now() + wait,
                [this, act, step = step_, alive = std::weak_ptr(alive_)] {
                  if (!alive.expired() && step == step_) (this->*act)();
                });
}

void Line::connect() {
  state_ = State::connecting;
  step_ += 1;
  rests_for_.reset();
  greetings_.clear();
  wire_ = std::make_shared<Wire>(
      loop_, settings_->endpoint,
      net::Stream::Handlers{.connected = [this] { greet(); },
                            .received = [this](std::string_view bytes) { heard(bytes); },
                            .failed = [this](const Error& why) { wire_failed(why); }});
  after(settings_->request_timeout, &Line::gave_up_waiting);
}

void Line::gave_up_waiting() {
  const bool connects = state_ == State::connecting;
  Error why = timed_out(settings_->where, settings_->request_timeout,
                        connects ? wire_->stream.waits_for() : "an answer to the greeting",
                        "request_timeout");
  // What speaks no TLS may wait for the end of a line, and what speaks nothing else for a
  // handshake.
  if (connects && wire_->stream.waits_for().find("TLS") != std::string_view::npos) {
    why.message += ", perhaps since it speaks no TLS there (redis: goes without)";
  } else if (may_want_tls()) {
    why.message += ", perhaps since it wants TLS (rediss:)";
  }
  fail(why);
}

void Line::wire_failed(Error why) {
  if (may_want_tls()) {
    why.message += ", before it answered anything: perhaps it wants TLS (rediss:)";
  } else if (settings_->endpoint.tls && why.message.find("speak TLS") != std::string::npos) {
    why.message += " (redis: goes without)";
  }
  fail(why);
}

// A server that wants TLS ends a connection that has none, without a word. One that has answered
// before is only away.
bool Line::may_want_tls() const {
  return !settings_->endpoint.tls && settings_->endpoint.unix_path.empty() &&
         state_ == State::greeting && !has_answered_;
}

// Everything that has to be asked first, at one go.
void Line::greet() {
  const auto credentials = credentials_of(*settings_);
  if (!credentials) return fail(credentials.error());
  state_ = State::greeting;
  std::string bytes = encode(hello(*credentials));
  greetings_asked_ = 1;
  const auto ask = [&](const Command& command) {
    bytes += encode(command);
    greetings_asked_ += 1;
  };
  if (settings_->database != 0) ask({"SELECT", std::to_string(settings_->database)});
  if (purpose_ == Purpose::commands) {
    ask({"INFO", "server"});
    ask({"INFO", "replication"});
  }
  greeting_ = {};
  wire_->stream.write(std::move(bytes));
}

void Line::heard(std::string_view bytes) {
  const auto wire = wire_;
  const std::weak_ptr alive = alive_;
  wire->reader.feed(bytes);
  // Whoever is told may end this connection, or all of it.
  while (!alive.expired() && wire == wire_) {
    auto reply = wire->reader.next();
    if (!reply) {
      Error why = reply.error();
      why.message = settings_->where + ": " + why.message;
      return fail(why);
    }
    if (!reply->has_value()) return;
    took(std::move(**std::move(reply)));
  }
}

void Line::took(RedisReply reply) {
  if (state_ == State::ready) return handlers_.received(std::move(reply));
  if (state_ == State::noting) return is_noted(reply);
  has_answered_ = true;
  greetings_.push_back(std::move(reply));
  // One that is refused may hear nothing more.
  if (greetings_.size() == 1) {
    const auto* const error = std::get_if<RedisError>(&greetings_[0].value);
    if (error != nullptr && is_wrong_password(*error)) return fail(wrong_password(*settings_));
    if (const auto greeting = greeted(greetings_[0], settings_->where); !greeting) {
      return fail(greeting.error());
    }
  }
  if (greetings_.size() == greetings_asked_) answered_greeting();
}

void Line::answered_greeting() {
  const auto greeting = greeted(greetings_[0], settings_->where);
  if (!greeting) return fail(greeting.error());
  greeting_.knows_flags = greeting->knows_flags;
  greeting_.at = loop_.clock().now();  // not before the server counted
  if (settings_->database != 0) {
    if (const auto* error = std::get_if<RedisError>(&greetings_[1].value)) {
      if (error->message.find("index") == std::string::npos) {  // "DB index is out of range"
        Error why = trouble_of(*error, settings_->where, "SELECT").error;
        if (why.code == ErrorCode::denied) {
          why.message = settings_->where +
                        " forbids this user SELECT, which another database than " +
                        "0 needs: " + grant(user_of(*settings_), "+select");
        }
        return fail(why);
      }
      return fail(invalid_argument("database: " + settings_->where + " has no database " +
                                   std::to_string(settings_->database) +
                                   ": choose a lower number, or raise databases in redis.conf"));
    }
  }
  if (purpose_ == Purpose::commands) {
    learn(greeting_, greetings_[greetings_.size() - 2], greetings_.back());
  }
  if (!greeting_.needs_note) return become_ready();
  state_ = State::noting;
  send({"EVAL", text_of(age, greeting_.knows_flags), "1", server_key(settings_->prefix),
        greeting_.identity});
}

void Line::is_noted(const RedisReply& reply) {
  greeting_.age = noted_age(reply);
  greeting_.at = loop_.clock().now();
  become_ready();
}

void Line::become_ready() {
  state_ = State::ready;
  step_ += 1;
  troubled_since_.reset();
  ready_since_ = loop_.clock().now();
  greeting_.at = ready_since_;  // not when it was asked: it is older by now, never younger
  greetings_.clear();
  handlers_.ready(greeting_);
}

void Line::fail(const Error& why) {
  if (wire_ == nullptr) return;
  // One that did not last is not replaced at once for ever.
  const bool lasted =
      state_ == State::ready && loop_.clock().now() - ready_since_ > longest_pause(*settings_);
  failures_ = lasted ? 0 : failures_ + 1;
  if (!troubled_since_) troubled_since_ = loop_.clock().now();
  const bool rests =
      needs_a_person(why) && loop_.clock().now() - *troubled_since_ >= settings_->lease;
  if (rests) rests_for_ = why;
  wire_.reset();
  state_ = State::pausing;
  step_ += 1;
  after(pause(), &Line::connect);
  handlers_.broken(why);
}

// A replica, too, is what somebody has connected us to; it may be promoted.
bool Line::needs_a_person(const Error& why) const {
  const bool is_unsuitable = state_ == State::greeting && greetings_.size() == 1 &&
                             elements_in(greetings_[0]) != nullptr &&
                             !greeted(greetings_[0], settings_->where);
  return !why.retryable || is_unsuitable;
}

Duration Line::pause() {
  if (failures_ == 0) return Duration::zero();
  const Duration longest = rests_for_ ? calm_pause(*settings_) : longest_pause(*settings_);
  const Duration grown = std::min(first_pause * (1U << std::min(failures_ - 1, 10U)), longest);
  return grown / 2 +
         Duration{std::uniform_int_distribution<std::int64_t>(0, grown.count() / 2)(random_)};
}

}  // namespace conclave::redis
