// From when a grant is valid.
#pragma once

#include <conclave/store.hpp>

namespace conclave::core {

// What the bidder knows of the past when the grant arrives.
struct Past {
  Instant received;        // when the grant arrived
  Term highest_term_seen;  // of others, in this election, ever
  Duration longest_lease;  // the longest that a holder may still count on, as far as is known
};

// The instant before which the holder of an earlier term may still believe in it.
[[nodiscard]] Instant valid_from(const Granted& granted, const Past& past) noexcept;

}  // namespace conclave::core
