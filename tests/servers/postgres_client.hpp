// The plainest client of PostgreSQL: it asks and waits. For tests that look at a server from
// outside.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

struct pg_conn;

namespace conclave::servers {

using PostgresRow = std::vector<std::optional<std::string>>;
using PostgresRows = std::vector<PostgresRow>;
using PostgresParameters = std::vector<std::optional<std::string>>;

// What the server said, or what the connection suffered.
class PostgresError : public std::runtime_error {
 public:
  PostgresError(const std::string& message, std::string state)
      : std::runtime_error(message), state_(std::move(state)) {}
  [[nodiscard]] const std::string& state() const noexcept { return state_; }  // SQLSTATE; or empty

 private:
  std::string state_;
};

// To be used by one thread at a time.
class PostgresClient {
 public:
  // As libpq takes it: a URL, or "host=... port=...". Returns when it is connected.
  explicit PostgresClient(const std::string& connection);

  // Without parameters there may be several statements; the rows are those of the last one.
  PostgresRows exec(const std::string& sql, const PostgresParameters& parameters = {});
  // The first value of the first row.
  std::string value(const std::string& sql, const PostgresParameters& parameters = {});

  [[nodiscard]] pid_t told_backend() const;  // the backend that the server named when we connected

 private:
  struct Close {
    void operator()(pg_conn* connection) const noexcept;
  };
  std::unique_ptr<pg_conn, Close> connection_;
};

}  // namespace conclave::servers
