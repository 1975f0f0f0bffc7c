#include "stores/redis/rights.hpp"

namespace conclave::redis {
namespace {

constexpr std::string_view commands =
    "+eval +evalsha +info +time +exists +del +get +set +hget +hset +hmget +hdel +type "
    "+zadd +zrem +zrange +zrank +zcard +publish +pubsub|numsub +subscribe +unsubscribe +ping";

}  // namespace

std::string user_of(const Settings& settings) {
  if (settings.credentials) return "<user>";  // only the application knows
  return settings.user.empty() ? "default" : settings.user;
}

std::string grant(const std::string& user, const std::string& rights) {
  return "ACL SETUSER " + user + " " + rights;
}

// Signs with a meaning in a pattern are taken literally; a space would end the rule, so that any
// sign may be there.
std::string pattern_of(std::string_view prefix) {
  std::string pattern;
  for (const char c : prefix) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c == ' ' ? '?' : c;
  }
  return pattern + "*";
}

std::string all_rights(std::string_view prefix, bool selects) {
  const std::string pattern = pattern_of(prefix);
  return "~" + pattern + " &" + pattern + " " + std::string(commands) + (selects ? " +select" : "");
}

std::string rights_to_listen(std::string_view prefix) {
  return "+subscribe +unsubscribe +ping &" + pattern_of(prefix);
}

// "... to run the 'get' command", "... to access one of the keys used as arguments", and since 7.2
// "... to access the 'name' channel", "... to access a key".
std::optional<std::string> missing_in(std::string_view refusal, std::string_view prefix) {
  if (!refusal.starts_with("NOPERM")) return std::nullopt;
  const auto after = [&](std::string_view words) {
    const auto at = refusal.find(words);
    return at == std::string_view::npos ? std::string_view{} : refusal.substr(at + words.size());
  };
  if (const auto command = after(" to run the '"); !command.empty()) {
    return "+" + std::string(command.substr(0, command.find('\'')));
  }
  const std::string_view what = after(" to access ");
  if (what.empty()) return std::nullopt;
  const bool is_channel = what.starts_with("one of the channels") || what.ends_with(" channel");
  return (is_channel ? "&" : "~") + pattern_of(prefix);
}

}  // namespace conclave::redis
