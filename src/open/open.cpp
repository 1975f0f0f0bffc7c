#include <conclave/open.hpp>

#include <algorithm>
#include <stdexcept>

#include "open/table.hpp"

namespace conclave {
namespace {

std::string listed(const std::vector<std::string>& words, const char* after = "") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word + after;
  return text;
}

std::optional<Error> check_options(const net::Url& url, const net::Opener& opener) {
  std::vector<std::string> known(opener.options.begin(), opener.options.end());
  known.emplace_back("lease");
  for (const auto& [name, value] : url.query) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    // Where there is a password, it may be the rest of that, whose & was not escaped.
    const std::string told = url.query.contains("password")
                                 ? "such option (write %26 for a & in a password)"
                                 : "option " + name;
    return invalid_argument("the store " + url.scheme + ": has no " + told + ": it knows " +
                            listed(known));
  }
  return std::nullopt;
}

// The scheme in small letters, as it is looked for; the rest as it is.
std::string with_small_scheme(std::string_view text) {
  std::string made(text);
  for (char& each : made) {
    if (each == ':') break;
    if (each >= 'A' && each <= 'Z') each = static_cast<char>(each - 'A' + 'a');
  }
  return made;
}

const net::Opener* opener_of(std::string_view scheme) {
  for (const net::Opener* each : stores::openers()) {
    if (each->scheme == scheme) return each;
  }
  return nullptr;
}

Error unknown_scheme(const std::string& scheme) {
  return invalid_argument("no store has the scheme " + scheme + ": this build knows " +
                          listed(schemes(), ":"));
}

}  // namespace

std::vector<std::string> schemes() {
  std::vector<std::string> all;
  for (const net::Opener* opener : stores::openers()) all.emplace_back(opener->scheme);
  std::sort(all.begin(), all.end());
  return all;
}

// All between the first colon after the user's name and the last @, wherever that stands: a
// password that was not escaped must not show either.
std::string public_url(std::string_view url) {
  constexpr std::string_view option = "password=";
  std::string text = with_small_scheme(url);
  for (auto at = text.find(option); at != std::string::npos; at = text.find(option, at)) {
    at += option.size();
    text.replace(at, std::min(text.find_first_of("&#", at), text.size()) - at, "***");
  }
  // Without the slashes it is no URL of a server, but may have been meant as one.
  const auto scheme = text.find(':');
  const bool is_path =
      text.find('/', scheme) == scheme + 1 && text.find("//", scheme) != scheme + 1;
  const auto at = text.rfind('@');
  if (scheme == std::string::npos || is_path || at == std::string::npos) return text;
  const auto colon = text.find(':', scheme + 1);
  if (colon < at) return text.replace(colon + 1, at - colon - 1, "***");
  // Whoever writes redis://secret@host means a password, unless one is given elsewhere.
  const auto host = text.find("://");
  const bool is_user = host == std::string::npos || !text.starts_with("redis") ||
                       text.find("password", at) < text.size();
  return is_user ? text : text.replace(host + 3, at - host - 3, "***");
}

Result<std::shared_ptr<Store>> try_open(std::string_view given, const StoreOptions& options) {
  const std::string text = with_small_scheme(given);
  if (const net::Opener* const by_itself =
          opener_of(std::string_view(text).substr(0, text.find(':')));
      by_itself != nullptr && by_itself->open_text != nullptr) {
    return by_itself->open_text(text, options);
  }
  Result<net::Url> parsed = net::parse_url(text);
  if (!parsed) return parsed.error();
  net::Url url = *std::move(parsed);
  const net::Opener* const opener = opener_of(url.scheme);
  if (opener == nullptr) return unknown_scheme(url.scheme);
  StoreOptions merged = options;
  if (auto lease = url.query.extract("lease"); lease && !merged.lease) {
    const Result<Duration> value = parse_duration("lease", lease.mapped());
    if (!value) return value.error();
    merged.lease = *value;
  }
  if (auto error = check_options(url, *opener)) return *std::move(error);
  return opener->open(url, merged);
}

Result<std::string> schema_of(std::string_view given) {
  const std::string text = with_small_scheme(given);
  const auto scheme = std::string_view(text).substr(0, text.find(':'));
  const net::Opener* const opener = opener_of(scheme);
  if (opener != nullptr && opener->schema != nullptr) return opener->schema(text);
  if (const auto parsed = net::parse_url(text); !parsed) return parsed.error();
  if (opener == nullptr) return unknown_scheme(std::string(scheme));
  return invalid_argument("the store " + std::string(scheme) +
                          ": has no tables: nothing has to be made before it is used");
}

std::shared_ptr<Store> open(std::string_view url, const StoreOptions& options) {
  Result<std::shared_ptr<Store>> store = try_open(url, options);
  if (!store) throw std::invalid_argument(store.error().message);
  return *std::move(store);
}

}  // namespace conclave
