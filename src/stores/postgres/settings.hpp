// The options of a store, checked, as its sessions use them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <conclave/postgres.hpp>
#include <conclave/result.hpp>

namespace conclave::postgres {

struct Settings {
  using Mode = PostgresMode;
  using Conninfo = std::vector<std::pair<std::string, std::string>>;

  // As PQconnectStartParams takes them, from the URL, the environment, a service file and our own
  // defaults; without a password. It is for credentials_of().
  Conninfo conninfo{};
  std::string password{};
  std::string password_file{};
  std::function<PostgresCredentials()> credentials{};

  Mode mode = Mode::advisory;
  bool strict = false;
  bool create = true;
  bool tables = true;
  std::string schema{};            // empty: the first of the search path
  std::string prefix{"conclave"};  // of the tables
  Duration lease{};
  Duration request_timeout{};
  std::string where{};   // the server, for messages
  bool is_near = false;  // what is sent does not leave this machine

  // The value of one of libpq's keywords; empty when there is none.
  [[nodiscard]] std::string_view keyword(std::string_view name) const;
};

// `lease`, where it is given, wins over that of the URL.
[[nodiscard]] Result<Settings> settings_of(const PostgresOptions& options,
                                           std::optional<Duration> lease = std::nullopt);

[[nodiscard]] std::string kind_of(const Settings& settings);  // as the rows have it

[[nodiscard]] std::shared_ptr<Store> make_store(Settings settings,
                                                const std::shared_ptr<Loop>& loop,
                                                std::shared_ptr<PGconn> adopted = {});

// As they are now: a file or a function may have others than the last time. Empty ones are left to
// libpq, which has its passfile and its environment.
[[nodiscard]] Result<PostgresCredentials> credentials_of(const Settings& settings);

// After which the server ends a session that stands still, or whose host has vanished: ten leases.
// Never before a lease is over: with a session its lock is free.
[[nodiscard]] Duration longest_silence(const Settings& settings);

// Until a connection is there, greeted and ready: four request time-outs, a second at least.
[[nodiscard]] Duration connect_limit(const Settings& settings);

}  // namespace conclave::postgres
