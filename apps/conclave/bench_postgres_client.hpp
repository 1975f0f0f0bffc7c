// A minimal client of a PostgreSQL server: libpq, and waiting for each answer.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

struct pg_conn;

namespace conclave::app {

// Where the URL of a store leads.
struct PostgresAddress {
  std::map<std::string, std::string> words{};  // libpq's
  std::string schema{};                        // quoted, with a dot; empty: the search path
};

[[nodiscard]] bool is_postgres(const std::string& url);
// Throws std::runtime_error when libpq cannot read it.
[[nodiscard]] PostgresAddress postgres_address(const std::string& url);

// Throws std::runtime_error whenever something goes wrong, an error of the server included.
class PostgresClient {
 public:
  explicit PostgresClient(const PostgresAddress& address);

  // Its plan is kept.
  void prepare(const std::string& name, const std::string& sql);
  int execute(const std::string& name);  // how many rows it has changed
  // The first row, as text.
  std::vector<std::string> ask(const std::string& sql);

  // Another session may answer the next statement.
  [[nodiscard]] bool is_pooled();

 private:
  struct Close {
    void operator()(pg_conn* connection) const;
  };
  std::unique_ptr<pg_conn, Close> connection_;
};

}  // namespace conclave::app
