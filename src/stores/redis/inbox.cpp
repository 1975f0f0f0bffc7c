#include "stores/redis/inbox.hpp"

#include <algorithm>
#include <utility>

#include "stores/redis/replies.hpp"
#include "stores/redis/rights.hpp"
#include "stores/redis/trouble.hpp"

namespace conclave::redis {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t channels_at_a_time = 500;
constexpr std::string_view subscribing = "SUBSCRIBE";
constexpr std::string_view unsubscribing = "UNSUBSCRIBE";
constexpr std::string_view pinging = "PING";

// Not in the way of a server that never grants it.
Duration until_asked_again(const Settings& settings) {
  return std::max<Duration>(settings.lease, 1s);
}

}  // namespace

Inbox::Inbox(net::AsioLoop& loop, std::shared_ptr<const Settings> settings, Handlers handlers)
    : loop_(loop),
      settings_(std::move(settings)),
      handlers_(std::move(handlers)),
      line_(loop, settings_, Line::Purpose::news,
            {.ready = [this](const Greeting&) { ready(); },
             .received = [this](const RedisReply& reply) { received(reply); },
             .broken = [this](const Error& why) { broken(why); }}) {}

void Inbox::change(std::string channel, bool wanted) {
  if (!line_.is_ready()) return;  // asked for when it is
  changes_.emplace_back(std::move(channel), wanted);
  if (std::exchange(sending_, true)) return;
  loop_.post([this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    sending_ = false;
    send_changes();
  });
}

void Inbox::send_changes() {
  const auto changes = std::exchange(changes_, {});
  if (!line_.is_ready()) return;
  Command command;
  const auto flush = [&] {
    if (command.size() > 1) send(command);
    command.clear();
  };
  for (const auto& [channel, wanted] : changes) {
    const std::string_view verb = wanted ? subscribing : unsubscribing;
    if (command.empty() || command[0] != verb || command.size() > channels_at_a_time) {
      flush();
      command = {std::string(verb)};
    }
    command.push_back(channel);
  }
  flush();
}

void Inbox::send(const Command& command, bool on_trial) {
  for (const std::string_view verb : {subscribing, unsubscribing, pinging}) {
    if (command[0] == verb) {
      sent_.push_back({verb, std::max<std::size_t>(command.size() - 1, 1), on_trial});
    }
  }
  line_.send(command);
}

void Inbox::ask_for_all() {
  for (std::string& each : handlers_.wanted()) changes_.emplace_back(std::move(each), true);
  send_changes();
}

void Inbox::ready() {
  sent_.clear();
  connections_ += 1;
  ask_for_all();
  ping();
  if (trial_) send_trial();
}

void Inbox::broken(const Error& why) {
  changes_.clear();
  const std::weak_ptr alive = alive_;
  if (trial_) end_trial(why);
  if (!alive.expired()) handlers_.deaf(why);
}

// A connection of which nothing is left but our end would be silent for ever. Seldom, since every
// process does it; until it is noticed, candidates look.
void Inbox::ping() {
  send({std::string(pinging)});
  const Instant asked = loop_.clock().now();
  const Duration limit = 5 * settings_->lease;
  loop_.post_at(asked + limit, [this, asked, limit, connection = connections_,
                                alive = std::weak_ptr(alive_)] {
    if (alive.expired() || connection != connections_ || !line_.is_ready()) return;
    if (last_heard_ < asked) {
      return line_.fail(timed_out(settings_->where, limit, "a reply to PING", "five leases"));
    }
    ping();
  });
}

void Inbox::received(const RedisReply& reply) {
  last_heard_ = loop_.clock().now();
  const auto* const parts = elements_in(reply);
  const std::string_view word = word_in(reply);
  const std::string* const channel =
      parts != nullptr && parts->size() > 1 ? text_in((*parts)[1]) : nullptr;
  if (word == "message") {
    const std::string* const letter = parts->size() > 2 ? text_in((*parts)[2]) : nullptr;
    if (channel != nullptr && letter != nullptr) handlers_.heard(*channel, *letter);
    return;
  }
  if (sent_.empty()) return;  // nobody asked
  const Sent answered = sent_.front();
  const auto* const error = std::get_if<RedisError>(&reply.value);
  sent_.front().replies -= 1;
  if (error != nullptr || sent_.front().replies == 0) sent_.pop_front();
  if (error != nullptr) return refused(answered, *error);
  if (answered.on_trial) {
    if (answered.verb == pinging) end_trial(trial_->refusals);
    return;
  }
  if (word == "subscribe" && channel != nullptr) handlers_.listening(*channel);
}

// Who may not ask for less, or whether somebody is there, hears all the same.
void Inbox::refused(const Sent& what, const RedisError& error) {
  if (what.on_trial) {
    trial_->refusals.push_back(error.message);
    if (what.verb == pinging) end_trial(trial_->refusals);
    return;
  }
  if (what.verb != subscribing) return;
  if (std::exchange(asks_again_on_, connections_) != connections_) {
    loop_.post_at(loop_.clock().now() + until_asked_again(*settings_),
                  [this, connection = connections_, alive = std::weak_ptr(alive_)] {
                    if (alive.expired() || connection != connections_) return;
                    asks_again_on_ = 0;
                    if (line_.is_ready()) ask_for_all();
                  });
  }
  const auto missing = missing_in(error.message, settings_->prefix);
  if (!missing) return handlers_.deaf(trouble_of(error, settings_->where, "SUBSCRIBE").error);
  handlers_.refused({ErrorCode::denied,
                     settings_->where + " does not let this user listen (" + *missing +
                         " is missing), so that nobody is woken and candidates look: " +
                         grant(user_of(*settings_), rights_to_listen(settings_->prefix)),
                     false, false});
}

// ---------------------------------------------------------------- doctor

void Inbox::try_rights(const std::string& channel, std::function<void(Result<Refusals>)> done) {
  if (trial_) return trial_->done.push_back(std::move(done));
  trial_ = std::make_shared<Trial>(Trial{channel, {std::move(done)}});
  loop_.post_at(loop_.clock().now() + settings_->request_timeout,
                [this, trial = std::weak_ptr(trial_), alive = std::weak_ptr(alive_)] {
                  if (alive.expired() || trial.expired() || trial.lock() != trial_) return;
                  end_trial(timed_out(settings_->where, settings_->request_timeout,
                                      "the connection that listens", "request_timeout"));
                });
  line_.open();
  if (line_.is_ready()) send_trial();
}

void Inbox::send_trial() {
  send({std::string(subscribing), trial_->channel}, true);
  send({std::string(unsubscribing), trial_->channel}, true);
  send({std::string(pinging)}, true);
}

// Whoever is told may end the life of this.
void Inbox::end_trial(const Result<Refusals>& with) {
  for (Sent& each : sent_) each.on_trial = false;
  const auto trial = std::exchange(trial_, nullptr);
  const std::weak_ptr alive = alive_;
  for (const auto& each : trial->done) {
    if (!alive.expired()) each(with);
  }
}

}  // namespace conclave::redis
