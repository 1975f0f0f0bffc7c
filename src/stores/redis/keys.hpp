// What is stored under which name. All keys of an election share one {hash tag}, so that they stay
// together in a cluster.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <conclave/result.hpp>
#include <conclave/term.hpp>
#include <conclave/time.hpp>

namespace conclave::redis {

// The key of an election's record. Two elections never share one.
[[nodiscard]] std::string record_key(std::string_view prefix, std::string_view election);

inline std::string queue_key(const std::string& record) { return record + ":queue"; }
inline std::string waiting_key(const std::string& record) { return record + ":waiting"; }
inline std::string metadata_key(const std::string& record) { return record + ":metadata"; }
inline std::string server_key(const std::string& prefix) { return prefix + "server"; }

// Channels: what everybody hears, what shows that somebody leads, and what one process hears.
inline std::string news_channel(const std::string& record) { return record + ":news"; }
// Leaders with leases of about the same length listen to one.
[[nodiscard]] std::string leader_channel(const std::string& record, Duration lease);
inline std::string inbox_channel(const std::string& prefix, const std::string& id) {
  return prefix + "inbox:" + id;
}

// The record whose news come on that channel; nothing when it is no such channel.
[[nodiscard]] std::optional<std::string_view> record_of_news(std::string_view channel);

[[nodiscard]] std::string to_text(const Attempt& attempt);
[[nodiscard]] std::optional<Attempt> parse_attempt(std::string_view text);

[[nodiscard]] std::optional<Error> check_prefix(std::string_view prefix);

}  // namespace conclave::redis
