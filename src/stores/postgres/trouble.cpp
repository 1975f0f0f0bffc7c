#include "stores/postgres/trouble.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "stores/postgres/texts.hpp"

namespace conclave::postgres {
namespace {

constexpr std::size_t longest_message = 300;

// By the beginning of the SQLSTATE; the first that fits.
struct Known {
  std::string_view state;
  ErrorCode code;
  std::string_view sentence;  // after the server's name
  bool retryable = true;
  bool in_doubt = false;
  bool tells = false;  // what the server says is added
};

constexpr std::string_view other_shape =
    "has something else under the name of a table for elections, or one of another version or "
    "unlogged: choose another schema, or rename it";

constexpr std::array known{
    Known{"28P01", ErrorCode::denied, "does not accept this user and password: check both", false},
    Known{"3D000", ErrorCode::invalid_argument,
          "does not have this database: check its name, or create it", false},
    Known{"42501", ErrorCode::denied, "forbids this user what an election needs", false, false,
          true},
    Known{
        "25006", ErrorCode::unavailable,
        "takes no writes, as a standby does: connect to the primary, or set "
        "default_transaction_read_only off where it was set on, for this role, its database or the "
        "server"},
    Known{"57P01", ErrorCode::unavailable,
          "ended the session, as it does when it shuts down or is told to", true, true, true},
    Known{"57P02", ErrorCode::unavailable, "ended the session, since another one has crashed", true,
          true},
    Known{"57P03", ErrorCode::unavailable,
          "is not ready yet, or shuts down: wait until it has started, and see its log", true,
          false, true},
    Known{"57P04", ErrorCode::unavailable, "ended the session: its database was dropped", true,
          true},
    Known{"57P05", ErrorCode::unavailable,
          "ended the session, which was idle for longer than its idle_session_timeout", true, true},
    Known{"25P03", ErrorCode::unavailable,
          "ended the session by its idle_in_transaction_session_timeout", true, true},
    Known{"25P04", ErrorCode::unavailable, "ended the session by its transaction_timeout", true,
          true},
    Known{"53300", ErrorCode::unavailable,
          "has as many connections as it takes: raise max_connections, or the limit of the role, "
          "the database or the pooler"},
    Known{"53", ErrorCode::unavailable, "is short of something", true, false, true},
    Known{"42P01", ErrorCode::invalid_state,
          "has no tables for elections there: have them made by the output of conclave sql, or "
          "leave create=false out, and check schema",
          false, false, true},
    Known{"3F000", ErrorCode::invalid_argument,
          "does not have the schema for the tables: check schema, or create it", false, false,
          true},
    Known{"42703", ErrorCode::unsupported, other_shape, false, false, true},
    Known{"42804", ErrorCode::unsupported, other_shape, false, false, true},
    Known{"42809", ErrorCode::unsupported, other_shape, false, false, true},
    Known{"42883", ErrorCode::unsupported, other_shape, false, false, true},
    Known{"42P10", ErrorCode::unsupported, other_shape, false, false, true},
    Known{"42710", ErrorCode::unsupported, other_shape, false, false, true},
    Known{"42P07", ErrorCode::unavailable, "is making the same table for somebody else", true,
          false, true},
    Known{"40003", ErrorCode::unavailable, "does not know whether the statement was executed", true,
          true},
    Known{"40001", ErrorCode::unavailable, "wants the statement once more: others came between"},
    Known{"40P01", ErrorCode::unavailable, "undid the statement, which waited in a circle"},
    Known{"55P03", ErrorCode::unavailable, "did not get a lock that somebody else holds"},
    Known{"57014", ErrorCode::unavailable,
          "cancelled the statement: by somebody, or by a statement_timeout", true, false, true},
    Known{"0A000", ErrorCode::unsupported, "cannot do what an election needs", false, false, true},
    Known{"LOCK0", ErrorCode::invalid_state,
          "has candidates that go by locks alone: all have to write tables=false, or none", false},
    Known{"POOL0", ErrorCode::unavailable,
          "is a pooler that does not reach its server, and tries again after server_login_retry: "
          "see whether that server runs"},
    Known{"08P01", ErrorCode::unavailable,
          "does not take the connection or the request, as a pooler says it: check database and "
          "user there",
          true, true, true},
    Known{"08", ErrorCode::unavailable, "lost the connection", true, true, true},
    Known{"58", ErrorCode::unavailable, "has trouble with its system: see its log", true, false,
          true},
    Known{"XX", ErrorCode::unavailable, "has trouble within: see its log", true, false, true},
};

// What has to be granted, by what the server says is denied: "permission denied for table x".
struct Right {
  std::string_view kind;
  std::string_view grant;
  std::string_view more{};
};

constexpr std::array rights{
    Right{"table ", "GRANT SELECT, INSERT, UPDATE, DELETE ON TABLE "},
    Right{"relation ", "GRANT SELECT, INSERT, UPDATE, DELETE ON TABLE "},
    Right{"sequence ", "GRANT USAGE, SELECT ON SEQUENCE "},
    Right{"schema ", "GRANT USAGE, CREATE ON SCHEMA ",
          ", or have the tables made by the output of conclave sql, or do without by tables=false"},
    Right{"database ", "GRANT CONNECT ON DATABASE "},
    Right{"function ", "GRANT EXECUTE ON FUNCTION "},
};

std::string grant_for(std::string_view message, const Place& place) {
  constexpr std::string_view denied = "permission denied for ";
  if (const auto found = message.find(denied); found != std::string_view::npos) {
    const auto object = message.substr(found + denied.size());
    for (const Right& each : rights) {
      if (!object.starts_with(each.kind)) continue;
      const std::string name(object.substr(each.kind.size()));
      if (each.kind == "table " && !place.tables.empty()) {
        return std::string(each.grant) + place.tables + " TO its role, which conclave doctor names";
      }
      const bool is_schema = each.kind == "schema ";
      const std::string grant =
          is_schema && !place.create ? "GRANT USAGE ON SCHEMA " : std::string(each.grant);
      return grant + (is_schema && !place.schema.empty() ? place.schema : name) + " TO its role" +
             std::string(place.create ? each.more : "");
    }
  }
  return "grant it to its role";
}

// The server's texts may name the user: somebody may have written a password in its place.
Error refused_login(std::string_view message, const std::string& where) {
  const auto says = [&](std::string_view words) {
    return message.find(words) != std::string_view::npos;
  };
  return {ErrorCode::denied,
          where + (says("pg_hba.conf")
                       ? " has no line in its pg_hba.conf that lets this user into this database "
                         "from here, with this sslmode: add one"
                   : says("client certificate")
                       ? " wants a certificate of its clients: give one by sslcert and sslkey"
                       : " does not let this user in: check its name, and that the role may log "
                         "in"),
          false, false};
}

// A pooler refuses everything under one state. What it passes on of the server has that, too.
std::string_view meant_by_pooler(std::string_view message) {
  struct Meaning {
    std::string_view words;
    std::string_view state;
  };
  constexpr std::array meanings{
      Meaning{"no more connections allowed", "53300"},
      Meaning{"server login has been failing", "POOL0"},
      Meaning{"pg_hba.conf", "28000"},
      Meaning{"no such database", "3D000"},
      Meaning{"database \"", "3D000"},
      Meaning{"authentication failed", "28P01"},
      Meaning{"no such user", "28P01"},
      Meaning{"role \"", "28P01"},
      Meaning{"auth failed", "28P01"},
      Meaning{"login rejected", "28P01"},
      Meaning{"server login failed:", "28P01"},
  };
  const auto* const found = std::find_if(
      meanings.begin(), meanings.end(),
      [&](const Meaning& each) { return message.find(each.words) != std::string_view::npos; });
  return found != meanings.end() ? found->state : "08P01";
}

bool is_state(std::string_view text) {
  return text.size() == 5 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
         });
}

// "FATAL:  28P01: password authentication failed ..." of the last server that was tried.
struct Said {
  std::string_view state;
  std::string_view message;
};

std::optional<Said> said_in(std::string_view text) {
  std::optional<Said> said;
  constexpr std::string_view mark = ":  ";
  for (auto at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + 1)) {
    const auto rest = text.substr(at + mark.size());
    if (rest.size() < 7 || !is_state(rest.substr(0, 5)) || rest.substr(5, 2) != ": ") continue;
    said = Said{rest.substr(0, 5), rest.substr(7, rest.find('\n') - 7)};
  }
  return said;
}

// Whether it was a socket that could not be opened. Otherwise such words are about a file of TLS.
bool is_of_socket(std::string_view text) {
  const auto last = text.rfind("connection to server ");
  return last != std::string_view::npos &&
         text.substr(last).starts_with("connection to server on socket ");
}

// Of several hosts the last word; without its beginning, which names the host once more.
std::string_view last_reason(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  constexpr std::string_view start = "connection to server ";
  if (const auto last = text.rfind(start); last != std::string_view::npos) text.remove_prefix(last);
  constexpr std::string_view failed = " failed: ";
  if (const auto found = text.find(failed);
      text.starts_with(start) && found != std::string_view::npos) {
    text.remove_prefix(found + failed.size());
  }
  return text;
}

struct Reason {
  std::string_view words;
  ErrorCode code;
  std::string_view sentence;
  bool retryable;
  bool adds = false;  // to libpq's own words, which name what it is about
};

constexpr std::string_view no_file = "No such file or directory";
constexpr std::string_view no_right = "Permission denied";

constexpr std::array reasons{
    Reason{"Connection refused", ErrorCode::unavailable,
           "nobody listens there: is the server running, and is this where it listens?", true},
    Reason{no_file, ErrorCode::unavailable,
           "there is no such socket: is the server running, and is this where it listens?", true},
    Reason{"no password supplied", ErrorCode::denied,
           "it wants a password: give one by password, password_file or a passfile", false},
    Reason{
        "session is read-only", ErrorCode::unavailable,
        "it takes no writes, as a standby does: connect to the primary, or set "
        "default_transaction_read_only off where it was set on, for this role, its database or the "
        "server",
        true},
    Reason{"server is in hot standby mode", ErrorCode::unavailable,
           "it takes no writes, as it is a standby: connect to the primary, or give it among the "
           "hosts",
           true},
    Reason{"certificate verify failed", ErrorCode::denied,
           "its certificate has expired, or is of an authority that is not in sslrootcert: check "
           "both",
           false, true},
    Reason{"does not match host name", ErrorCode::denied,
           "give the host by a name of its certificate, or have one made for this name", false,
           true},
    Reason{"root certificate file", ErrorCode::denied,
           "give the authority's certificate by sslrootcert", false, true},
    Reason{" alert ", ErrorCode::denied,
           "the server does not accept our certificate: check that sslcert is of an authority that "
           "it knows, and has not expired",
           false, true},
    Reason{"certificate", ErrorCode::denied, "check sslcert, sslkey and sslrootcert", false, true},
    Reason{"does not support SSL", ErrorCode::denied,
           "it speaks no TLS there, and sslmode wants it: set ssl = on there, or sslmode=prefer",
           false},
    Reason{"unsupported startup parameter: options", ErrorCode::invalid_argument,
           "a pooler refuses options there: leave it out, or let ignore_startup_parameters name it",
           false},
    Reason{no_right, ErrorCode::denied,
           "this process has no right to connect there: check the rights of the socket", false},
};

}  // namespace

std::string one_line(std::string_view text) {
  std::string line;
  bool in_space = false;
  for (const char c : text) {
    const bool is_space = static_cast<unsigned char>(c) <= ' ' || c == 127;
    if (is_space && !in_space && !line.empty()) line += ' ';
    if (!is_space) line += c;
    in_space = is_space;
    if (line.size() > longest_message) break;
  }
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

Error trouble_of(std::string_view sqlstate, std::string_view message, const Place& place) {
  const std::string& where = place.server;
  if (sqlstate == "08P01") sqlstate = meant_by_pooler(message);
  if (sqlstate == "28000") return refused_login(message, where);
  const auto found = std::find_if(known.begin(), known.end(), [&](const Known& each) {
    return sqlstate.starts_with(each.state);
  });
  const std::string told = " (" + one_line(message) + ")";
  if (found == known.end()) {
    return {ErrorCode::unsupported,
            where + " refused the request (" + one_line(sqlstate) + "): " + one_line(message), true,
            false};
  }
  Error error{found->code, where + " " + std::string(found->sentence), found->retryable,
              found->in_doubt};
  if (found->tells) error.message += told;
  if (found->state == "42501") error.message += ": " + grant_for(one_line(message), place);
  return error;
}

Error connect_trouble(std::string_view text, const Place& place) {
  const std::string& where = place.server;
  if (const auto said = said_in(text)) {
    Error error = trouble_of(said->state, said->message, place);
    error.in_doubt = false;
    return error;
  }
  const auto reason = last_reason(text);
  Error error{ErrorCode::unavailable, "cannot connect to " + where + ": " + one_line(reason), true,
              false};
  for (const Reason& each : reasons) {
    if (reason.find(each.words) == std::string_view::npos) continue;
    error.code = each.code;
    error.retryable = each.retryable;
    const bool is_of_file = each.words == no_file || each.words == no_right;
    if (is_of_file && !is_of_socket(text)) {
      error.message += ": check the files that sslcert, sslkey and sslrootcert name";
    } else {
      const std::string words = each.adds ? error.message : "cannot connect to " + where;
      error.message = words + ": " + std::string(each.sentence);
    }
    break;
  }
  return error;
}

Error broken(std::string_view text, const std::string& where) {
  // A pooler says so why it ends a connection that it had taken.
  if (const auto said = said_in(text); said && said->state == "08P01") {
    Error error = trouble_of(said->state, said->message, where);
    error.in_doubt = false;
    return error;
  }
  const std::string reason = one_line(text.substr(0, text.find('\n')));
  return {ErrorCode::unavailable,
          "the connection to " + where + " broke" + (reason.empty() ? "" : ": " + reason), true,
          false};
}

Error timed_out(const std::string& where, Duration limit, std::string_view awaited,
                std::string_view setting, bool in_doubt) {
  return {ErrorCode::timed_out,
          where + " did not answer within " + in_milliseconds(limit) + " ms (" +
              std::string(setting) + "): " + std::string(awaited) + " did not come",
          true, in_doubt};
}

bool has_no_tables(const Error& error) { return error.code == ErrorCode::invalid_state; }

Error only_reads(const std::string& where) {
  return {ErrorCode::denied,
          where +
              " only reads (default_transaction_read_only): set it off where it was set on, for "
              "this role, its database, the server or this connection",
          false, false};
}

Error is_standby(const std::string& where) {
  return {ErrorCode::unavailable,
          where + " is a standby, which only reads: give the primary, or several hosts", true,
          false};
}

Error closed(const std::string& where) {
  return {ErrorCode::cancelled, "the session with " + where + " was closed", false, false};
}

}  // namespace conclave::postgres
