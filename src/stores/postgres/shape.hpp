// What is where our tables belong: whether they are ours, whether they can be made. Nothing is
// written to, or built on, a table of somebody else.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stores/postgres/rows.hpp"
#include "stores/postgres/settings.hpp"
#include "stores/postgres/statements.hpp"
#include "stores/postgres/wire.hpp"

namespace conclave::postgres {

// For a WITH; $1, $2, $3 are the tables of elections, sessions and servers. `find` makes a regclass
// of wanted.name. Gives `ours` (name, found or null), and `misfit` (name): those that are there,
// and lack a column, or a unique key: the one that keeps two from making the same row, or the one
// over name and term that is the fence; or that a crash of the server would empty (UNLOGGED).
[[nodiscard]] std::string our_tables(std::string_view find);

// The key of the lock that all who go by locks alone share.
inline constexpr std::string_view locks_alone = "7163850213";
// An expression: whether somebody holds it.
[[nodiscard]] std::string is_by_locks_alone();

// What makes the tables in a transaction: one after the other, since two who make the same table at
// once get errors that say nothing, and nobody while somebody goes by locks alone.
[[nodiscard]] std::string guard();  // for an anonymous block
// The same, where nobody has looked before: nothing is built on a table of somebody else.
[[nodiscard]] std::string shape_guard(const Tables& tables);
// Whoever makes them knows that nobody was elected before: the first election need not wait.
[[nodiscard]] std::string first_note(const Tables& tables);

struct Site {
  std::string misfits{};  // what bears a name of ours and is not
  bool has_schema = false;
  bool has_tables = false;
  bool has_locks_alone = false;
};

[[nodiscard]] Statement look_around(const Tables& tables, const Settings& settings);
[[nodiscard]] Site site_in(const Rows& rows);
// Why there can be no election there as the settings want it.
[[nodiscard]] std::optional<Error> hindrance(const Site& site, const Settings& settings);

}  // namespace conclave::postgres
