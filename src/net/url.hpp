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

#include <conclave/export.hpp>
#include <conclave/result.hpp>

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

[[nodiscard]] CONCLAVE_API Result<Url> parse_url(std::string_view text);

}  // namespace conclave::net
