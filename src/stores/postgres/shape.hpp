// Whether what bears the names of our tables is ours: nothing is written to, or built on, a table
// of somebody else.
#pragma once

#include <string>
#include <string_view>

namespace conclave::postgres {

// For a WITH; $1, $2, $3 are the tables of elections, sessions and servers. `find` makes a regclass
// of wanted.name. Gives `ours` (name, found or null), and `misfit` (name): those that are there,
// and lack a column, or the unique key that keeps two from making the same row.
[[nodiscard]] std::string our_tables(std::string_view find);

}  // namespace conclave::postgres
