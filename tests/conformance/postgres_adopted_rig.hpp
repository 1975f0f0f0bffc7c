// Stores on connections that an application made.
#pragma once

#include <libpq-fe.h>

#include "conformance/postgres_rig.hpp"

namespace conclave::conformance {

// As an application would have it.
inline std::shared_ptr<PGconn> connection_to(const std::string& url) {
  std::shared_ptr<PGconn> made(PQconnectdb(url.c_str()), &PQfinish);
  if (PQstatus(made.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(made.get()));
  return made;
}

// The first value of the last statement; what went wrong instead of it.
inline std::string ask(PGconn* connection, const char* sql) {
  const std::unique_ptr<PGresult, decltype(&PQclear)> answer(PQexec(connection, sql), &PQclear);
  if (PQresultStatus(answer.get()) == PGRES_FATAL_ERROR) return PQerrorMessage(connection);
  return PQntuples(answer.get()) > 0 ? PQgetvalue(answer.get(), 0, 0) : "";
}

class AdoptedFixture : public PostgresFixture {
 public:
  using PostgresFixture::PostgresFixture;

  std::shared_ptr<Store> make_store(Duration lease) override {
    return connected(make_postgres_store(adopting(connection_to(server().url()), lease)));
  }
  [[nodiscard]] PostgresOptions adopting(std::shared_ptr<PGconn> connection, Duration lease) const {
    PostgresOptions adopting = options(lease);
    adopting.url = {};
    adopting.connection = std::move(connection);
    return adopting;
  }
  [[nodiscard]] bool has(Ability ability) const override {
    return ability != Ability::pushes && PostgresFixture::has(ability);
  }
};

}  // namespace conclave::conformance
