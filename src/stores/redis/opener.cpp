#include "stores/redis/opener.hpp"

#include <sys/stat.h>

#include <array>
#include <charconv>
#include <span>
#include <stdexcept>

#include <conclave/redis.hpp>
#include <conclave/timing.hpp>

namespace conclave::stores {
namespace {

// Those of TLS are known to all schemes, so that it can be said where they belong.
constexpr std::array<std::string_view, 11> known_options{
    "prefix",  "request_timeout",  "user",     "password",    "password_file", "database",
    "ca_file", "certificate_file", "key_file", "server_name", "skip_verify"};
constexpr auto tls_options = std::span(known_options).last<5>();

std::string option(const net::Url& url, std::string_view name) {
  const auto found = url.query.find(name);
  return found != url.query.end() ? found->second : std::string{};
}

// Its text is not repeated: the path may be the rest of a password that was not escaped.
Result<std::uint32_t> database_in(const std::string& text) {
  if (text.empty()) return 0U;
  std::uint32_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed == std::errc{} && end == text.data() + text.size()) return number;
  return invalid_argument("database: it is not a number: write redis://host:port/2");
}

Result<bool> yes_or_no(const net::Url& url, std::string_view name) {
  const std::string text = option(url, name);
  if (text.empty() || text == "false") return false;
  if (text == "true") return true;
  return invalid_argument(std::string(name) + ": \"" + text +
                          "\" is neither true nor false: write one of them");
}

// From the URL itself or from its options, not from both.
std::optional<Error> take_credentials(const net::Url& url, RedisOptions& redis) {
  redis.user = url.user.value_or("");
  redis.password = url.password.value_or("");
  if (const std::string user = option(url, "user"); !user.empty()) {
    if (!redis.user.empty())
      return invalid_argument("user: it is given twice: write it before the host or as an option");
    redis.user = user;
  }
  if (const std::string password = option(url, "password"); !password.empty()) {
    if (!redis.password.empty())
      return invalid_argument(
          "password: it is given twice: write it before the host or as an option");
    redis.password = password;
  }
  redis.password_file = option(url, "password_file");
  return std::nullopt;
}

std::optional<Error> take_database(const net::Url& url, std::string_view path,
                                   RedisOptions& redis) {
  const std::string given = option(url, "database");
  if (!path.empty() && !given.empty()) {
    return invalid_argument("database: it is given twice: write it as path or as an option");
  }
  const auto database = database_in(given.empty() ? std::string(path) : given);
  if (!database) return database.error();
  redis.database = *database;
  return std::nullopt;
}

std::optional<Error> take_common(const net::Url& url, const StoreOptions& options,
                                 RedisOptions& redis) {
  if (auto error = take_credentials(url, redis)) return error;
  if (const std::string prefix = option(url, "prefix"); !prefix.empty()) redis.prefix = prefix;
  if (url.query.contains("prefix") && option(url, "prefix").empty()) redis.prefix.clear();
  if (const std::string timeout = option(url, "request_timeout"); !timeout.empty()) {
    const auto value = parse_duration("request_timeout", timeout);
    if (!value) return value.error();
    redis.request_timeout = *value;
  }
  redis.lease = options.lease.value_or(redis.lease);
  return std::nullopt;
}

Result<std::shared_ptr<Store>> made(RedisOptions redis) {
  try {
    return make_redis_store(std::move(redis));
  } catch (const std::exception& failed) {
    return invalid_argument(failed.what());
  }
}

Result<std::shared_ptr<Store>> open_tcp(const net::Url& url, const StoreOptions& options,
                                        RedisOptions redis) {
  if (url.host.empty()) {
    return invalid_argument("host: the URL names none: write " + url.scheme + "://host:port");
  }
  redis.host = url.host;
  redis.port = url.port.value_or(6379);
  std::string_view path = url.path;
  if (path.starts_with('/')) path.remove_prefix(1);
  if (auto error = take_database(url, path, redis)) return *error;
  if (auto error = take_common(url, options, redis)) return *error;
  return made(std::move(redis));
}

std::optional<Error> refuse_tls(const net::Url& url, const char* instead) {
  for (const std::string_view name : tls_options) {
    if (!url.query.contains(name)) continue;
    return invalid_argument(std::string(name) + ": " + url.scheme + ": has no TLS: " + instead);
  }
  return std::nullopt;
}

Result<std::shared_ptr<Store>> open_redis(net::Url& url, const StoreOptions& options) {
  if (auto error = refuse_tls(url, "write rediss://host:port")) return *std::move(error);
  return open_tcp(url, options, {});
}

Result<std::shared_ptr<Store>> open_rediss(net::Url& url, const StoreOptions& options) {
  const auto skip = yes_or_no(url, "skip_verify");
  if (!skip) return skip.error();
  RedisOptions redis;
  redis.tls = RedisTls{option(url, "ca_file"), option(url, "certificate_file"),
                       option(url, "key_file"), option(url, "server_name"), *skip};
  return open_tcp(url, options, std::move(redis));
}

// Nothing can be below a socket: as with redis://host/3, the number was meant as a database.
bool is_below_socket(const std::string& path) {
  struct stat status {};
  return ::stat(path.substr(0, path.rfind('/')).c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
}

Result<std::shared_ptr<Store>> open_unix(net::Url& url, const StoreOptions& options) {
  if (auto error = refuse_tls(url, "leave it out")) return *std::move(error);
  if (!url.host.empty() || url.port) {
    return invalid_argument("redis+unix: takes no host: write redis+unix:///path/to/socket");
  }
  if (url.path.empty()) {
    return invalid_argument("redis+unix: names no socket: write redis+unix:///path/to/socket");
  }
  if (is_below_socket(url.path)) {
    return invalid_argument(
        "database: with redis+unix: it is an option: write "
        "redis+unix:///path/to/socket?database=2");
  }
  RedisOptions redis;
  redis.unix_socket = url.path;
  if (auto error = take_database(url, {}, redis)) return *error;
  if (auto error = take_common(url, options, redis)) return *error;
  return made(std::move(redis));
}

}  // namespace

const net::Opener redis_opener{"redis", known_options, open_redis};
const net::Opener rediss_opener{"rediss", known_options, open_rediss};
const net::Opener redis_unix_opener{"redis+unix", known_options, open_unix};

}  // namespace conclave::stores
