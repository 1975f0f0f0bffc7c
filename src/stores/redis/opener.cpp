#include "stores/redis/opener.hpp"

#include <array>
#include <charconv>
#include <stdexcept>

#include <conclave/redis.hpp>
#include <conclave/timing.hpp>

namespace conclave::stores {
namespace {

constexpr std::array<std::string_view, 6> plain_options{"prefix",   "request_timeout", "user",
                                                        "password", "password_file",   "database"};
constexpr std::array<std::string_view, 11> tls_options{
    "prefix",  "request_timeout",  "user",     "password",    "password_file", "database",
    "ca_file", "certificate_file", "key_file", "server_name", "skip_verify"};

std::string option(const net::Url& url, std::string_view name) {
  const auto found = url.query.find(name);
  return found != url.query.end() ? found->second : std::string{};
}

Result<std::uint32_t> database_in(const std::string& text) {
  if (text.empty()) return 0U;
  std::uint32_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed == std::errc{} && end == text.data() + text.size()) return number;
  return invalid_argument("database: \"" + text + "\" is not a number: write redis://host:port/2");
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

Result<std::shared_ptr<Store>> open_redis(net::Url& url, const StoreOptions& options) {
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

Result<std::shared_ptr<Store>> open_unix(net::Url& url, const StoreOptions& options) {
  if (!url.host.empty() || url.port) {
    return invalid_argument("redis+unix: takes no host: write redis+unix:///path/to/socket");
  }
  if (url.path.empty()) {
    return invalid_argument("redis+unix: names no socket: write redis+unix:///path/to/socket");
  }
  RedisOptions redis;
  redis.unix_socket = url.path;
  if (auto error = take_database(url, {}, redis)) return *error;
  if (auto error = take_common(url, options, redis)) return *error;
  return made(std::move(redis));
}

}  // namespace

const net::Opener redis_opener{"redis", plain_options, open_redis};
const net::Opener rediss_opener{"rediss", tls_options, open_rediss};
const net::Opener redis_unix_opener{"redis+unix", plain_options, open_unix};

}  // namespace conclave::stores
