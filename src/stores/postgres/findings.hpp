// What a server says of itself, and what is worth telling of it to who asks `conclave doctor`.
#pragma once

#include <string>
#include <vector>

#include <conclave/store.hpp>

#include "stores/postgres/rows.hpp"
#include "stores/postgres/settings.hpp"

namespace conclave::postgres {

// $1, $2, $3 the tables of elections, sessions and servers, $4 the schema or null. One row, for
// findings_in().
[[nodiscard]] std::string facts();

struct Circumstances {
  bool is_pooled = false;
  bool is_shared = false;  // the pooler gives our session of the server to the next who comes
  bool has_tls = false;    // on our way, which may end at a pooler
  Duration round_trip{};
  Duration clock_ahead{};  // of ours, as far as a round trip can tell
};

[[nodiscard]] std::vector<Finding> findings_in(const Rows& rows, const Settings& settings,
                                               const Circumstances& seen);

}  // namespace conclave::postgres
