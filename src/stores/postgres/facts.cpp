// What the server is asked for `conclave doctor`. The columns are those of Fact in findings.cpp.
#include "stores/postgres/findings.hpp"
#include "stores/postgres/shape.hpp"

namespace conclave::postgres {
namespace {

constexpr std::string_view place = R"sql(
with place as materialized (
  select n.nspname, has_schema_privilege(n.oid, 'usage') as may_use, has_schema_privilege(n.oid, 'create') as may_create
  from pg_namespace n where n.nspname = coalesce($4, current_schema())),
)sql";

// It fails where the schema may not be used.
constexpr std::string_view find_usable =
    "case when $4 is null or (select may_use from place) then to_regclass(name) end";

constexpr std::string_view asked = R"sql(
select current_setting('server_version_num')::bigint, pg_is_in_recovery(), current_setting('fsync'),
  (select reset_val from pg_settings where name = 'synchronous_commit'), current_setting('synchronous_standby_names'),
  (select count(*) from pg_stat_replication),
  (select count(*) from pg_stat_replication where sync_state is null or sync_state in ('sync', 'quorum')),
  coalesce(substring(current_setting('synchronous_standby_names') from '(?i)^\s*(?:first\s+|any\s+)?(\d+)\s*\(')::bigint, 1),
  current_setting('max_connections')::bigint
    - current_setting('superuser_reserved_connections')::bigint, (select count(*) from pg_stat_activity where datid is not null),
  (select rolconnlimit from pg_roles where rolname = current_user),
  (select count(*) from pg_stat_activity where usename = current_user),
  (select datconnlimit from pg_database where datname = current_database()),
  (select count(*) from pg_stat_activity where datname = current_database() and backend_type = 'client backend'),
  current_setting('max_locks_per_transaction')::bigint
    * (current_setting('max_connections')::bigint + current_setting('max_prepared_transactions')::bigint),
  (select count(*) from pg_locks),
  (select string_agg(name || '=' || reset_val || coalesce(unit, ''), ', ' order by name) from pg_settings
     where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')
       and reset_val <> '0'),
  (select reset_val::bigint from pg_settings where name = 'idle_session_timeout'),
  current_setting('tcp_keepalives_idle')::bigint,
  (current_setting('tcp_keepalives_idle')::bigint
    + current_setting('tcp_keepalives_interval')::bigint * current_setting('tcp_keepalives_count')::bigint) * 1000,
  (select setting::bigint from pg_settings where name = 'tcp_user_timeout'),
  (select quote_ident(nspname) from place), (select may_use from place), (select may_create from place),
  (select string_agg(name, ', ') from ours where found is null),
  (select string_agg(distinct name, ', ') from ours, unnest(array['select', 'insert', 'update', 'delete']) as r (word)
     where found is not null and not has_table_privilege(found, word)),
  (select string_agg(name, ', ') from misfit), quote_ident(current_user), current_setting('transaction_read_only'),
  (select count(*) from pg_stat_replication where sync_state is null), )sql";

// An election of each kind that somebody holds now. A leader that has crashed leaves its row as it
// was.
constexpr std::string_view kinds = R"sql(
with locked as materialized (
  select (l.classid::bigint << 32) | l.objid::bigint as life from pg_locks l
  where l.locktype = 'advisory' and l.mode = 'ExclusiveLock' and l.granted and l.objsubid = 1
    and l.database = (select oid from pg_database where datname = current_database()))
select e.kind, min(e.name) from {election} e left join {session} s on s.life = e.life
where e.state = 'held' and case e.kind
  when 'lease' then s.renewed + s.lease > (extract(epoch from clock_timestamp()) * 1000000)::bigint
  else e.life in (select life from locked) end
group by e.kind order by e.kind
)sql";

}  // namespace

std::string facts() {
  return std::string(place) + our_tables(find_usable) + std::string(asked) + is_by_locks_alone();
}

std::string kinds_of(const Tables& tables) { return statement(kinds, tables); }

}  // namespace conclave::postgres
