#include "stores/redis/inbox.hpp"

#include <utility>

#include "stores/redis/replies.hpp"
#include "stores/redis/trouble.hpp"

namespace conclave::redis {
namespace {

constexpr std::size_t channels_at_a_time = 500;

}  // namespace

Inbox::Inbox(net::AsioLoop& loop, std::shared_ptr<const Settings> settings, Handlers handlers)
    : loop_(loop),
      settings_(std::move(settings)),
      handlers_(std::move(handlers)),
      line_(loop, settings_, Line::Purpose::news,
            {.ready = [this](const Greeting&) { ready(); },
             .received = [this](const RedisReply& reply) { received(reply); },
             .broken =
                 [this](const Error& why) {
                   changes_.clear();
                   handlers_.deaf(why);
                 }}) {}

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
    if (command.size() > 1) line_.send(command);
    command.clear();
  };
  for (const auto& [channel, wanted] : changes) {
    const char* const verb = wanted ? "SUBSCRIBE" : "UNSUBSCRIBE";
    if (command.empty() || command[0] != verb || command.size() > channels_at_a_time) {
      flush();
      command = {verb};
    }
    command.push_back(channel);
  }
  flush();
}

void Inbox::ready() {
  for (std::string& each : handlers_.wanted()) changes_.emplace_back(std::move(each), true);
  send_changes();
  connections_ += 1;
  ping();
}

// A connection of which nothing is left but our end would be silent for ever. Seldom, since every
// process does it; until it is noticed, candidates look.
void Inbox::ping() {
  line_.send({"PING"});
  const Instant asked = loop_.clock().now();
  loop_.post_at(asked + 5 * settings_->lease,
                [this, asked, connection = connections_, alive = std::weak_ptr(alive_)] {
                  if (alive.expired() || connection != connections_ || !line_.is_ready()) return;
                  if (last_heard_ < asked) return line_.fail(silent(*settings_));
                  ping();
                });
}

void Inbox::received(const RedisReply& reply) {
  last_heard_ = loop_.clock().now();
  if (const auto* error = std::get_if<RedisError>(&reply.value)) {
    return handlers_.deaf(trouble_of(*error, settings_->where, "SUBSCRIBE").error);
  }
  const auto* const parts = elements_in(reply);
  const std::string_view word = word_in(reply);
  const std::string* const channel =
      parts != nullptr && parts->size() > 1 ? text_in((*parts)[1]) : nullptr;
  if (channel == nullptr) return;
  if (word == "subscribe") return handlers_.listening(*channel);
  if (word != "message" || parts->size() < 3) return;
  if (const std::string* const letter = text_in((*parts)[2])) handlers_.heard(*channel, *letter);
}

}  // namespace conclave::redis
