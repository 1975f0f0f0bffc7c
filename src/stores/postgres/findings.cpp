#include "stores/postgres/findings.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace conclave::postgres {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The columns of the facts, in their order there.
enum Fact : std::size_t {
  version,
  in_recovery,
  fsync,
  synchronous_commit,
  synchronous_standbys,
  standbys,
  heeded_standbys,  // all, where the role may not see which
  wanted_standbys,
  most_connections,
  connections,
  most_of_role,
  of_role,
  most_of_database,
  of_database,
  room_for_locks,
  locks,
  role_timeouts,
  idle_session_timeout,
  keepalives_idle,
  keepalives_in_all,
  tcp_user_timeout,
  schema,
  may_use,
  may_create,
  missing,
  forbidden,
  misfits,
  role,
  read_only,
  hidden_standbys,
  by_locks_alone
};

std::string words_of(const std::string& kind) {
  return kind == "strict" ? "mode=advisory&strict=true" : "mode=" + kind;
}

class Judge {
 public:
  Judge(const Rows& rows, const Settings& settings, const Circumstances& seen)
      : rows_(rows), settings_(settings), seen_(seen) {}

  std::vector<Finding> findings() {
    judge_server();
    judge_tables();
    judge_kinds();
    judge_replication();
    judge_pooler();
    judge_room();
    judge_way();
    judge_clock();
    judge_speed();
    return std::move(findings_);
  }

 private:
  [[nodiscard]] std::string text(Fact fact) const {
    const std::string* const found = rows_.text(0, fact);
    return found != nullptr ? *found : std::string{};
  }
  [[nodiscard]] std::int64_t number(Fact fact) const { return rows_.number(0, fact).value_or(0); }
  [[nodiscard]] bool is(Fact fact) const { return text(fact) == "t"; }
  [[nodiscard]] bool by_lock() const { return settings_.mode == PostgresMode::advisory; }
  void tell(Severity severity, std::string setting, std::string problem, std::string fix) {
    findings_.push_back({severity, std::move(setting), std::move(problem), std::move(fix)});
  }

  void judge_server() {
    if (is(in_recovery)) {
      tell(Severity::danger, "recovery", "the server is a standby, which only reads",
           "give the primary, or several hosts, of which the one that writes is taken");
    }
    if (text(read_only) == "on" && !is(in_recovery)) {
      tell(Severity::danger, "default_transaction_read_only",
           "sessions of this role only read, so it can neither lead nor wait",
           "set it off where it was set on: alter role " + text(role) +
               " set default_transaction_read_only = off, or the same for the database, the role "
               "in the database, or the system");
    }
    if (number(version) < 140000) {
      tell(by_lock() ? Severity::danger : Severity::note, "server_version",
           by_lock() ? "before PostgreSQL 14 the server does not end the session of a leader that "
                       "stands still (idle_session_timeout), so mode=advisory is refused"
                     : "it is older than those that this store is tested with",
           by_lock() ? "update the server, or write mode=lease" : "update the server");
    }
    if (text(fsync) == "off") {
      tell(Severity::danger, "fsync",
           "it is off: after a power failure terms may be lost and given a second time",
           "set fsync = on");
    }
  }

  void judge_tables() {
    if (!settings_.tables) return judge_locks_alone();
    if (is(by_locks_alone)) {
      tell(Severity::danger, "tables",
           text(missing).empty() ? "some candidates go by locks alone, beside those that go by the "
                                   "tables: each have a leader of their own"
                                 : "some candidates go by locks alone: as long as they do, nobody "
                                   "makes tables, and who needs them is refused",
           "write tables=false for all candidates, or for none");
    }
    if (!text(misfits).empty()) {
      tell(Severity::danger, "tables",
           "there is something else under the name of " + text(misfits) +
               ", or a table of another version or unlogged",
           "choose another schema, or rename what is in the way");
    } else {
      judge_rights();
    }
  }

  // They need no right, and no schema.
  void judge_locks_alone() {
    if (!text(missing).empty()) return;
    tell(Severity::danger, "tables=false",
         "there are tables for elections, which others go by: who goes without them is refused",
         "leave tables=false out, or drop the tables when nobody goes by them");
  }

  void judge_rights() {
    if (text(schema).empty()) {
      tell(Severity::danger, "schema",
           settings_.schema.empty() ? "no schema of the search path is there"
                                    : "there is no schema of this name in the database",
           "create it, or correct schema");
    } else if (!is(may_use)) {
      tell(Severity::danger, "rights", "this role may not use the schema " + text(schema),
           "grant usage on schema " + text(schema) + " to " + text(role));
    } else if (!text(missing).empty()) {
      judge_missing_tables();
    } else if (!text(forbidden).empty()) {
      tell(Severity::danger, "rights", "this role may not read and write the tables",
           "grant select, insert, update, delete on " + text(forbidden) + " to " + text(role));
    }
  }

  void judge_missing_tables() {
    if (!settings_.create) {
      tell(Severity::danger, "create=false",
           "there is no " + text(missing) + ", and it must not be made",
           "have the tables made by the output of conclave sql, and check schema");
    } else if (!is(may_create)) {
      tell(Severity::danger, "rights",
           "the tables are not there, and this role may not make them: have them made by the "
           "output of conclave sql, or let it" +
               std::string(by_lock() && !settings_.strict ? ", or do without by tables=false" : ""),
           "grant create on schema " + text(schema) + " to " + text(role));
    } else if (!is(by_locks_alone)) {
      tell(Severity::note, "tables", "they are not there yet: the first candidate makes them",
           "nothing to do");
    }
  }

  // A row has the kind of who holds it.
  void judge_kinds() {
    const std::string own = kind_of(settings_);
    for (const auto& [kind, election] : seen_.kinds) {
      if (kind == own) continue;
      tell(Severity::warning, "mode",
           "the election " + election + " is held by a candidate of " + words_of(kind) +
               ", and here it says " + words_of(own) +
               ": in one election they do not see alike when a leader is over",
           "give all candidates of an election the same mode and strict");
    }
  }

  void judge_replication() {
    const bool waits = !text(synchronous_standbys).empty();
    if (number(standbys) > 0 && !waits) {
      tell(Severity::warning, "synchronous_standby_names",
           "there are standbys, and none is waited for: one that is promoted may not have heard of "
           "the last grant, and then two lead for up to a lease; only the term tells them apart",
           "set synchronous_standby_names, or fence with the term");
    }
    if (waits && number(heeded_standbys) < number(wanted_standbys)) {
      tell(Severity::danger, "synchronous_standby_names " + text(synchronous_standbys),
           "commits wait for " + std::to_string(number(wanted_standbys)) + ", and " +
               std::to_string(number(heeded_standbys)) +
               " of them are connected: nobody can be elected or stay so",
           "connect the standby, or change synchronous_standby_names");
    } else if (waits && number(hidden_standbys) > 0) {
      tell(Severity::note, "synchronous_standby_names " + text(synchronous_standbys),
           "this role cannot see whether the standbys that are connected are those that commits "
           "wait for: where they are not, nobody can be elected or stay so",
           "grant pg_monitor to " + text(role) + ", and ask again");
    }
    if (number(standbys) > 0 && by_lock() && !settings_.strict) {
      tell(Severity::warning, "mode=advisory",
           "there are standbys, and a lock needs none of them: when one is promoted, a leader that "
           "still reaches the old primary goes on beside the new one",
           "write strict=true or mode=lease, or fence with the term");
    }
    judge_commits(waits);
  }

  // What decides who leads sets it for itself.
  void judge_commits(bool waits) {
    const std::string mode = text(synchronous_commit);
    const bool reaches_standbys = mode == "on" || mode == "remote_apply";
    if (!seen_.is_pooled || reaches_standbys || (!waits && mode != "off")) return;
    tell(Severity::note, "synchronous_commit " + mode,
         std::string("who leads is committed as with on, and other work of this role is not: ") +
             (mode == "off" ? "a server that crashes forgets the last of it"
                            : "a standby that is promoted may not have heard of the last of it"),
         "alter role " + text(role) + " set synchronous_commit = on, if it is fenced work");
  }

  void judge_pooler() {
    if (!seen_.is_pooled) return;
    if (by_lock()) {
      tell(seen_.is_shared ? Severity::danger : Severity::warning, "pooler",
           seen_.is_shared ? "it is in transaction mode, where no lock is ours alone, so "
                             "mode=advisory is refused"
                           : "the lock is held through a pooler, which works only as long as that "
                             "is in session mode and its pool has two connections for each "
                             "candidate, and a third while one connects",
           "connect directly, or write mode=lease");
    } else {
      tell(Severity::note, "pooler",
           "nothing is told through a pooler, so candidates look four times a lease",
           "connect directly for hand-overs in milliseconds");
    }
    if (!text(role_timeouts).empty()) {
      tell(
          Severity::warning, text(role_timeouts),
          "these limits of the role or the database count for sessions of the pooler, too, and may "
          "end a renewal",
          "lift them for this role, or connect directly, where the store does it");
    }
    const milliseconds idle{number(idle_session_timeout)};
    if (idle > milliseconds::zero() && idle < settings_.lease) {
      tell(Severity::warning, "idle_session_timeout " + std::to_string(idle.count()) + "ms",
           "the server ends the pooler's sessions when they are idle for less than a lease",
           "lift it for this role");
    }
  }

  struct Room {
    std::int64_t free;
    std::string of;
    std::string fix;
  };

  // The narrowest. Where there is no limit, it is below zero.
  [[nodiscard]] Room least_room() const {
    Room least{number(most_connections) - number(connections), "max_connections",
               "raise max_connections"};
    const auto heed = [&](Fact most, Fact taken, const std::string& of, const std::string& fix) {
      const std::int64_t free = number(most) - number(taken);
      if (number(most) >= 0 && free < least.free) least = {free, of, fix};
    };
    heed(most_of_role, of_role, "connection limit of the role",
         "alter role " + text(role) + " connection limit ...");
    heed(most_of_database, of_database, "connection limit of the database",
         "alter database ... connection limit ...");
    return least;
  }

  void judge_room() {
    const Room room = least_room();
    if (room.free < 8) {
      tell(
          room.free <= 1 ? Severity::danger : Severity::warning,
          room.of + ", " + std::to_string(std::max<std::int64_t>(room.free, 0)) + " left",
          "a candidate needs two connections, in mode advisory up to four: one that cannot connect "
          "again after a trouble has lost its term",
          room.fix);
    }
    if (number(locks) * 2 > number(room_for_locks)) {
      tell(Severity::warning,
           "max_locks_per_transaction, " + std::to_string(number(locks)) + " of " +
               std::to_string(number(room_for_locks)) + " locks taken",
           "when the table of locks is full, nobody gets one, and statements fail",
           "raise max_locks_per_transaction");
    }
  }

  void judge_way() {
    if (!settings_.is_near && !seen_.has_tls) {
      tell(Severity::warning, "sslmode",
           "the connection leaves this machine without TLS: whoever is in between can read what is "
           "sent and take every election",
           "write sslmode=verify-full and sslrootcert=...");
    } else if (!settings_.is_near && settings_.keyword("sslmode") != "verify-full") {
      tell(Severity::note, "sslmode " + std::string(settings_.keyword("sslmode")),
           "whoever answers is believed: the server's name is not compared with its certificate",
           "write sslmode=verify-full and sslrootcert=...");
    }
    if (by_lock()) judge_keepalives();
  }

  // On its own sessions the store sets them. Behind a pooler they are about the way from there to
  // the server; where that is a Unix socket, they are zero.
  void judge_keepalives() {
    if (!seen_.is_pooled || seen_.is_shared || number(keepalives_idle) == 0) return;
    const milliseconds probes{number(keepalives_in_all)};
    const milliseconds unanswered{number(tcp_user_timeout)};
    const bool is_short = unanswered > milliseconds::zero() && unanswered < settings_.lease;
    if (!is_short && probes >= settings_.lease) return;
    tell(settings_.strict ? Severity::note : Severity::danger,
         is_short ? "tcp_user_timeout " + text(tcp_user_timeout) + "ms"
                  : "tcp_keepalives, " + text(keepalives_in_all) + "ms in all",
         std::string("the server ends the pooler's session with the lock of a leader, when the "
                     "pooler is cut off, before the lease is over, and ") +
             (settings_.strict ? "its term with it"
                               : "another one is elected while the first still believes in its "
                                 "term"),
         is_short ? "set tcp_user_timeout to a lease at least, or to 0"
                  : "set tcp_keepalives_idle to a lease at least");
  }

  void judge_clock() {
    const Duration apart = std::max(seen_.clock_ahead, -seen_.clock_ahead);
    if (apart < seconds{2}) return;
    tell(Severity::note,
         "clock, " + std::to_string(std::chrono::floor<seconds>(apart).count()) + " s apart",
         "the server's clock and this machine's differ: nothing of an election depends on it, but "
         "logs are hard to compare",
         "synchronise both with NTP");
  }

  void judge_speed() {
    if (seen_.round_trip <= settings_.request_timeout / 4) return;
    const auto micros = std::chrono::ceil<std::chrono::microseconds>(seen_.round_trip).count();
    const std::string trip = "round trip " + std::to_string(micros / 1000) + "." +
                             std::to_string(micros / 100 % 10) + " ms";
    const std::string limit =
        std::to_string(std::chrono::floor<milliseconds>(settings_.request_timeout).count()) + " ms";
    tell(Severity::warning, trip,
         "that is long for a request time-out of " + limit +
             ": a small hiccup may cost a leader its term",
         "lengthen the lease, or move closer to the server");
  }

  const Rows& rows_;
  const Settings& settings_;
  const Circumstances& seen_;
  std::vector<Finding> findings_;
};

}  // namespace

bool has_rows_to_read(const Rows& facts, const Settings& settings) {
  const auto is_empty = [&](Fact fact) {
    const std::string* const text = facts.text(0, fact);
    return text == nullptr || text->empty();
  };
  return settings.tables && !is_empty(schema) && is_empty(missing) && is_empty(forbidden) &&
         is_empty(misfits);
}

std::vector<Finding> findings_in(const Rows& rows, const Settings& settings,
                                 const Circumstances& seen) {
  return Judge(rows, settings, seen).findings();
}

}  // namespace conclave::postgres
