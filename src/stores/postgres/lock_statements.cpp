// The verbs where there are no tables: an election is an advisory lock, whose key is made of its
// name. The columns are those of the verbs on rows.
//
// What the session holds it knows itself, in settings of its own (conclave.k...): attempt and term.
// Others see the lock, and of the term its lower half, as the second number of another lock.
//
// Terms are transaction numbers: one that is taken while the lock is held is above those of all who
// held it before. So one statement is for one bid. A server that crashes gives a number once more
// if its log does not have it, and does not wait for that where nothing was written: so a word is.
#include "stores/postgres/statements.hpp"

namespace conclave::postgres {
namespace {

// What is asked for, under its key.
constexpr std::string_view keys = R"sql(
with asked as materialized (
  select a.*, hashtextextended('conclave ' || a.name, 0) as key, hashtext('conclave ' || a.name) as half from ({asked}) a),
own as materialized (
  select a.*, 'conclave.k' || (a.key & 9223372036854775807) as setting,
    string_to_array(nullif(current_setting('conclave.k' || (a.key & 9223372036854775807), true), ''), ' ') as kept
  from asked a))sql";

// Who has the lock of `o`. Of the term only the lower half is there; it is one of the last 2^31.
constexpr std::string_view holder = R"sql(
select 'session ' || l.pid as leader, (
    select max(n.last - ((n.last - t.objid::bigint) & 4294967295)) from pg_locks t
    where t.locktype = 'advisory' and t.database = l.database and t.pid = l.pid and t.objsubid = 2
      and t.classid::bigint = o.half::bigint & 4294967295) as term
from pg_locks l, (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 2147483647 as last) n
where l.locktype = 'advisory' and l.objsubid = 1 and l.granted and l.mode = 'ExclusiveLock'
  and l.database = (select oid from pg_database where datname = current_database())
  and l.classid::bigint = (o.key >> 32) & 4294967295 and l.objid::bigint = o.key & 4294967295)sql";

// A statement that was undone, by a time-out or somebody else, leaves its locks behind, but not
// what the session knows of them: then the lock is ours, and nobody has got anything by it.
constexpr std::string_view is_left = R"sql(kept is null and exists (
  select from pg_locks l where l.locktype = 'advisory' and l.objsubid = 1 and l.granted and l.mode = 'ExclusiveLock'
    and l.pid = pg_backend_pid() and l.classid::bigint = (key >> 32) & 4294967295 and l.objid::bigint = key & 4294967295))sql";

constexpr std::string_view clock = "(extract(epoch from clock_timestamp()) * 1000000)::bigint";

// The last line names what only rows need: the server wants to know its types.
constexpr std::string_view bid_for = R"sql({keys},
o as materialized (
  select own.*, case
      when kept is null then case when {is_left} or pg_try_advisory_lock(key) then pg_current_xact_id()::text::bigint end
      when kept[1] = attempt then kept[2]::bigint end as term
  from own),
granted as materialized (
  select name, set_config(setting, attempt || ' ' || term, false),
    case when kept is null then pg_try_advisory_lock_shared(half, (term & 4294967295)::bit(32)::int) end,
    case when kept is null then pg_logical_emit_message(true, 'conclave', name) end, {durable},
    set_config('idle_session_timeout', ($11::bigint / 1000 + 1)::text, false),
    pg_notify(channel, 'held ' || term || ' ' || name)
  from o where term is not null)
select o.name, case when g.name is not null then 'granted' when h.term is not null then 'held' else 'busy' end,
  o.term, 'ended', $11::bigint, $11::bigint, {clock}, h.leader, '', h.term, repeat('0', 32), 0, $11::bigint, null, null,
  'advisory', o.key, true
from o left join granted g using (name) left join lateral ({holder}) h on o.term is null
where num_nulls($3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text, $10::text) = 0
)sql";
constexpr std::string_view bids =
    "select * from unnest($1::text[], $2::text[], $12::text[]) as b (name, attempt, channel) "
    "where $13::int is null or pg_backend_pid() = $13 limit 1";

constexpr std::string_view keep = R"sql({keys}
select ord, case when kept = array[attempt, term::text] then 'renewed' else 'gone' end, null::bigint, true, pg_backend_pid()
from own where num_nulls($4::text, $5::text) = 0 order by ord
)sql";
constexpr std::string_view due =
    "select * from unnest($1::text[], $2::text[], $3::bigint[]) with ordinality as d (name, "
    "attempt, term, ord)";

constexpr std::string_view give_back = R"sql({keys},
freed as materialized (
  select name, kept[2] as term, set_config(setting, '', false),
    pg_advisory_unlock_shared(half, (kept[2]::bigint & 4294967295)::bit(32)::int), pg_advisory_unlock(key)
  from own where kept[1] = $2 and ($3::bigint is null or kept[2] = $3::text) and num_nulls($6::boolean) <= 1)
select pg_notify($5, $4 || ' ' || term || ' ' || name) from freed
union all select null from own where case when {is_left} then pg_advisory_unlock(key) end
)sql";

constexpr std::string_view see = R"sql({keys}
select o.name, 1, 'held', h.leader, '', h.term, repeat('0', 32), 0, {lease}, null, null, 'advisory', o.key, false, {clock}
from own o, lateral ({holder}) h where h.term is not null and $2::bigint is not null
)sql";

std::string filled(std::string_view text, std::string_view asked, std::string_view lease = {}) {
  std::string made(text);
  const auto fill = [&](std::string_view mark, std::string_view with) {
    for (auto at = made.find(mark); at != std::string::npos; at = made.find(mark)) {
      made.replace(at, mark.size(), with);
    }
  };
  fill("{keys}", keys);
  fill("{asked}", asked);
  fill("{holder}", holder);
  fill("{is_left}", is_left);
  fill("{clock}", clock);
  fill("{lease}", lease);
  fill("{durable}", durable);
  return made;
}

}  // namespace

Verbs verbs_on_locks(std::int64_t lease) {
  return {filled(bid_for, bids),
          {},
          filled(keep, due),
          filled(give_back, "select $1::text as name"),
          filled(see, "select unnest($1::text[]) as name", std::to_string(lease) + "::bigint")};
}

}  // namespace conclave::postgres
