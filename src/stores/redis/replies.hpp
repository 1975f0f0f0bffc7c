// What the scripts answer, in the words of conclave/store.hpp. Nothing is trusted: whatever does
// not fit is no answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <conclave/redis.hpp>
#include <conclave/store.hpp>

namespace conclave::redis {

[[nodiscard]] inline std::string to_micros(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(duration).count());
}
[[nodiscard]] std::optional<std::uint64_t> parse_number(std::string_view text);

[[nodiscard]] const std::string* text_in(const RedisReply& reply);
[[nodiscard]] const RedisReply::Elements* elements_in(const RedisReply& reply);
// The word that most scripts begin their answer with; empty when there is none.
[[nodiscard]] std::string_view word_in(const RedisReply& reply);

// The server and its part of an election, and for how long that server has decided.
struct Asked {
  std::string where;
  std::string key;
  std::optional<Duration> server_age{};
};

// Why none of the words that were expected came: a record of another kind or version, or nonsense.
struct Fault {
  Error error{};
  bool definite = false;
};
[[nodiscard]] Fault fault_in(const RedisReply& reply, const Asked& asked, std::string_view to);

[[nodiscard]] std::optional<Granted> granted_in(const RedisReply& reply, Instant since);
// Also VANISHED, which has no record.
[[nodiscard]] std::optional<Held> held_in(const RedisReply& reply);
// The lease of the leader whose record vanished, at most; zero where it is not told.
[[nodiscard]] Duration lease_in_vanished(const RedisReply& reply);

// What `look` says of one election.
[[nodiscard]] std::optional<Observation> looked_in(const RedisReply& reply);
[[nodiscard]] std::optional<Inspection> inspection_in(const RedisReply& reply);

// What is told on the channel of an election, and in the inbox of a process.
[[nodiscard]] std::optional<Observation> news_in(std::string_view letter);
struct Letter {
  std::string record;                    // the election's key
  std::optional<std::string> turn_of{};  // the candidate whose turn it is
  std::optional<Vacant> vacant{};
};
[[nodiscard]] std::optional<Letter> letter_in(std::string_view text);

}  // namespace conclave::redis
