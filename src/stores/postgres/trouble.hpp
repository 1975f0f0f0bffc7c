// What an error of the server, or of the connection to it, means for a person and for who got it.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <conclave/error.hpp>
#include <conclave/time.hpp>

namespace conclave::postgres {

// Where it happened, and what was wanted there, as far as it makes a difference to the fix.
struct Place {
  Place(std::string where) : server(std::move(where)) {}  // NOLINT: its name is enough
  Place(const char* where) : server(where) {}             // NOLINT: the same

  std::string server;    // for messages
  std::string schema{};  // of the tables, quoted; empty: by the search path
  std::string tables{};  // all of them, as a GRANT takes them
  bool create = true;    // the tables may be made
};

// An error of the server by its SQLSTATE. Whether the statement may have been executed nevertheless
// is in in_doubt: an error within a statement undoes it.
[[nodiscard]] Error trouble_of(std::string_view sqlstate, std::string_view message,
                               const Place& place);

// Why there is no connection, from libpq's text in its verbose form: by the SQLSTATE in it, where
// the server has said one, and else in libpq's words.
[[nodiscard]] Error connect_trouble(std::string_view text, const Place& place);

// The connection has ended; `text` is what libpq says of it.
[[nodiscard]] Error broken(std::string_view text, const std::string& where);

// No answer within `limit`. `awaited` is what would have come, `setting` what gives the limit.
[[nodiscard]] Error timed_out(const std::string& where, Duration limit, std::string_view awaited,
                              std::string_view setting, bool in_doubt);

// That of a statement on tables that nobody has made.
[[nodiscard]] bool has_no_tables(const Error& error);
[[nodiscard]] Error only_reads(const std::string& where);

[[nodiscard]] Error is_standby(const std::string& where);
[[nodiscard]] Error closed(const std::string& where);

// For a message: one line, and not a long one.
[[nodiscard]] std::string one_line(std::string_view text);

}  // namespace conclave::postgres
