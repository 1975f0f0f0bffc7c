#include "stores/redis/settings.hpp"

#include "net/server_options.hpp"
#include "stores/redis/keys.hpp"

namespace conclave::redis {
namespace {

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
  const bool has_credentials = options.credentials != nullptr;
  if (auto error = net::check_sources(options.password, options.password_file, has_credentials)) {
    return error;
  }
  if (!options.user.empty() && has_credentials) {
    return invalid_argument("user: credentials tells the user, too: leave one of the two out");
  }
  // The name is not repeated: whoever writes redis://secret@host means a password.
  if (!options.user.empty() && options.password.empty() && options.password_file.empty()) {
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

}  // namespace

Result<Settings> settings_of(const RedisOptions& options) {
  for (auto error :
       {net::check_times(options.lease, options.request_timeout), check_place(options),
        check_credentials(options), check_tls(options), check_prefix(options.prefix)}) {
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
  settings.request_timeout = net::effective_request_timeout(options.request_timeout, options.lease);
  return settings;
}

Result<RedisCredentials> credentials_of(const Settings& settings) {
  if (settings.credentials) return net::given_by(settings.credentials, settings.where);
  if (settings.password_file.empty()) return RedisCredentials{settings.user, settings.password};
  auto password = net::password_in_file(settings.password_file);
  if (!password) return password.error();
  return RedisCredentials{settings.user, *std::move(password)};
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
