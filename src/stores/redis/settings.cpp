#include "stores/redis/settings.hpp"

#include <exception>
#include <filesystem>
#include <fstream>

#include <conclave/timing.hpp>

#include "stores/redis/keys.hpp"

namespace conclave::redis {
namespace {

constexpr Duration shortest_timeout = std::chrono::milliseconds{1};

std::optional<Error> check_lease(Duration lease) {
  TimingOptions timing;
  timing.lease = lease;
  const auto resolved = resolve_timing(timing);
  return resolved ? std::nullopt : std::optional(resolved.error());
}

std::optional<Error> check_place(const RedisOptions& options) {
  if (options.unix_socket.empty()) {
    if (options.host.empty()) return invalid_argument("host: it is empty: name the Redis server");
    if (options.port == 0) return invalid_argument("port: 0 is none: 6379 is the usual one");
    return std::nullopt;
  }
  if (options.unix_socket.size() > 107) {
    return invalid_argument(
        "unix_socket: the path is longer than the 107 bytes that the system takes");
  }
  if (options.tls) return invalid_argument("tls: a Unix socket has none: leave it out");
  return std::nullopt;
}

std::optional<Error> check_credentials(const RedisOptions& options) {
  const int sources = (options.password.empty() ? 0 : 1) + (options.password_file.empty() ? 0 : 1) +
                      (options.credentials ? 1 : 0);
  if (sources > 1) {
    return invalid_argument(
        "password: it is given twice: choose one of password, password_file and credentials");
  }
  if (!options.user.empty() && options.credentials) {
    return invalid_argument("user: credentials tells the user, too: leave one of the two out");
  }
  // The name is not repeated: whoever writes redis://secret@host means a password.
  if (!options.user.empty() && sources == 0) {
    return invalid_argument(
        "password: a user is given without one: write redis://user:password@host, or "
        "redis://:password@host for the default user");
  }
  return std::nullopt;
}

std::optional<Error> check_tls(const RedisOptions& options) {
  if (!options.tls) return std::nullopt;
  if (options.tls->certificate_file.empty() != options.tls->key_file.empty()) {
    return invalid_argument("certificate_file, key_file: a client certificate needs both files");
  }
  if (options.tls->skip_verify && !options.tls->ca_file.empty()) {
    return invalid_argument(
        "skip_verify: a ca_file is given, too, and would not be used: choose one");
  }
  return std::nullopt;
}

std::optional<Error> check_timeout(const RedisOptions& options) {
  if (options.request_timeout < Duration::zero()) {
    return invalid_argument(
        "request_timeout: it is negative: leave it out for an eighth of the lease");
  }
  if (options.request_timeout > Duration::zero() && options.request_timeout < shortest_timeout) {
    return invalid_argument(
        "request_timeout: it is shorter than 1 ms, and no server answers so soon: lengthen it");
  }
  if (options.request_timeout > options.lease / 2) {
    return invalid_argument(
        "request_timeout: it is longer than half the lease, and a lost reply would cost the leader "
        "its term: shorten it, or lengthen the lease");
  }
  return std::nullopt;
}

Error no_credentials(const Settings& settings, const std::string& why) {
  return {ErrorCode::denied,
          "the application gave no credentials for " + settings.where + ": " + why, true, false};
}

Error bad_password_file(const Settings& settings, const std::string& what) {
  return {ErrorCode::denied, "password_file: " + settings.password_file + " " + what, true, false};
}

constexpr std::uintmax_t longest_password = 1 << 20;

// Nothing when it cannot be read. Only a regular file: reading from a pipe could wait for ever, and
// the next connection would find nothing in it.
std::optional<std::string> content_of(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) return std::nullopt;
  const auto size = std::filesystem::file_size(path, failed);
  std::ifstream file(path, std::ios::binary);
  if (failed || size > longest_password || !file) return std::nullopt;
  std::string content(size, '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<std::size_t>(file.gcount()));
  return file.bad() ? std::nullopt : std::optional(std::move(content));
}

}  // namespace

Result<Settings> settings_of(const RedisOptions& options) {
  for (auto error : {check_lease(options.lease), check_place(options), check_credentials(options),
                     check_tls(options), check_timeout(options), check_prefix(options.prefix)}) {
    if (error) return *std::move(error);
  }
  Settings settings;
  settings.endpoint.unix_path = options.unix_socket;
  settings.endpoint.host = options.host;
  settings.endpoint.port = options.port;
  if (options.tls) {
    settings.endpoint.tls =
        net::TlsOptions{options.tls->ca_file, options.tls->certificate_file, options.tls->key_file,
                        options.tls->server_name, options.tls->skip_verify};
  }
  settings.where = "the Redis server " + net::to_string(settings.endpoint);
  settings.database = options.database;
  settings.user = options.user;
  settings.password = options.password;
  settings.password_file = options.password_file;
  settings.credentials = options.credentials;
  settings.prefix = options.prefix;
  settings.lease = options.lease;
  settings.request_timeout =
      options.request_timeout > Duration::zero() ? options.request_timeout : options.lease / 8;
  return settings;
}

Result<RedisCredentials> credentials_of(const Settings& settings) {
  if (settings.credentials) {
    try {
      return settings.credentials();
    } catch (const std::exception& failed) {
      return no_credentials(settings, failed.what());
    } catch (...) {  // whatever it throws, it is the application's
      return no_credentials(settings, "it threw something that is no std::exception");
    }
  }
  if (settings.password_file.empty()) return RedisCredentials{settings.user, settings.password};
  auto text = content_of(settings.password_file);
  if (!text)
    return bad_password_file(
        settings,
        "cannot be read: check path and rights, and that it is a regular file of at most 1 MiB");
  text->erase(text->find_last_not_of("\r\n") + 1);
  if (text->empty()) return bad_password_file(settings, "is empty: write the password into it");
  return RedisCredentials{settings.user, *std::move(text)};
}

Error wrong_password(const Settings& settings) {
  const bool is_default = settings.user.empty() && !settings.credentials;
  return {ErrorCode::denied,
          settings.where + " does not know " +
              (is_default ? "the user default (none is given)" : "this user") + " with " +
              (settings.password_file.empty() ? "this password"
                                              : "the password in " + settings.password_file) +
              ": check both",
          false, false};
}

}  // namespace conclave::redis
