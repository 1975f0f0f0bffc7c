#include "core/takeover.hpp"

#include <algorithm>

namespace conclave::core {
namespace {

// The store's word on how the place became free is enough in three cases. In the others somebody
// who was confirmed just before the grant may be valid for a whole lease from now, and not longer:
// since the grant, renewals of an earlier term are refused.
bool may_still_be_held(Vacancy vacancy, Term highest_term_seen) noexcept {
  switch (vacancy) {
    case Vacancy::released:
    case Vacancy::ended:
    case Vacancy::expired: return false;
    case Vacancy::abandoned: return true;
    // Marks outlive their terms. Who has seen any term here, and now finds none, knows that the
    // store has lost data, and perhaps a living leader with them.
    case Vacancy::absent: return highest_term_seen.exists();
  }
  return true;
}

}  // namespace

Instant valid_from(const Granted& granted, const Past& past) noexcept {
  const Duration lease = std::max({granted.lease, granted.previous_lease, past.longest_lease});
  Instant from = past.received;
  if (may_still_be_held(granted.vacancy, past.highest_term_seen)) from += lease;
  // A server that was restarted or promoted may have forgotten whom it confirmed.
  if (granted.server_age && *granted.server_age < lease) {
    from = std::max(from, past.received + (lease - *granted.server_age));
  }
  return from;
}

}  // namespace conclave::core
