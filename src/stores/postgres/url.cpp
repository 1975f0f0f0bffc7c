#include "stores/postgres/url.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace conclave::postgres {
namespace {

constexpr std::array<std::string_view, 8> our_names{
    "mode", "strict", "create", "tables", "schema", "lease", "request_timeout", "password_file"};

constexpr std::string_view example = "postgres://user@host:5432/database";

using Options = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

Error malformed(const std::string& what) { return invalid_argument("url: " + what); }

bool is_ours(std::string_view name) {
  return std::find(our_names.begin(), our_names.end(), name) != our_names.end();
}

// Besides those that libpq lists it takes one for the sake of JDBC.
bool is_libpqs(const std::string& name) {
  const Options all(PQconninfoParse("", nullptr), &PQconninfoFree);
  for (const auto* each = all.get(); each != nullptr && each->keyword != nullptr; ++each) {
    if (name == each->keyword) return true;
  }
  return name == "ssl";
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<std::string> decode(std::string_view part) {
  std::string text;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] != '%') {
      text += part[i];
      continue;
    }
    const int high = i + 2 < part.size() ? hex_value(part[i + 1]) : -1;
    const int low = i + 2 < part.size() ? hex_value(part[i + 2]) : -1;
    if (high < 0 || low < 0) {
      return malformed("a % is not followed by two hexadecimal digits: write %25 for a %");
    }
    if (high + low == 0) return malformed("it contains a NUL byte (%00): leave it out");
    text += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return text;
}

std::vector<std::string_view> split(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = std::min(text.find(mark), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

bool is_port(std::string_view text) {
  std::uint16_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failed == std::errc{} && end == text.data() + text.size() && number > 0;
}

std::optional<Error> check_host(std::string_view text) {
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos || close == 1) {
      return malformed("the [ of a host is not closed, or nothing is in it: write [::1]");
    }
    text.remove_prefix(close + 1);
    if (!text.empty() && text.front() != ':') {
      return malformed("after the ] of a host only a port may follow");
    }
  }
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || colon + 1 == text.size()) return std::nullopt;
  if (is_port(text.substr(colon + 1))) return std::nullopt;
  return malformed("a port is not a number from 1 to 65535: write " + std::string(example) +
                   ", and an IPv6 address within [ ]");
}

std::optional<Error> check_authority(std::string_view text) {
  if (std::count(text.begin(), text.end(), '@') > 1) {
    return malformed("there are two @ before its host: in a user name or password write %40 for @");
  }
  if (const auto at = text.find('@'); at != std::string_view::npos) {
    const auto who = text.substr(0, at);
    if (const auto decoded = decode(who); !decoded) return decoded.error();
    text.remove_prefix(at + 1);
  }
  if (const auto decoded = decode(text); !decoded) return decoded.error();
  for (const auto host : split(text, ',')) {
    if (auto error = check_host(host)) return error;
  }
  return std::nullopt;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// What comes after a password may be the rest of it, where its & was not escaped: not repeated.
class Query {
 public:
  Result<std::string> without_ours(std::string_view text, Words& ours) {
    std::string kept;
    for (const auto pair : split(text, '&')) {
      if (pair.empty()) continue;
      if (auto error = take(pair, ours)) return *std::move(error);
      if (!was_ours_) (kept += kept.empty() ? '?' : '&') += pair;
    }
    return kept;
  }

 private:
  [[nodiscard]] std::string told(const std::string& name) const {
    return after_password_ ? "an option after the password" : "the option " + name;
  }

  std::optional<Error> take(std::string_view pair, Words& ours) {
    const auto name = decode(pair.substr(0, pair.find('=')));
    if (!name) return name.error();
    if (!is_name(*name)) {
      return malformed(
          "the name of an option has other signs than letters, digits and _: write %26 for a & in "
          "a value");
    }
    was_ours_ = is_ours(*name);
    if (!was_ours_ && !is_libpqs(*name)) {
      return malformed(told(*name) +
                       " is not known, neither here nor to libpq: correct it, or leave it out");
    }
    if (pair.size() <= name->size() || pair.find('=') == std::string_view::npos) {
      return malformed(told(*name) + " has no value: write name=value, and %26 for a & in a value");
    }
    const auto text = pair.substr(pair.find('=') + 1);
    if (text.find('=') != std::string_view::npos) {
      return malformed(told(*name) + " has a = in its value: write %3D for it");
    }
    const auto value = decode(text);
    if (!value) return value.error();
    if (*name == "password" || *name == "sslpassword") after_password_ = true;
    if (was_ours_ && !ours.emplace(*name, *value).second) {
      return malformed(told(*name) + " is given twice: leave one of the two out");
    }
    return std::nullopt;
  }

  bool was_ours_ = false;
  bool after_password_ = false;
};

// The URL as libpq shall see it: checked, and without our options.
Result<std::string> checked_url(std::string_view rest, Words& ours) {
  if (rest.starts_with("//")) {
    rest.remove_prefix(2);
  } else if (!rest.empty() && !rest.starts_with('?')) {
    return malformed("after postgres: two / are missing: write " + std::string(example));
  }
  const auto authority = rest.substr(0, std::min(rest.find_first_of("/?"), rest.size()));
  const auto after = rest.substr(authority.size());
  // A password with a / or a ? in it ends too early.
  if ((!authority.empty() || after.starts_with('?')) && after.find('@') != std::string_view::npos) {
    return malformed(
        "an @ comes after its host: in a user name or password write %2F for a / and %3F for a ?, "
        "elsewhere %40 for an @");
  }
  if (auto error = check_authority(authority)) return *std::move(error);
  const auto path = after.substr(0, std::min(after.find('?'), after.size()));
  if (const auto decoded = decode(path); !decoded) return decoded.error();
  auto query = after.substr(path.size());
  if (!query.empty()) query.remove_prefix(1);
  auto kept = Query{}.without_ours(query, ours);
  if (!kept) return kept.error();
  return "postgresql://" + std::string(authority) + std::string(path) + *kept;
}

Result<std::string> for_libpq(const std::string& url, Words& ours) {
  for (const std::string_view scheme : {"postgres:", "postgresql:"}) {
    if (url.starts_with(scheme)) {
      return checked_url(std::string_view(url).substr(scheme.size()), ours);
    }
  }
  if (url.find_first_not_of(' ') == std::string::npos) return std::string{};
  if (url.find("://") < url.find('=')) {
    return malformed("it does not begin with postgres: write " + std::string(example));
  }
  return url;
}

}  // namespace

Result<Given> take_apart(const std::string& url) {
  if (url.find('\0') != std::string::npos) return malformed("it contains a NUL byte: leave it out");
  Given given;
  const auto text = for_libpq(url, given.ours);
  if (!text) return text.error();
  char* why = nullptr;
  const Options options(PQconninfoParse(text->c_str(), &why), &PQconninfoFree);
  const std::string said = why != nullptr ? why : "";  // repeats what may be secret
  PQfreemem(why);
  for (const std::string_view ours : our_names) {
    if (said.find("option \"" + std::string(ours) + '"') == std::string::npos) continue;
    return malformed(std::string(ours) + " is no keyword of libpq: write a URL, " +
                     std::string(example) + "?" + std::string(ours) +
                     "=..., or give it beside the url");
  }
  if (options == nullptr) {
    return malformed("libpq cannot read it: write " + std::string(example) +
                     ", or \"host=... user=... dbname=...\" with libpq's keywords and with '...' "
                     "around values that have a space");
  }
  for (const auto* each = options.get(); each->keyword != nullptr; ++each) {
    if (each->val != nullptr) given.libpq.emplace(each->keyword, each->val);
  }
  return given;
}

}  // namespace conclave::postgres
