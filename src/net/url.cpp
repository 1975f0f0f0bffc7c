#include "net/url.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

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
      return malformed("in its " + name +
                       " a % is not followed by two hexadecimal digits; write %25 for a %");
    }
    text += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (text.find('\0') != std::string::npos)
    return malformed("its " + name + " contains a NUL byte");
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
    url.host = text.substr(1, close - 1);
    text.remove_prefix(close + 1);
    if (!text.empty() && text.front() != ':') return malformed("after ] only a port may follow");
    port = text;
  } else {
    const auto host = decode(take_until(text, ":"), "host");
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
    const auto user = decode(take_until(credentials, ":"), "user name");
    if (!user) return user.error();
    url.user = *user;
    if (!credentials.empty()) {
      const auto password = decode(credentials.substr(1), "password");
      if (!password) return password.error();
      url.password = *password;
    }
  }
  return parse_host(text, url);
}

std::optional<Error> parse_query(std::string_view text, Url& url) {
  while (!text.empty()) {
    text.remove_prefix(1);  // ? or &
    std::string_view pair = take_until(text, "&");
    if (pair.empty()) continue;
    const auto key = decode(take_until(pair, "="), "query");
    if (!key) return key.error();
    if (pair.empty())
      return malformed("the option " + *key + " has no value: write " + *key + "=...");
    const auto value = decode(pair.substr(1), "option " + *key);
    if (!value) return value.error();
    if (!url.query.emplace(*key, *value).second)
      return malformed("the option " + *key + " is given twice");
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
  if (!well_formed) return malformed("it does not begin with a scheme, such as file: or redis:");
  for (const char c : scheme) url.scheme += static_cast<char>(is_letter(c) ? c | 0x20 : c);
  text.remove_prefix(scheme.size() + 1);
  if (const auto hash = text.find('#'); hash != std::string_view::npos) {
    return malformed("it contains a #; write %23 where one is meant");
  }
  if (text.starts_with("//")) {
    text.remove_prefix(2);
    if (auto error = parse_authority(take_until(text, "/?"), url)) return *error;
  }
  const auto path = decode(take_until(text, "?"), "path");
  if (!path) return path.error();
  url.path = *path;
  if (auto error = parse_query(text, url)) return *error;
  return url;
}

Result<Duration> parse_duration(std::string_view name, std::string_view text) {
  const auto refused = [&] {
    return invalid_argument(
        std::string(name) + ": \"" + std::string(text) +
        "\" is not a duration: write a number and a unit, such as 3s, 250ms or 1m30s");
  };
  constexpr std::pair<std::string_view, double> units[] = {{"ns", 1},  {"us", 1e3}, {"ms", 1e6},
                                                           {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
  double total = 0;
  std::string_view rest = text;
  if (rest.empty()) return refused();
  while (!rest.empty()) {
    double number = 0;
    if (!is_digit(rest.front())) return refused();
    const auto [end, failed] =
        std::from_chars(rest.data(), rest.data() + rest.size(), number, std::chars_format::fixed);
    if (failed != std::errc{}) return refused();
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    const auto letters = std::find_if_not(rest.begin(), rest.end(), is_letter) - rest.begin();
    const std::string_view word = rest.substr(0, static_cast<std::size_t>(letters));
    const auto* const unit = std::find_if(std::begin(units), std::end(units),
                                          [&](const auto& each) { return each.first == word; });
    if (unit == std::end(units)) return refused();
    total += number * unit->second;
    rest.remove_prefix(word.size());
  }
  if (total >= static_cast<double>(std::numeric_limits<std::int64_t>::max())) return refused();
  return Duration{static_cast<std::int64_t>(std::llround(total))};
}

}  // namespace conclave::net
