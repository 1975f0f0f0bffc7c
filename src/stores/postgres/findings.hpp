// What a server says of itself, and what is worth telling of it to who asks `conclave doctor`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <conclave/store.hpp>

#include "stores/postgres/rows.hpp"
#include "stores/postgres/settings.hpp"
#include "stores/postgres/statements.hpp"

namespace conclave::postgres {

// $1, $2, $3 the tables of elections, sessions and servers, $4 the schema or null. One row, for
// findings_in().
[[nodiscard]] std::string facts();

// An election of each kind that is held, where there are rows to read.
[[nodiscard]] std::string kinds_of(const Tables& tables);
[[nodiscard]] bool has_rows_to_read(const Rows& facts, const Settings& settings);

struct Circumstances {
  bool is_pooled = false;
  bool is_shared = false;  // the pooler gives our session of the server to the next who comes
  bool has_tls = false;    // on our way, which may end at a pooler
  Duration round_trip{};
  Duration clock_ahead{};  // of ours, as far as a round trip can tell
  std::vector<std::pair<std::string, std::string>> kinds{};  // and an election that is held so
};

[[nodiscard]] std::vector<Finding> findings_in(const Rows& rows, const Settings& settings,
                                               const Circumstances& seen);

}  // namespace conclave::postgres
