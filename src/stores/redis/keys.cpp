#include "stores/redis/keys.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace conclave::redis {

// The tag ends at the first brace, so names have none.
std::string record_key(std::string_view prefix, std::string_view election) {
  std::string key(prefix);
  key += '{';
  for (const char c : election) {
    switch (c) {
      case '{': key += "%7B"; break;
      case '}': key += "%7D"; break;
      case '%': key += "%25"; break;
      default: key += c;
    }
  }
  key += '}';
  return key;
}

// 2^n milliseconds are at least the lease.
std::string leader_channel(const std::string& record, Duration lease) {
  int n = 0;
  while (n < 31 && (std::chrono::milliseconds{1} * (std::int64_t{1} << n)) < lease) ++n;
  return record + ":leader:" + std::to_string(n);
}

std::optional<std::string_view> record_of_news(std::string_view channel) {
  constexpr std::string_view end = ":news";
  if (!channel.ends_with(end)) return std::nullopt;
  return channel.substr(0, channel.size() - end.size());
}

std::string to_text(const Attempt& attempt) {
  std::string text(32, '0');
  const auto write = [&](std::uint64_t part, std::size_t end) {
    for (; part != 0; part >>= 4U) text[--end] = "0123456789abcdef"[part & 15U];
  };
  write(attempt.high, 16);
  write(attempt.low, 32);
  return text;
}

std::optional<Attempt> parse_attempt(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  std::array<std::uint64_t, 2> parts{};
  for (std::size_t i = 0; i < 2; ++i) {
    const char* const begin = text.data() + 16 * i;
    const auto [end, failed] = std::from_chars(begin, begin + 16, parts.at(i), 16);
    if (failed != std::errc{} || end != begin + 16) return std::nullopt;
  }
  return Attempt{parts[0], parts[1]};
}

std::optional<Error> check_prefix(std::string_view prefix) {
  if (prefix.empty()) {
    return invalid_argument(
        "prefix: it is empty, and keys of others could be taken for elections: give it a word, "
        "such as conclave:");
  }
  if (prefix.find_first_of("{}") != std::string_view::npos) {
    return invalid_argument("prefix: \"" + std::string(prefix) +
                            "\" has a brace, which would take the keys of an election apart in a "
                            "cluster: leave it out");
  }
  // Lines of a letter end at line ends.
  if (std::any_of(prefix.begin(), prefix.end(),
                  [](unsigned char c) { return c < ' ' || c == 127; })) {
    return invalid_argument("prefix: it has a control character: leave it out");
  }
  if (prefix.size() > 100)
    return invalid_argument("prefix: it is longer than 100 bytes: shorten it");
  return std::nullopt;
}

}  // namespace conclave::redis
