#include "stores/postgres/statements.hpp"

namespace conclave::postgres {
namespace {

std::string quoted(std::string_view name) {
  std::string text = "\"";
  for (const char each : name) {
    text += each;
    if (each == '"') text += each;
  }
  return text += '"';
}

}  // namespace

Tables::Tables(std::string_view named, std::string_view prefix)
    : schema(named.empty() ? std::string{} : quoted(named)) {
  const std::string before = schema.empty() ? std::string{} : schema + ".";
  const std::string common(prefix);
  election = before + quoted(common + "_election");
  session = before + quoted(common + "_session");
  server = before + quoted(common + "_server");
  index = quoted(common + "_election_life");
}

std::string statement(std::string_view text, const Tables& tables) {
  std::string made;
  made.reserve(text.size() + 200);
  for (std::size_t at = 0; at < text.size();) {
    const auto next = [&](std::string_view mark, const std::string& name) {
      if (!text.substr(at).starts_with(mark)) return false;
      made += name;
      at += mark.size();
      return true;
    };
    if (next("{election}", tables.election) || next("{session}", tables.session) ||
        next("{server}", tables.server) || next("{index}", tables.index) ||
        next("{durable}", std::string(durable))) {
      continue;
    }
    made += text[at++];
  }
  return made;
}

// Whether standard_conforming_strings is on or off.
std::string literal(std::string_view text) {
  std::string made = text.find('\\') != std::string_view::npos ? "E'" : "'";
  for (const char each : text) {
    if (each == '\'' || each == '\\') made += each;
    made += each;
  }
  return made += '\'';
}

std::string anonymous_block(const std::string& statements) {
  std::string tag = "$conclave$";
  while (statements.find(tag) != std::string::npos) tag.insert(1, "_");
  return "do " + tag + " begin " + statements + "; end " + tag;
}

// Fill factors leave room for a row's next version beside it. The unique index over name and term
// makes a change of the term wait for whoever holds the row FOR KEY SHARE: the fence.
const std::string_view create_tables = R"sql(
create table if not exists {server} (timeline text primary key, since bigint not null);
create table if not exists {session} (
  life bigint primary key, lease bigint not null, renewed bigint not null, stamp bigint not null,
  news bigint not null default 0) with (fillfactor = 50);
create table if not exists {election} (
  name text collate "C" primary key, format int not null default 1, term bigint not null, state text not null,
  attempt text not null, leader text not null, metadata text not null, kind text not null, life bigint not null,
  stamp bigint not null default 1, lease bigint not null, own_lease bigint not null, vacancy text not null, previous_lease bigint not null,
  granted bigint not null, vacated bigint, ended boolean not null default false,
  unique (name, term)) with (fillfactor = 50);
create index if not exists {index} on {election} (life)
)sql";

// In the CASE the server looks attempts up in a table of hashes: they may be ten thousand, as the
// rows are.
const std::string_view open_session = R"sql(
with clock as materialized (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now),
held as materialized (
  select e.name from {election} e where e.life = any($3::bigint[]) and e.state = 'held' order by e.name for no key update),
before as (
  delete from {session} where life = any($3::bigint[]) and (select count(*) from held) >= 0 returning renewed, stamp, news),
swept as (
  delete from {session} where life in (
    select s.life from {session} s, clock where s.renewed < clock.now - greatest(10 * least(s.lease, 100000000000000000), 3600000000)
      and s.life <> all($3::bigint[]) and not exists (select from {election} e where e.life = s.life and e.state = 'held')
    for update of s skip locked)),
moved as (
  update {election} set life = $1, stamp = stamp + 1
  where life = any($3::bigint[]) and state = 'held' and case when attempt in (select unnest($4::text[])) then true end)
insert into {session} as s (life, lease, renewed, stamp, news)
select $1, $2, coalesce(max(b.renewed), min(clock.now)), greatest(max(b.stamp), min(clock.now)) + 1, coalesce(max(b.news), 0) + 1
from clock left join before b on true
on conflict (life) do update set renewed = excluded.renewed, stamp = s.stamp + 1, news = s.news + 1
returning news
)sql";

const std::string_view close_session = R"sql(
delete from {session} s where s.life = $1
  and not exists (select from {election} e where e.life = s.life and e.state = 'held')
)sql";

// The clock is read when the rows are locked: what is granted is granted after the commit of
// whoever had them in hands.
const std::string_view campaign = R"sql(
with bid as materialized (
  select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
      $12::text[])
    as b (name, attempt, candidate, metadata, floor, seen_term, seen_stamp, expected, channel)
  where $13::int is null or pg_backend_pid() = $13),
known as materialized (select e.name from {election} e join bid using (name)),
found as materialized (
  select e.* from {election} e where e.name in (select name from bid) order by e.name for update skip locked),
clock as materialized (
  select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now, {durable} from (select count(*) from found) locked),
rival as materialized (
  select f.name, f.term, f.stamp, f.lease, f.kind, f.life, b.floor, b.seen_term, b.seen_stamp, b.expected
  from found f join bid b using (name) where f.state = 'held' and f.attempt <> b.attempt
    and (f.life <> $9 or f.kind <> 'advisory')),
shared as materialized (
  select l.classid::bigint << 32 | l.objid::bigint as life from pg_locks l
  where $13 is not null and l.pid = pg_backend_pid() and l.locktype = 'advisory' and l.objsubid = 1 and l.mode = 'ExclusiveLock'),
dead as materialized (
  select life from (select distinct life from rival where kind <> 'lease') r
  where life not in (select life from shared) and pg_try_advisory_xact_lock_shared(life)),
mine as materialized (select s.life from {session} s where s.life = $9 for update skip locked),
late as materialized (
  select s.life, s.stamp, s.renewed from {session} s, clock where exists (
    select from rival r where r.life = s.life and r.kind <> 'advisory'
      and (r.term < r.floor or (r.seen_term = r.term and r.seen_stamp = r.stamp + s.stamp)
        or (clock.now - s.renewed >= r.lease and clock.now <= r.expected + r.lease / 50)))
  for update of s skip locked),
judged as materialized (
  select b.*, f.name is not null as is_found, f.life as old_life,
    case
      when f.name is null and k.name is not null then 'busy'
      when f.name is null then 'absent'
      when f.format > 1 then 'newer'
      when f.ended then 'over'
      when f.attempt = b.attempt and f.state <> 'held' then 'finished'
      when f.attempt = b.attempt then 'repeated'
      when f.state = 'removed' and clock.now - f.vacated < f.lease then 'abandoned'
      when f.state = 'removed' then 'absent'
      when f.term < b.floor and (f.state <> 'held' or f.kind = 'advisory' or l.life is not null or s.life is null) then 'absent'
      when f.state <> 'held' then f.state
      when f.kind = 'advisory' and f.life = $9 then 'held'
      when f.kind = 'advisory' and d.life is not null then 'ended'
      when f.kind <> 'advisory' and (f.kind = 'lease' or d.life is not null)
        and ((b.seen_term = f.term and b.seen_stamp = f.stamp + l.stamp)
          or (clock.now - l.renewed >= f.lease and clock.now <= b.expected + f.lease / 50)) then 'expired'
      when f.kind <> 'advisory' and (f.kind = 'lease' or d.life is not null) and l.life is null
        and ((b.seen_term = f.term and b.seen_stamp = f.stamp + s.stamp)
          or (clock.now - s.renewed >= f.lease and clock.now <= b.expected + f.lease / 50)) then 'busy'
      when f.kind <> 'advisory' and s.life is null and b.seen_term = f.term and b.seen_stamp = f.stamp then 'expired'
      else 'held' end as found_as
  from bid b cross join clock left join found f using (name) left join known k using (name) left join dead d on d.life = f.life
    left join late l on l.life = f.life left join {session} s on s.life = f.life),
verdict as materialized (
  select j.*, found_as in ('absent', 'repeated', 'released', 'abandoned', 'ended', 'expired')
    and ($10 = 'advisory' or exists (select from mine)) as is_granted from judged j),
taken as (
  update {election} e set
    term = case v.found_as when 'repeated' then e.term else greatest(e.term + 1, v.floor + 1, clock.now) end,
    state = 'held', attempt = v.attempt, leader = v.candidate, metadata = v.metadata, kind = $10, life = $9,
    stamp = e.stamp + 1,
    lease = case when v.found_as = 'repeated' then e.lease
      when v.found_as in ('absent', 'abandoned') then greatest($11, e.lease) else $11 end,
    own_lease = case v.found_as when 'repeated' then e.own_lease else $11 end,
    vacancy = case v.found_as when 'repeated' then e.vacancy else v.found_as end,
    previous_lease = case v.found_as when 'repeated' then e.previous_lease else e.lease end,
    granted = clock.now, vacated = null
  from verdict v, clock where e.name = v.name and v.is_found and v.is_granted
  returning e.name, e.term, e.vacancy, e.own_lease, e.previous_lease),
made as (
  insert into {election} as e (name, term, state, attempt, leader, metadata, kind, life, lease, own_lease, vacancy, previous_lease, granted)
  select v.name, greatest(v.floor + 1, clock.now), 'held', v.attempt, v.candidate, v.metadata, $10, $9, $11, $11, 'absent', 0, clock.now
  from verdict v, clock where not v.is_found and v.is_granted order by v.name
  on conflict do nothing returning e.name, e.term, e.vacancy, e.own_lease, e.previous_lease),
granted as materialized (select * from taken union all select * from made),
renewed as (
  update {session} s set renewed = clock.now, stamp = s.stamp + 1 from clock
  where s.life = $9 and $10 <> 'advisory' and exists (select from granted)),
told as (
  update {session} s set news = s.news + 1
  where s.life in (select l.life from late l join verdict v on v.old_life = l.life join granted g using (name)
    where l.life <> $9))
select v.name, case when g.name is not null then 'granted' when v.is_found and v.found_as in ('over', 'finished', 'held', 'newer')
    then v.found_as else 'busy' end,
  g.term, g.vacancy, g.own_lease, g.previous_lease, clock.now,
  f.leader, f.metadata, f.term, f.attempt, f.stamp + coalesce(s.stamp, 0), f.lease, s.renewed, f.granted, f.kind, f.life,
  $10 = 'advisory' or exists (select from {session} s where s.life = $9),
  case when g.name is not null then pg_notify(v.channel, 'held ' || g.term || ' ' || v.name) end,
  case when g.name is not null and $10 <> 'lease' then set_config('idle_session_timeout', ($11 / 1000 + 1)::text, false) end
from verdict v cross join clock left join granted g using (name) left join found f using (name) left join {session} s on s.life = f.life
)sql";

// By its place, which is the quickest way to a row that was just found. One that was changed since
// the statement began is not there for it: then nothing is taken.
const std::string_view take_released = R"sql(
update {election} e set term = greatest(e.term + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint),
  state = 'held', attempt = $2, leader = $3, metadata = $4, kind = $8, life = $6, stamp = e.stamp + 1, lease = $7,
  own_lease = $7, vacancy = 'released', previous_lease = e.lease,
  granted = (extract(epoch from clock_timestamp()) * 1000000)::bigint, vacated = null
where e.name = $1 and e.ctid = (
  select f.ctid from {election} f
  where f.name = $1 and f.state = 'released' and not f.ended and f.format <= 1 and f.attempt <> $2 and f.term >= $5
    and ($9::int is null or pg_backend_pid() = $9) for update skip locked)
returning e.name, 'granted', e.term, e.vacancy, e.own_lease, e.previous_lease, e.granted,
  set_config('idle_session_timeout', ($7::bigint / 1000 + 1)::text, false), {durable}
)sql";

// Whoever else has its session row in hands waits for no row of an election meanwhile.
const std::string_view take_released_by_clock = R"sql(
with free as materialized (
  select f.ctid as place from {election} f
  where f.name = $1 and f.state = 'released' and not f.ended and f.format <= 1 and f.attempt <> $2 and f.term >= $5
    and ($9::int is null or pg_backend_pid() = $9) for update skip locked),
me as (
  update {session} s set renewed = (extract(epoch from clock_timestamp()) * 1000000)::bigint, stamp = s.stamp + 1
  where s.life = $6 and exists (select from free) returning s.renewed as now)
update {election} e set term = greatest(e.term + 1, me.now), state = 'held', attempt = $2, leader = $3, metadata = $4,
  kind = $8, life = $6, stamp = e.stamp + 1, lease = $7, own_lease = $7, vacancy = 'released', previous_lease = e.lease,
  granted = me.now, vacated = null
from me where e.name = $1 and e.ctid = (select place from free)
returning e.name, 'granted', e.term, e.vacancy, e.own_lease, e.previous_lease, e.granted,
  case when $8 <> 'lease' then set_config('idle_session_timeout', ($7::bigint / 1000 + 1)::text, false) end, {durable}
)sql";

const std::string_view tell = "select pg_notify($1, $2)";

const std::string_view greet_side = R"sql(
select pg_is_in_recovery(), extract(epoch from pg_postmaster_start_time()),
  case when pg_backend_pid() = $1::int
    then set_config('synchronous_commit', 'off', false) || set_config('lock_timeout', $2, false) end
)sql";

const std::string_view renew = R"sql(
with clock as materialized (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now),
due as materialized (
  select d.ord, e.name is null or e.state = 'removed' as is_gone, e.ended, e.term > d.term as is_superseded,
    e.attempt = d.attempt and e.term = d.term and e.life = $4 and e.state = 'held' and not e.ended and e.format <= 1 as is_held
  from unnest($1::text[], $2::text[], $3::bigint[]) with ordinality as d (name, attempt, term, ord)
    left join {election} e using (name)),
me as (
  update {session} s set renewed = clock.now, stamp = s.stamp + 1 from clock
  where s.life = $4 and $5 <> 'advisory' and exists (select from due where is_held) returning s.news, {durable})
select d.ord, case
    when d.is_held and ($5 = 'advisory' or exists (select from me)) then 'renewed'
    when d.is_gone or d.is_held then 'gone'
    when d.ended then 'ended'
    when d.is_superseded then 'superseded'
    else 'gone' end,
  (select news from me), $5 = 'advisory' or exists (select from {session} s where s.life = $4), pg_backend_pid()
from due d order by d.ord
)sql";

const std::string_view resign = R"sql(
update {election} e set state = $4, stamp = e.stamp + 1, vacated = (extract(epoch from clock_timestamp()) * 1000000)::bigint
where e.name = $1 and e.format <= 1 and e.attempt = $2 and ($3::bigint is null or e.term = $3) and e.state = 'held'
returning pg_notify($5, $4 || ' ' || e.term || ' ' || e.name),
  case when $6 then set_config('synchronous_commit', 'off', true) when not $6 then {durable} end
)sql";

const std::string_view look = R"sql(
select e.name, e.format,
  case when e.state = 'held' and e.kind = 'advisory' and e.life <> $2::bigint and not pg_is_in_recovery()
    then case when pg_try_advisory_xact_lock_shared(e.life) then 'ended' else e.state end else e.state end,
  e.leader, e.metadata, e.term, e.attempt, e.stamp + coalesce(s.stamp, 0), e.lease,
  coalesce(s.renewed, case when e.kind <> 'advisory' then e.granted end), e.granted, e.kind, e.life, e.ended, (extract(epoch from clock_timestamp()) * 1000000)::bigint
from {election} e left join {session} s on s.life = e.life where e.name = any($1::text[])
)sql";

const std::string_view end = R"sql(
with clock as materialized (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now, {durable}),
over as (
  update {election} e set ended = true, stamp = e.stamp + 1, vacated = coalesce(e.vacated, clock.now),
    state = case e.state when 'held' then 'abandoned' else e.state end
  from clock where e.name = $1 and e.format <= 1 and e.state <> 'removed' and not e.ended returning e.name, e.term, e.life),
told as (update {session} s set news = s.news + 1 where s.life in (select life from over))
select 'done', pg_notify($2, 'ended ' || term || ' ' || name) from over
union all select 'done', null from {election} where name = $1 and format <= 1 and state <> 'removed' and ended
union all select 'newer', null from {election} where name = $1 and format > 1
)sql";

const std::string_view remove = R"sql(
with clock as materialized (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now, {durable}),
found as materialized (select e.* from {election} e where e.name = $1 for update),
verdict as materialized (
  select f.name, case
      when f.format > 1 then 'newer'
      when f.state = 'held' then 'held'
      when f.state = 'removed' and $2 = 'trace' then 'gone'
      when $2 = 'nothing' and clock.now - f.vacated < f.lease and f.state <> 'released' then 'believed'
      else 'done' end as word
  from found f, clock),
traced as (
  update {election} e set state = 'removed', ended = false, stamp = e.stamp + 1, leader = '', metadata = '',
    vacated = case e.state when 'released' then null else e.vacated end
  from verdict v where e.name = v.name and v.word = 'done' and $2 = 'trace'),
purged as (delete from {election} e using verdict v where e.name = v.name and v.word = 'done' and $2 = 'nothing')
select word from verdict
)sql";

Verbs verbs_on(const Tables& tables, bool by_clock) {
  return {statement(campaign, tables),
          statement(by_clock ? take_released_by_clock : take_released, tables),
          statement(renew, tables), statement(resign, tables), statement(look, tables)};
}

}  // namespace conclave::postgres
