#include "stores/postgres/shape.hpp"

#include "stores/postgres/trouble.hpp"

namespace conclave::postgres {
namespace {

constexpr std::string_view wanted = R"sql(
wanted (name, keys, columns) as (values
  ($1::text, array['name', 'name term'], array['name text', 'format integer', 'term bigint', 'state text', 'attempt text', 'leader text',
    'metadata text', 'kind text', 'life bigint', 'stamp bigint', 'lease bigint', 'own_lease bigint', 'vacancy text',
    'previous_lease bigint', 'granted bigint', 'vacated bigint', 'ended boolean']),
  ($2, array['life'], array['life bigint', 'lease bigint', 'renewed bigint', 'stamp bigint', 'news bigint']),
  ($3, array['timeline'], array['timeline text', 'since bigint'])),
ours as materialized (select wanted.*, )sql";

constexpr std::string_view misfit = R"sql( as found from wanted),
misfit as materialized (
  select o.name from ours o where o.found is not null and not (
    o.columns <@ array(
      select a.attname || ' ' || format_type(a.atttypid, null) from pg_attribute a
      where a.attrelid = o.found and a.attnum > 0 and not a.attisdropped)
    and o.keys <@ array(
      select (select string_agg(a.attname, ' ' order by k.place) from unnest(i.indkey) with ordinality as k (attnum, place)
        join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum where k.place <= i.indnkeyatts)
      from pg_index i
      where i.indrelid = o.found and i.indisunique and i.indisvalid and i.indpred is null and i.indexprs is null)
    and not exists (
      select from pg_attribute a where a.attrelid = o.found and a.attnum > 0 and not a.attisdropped and a.attnotnull
        and not a.atthasdef and a.attidentity = '' and a.attname || ' ' || format_type(a.atttypid, null) <> all(o.columns))
    and exists (select from pg_class c where c.oid = o.found and c.relpersistence = 'p')))
)sql";

// As `note` of a home has it; only where nothing at all was kept before.
constexpr std::string_view first = R"sql(
insert into {server} (timeline, since) select substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), 0
where not exists (select from {server}) and not exists (select from {session}) and not exists (select from {election})
on conflict (timeline) do nothing)sql";

constexpr std::string_view shared_lock = R"sql(
exists (select from pg_locks l where l.locktype = 'advisory' and l.mode = 'ShareLock' and l.granted and l.objsubid = 1
  and l.database = (select oid from pg_database where datname = current_database())
  and (l.classid::bigint, l.objid::bigint) = )sql";

bool is_true(const Rows& rows, std::size_t column) {
  const std::string* const text = rows.text(0, column);
  return text != nullptr && *text == "t";
}

}  // namespace

std::string our_tables(std::string_view find) {
  return std::string(wanted) + std::string(find) + std::string(misfit);
}

std::string is_by_locks_alone() {
  const std::string key(locks_alone);
  return std::string(shared_lock) + "(" + key + " >> 32, " + key + " & 4294967295))";
}

std::string guard() {
  return "perform pg_advisory_xact_lock(7163850212); if not pg_try_advisory_xact_lock(" +
         std::string(locks_alone) +
         ") then raise exception using errcode = 'LOCK0', message = 'some candidates go by locks "
         "alone: all have to write tables=false, or none'; end if";
}

std::string shape_guard(const Tables& tables) {
  std::string ours = our_tables("to_regclass(name)");
  const auto fill = [&](std::string_view mark, const std::string& name) {
    ours.replace(ours.find(mark), mark.size(), literal(name));
  };
  fill("$1", tables.election);
  fill("$2", tables.session);
  fill("$3", tables.server);
  return "if exists (with " + ours +
         " select from misfit) then raise exception 'something else is under the name of a table "
         "for elections: choose another schema, or rename it'; end if";
}

std::string first_note(const Tables& tables) { return statement(first, tables); }

Statement look_around(const Tables& tables, const Settings& settings) {
  std::optional<std::string> schema;
  if (!settings.schema.empty()) schema = settings.schema;
  return {"with " + our_tables("to_regclass(name)") +
              " select (select string_agg(name, ', ') from misfit), exists (select from "
              "pg_namespace where nspname = coalesce($4, current_schema())), (select "
              "bool_and(found is not null) from ours), " +
              is_by_locks_alone(),
          {tables.election, tables.session, tables.server, schema}};
}

Site site_in(const Rows& rows) {
  const std::string* const misfits = rows.text(0, 0);
  return {misfits != nullptr ? *misfits : std::string{}, is_true(rows, 1), is_true(rows, 2),
          is_true(rows, 3)};
}

std::optional<Error> hindrance(const Site& site, const Settings& settings) {
  const auto refused = [&](ErrorCode code, const std::string& sentence, bool retryable = false) {
    return Error{code, settings.where + " " + sentence, retryable, false};
  };
  if (!settings.tables) {
    if (!site.has_tables) return std::nullopt;
    return refused(ErrorCode::invalid_state,
                   "has tables for elections, which others go by: leave tables=false out");
  }
  if (!site.misfits.empty()) {
    return refused(
        ErrorCode::unsupported,
        "has something else under the name of " + site.misfits +
            ", or a table of another version or unlogged, which is left as it is: choose another "
            "schema, or rename it");
  }
  if (site.has_tables) return std::nullopt;
  if (!site.has_schema) {
    return refused(ErrorCode::invalid_argument,
                   settings.schema.empty()
                       ? "has no schema of the search path: create one, or choose one by schema"
                       : "does not have the schema for the tables: check schema, or create it");
  }
  if (site.has_locks_alone) return trouble_of("LOCK0", {}, settings.where);
  if (settings.create) return std::nullopt;
  return refused(
      ErrorCode::invalid_state,
      "has no tables for elections " +
          (settings.schema.empty() ? std::string("on its search path")
                                   : "in the schema \"" + settings.schema + "\"") +
          ": have them made by the output of conclave sql, or leave create=false out, and check "
          "schema");
}

}  // namespace conclave::postgres
