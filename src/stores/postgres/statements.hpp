// What the server decides, and what it is asked. Every verb is one statement, so nobody comes
// between reading a row and writing it, and through a pooler it is one transaction.
//
// The session of a process that holds something by its lock is ended by the server when it is idle
// for a lease (idle_session_timeout): a process that stands still has lost its term by then.
//
// Rules that all of them keep
//  - No bid waits for a row: whoever is in the way is skipped, and the answer says "busy". A
//    session that is blocked would not be ended by the server when its process stands still. It
//    waits only while somebody else makes the same row, or commits letters. Where a row is given
//    back or ended, lock_timeout bounds the wait, or our patience, where no lock is held.
//  - Rows are locked in the order of the names, and session rows after those of elections.
//  - A row is given away only if it is locked, and so is the session row of its holder, where the
//    clock is the judge: a renewal that comes at the same time finds the news that it has to look.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace conclave::postgres {

// The names of our tables, quoted, with the schema where one is given.
struct Tables {
  Tables(std::string_view schema, std::string_view prefix);

  std::string schema{};  // quoted; empty: the first of the search path
  std::string election{};
  std::string session{};
  std::string server{};
  std::string index{};  // the name alone, as it is created
};

// Whatever a role or a database has set, what decides who leads waits for the log, and for standbys
// as the server is told to. Until the end of the transaction, and so behind a pooler, too.
constexpr std::string_view durable =
    "case when current_setting('synchronous_commit') not in ('on', 'remote_apply') then "
    "set_config('synchronous_commit', 'on', true) end";

// The tables in the statement's text, which has {election}, {session}, {server} for them, and
// {durable}.
[[nodiscard]] std::string statement(std::string_view text, const Tables& tables);

// Text in quotes, whatever is in it.
[[nodiscard]] std::string literal(std::string_view text);

// These statements as one, which returns nothing; whatever names they have in them.
[[nodiscard]] std::string anonymous_block(const std::string& statements);

// ---- the tables: several statements, in one transaction
extern const std::string_view create_tables;

// ---- a session row: a process whose lease is judged by the server's clock
// $1 life, $2 lease, $3 the lives before, as far as they may have been opened, $4 the attempts that
// the process leads by. Those move to the new one; what was asked for in the name of an old one,
// and comes late, finds it gone. So does a place that was given back by a mark that the server has
// forgotten: nobody keeps it alive. Rows that nobody has renewed for an hour, and that hold
// nothing, are swept away with it: whoever still is there finds that out with its next bid. The
// news.
extern const std::string_view open_session;
extern const std::string_view close_session;  // $1 life; unless something is held in its name

// $1 names, $2 attempts, $3 candidates, $4 metadata, $5 floors, $6 and $7 the versions seen
// unchanged, $8 expected server times: arrays, one element for each bid, each name once.
// $9 life, $10 kind, $11 lease, $12 channels, $13 behind a pooler the server process that has our
// lock: nothing happens on another one, and what that one holds for somebody else is not free,
// although it is to itself. For each: name, word; term, vacancy, lease and
// previous lease of a grant; the server's clock; of who holds it leader, metadata, term, attempt,
// stamp, lease, renewed, granted, kind, life; whether our session row is there.
extern const std::string_view campaign;

// The same for a place that was just told to be free: what a hand-over waits for is a third of the
// work. $1 name, $2 attempt, $3 candidate, $4 metadata, $5 floor, $6 life, $7 lease, $8 kind, $9 as
// $13 above. A row with the first seven columns of a grant; none when it is anything else than
// free, or cannot be told without waiting. The others are not told: they would wake up while who
// has won still waits for the answer. By a lock alone, and with a session row.
extern const std::string_view take_released;
extern const std::string_view take_released_by_clock;
extern const std::string_view tell;  // $1 channel, $2 letter

// $1 the server process that libpq believes to talk to: behind a pooler it is another one, and the
// next who gets it there gets it as it was. Otherwise a crash may forget what this session writes,
// which is marks only, and they wait for a row for $2 at most. Whether the server is a standby, and
// when it was started.
extern const std::string_view greet_side;

// $1 names, $2 attempts, $3 terms, $4 life, $5 kind. For each: word; the news of the session row,
// and whether it is there; the server process that says so.
extern const std::string_view renew;

// $1 name, $2 attempt, $3 term or null, $4 mark, $5 channel. A row if it was held.
// $6: whether a crash of the server may forget it, so that nobody waits for the disk: the next
// grant does, and the server's log has the mark before it. Null: as the session says.
extern const std::string_view resign;

// $1 names, $2 the life whose lock is of this session, or 0. For each that there is: name, format,
// state, leader, metadata, term, attempt, stamp, lease, renewed, granted, kind, life, ended, the
// server's clock. Whose session row has gone cannot renew it: it was last heard of with its grant.
extern const std::string_view look;

extern const std::string_view end;     // $1 name, $2 channel; a word if there was one to end
extern const std::string_view remove;  // $1 name, $2 "trace" or "nothing"; a word

// Those for a store with tables, and for one without.
struct Verbs {
  std::string campaign{};
  std::string take_released{};  // empty where there is no short form
  std::string renew{};
  std::string resign{};
  std::string look{};
};
[[nodiscard]] Verbs verbs_on(const Tables& tables, bool by_clock);
[[nodiscard]] Verbs verbs_on_locks(std::int64_t lease);  // that of ours, in microseconds

}  // namespace conclave::postgres
