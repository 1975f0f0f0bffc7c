// What a server says of itself when it is greeted: whether it will do, and for how long it has
// decided.
#pragma once

#include <optional>
#include <string>

#include <conclave/redis.hpp>
#include <conclave/result.hpp>
#include <conclave/time.hpp>

namespace conclave::redis {

struct Greeting {
  bool knows_flags = false;  // Redis 7: scripts may say what they do
  // Changes with every restart and every promotion; empty where INFO is forbidden.
  std::string identity{};
  // For how long that server has decided, when it was greeted. Nothing but the own connection tells
  // where INFO is forbidden.
  Duration age{};
  // It was a replica once, or has loaded its data from a file: how long it has decided, only a note
  // in its own data can tell.
  bool needs_note = false;
  Instant at{};

  [[nodiscard]] Duration age_at(Instant now) const { return age + (now - at); }
};

// From the reply to HELLO. `where` names the server.
[[nodiscard]] Result<Greeting> greeted(const RedisReply& hello, const std::string& where);

// Why a server of that mode, as HELLO and INFO name it, will not do; nothing when it will.
[[nodiscard]] std::optional<Error> unsuitable_mode(std::string_view mode, const std::string& where);

// Adds what INFO server and INFO replication say. Errors, such as missing rights, add nothing.
void learn(Greeting& greeting, const RedisReply& server, const RedisReply& replication);

// What the script `age` says. Where there was no note, it was written now, and the age is zero.
[[nodiscard]] Duration noted_age(const RedisReply& reply);

// The value of a line of INFO; nothing when there is none.
[[nodiscard]] std::optional<std::string> info_line(const RedisReply& info, std::string_view name);

}  // namespace conclave::redis
