#include "stores/redis/given.hpp"

#include <utility>

#include "stores/redis/keys.hpp"
#include "stores/redis/replies.hpp"
#include "stores/redis/trouble.hpp"

namespace conclave::redis {
namespace {

Error unknown_server(const std::string& where, const RedisReply& info) {
  const auto* const error = std::get_if<RedisError>(&info.value);
  if (error == nullptr) return nonsense_reply(where, "INFO");
  if (error->message.starts_with("NOAUTH")) {
    return {ErrorCode::denied,
            where + " wants a password: let that client authenticate before it executes anything",
            false, false};
  }
  return {
      ErrorCode::denied,
      "the application's Redis client may not run INFO, without which a restarted server is not "
      "noticed: add +info to the rights of its user",
      false, false};
}

}  // namespace

Given::Given(net::AsioLoop& loop, std::shared_ptr<Worker> worker, std::string prefix)
    : loop_(loop), worker_(std::move(worker)), prefix_(std::move(prefix)) {}

Given::~Given() { worker_->end(); }

void Given::send(Command command, Done done) {
  worker_->send(std::move(command), [this, done = std::move(done),
                                     alive = std::weak_ptr(alive_)](Result<Delivered> got) {
    if (alive.expired()) return;
    // After a failure the client may be connected anew, and to a server that was restarted.
    if (!got && got.error().in_doubt) greet_again(got.error());
    done(std::move(got));
  });
}

void Given::prepare(Ready ready) {
  if (state_ == State::known) return ready(std::nullopt);
  waiting_.push_back(std::move(ready));
  if (state_ == State::unknown) greet();
}

void Given::greet_again(const Error&) {
  if (state_ == State::known) state_ = State::unknown;
}

// The client may have reached another server since; the campaign that finds out asks again.
void Given::greet() {
  state_ = State::greeting;
  greeting_ = {};
  // Replies to a greeting that failed may come while the next one waits for its own.
  greetings_ = std::make_shared<std::vector<RedisReply>>();
  for (const Command& each : {Command{"INFO", "server"}, Command{"INFO", "replication"}}) {
    send(each, [this, replies = greetings_](Result<Delivered> got) {
      if (state_ != State::greeting || replies != greetings_) return;
      if (!got) return is_known(got.error());
      replies->push_back(std::move(*std::move(got)).reply);
      if (replies->size() < 2) return;
      const auto version = info_line((*replies)[0], "redis_version").value_or("0");
      greeting_.knows_flags = parse_number(version.substr(0, version.find('.'))).value_or(0) >= 7;
      const auto mode = info_line((*replies)[0], "redis_mode").value_or("");
      if (auto error = unsuitable_mode(mode, where_)) return is_known(error);
      learn(greeting_, (*replies)[0], (*replies)[1]);
      // Nobody here sees when the client connects anew: only INFO tells a restarted server.
      if (greeting_.identity.empty()) return is_known(unknown_server(where_, (*replies)[1]));
      greeting_.needs_note ? note() : is_known(std::nullopt);
    });
  }
}

void Given::note() {
  send({"EVAL", text_of(age, greeting_.knows_flags), "1", server_key(prefix_), greeting_.identity},
       [this](const Result<Delivered>& got) {
         if (!got) return is_known(got.error());
         greeting_.age = noted_age(got->reply);
         greeting_.at = got->received;
         is_known(std::nullopt);
       });
}

void Given::is_known(const std::optional<Error>& failed) {
  state_ = failed ? State::unknown : State::known;
  greeting_.at = loop_.clock().now();
  const std::weak_ptr alive = alive_;
  for (const Ready& each : std::exchange(waiting_, {})) {
    if (alive.expired()) return;
    each(failed);
  }
}

}  // namespace conclave::redis
