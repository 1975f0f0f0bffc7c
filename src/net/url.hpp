// A store's URL, taken apart.
//
//   scheme:[//[user[:password]@]host[:port]][path][?key=value[&key=value]...]
//
// Everything is percent-decoded. An error never repeats the password: it names the part that is
// wrong, not the text around it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <conclave/result.hpp>
#include <conclave/time.hpp>

namespace conclave::net {

struct Url {
  std::string scheme;
  std::optional<std::string> user{};
  std::optional<std::string> password{};
  std::string host;  // without the brackets of an IPv6 address
  std::optional<std::uint16_t> port{};
  std::string path;
  std::map<std::string, std::string, std::less<>> query{};
};

[[nodiscard]] Result<Url> parse_url(std::string_view text);

// "3s", "250ms", "1m30s", "1.5h"; units h, m, s, ms, us, ns. `name` is what the error blames.
[[nodiscard]] Result<Duration> parse_duration(std::string_view name, std::string_view text);

}  // namespace conclave::net
