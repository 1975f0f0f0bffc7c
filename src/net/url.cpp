#include "net/url.hpp"

#include <algorithm>
#include <charconv>

namespace conclave::net {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Error malformed(const std::string& what) {
  return invalid_argument("the URL of the store is malformed: " + what);
}

Result<std::string> decode(std::string_view part, const std::string& name) {
  std::string text;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] != '%') {
      text += part[i];
      continue;
    }
    const int high = i + 2 < part.size() ? hex_value(part[i + 1]) : -1;
    const int low = i + 2 < part.size() ? hex_value(part[i + 2]) : -1;
    if (high < 0 || low < 0) {
      return malformed("in " + name +
                       " a % is not followed by two hexadecimal digits; write %25 for a %");
    }
    text += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (text.find('\0') != std::string::npos) return malformed(name + " contains a NUL byte");
  return text;
}

// Takes the text up to the mark off the front; all of it when there is none.
std::string_view take_until(std::string_view& text, std::string_view marks) {
  const auto end = std::min(text.find_first_of(marks), text.size());
  const auto front = text.substr(0, end);
  text.remove_prefix(end);
  return front;
}

std::optional<Error> parse_host(std::string_view text, Url& url) {
  std::string_view port;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return malformed("the [ of its host is not closed");
    const auto host = decode(text.substr(1, close - 1), "its host");
    if (!host) return host.error();
    if (host->empty()) return malformed("there is no address between its [ and ]");
    url.host = *host;
    text.remove_prefix(close + 1);
    if (!text.empty() && text.front() != ':') return malformed("after ] only a port may follow");
    port = text;
  } else {
    const auto host = decode(take_until(text, ":"), "its host");
    if (!host) return host.error();
    url.host = *host;
    port = text;
  }
  if (port.empty()) return std::nullopt;
  port.remove_prefix(1);
  std::uint16_t number = 0;
  const auto [end, failed] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (failed != std::errc{} || end != port.data() + port.size() || number == 0) {
    return malformed("its port is not a number from 1 to 65535");
  }
  url.port = number;
  return std::nullopt;
}

std::optional<Error> parse_authority(std::string_view text, Url& url) {
  const auto at = text.rfind('@');
  if (at != std::string_view::npos) {
    std::string_view credentials = text.substr(0, at);
    text.remove_prefix(at + 1);
    const auto user = decode(take_until(credentials, ":"), "its user name");
    if (!user) return user.error();
    url.user = *user;
    if (!credentials.empty()) {
      const auto password = decode(credentials.substr(1), "its password");
      if (!password) return password.error();
      url.password = *password;
    }
  }
  return parse_host(text, url);
}

bool is_option_name(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
  });
}

// What comes after a password may be the rest of it, where its & was not escaped: not repeated.
std::string told(const std::string& key, const Url& url) {
  return url.query.contains("password") ? "an option after the password" : "the option " + key;
}

std::optional<Error> parse_query(std::string_view text, Url& url) {
  while (!text.empty()) {
    text.remove_prefix(1);  // ? or &
    std::string_view pair = take_until(text, "&");
    if (pair.empty()) continue;
    const auto key = decode(take_until(pair, "="), "its query");
    if (!key) return key.error();
    if (!is_option_name(*key)) {
      return malformed(
          "the name of an option has other signs than letters, digits, ., _ and -; write %26 for "
          "a & in a value");
    }
    if (pair.empty())
      return malformed(told(*key, url) +
                       " has no value: write name=value, and %26 for a & in a value");
    const auto value = decode(pair.substr(1), told(*key, url));
    if (!value) return value.error();
    if (!url.query.emplace(*key, *value).second)
      return malformed((*key == "password" ? "the option password" : told(*key, url)) +
                       " is given twice");
  }
  return std::nullopt;
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
  Url url;
  const std::string_view scheme = text.substr(0, std::min(text.find(':'), text.size()));
  const bool well_formed = !scheme.empty() && scheme.size() < text.size() &&
                           is_letter(scheme.front()) &&
                           std::all_of(scheme.begin(), scheme.end(), [](char c) {
                             return is_letter(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
                           });
  if (!well_formed) return malformed("it does not begin with a scheme, such as file:");
  for (const char c : scheme) url.scheme += static_cast<char>(is_letter(c) ? c | 0x20 : c);
  text.remove_prefix(scheme.size() + 1);
  if (const auto hash = text.find('#'); hash != std::string_view::npos) {
    return malformed("it contains a #; write %23 where one is meant");
  }
  if (text.starts_with("//")) {
    text.remove_prefix(2);
    const std::string_view authority = take_until(text, "/?");
    // A password with a / or a ? in it ends too early, and its rest would be told in other errors.
    if ((!authority.empty() || text.starts_with('?')) && text.find('@') != std::string_view::npos) {
      return malformed(
          "an @ comes after its host; in a user name or password write %2F for a / and %3F for a "
          "?, elsewhere %40 for an @");
    }
    if (auto error = parse_authority(authority, url)) return *error;
  }
  const auto path = decode(take_until(text, "?"), "its path");
  if (!path) return path.error();
  url.path = *path;
  if (auto error = parse_query(text, url)) return *error;
  return url;
}

}  // namespace conclave::net
