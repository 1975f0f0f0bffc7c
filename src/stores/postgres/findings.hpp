// What a server says of itself, and what is worth telling of it to who asks `conclave doctor`.
#pragma once

#include <string_view>
#include <vector>

#include <conclave/store.hpp>

#include "stores/postgres/rows.hpp"
#include "stores/postgres/settings.hpp"

namespace conclave::postgres {

// $1 the table of elections, $2 the schema or null. One row, for findings_in().
extern const std::string_view facts;

struct Circumstances {
  bool is_pooled = false;
  Duration round_trip{};
  Duration clock_ahead{};  // of ours, as far as a round trip can tell
};

[[nodiscard]] std::vector<Finding> findings_in(const Rows& rows, const Settings& settings,
                                               const Circumstances& seen);

}  // namespace conclave::postgres
