#include "stores/postgres/opener.hpp"

#include "stores/postgres/settings.hpp"
#include "stores/postgres/statements.hpp"

namespace conclave::stores {
namespace {

Result<std::shared_ptr<Store>> open_postgres(std::string_view text, const StoreOptions& options) {
  auto settings = postgres::settings_of({.url = std::string(text)}, options.lease);
  if (!settings) return settings.error();
  return postgres::make_store(*std::move(settings), nullptr);
}

Result<std::string> schema(std::string_view text) {
  const auto settings = postgres::settings_of({.url = std::string(text)});
  if (!settings) return settings.error();
  const postgres::Tables tables(settings->schema, settings->prefix);
  return "-- The tables of Conclave. Candidates need no more rights than these, with "
         "create=false.\nbegin;" +
         postgres::statement(postgres::create_tables, tables) +
         ";\ncommit;\n-- grant select, insert, update, delete on " + tables.election + ", " +
         tables.session + ", " + tables.server + " to your_role;";
}

}  // namespace

const net::Opener postgres_opener{"postgres", {}, nullptr, open_postgres, schema};
const net::Opener postgresql_opener{"postgresql", {}, nullptr, open_postgres, schema};

}  // namespace conclave::stores
