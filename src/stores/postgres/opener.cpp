#include "stores/postgres/opener.hpp"

#include "stores/postgres/settings.hpp"
#include "stores/postgres/shape.hpp"
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
  if (!settings->tables) {
    return invalid_argument(
        "tables: with tables=false none are used, and none may be there: leave it out");
  }
  const postgres::Tables tables(settings->schema, settings->prefix);
  const bool has_schema = !tables.schema.empty();
  // Who owns a schema need not have the right to make one.
  const std::string place =
      has_schema ? "begin;\n" +
                       postgres::anonymous_block(
                           "if to_regnamespace(" + postgres::literal(tables.schema) +
                           ") is null then create schema " + tables.schema + "; end if") +
                       ";"
                 : "-- Without a schema they are made in the first one of your search path, and "
                   "candidates have to find\n-- them by theirs.\nbegin;";
  const std::string use =
      has_schema ? "-- grant usage on schema " + tables.schema + " to your_role;\n" : "";
  return "-- The tables of Conclave, for candidates that are opened with create=false.\n" + place +
         "\n" +
         postgres::anonymous_block(postgres::guard() + "; " + postgres::shape_guard(tables)) + ";" +
         postgres::statement(postgres::create_tables, tables) +
         ";\n-- The first election need not wait: nobody was elected here before." +
         postgres::first_note(tables) + ";\ncommit;\n-- The rights that their role needs:\n" + use +
         "-- grant select, insert, update, delete on " + tables.election + ", " + tables.session +
         ", " + tables.server + " to your_role;";
}

}  // namespace

const net::Opener postgres_opener{"postgres", {}, nullptr, open_postgres, schema};
const net::Opener postgresql_opener{"postgresql", {}, nullptr, open_postgres, schema};

}  // namespace conclave::stores
