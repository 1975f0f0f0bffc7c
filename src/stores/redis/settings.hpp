// The options of a store, checked, as its connections use them.
#pragma once

#include <conclave/redis.hpp>

#include "net/endpoint.hpp"

namespace conclave::redis {

struct Settings {
  net::Endpoint endpoint{};
  std::string where{};  // the server, for messages
  std::uint32_t database = 0;
  std::string user{};
  std::string password{};
  std::string password_file{};
  std::function<RedisCredentials()> credentials{};
  std::string prefix{};
  Duration lease{};
  Duration request_timeout{};
};

[[nodiscard]] Result<Settings> settings_of(const RedisOptions& options);

// As they are now: a file or a function may have others than the last time.
[[nodiscard]] Result<RedisCredentials> credentials_of(const Settings& settings);

// The server does not take them. Says where they came from, and nothing of the password.
[[nodiscard]] Error wrong_password(const Settings& settings);

}  // namespace conclave::redis
