#include "stores/redis/greeting.hpp"

#include <algorithm>

#include "stores/redis/replies.hpp"
#include "stores/redis/trouble.hpp"

namespace conclave::redis {
namespace {

Error unsuitable(std::string sentence, bool retryable) {
  return {retryable ? ErrorCode::unavailable : ErrorCode::unsupported, std::move(sentence),
          retryable, false};
}

// The reply is a list of names and values.
std::string_view value_of(const RedisReply::Elements& pairs, std::string_view name) {
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const std::string* const key = text_in(pairs[i]);
    const std::string* const value = text_in(pairs[i + 1]);
    if (key != nullptr && *key == name && value != nullptr) return *value;
  }
  return {};
}

}  // namespace

std::optional<Error> unsuitable_mode(std::string_view mode, const std::string& where) {
  if (mode == "sentinel") {
    return unsuitable(where + " is a Sentinel, which is not supported yet: connect to the master",
                      false);
  }
  if (mode == "cluster") {
    return unsuitable(
        where + " belongs to a cluster, which is not supported yet: use a server of its own",
        false);
  }
  return std::nullopt;
}

Result<Greeting> greeted(const RedisReply& hello, const std::string& where) {
  if (const auto* error = std::get_if<RedisError>(&hello.value)) {
    if (error->message.find("unknown command") != std::string::npos) {
      return unsuitable(where + " is older than Redis 6: update it", false);
    }
    // Who does not know HELLO may repeat what it was given, a password too.
    const std::string& message = error->message;
    return trouble_of({message.substr(0, message.find_first_of("'`\""))}, where, "HELLO").error;
  }
  const auto* const pairs = elements_in(hello);
  const std::string_view version =
      pairs != nullptr ? value_of(*pairs, "version") : std::string_view{};
  if (version.empty()) return nonsense_reply(where, "HELLO");
  if (auto error = unsuitable_mode(value_of(*pairs, "mode"), where)) return *std::move(error);
  if (value_of(*pairs, "role") != "master") {
    return unsuitable(where + " is a replica, and takes no writes: connect to the master", true);
  }
  Greeting greeting;
  const auto major = parse_number(version.substr(0, version.find('.')));
  greeting.knows_flags = major.value_or(0) >= 7;
  return greeting;
}

std::optional<std::string> info_line(const RedisReply& info, std::string_view name) {
  const std::string* const text = text_in(info);
  if (text == nullptr) return std::nullopt;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const auto end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ':') {
      return std::string(line.substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

void learn(Greeting& greeting, const RedisReply& server, const RedisReply& replication) {
  const auto uptime = info_line(server, "uptime_in_seconds");
  const auto identity = info_line(replication, "master_replid");
  const auto before = info_line(replication, "master_replid2");
  if (!uptime || !identity || !before) return;
  greeting.identity = *identity;
  greeting.needs_note = before->find_first_not_of('0') != std::string::npos;
  // Whole seconds, so it may be one less.
  const auto seconds = parse_number(*uptime).value_or(0);
  if (seconds > 1 && !greeting.needs_note) {
    greeting.age = std::chrono::seconds{std::min<std::uint64_t>(seconds - 1, 1'000'000'000)};
  }
}

Duration noted_age(const RedisReply& reply) {
  const std::string* const text = text_in(reply);
  const auto micros = text != nullptr ? parse_number(*text) : std::nullopt;
  constexpr std::uint64_t year = 365ULL * 24 * 3600 * 1'000'000;
  return std::chrono::microseconds{std::min(micros.value_or(0), year)};
}

}  // namespace conclave::redis
