#include "servers/postgres_client.hpp"

#include <libpq-fe.h>

#include <utility>

namespace conclave::servers {
namespace {

struct Clear {
  void operator()(PGresult* result) const noexcept { ::PQclear(result); }
};
using Result = std::unique_ptr<PGresult, Clear>;

PostgresRows rows_of(const PGresult* result) {
  PostgresRows rows;
  for (int i = 0; i < ::PQntuples(result); ++i) {
    auto& row = rows.emplace_back();
    for (int j = 0; j < ::PQnfields(result); ++j) {
      if (::PQgetisnull(result, i, j) != 0) {
        row.emplace_back();
      } else {
        row.emplace_back(std::in_place, ::PQgetvalue(result, i, j),
                         static_cast<std::size_t>(::PQgetlength(result, i, j)));
      }
    }
  }
  return rows;
}

}  // namespace

void PostgresClient::Close::operator()(pg_conn* connection) const noexcept {
  ::PQfinish(connection);
}

PostgresClient::PostgresClient(const std::string& connection)
    : connection_(::PQconnectdb(connection.c_str())) {
  if (::PQstatus(connection_.get()) != CONNECTION_OK) {
    throw PostgresError(::PQerrorMessage(connection_.get()), {});
  }
  ::PQsetNoticeProcessor(
      connection_.get(), [](void*, const char*) {}, nullptr);
}

PostgresRows PostgresClient::exec(const std::string& sql, const PostgresParameters& parameters) {
  auto* const connection = connection_.get();
  std::vector<const char*> values;
  for (const auto& each : parameters) values.push_back(each ? each->c_str() : nullptr);
  const Result result(parameters.empty()
                          ? ::PQexec(connection, sql.c_str())
                          : ::PQexecParams(connection, sql.c_str(), static_cast<int>(values.size()),
                                           nullptr, values.data(), nullptr, nullptr, 0));
  const auto status = ::PQresultStatus(result.get());
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY) {
    return rows_of(result.get());
  }
  const char* const state = ::PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
  throw PostgresError(sql + ": " + ::PQerrorMessage(connection), state != nullptr ? state : "");
}

std::string PostgresClient::value(const std::string& sql, const PostgresParameters& parameters) {
  const auto rows = exec(sql, parameters);
  if (rows.empty() || rows[0].empty() || !rows[0][0]) {
    throw std::runtime_error(sql + ": there is no value");
  }
  return *rows[0][0];
}

pid_t PostgresClient::told_backend() const { return ::PQbackendPID(connection_.get()); }

}  // namespace conclave::servers
