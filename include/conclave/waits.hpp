// Waits and futures over a candidate that was start()ed.
//
//   if (wait_until_role_known(me, 5s)) ...      // the store has answered: leader, or follower
//   if (wait_until_leader(me, stop)) ...        // until elected, or stopped
//   std::future<Term> elected = future_term(me);
#pragma once

#include <future>
#include <optional>
#include <stop_token>

#include <conclave/candidate.hpp>
#include <conclave/export.hpp>

namespace conclave {

// Waits until the candidate leads. False when the time has passed, the token has fired, or the
// candidate has stopped.
CONCLAVE_API bool wait_until_leader(Candidate& candidate, std::optional<Duration> limit = {});
CONCLAVE_API bool wait_until_leader(Candidate& candidate, const std::stop_token& stop);

// Waits until the store has said whether this candidate leads: for work at start-up that only the
// leader may do, such as a migration, and that the others must not begin without it. Empty when the
// time has passed or the candidate has stopped.
CONCLAVE_API std::optional<Role> wait_until_role_known(Candidate& candidate,
                                                       std::optional<Duration> limit = {});

// Becomes ready with the next term, or the present one. It holds std::future_error
// (broken_promise) when the candidate stops first.
[[nodiscard]] CONCLAVE_API std::future<Term> future_term(Candidate& candidate);

}  // namespace conclave
